// Draws the panels that helpers/explorer.py made: every figure.ys-explorer holds its Vega-Lite data and a plain figure.
//
// A panel is drawn once it comes near the view, as it does when the keyboard reaches it: only then is Vega loaded. The
// plain figure stays until then, for print, and where something goes wrong. `data-explorer` on the figure says how it
// fares: "waiting", "loading", "ready" or "failed". Colours need no redrawing: all that is not data takes the page's own.
(() => {
  "use strict";
  const vega = new URL("vega/vega.js", document.currentScript.src).href;
  let library = null;

  /** Vega, loaded with the first panel that is drawn. It sets window.vegaEmbed. */
  function loadVega() {
    library ??= new Promise((resolve, reject) => {
      const script = Object.assign(document.createElement("script"), { src: vega });
      script.onload = resolve;
      script.onerror = () => {
        library = null; // the next panel tries again
        reject(new Error(`${vega} did not come`));
      };
      document.head.append(script);
    });
    return library;
  }

  const near = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
    { rootMargin: "100% 0px" } // a screen ahead, so that who reads on finds it drawn
  );

  /** Let a panel wait for the reader. It has no control yet that the keyboard could reach, so it is one itself. */
  function wait(figure) {
    if (figure.dataset.explorer) return;
    figure.dataset.explorer = "waiting";
    figure.tabIndex = 0;
    near.observe(figure);
  }

  async function draw(figure) {
    if (figure.dataset.explorer !== "waiting") return;
    figure.dataset.explorer = "loading";
    near.unobserve(figure);
    const spec = JSON.parse(figure.querySelector("script").textContent);
    delete spec.title; // the settings stand at the controls
    const controls = make("div", "ys-explorer-controls");
    const chart = make("div", "ys-explorer-chart");
    const live = make("div", "ys-explorer-live");
    live.append(controls, chart);
    figure.prepend(live);
    try {
      await loadVega();
      const options = { mode: "vega-lite", actions: false, renderer: "svg", bind: controls };
      const { view } = await window.vegaEmbed(chart, spec, options);
      sayValues(controls, spec.usermeta.words);
      describe(view, chart, controls);
      fit(view, chart);
      figure.dataset.explorer = "ready";
      if (document.activeElement === figure) controls.querySelector("input, select").focus();
    } catch (error) {
      const words = "The controls of this panel could not be loaded, so it shows one setting. To try again, reload the page.";
      live.replaceWith(Object.assign(make("p", "ys-note"), { role: "status", textContent: words }));
      figure.dataset.explorer = "failed";
      throw error; // for the console
    } finally {
      figure.removeAttribute("tabindex");
    }
  }

  /** A slider counts options: let it say, to eye and ear, what the option is. */
  function sayValues(controls, words) {
    for (const [name, options] of Object.entries(words)) {
      const slider = controls.querySelector(`input[name="${name}"]`);
      const said = make("span", "ys-explorer-value");
      said.ariaHidden = "true"; // the slider says it itself
      const say = () => {
        said.textContent = options[slider.value];
        slider.setAttribute("aria-valuetext", options[slider.value]);
      };
      slider.nextElementSibling.replaceWith(said);
      slider.addEventListener("input", say);
      say();
    }
  }

  /** The description of the drawing is that of the start: once something was moved, it names the settings instead. */
  function describe(view, chart, controls) {
    controls.addEventListener("input", () => {
      const settings = [...controls.querySelectorAll("label")].map((label) => {
        const control = label.querySelector("input, select");
        const value = control.getAttribute("aria-valuetext") ?? control.selectedOptions[0].text;
        return `${label.querySelector(".vega-bind-name").textContent.trim()} ${value}`;
      });
      view.description(`The plot at ${settings.join(", ")}`);
    });
  }

  /** Vega takes the width at the resize of the window, when the theme has not settled its columns yet: take it again. */
  function fit(view, chart) {
    const take = () => chart.clientWidth && view.signal("width", chart.clientWidth).runAsync(); // 0 in print
    new ResizeObserver(take).observe(chart);
  }

  function make(tag, className) {
    return Object.assign(document.createElement(tag), { className });
  }

  function waitAll(node) {
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    if (node.matches("figure.ys-explorer")) wait(node);
    node.querySelectorAll("figure.ys-explorer").forEach(wait);
  }

  waitAll(document.body);
  // A cell that runs again on the page brings a new figure.
  new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach(waitAll))).observe(
    document.body,
    { childList: true, subtree: true }
  );
})();
