// "Run this page": makes the cells of a chapter live where the book comes from `yardsticks serve` (helpers/live).
//
// A page has one kernel of its own, from the click on until the reader resets it or leaves. The printed output of a cell
// stays until the cell has run; "Reset" brings back all that was printed. thebe-core speaks with the kernel and draws
// what comes back; it is loaded on the click.
(() => {
  "use strict";
  const script = document.currentScript.src;
  const server = window.yardsticksServer; // set by served.js, only where there is a server
  const chapter = location.pathname.match(/\/notebooks\/([\w-]+)\.html$/)?.[1];
  if (!server || !chapter) return;

  /** Why a run ended early, in words for the reader. */
  class Stopped extends Error {}

  // ---------------------------------------------------------------- one cell

  class Cell {
    constructor(node, number, total) {
      this.node = node;
      this.name = `cell ${number} of ${total}`;
      this.input = node.querySelector(".cell_input");
      this.printedCode = this.input.querySelector("pre");
      this.printedOutput = node.querySelector(".cell_output");
    }

    /** Let the reader edit and run the cell. */
    goLive() {
      this.live = true;
      this.code = this.printedCode.cloneNode(true);
      this.code.contentEditable = "plaintext-only";
      this.code.spellcheck = false;
      for (const [name, value] of Object.entries({
        role: "textbox",
        "aria-multiline": "true",
        "aria-label": `Code of ${this.name}. Shift+Enter runs it.`,
        autocapitalize: "off",
        tabindex: "0",
      })) {
        this.code.setAttribute(name, value);
      }
      this.code.addEventListener("keydown", (event) => this.onKey(event));
      this.code.addEventListener("input", () => this.onEdit());
      this.printedCode.replaceWith(this.code);

      this.words = make("span", {});
      this.bar = make("div", { class: "ys-cell-bar" }, [
        button("Run", () => enqueue([this]), { "aria-label": `Run ${this.name}` }),
        this.words,
      ]);
      this.input.after(this.bar);
      this.output = make("div", { class: "cell_output docutils container ys-live-output" });
      nameSliders(this.output);
      this.mark("", "");
    }

    /** Take back everything that is not on the printed page. */
    goBack() {
      this.live = this.hasRun = false;
      this.view?.area.dispose();
      this.view = this.link = null;
      this.code.replaceWith(this.printedCode);
      this.bar.remove();
      if (this.printedOutput) this.output.replaceWith(this.printedOutput);
      else this.output.remove();
      delete this.node.dataset.live;
    }

    onEdit() {
      this.mark("edited", "edited");
      // The colours are those of the printed letters, and would be wrong on others.
      this.code.classList.toggle("ys-edited", text(this.code) !== text(this.printedCode));
    }

    onKey(event) {
      event.stopPropagation(); // else the page's shortcuts take letters away, such as / for the search
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      if (event.shiftKey || event.ctrlKey || event.metaKey) enqueue([this]);
      else document.execCommand("insertText", false, `\n${this.indentation()}`);
    }

    /** The blanks that a new line at the cursor starts with. */
    indentation() {
      const before = document.createRange();
      before.setStart(this.code, 0);
      before.setEnd(getSelection().focusNode, getSelection().focusOffset);
      const line = text(before.cloneContents()).split("\n").pop();
      return line.match(/^ */)[0] + (/:\s*$/.test(line) ? "    " : "");
    }

    /** Say on the cell how it fares; a run that ends after the page went back to print changes nothing. */
    mark(state, words) {
      if (!this.live) return;
      this.node.dataset.live = state;
      this.words.textContent = words;
    }

    /** Run the code in the kernel; the output appears as it comes. Throws Stopped where it did not come to its end. */
    async run() {
      const began = performance.now();
      const link = connection;
      this.show(link);
      this.mark("running", "running");
      const clock = setInterval(() => this.mark("running", `running, ${seconds(began)}`), 1000);
      try {
        const future = link.kernel.requestExecute({ code: text(this.code).trimEnd() });
        this.view.area.future = future;
        const { content } = await Promise.race([future.done, link.broken]);
        if (content.status !== "ok") throw new Stopped(failure(content));
        this.hasRun = true;
        this.mark("done", `done in ${seconds(began)}`);
      } catch (error) {
        this.mark("failed", `stopped after ${seconds(began)}`);
        if (this.live) this.node.querySelectorAll("details").forEach((hidden) => (hidden.open = true));
        throw error instanceof Stopped ? error : new Stopped(link.reason ?? "The kernel went away.");
      } finally {
        clearInterval(clock);
        describePictures(this);
      }
    }

    /** Put the live output where the printed one was. */
    show(link) {
      if (this.link !== link) {
        this.view?.area.dispose();
        this.link = link;
        this.view = new window.thebeCore.module.PassiveCellRenderer(this.name, link.rendermime);
        this.output.replaceChildren();
      }
      if (!this.output.isConnected) {
        const hidesCodeOnly = this.node.classList.contains("tag_hide-input");
        if (this.printedOutput) this.printedOutput.replaceWith(this.output);
        else (hidesCodeOnly ? this.node : this.input.parentElement).append(this.output);
      }
      if (!this.view.isAttachedToDOM) this.view.attachToDOM(this.output);
    }
  }

  /** The words for a reply of the kernel that is not "ok". */
  function failure({ status, ename, evalue }) {
    if (ename === "KeyboardInterrupt") return "Interrupted.";
    return status === "error" ? `${ename}: ${evalue}` : "It was not run.";
  }

  /** Pictures that came without a description are at least named. */
  function describePictures(cell) {
    for (const image of cell.output.querySelectorAll("img:not([alt])")) {
      image.alt = `Picture made by ${cell.name}, without a description`;
    }
  }

  /** Sliders of ipywidgets have their label beside them: say it to screen readers too. They are drawn late, and anew. */
  function nameSliders(output) {
    const name = () => {
      for (const handle of output.querySelectorAll(".noUi-handle")) {
        const label = handle.closest(".widget-slider")?.querySelector(".widget-label");
        handle.setAttribute("aria-label", label?.textContent || "slider");
      }
    };
    new MutationObserver(name).observe(output, { childList: true, subtree: true });
  }

  /** Have the page's MathJax set an output that is a formula; dollars in other output are dollars. */
  function setFormula(node) {
    if (!node.classList.contains("jp-RenderedLatex") || !window.MathJax?.typesetPromise) return;
    node.textContent = node.textContent.trim().replace(/^\$\$?([^]*?)\$?\$$/, "\\($1\\)");
    window.MathJax.typesetPromise([node]);
  }

  // ---------------------------------------------------------------- the kernel

  /** {kernel, session, thebe, rendermime, broken: a promise that rejects, reason} while there is a kernel. */
  let connection = null;
  let attempt = 0; // counted, so that one that was given up is not taken for the next

  async function connect() {
    const mine = ++attempt;
    await ask("api/status");
    await loadLibrary();
    const core = window.thebeCore.module;
    const base = new URL(server.base, location).href;
    const config = core.makeConfiguration({
      serverSettings: { baseUrl: base, wsUrl: base.replace(/^http/, "ws"), token: "", appendToken: false },
      savedSessionOptions: { enabled: false },
    });
    const thebe = new core.ThebeServer(config);
    await thebe.connectToJupyterServer();
    // With an address but no configuration of its own it draws formulas, and leaves the setting to us.
    const rendermime = core.makeRenderMimeRegistry({ mathjaxUrl: "the page's", mathjaxConfig: "" });
    rendermime.latexTypesetter = { typeset: setFormula };
    // Jupyter gives one kernel to all that name the same path.
    const path = `${chapter}-${[...crypto.getRandomValues(new Uint32Array(2))].join("-")}.ipynb`;
    const session = await thebe.startNewSession(rendermime, { kernelName: "python3", path });
    if (mine !== attempt) {
      await session.shutdown();
      thebe.dispose();
      throw new Stopped("It was given up.");
    }
    connection = { thebe, session, kernel: session.kernel, rendermime };
    renewPromise(connection);
    watch(connection);
    await Promise.race([session.kernel.info, connection.broken]);
  }

  /** `broken` rejects once `breakOff` is called, for whoever waits for the kernel just then. */
  function renewPromise(link) {
    link.reason = null;
    link.broken = new Promise((_, reject) => {
      link.breakOff = (reason) => {
        link.reason = reason;
        reject(new Stopped(reason));
      };
    });
    link.broken.catch(() => {}); // nobody need be waiting
  }

  function watch(link) {
    link.kernel.connectionStatusChanged.connect((_, status) => {
      if (status !== "connected" && link === connection) checkKernel(link);
    });
    link.kernel.statusChanged.connect((_, status) => {
      if (link !== connection) return;
      if (status === "dead") forsake("The kernel has died and could not be started again.");
      if (status === "autorestarting") {
        abandonRun("The kernel has died (out of memory?). A new one is there, and nothing has run in it yet.");
      }
    });
  }

  /** The line to the kernel is cut: for a moment, or for good? */
  async function checkKernel(link) {
    let reason = "The kernel is gone: run this page again for a new one.";
    try {
      if (await ask(`api/kernels/${link.kernel.id}`)) return; // it is being connected anew
    } catch (stop) {
      reason = stop.message;
    }
    if (link === connection) forsake(reason);
  }

  /** Whether the server has what is asked for. Throws Stopped where there is no server, or none that lets us in. */
  async function ask(path) {
    const answer = await fetch(server.base + path, { cache: "no-store" }).catch(() => {
      throw new Stopped("The server has stopped, and every kernel with it. Start it again (make serve), then this page.");
    });
    if (answer.status === 403) throw new Stopped("The server does not know this browser: open the address it printed.");
    return answer.ok;
  }

  /** Give up a connection that leads nowhere; the cells stay as they are. */
  function forsake(reason) {
    const link = connection;
    connection = null;
    emptyQueue();
    cells.forEach((cell) => (cell.hasRun = false));
    link.breakOff(reason);
    link.session.dispose();
    link.thebe.dispose();
    render("lost", reason);
  }

  /** End the kernel; also while the page is being left, when nothing is waited for. */
  function endKernel() {
    const link = connection;
    if (!link) return;
    connection = null;
    waiting = [];
    fetch(`${server.base}api/sessions/${link.session.id}`, {
      method: "DELETE",
      keepalive: true,
      headers: { "X-XSRFToken": document.cookie.match(/(?:^|; )_xsrf=([^;]*)/)?.[1] ?? "" },
    }).catch(() => {}); // a server that has stopped has no kernels either
    link.breakOff("The kernel was ended.");
    link.session.dispose();
    link.thebe.dispose();
  }

  let library = null;

  function loadLibrary() {
    library ??= new Promise((resolve, reject) => {
      const folder = new URL("thebe-core/", script);
      document.head.append(make("link", { rel: "stylesheet", href: new URL("thebe-core.css", folder).href }));
      const tag = make("script", { src: new URL("thebe-core.min.js", folder).href });
      tag.onload = resolve;
      tag.onerror = () => reject(new Stopped("A part of the book is missing: build it again with make book."));
      document.head.append(tag);
    });
    return library;
  }

  // ---------------------------------------------------------------- what is to run

  let waiting = [];
  let running = false;

  async function enqueue(more) {
    if (state === "starting") return;
    if (!connection && !(await start())) return;
    for (const cell of more.filter((cell) => !waiting.includes(cell))) {
      waiting.push(cell);
      cell.mark("waiting", "waiting");
    }
    if (!running) await drain(performance.now());
  }

  /** Run what waits, one cell after the other, until one fails. */
  async function drain(began) {
    running = true;
    let count = 0;
    try {
      for (; waiting.length; count += 1) {
        const cell = waiting.shift();
        render("running", `Running ${cell.name}`, began);
        try {
          await cell.run();
        } catch (stop) {
          const early = cells.slice(0, cells.indexOf(cell)).some((one) => !one.hasRun);
          const hint = early && stop.message.startsWith("NameError") ? " (Not every cell above it has run.)" : "";
          stop.message = `Stopped in ${cell.name}. ${stop.message}${hint}`;
          throw stop;
        }
      }
      const what = count === cells.length ? `All ${count} cells` : `${count} ${count === 1 ? "cell" : "cells"}`;
      const prose = count === cells.length ? " Numbers in the text stay as printed." : "";
      render("idle", `${what} done in ${seconds(began)}.${prose}`);
    } catch (stop) {
      emptyQueue();
      if (state === "running") render("idle", stop.message);
    } finally {
      running = false;
    }
  }

  /** The kernel begins anew, and nothing that is running or waiting comes to its end. */
  function abandonRun(reason) {
    emptyQueue();
    cells.forEach((cell) => (cell.hasRun = false));
    if (!running) render("idle", reason);
    connection.breakOff(reason);
    renewPromise(connection);
  }

  function emptyQueue() {
    waiting.forEach((cell) => cell.mark("", "not run"));
    waiting = [];
  }

  // ---------------------------------------------------------------- what the reader can do

  /** Make the page live; returns whether there is a kernel. */
  async function start() {
    if (state === "printed") cells.forEach((cell) => cell.goLive());
    render("starting", "Starting a kernel");
    const mine = attempt + 1;
    try {
      await connect();
    } catch (error) {
      if (mine !== attempt) return false;
      const reason = error instanceof Stopped ? error.message : `No kernel could be started. ${error?.message ?? error}`;
      if (connection) forsake(reason);
      else render("lost", reason);
      return false;
    }
    render("idle", "The cells are live: edit one, and run it with Shift+Enter.");
    return true;
  }

  async function edit() {
    if (await start()) cells[0].code.focus();
  }

  async function interrupt() {
    emptyQueue();
    await connection?.kernel.interrupt();
  }

  async function restart() {
    const link = connection;
    abandonRun("It was restarted.");
    render("starting", "Restarting the kernel");
    try {
      await link.kernel.restart();
    } catch (error) {
      if (link === connection) forsake(`The kernel could not be restarted. ${error.message}`);
      return;
    }
    if (link !== connection) return;
    cells.forEach((cell) => cell.mark("", ""));
    render("idle", "The kernel is new: nothing has run in it yet.");
  }

  function reset() {
    attempt += 1;
    endKernel();
    cells.forEach((cell) => cell.goBack());
    render("printed", "The page is as printed, and its kernel has ended.");
  }

  // ---------------------------------------------------------------- the bar under the title

  let state = "printed";
  let ticking = null;
  const say = make("span", { role: "status" });
  const clock = make("span", { class: "ys-live-clock", "aria-hidden": "true" }); // read out each second it would be noise
  const runAll = button("Run this page", () => enqueue(cells));
  const others = {
    "Edit first": [edit, ["printed"]],
    Interrupt: [interrupt, ["running"]],
    Restart: [restart, ["idle", "running"]],
    Reset: [reset, ["idle", "running", "starting", "lost"]],
  };
  const buttons = Object.entries(others).map(([name, [action, states]]) => [button(name, action), states]);

  /** Show a state in buttons and words; with `began` also the time since then. */
  function render(next, message, began) {
    state = next;
    const focused = document.activeElement;
    bar.dataset.state = state;
    runAll.textContent = ["idle", "running"].includes(state) ? "Run all" : "Run this page";
    runAll.disabled = ["running", "starting"].includes(state);
    for (const [one, states] of buttons) one.hidden = !states.includes(state);
    // A button that went away must not take the keyboard's place with it.
    if (bar.contains(focused) && (focused.hidden || focused.disabled)) {
      bar.querySelector("button:not([hidden], :disabled)")?.focus();
    }
    say.textContent = message;
    clearInterval(ticking);
    const tick = () => (clock.textContent = began === undefined ? "" : seconds(began));
    tick();
    if (began !== undefined) ticking = setInterval(tick, 1000);
  }

  // ---------------------------------------------------------------- small things

  function make(tag, attributes, children = []) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function button(label, action, attributes = {}) {
    const element = make("button", { type: "button", ...attributes }, [label]);
    element.addEventListener("click", action);
    return element;
  }

  /** The text in a node; an editable element may hold line breaks as elements. */
  function text(node) {
    const copy = node.cloneNode(true);
    copy.querySelectorAll("br").forEach((one) => one.replaceWith("\n"));
    return copy.textContent;
  }

  function seconds(began) {
    const passed = (performance.now() - began) / 1000;
    return passed < 10 ? `${passed.toFixed(1)} s` : `${Math.round(passed)} s`;
  }

  const nodes = [...document.querySelectorAll("article .cell")].filter((node) => node.querySelector(".cell_input pre"));
  const cells = nodes.map((node, index) => new Cell(node, index + 1, nodes.length));
  const copy = make("a", { href: `${server.base}book/copy/${chapter}`, target: "_blank" }, [
    "Open a copy in JupyterLab",
  ]);
  const bar = make("div", { class: "ys-live", role: "group", "aria-label": "Run this page" }, [
    make("div", { class: "ys-live-buttons" }, [runAll, ...buttons.map(([one]) => one), copy]),
    make("p", {}, [say, " ", clock]),
  ]);
  render("printed", "");
  (document.querySelector("article .ys-links") ?? document.querySelector("article h1")).after(bar);

  addEventListener("pagehide", endKernel);
  addEventListener("pageshow", (event) => {
    if (event.persisted && state !== "printed") reset(); // back from the browser's memory: the kernel has ended
  });
})();
