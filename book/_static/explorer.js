// Draws the panels that helpers/explorer.py made: every figure.ys-explorer holds its Vega-Lite data and a plain figure.
//
// The plain figure stays for print, and in place where something goes wrong. `data-explorer` on the figure says how it
// fares: "loading", "ready" or "failed". Colours need no redrawing: all that is not data takes the page's own.
let library = null;

/** Vega, loaded with the first panel. The bundle sets window.vegaEmbed. */
function loadVega() {
  library ??= import(new URL("vega/vega.js", import.meta.url));
  return library;
}

async function draw(figure) {
  if (figure.dataset.explorer) return;
  figure.dataset.explorer = "loading";
  const spec = JSON.parse(figure.querySelector("script").textContent);
  delete spec.title; // the settings stand at the controls
  const controls = Object.assign(document.createElement("div"), { className: "ys-explorer-controls" });
  const chart = Object.assign(document.createElement("div"), { className: "ys-explorer-chart" });
  const live = Object.assign(document.createElement("div"), { className: "ys-explorer-live" });
  live.append(controls, chart);
  figure.prepend(live);
  try {
    await loadVega();
    const options = { mode: "vega-lite", actions: false, renderer: "svg", bind: controls };
    const { view } = await window.vegaEmbed(chart, spec, options);
    sayValues(controls, spec.usermeta.words);
    describe(view, chart, controls);
    figure.dataset.explorer = "ready";
  } catch (error) {
    live.remove();
    figure.dataset.explorer = "failed";
    throw error;
  }
}

/** A slider counts options: let it say, to eye and ear, what the option is. */
function sayValues(controls, words) {
  for (const [name, options] of Object.entries(words)) {
    const slider = controls.querySelector(`input[name="${name}"]`);
    const said = Object.assign(document.createElement("span"), { className: "ys-explorer-value" });
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

function drawAll(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return;
  const figures = [...node.querySelectorAll("figure.ys-explorer")];
  for (const figure of node.matches("figure.ys-explorer") ? [node, ...figures] : figures) draw(figure);
}

drawAll(document.body);
// A cell that runs again on the page brings a new figure.
new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach(drawAll))).observe(document.body, {
  childList: true,
  subtree: true,
});
