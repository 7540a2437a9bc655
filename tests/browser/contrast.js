// What is hard to see on the page: [{text, ratio, colour, ground}], the worst first; what is not drawn is left out.
// Text asks for a ratio of 4.5, large text for 3; so do the icons of buttons and links, and the edges of what is typed
// into, chosen from or dragged.
() => {
  // A theme that was just changed fades in; what counts is where it ends.
  const still = document.head.appendChild(document.createElement("style"));
  still.textContent = "* { transition: none !important }";
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = ([r, g, b, a], ground) => [r, g, b].map((value, i) => value * a + ground[i] * (1 - a));
  const luminance = (colour) => {
    const [r, g, b] = colour.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  // From the root down, each element once: most of what is above a text is above its neighbours too.
  const inherited = (own, atRoot) => {
    const seen = new Map([[null, atRoot]]);
    const at = (element) => {
      if (!seen.has(element)) seen.set(element, own(getComputedStyle(element), at(element.parentElement)));
      return seen.get(element);
    };
    return at;
  };
  const ground = inherited((style, below) => over(rgba(style.backgroundColor), below), [255, 255, 255]);
  const opacity = inherited((style, above) => above * Number(style.opacity), 1);
  // What an image of the same drawing shows at the middle of a shape, as under the numbers of a heat map.
  const groundOfShape = (shape) => {
    let below = ground(shape);
    const { left, top, width, height } = shape.getBoundingClientRect();
    for (const image of shape.closest("svg").querySelectorAll("image")) {
      const at = new DOMPoint(left + width / 2, top + height / 2).matrixTransform(image.getScreenCTM().inverse());
      const x = (at.x - image.x.baseVal.value) / image.width.baseVal.value;
      const y = (at.y - image.y.baseVal.value) / image.height.baseVal.value;
      if (x < 0 || x >= 1 || y < 0 || y >= 1) continue;
      canvas.clearRect(0, 0, 1, 1);
      canvas.drawImage(image, -100 * x, -100 * y, 100, 100);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      below = over([r, g, b, a / 255], below);
    }
    return below;
  };
  const isDrawn = (element) =>
    getComputedStyle(element).visibility !== "hidden" && opacity(element) > 0 && element.getClientRects().length > 0;

  const found = [];
  const judge = (element, colour, text, below, wanted) => {
    const [r, g, b, a] = rgba(colour);
    const seen = ratio(over([r, g, b, a * opacity(element)], below), below);
    if (seen < wanted) found.push({ text, ratio: seen, colour, ground: below.map(Math.round).join(" ") });
  };
  const judgeText = (element, colour, text, below = ground(element)) => {
    if (!isDrawn(element)) return;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    judge(element, colour, text, below, large ? 3 : 4.5);
  };

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    // A heading's link sign is shown on hovering only; formulas hold text for screen readers; what is disabled may fade.
    if (!text || element.closest(".headerlink, mjx-assistive-mml, script, style, noscript, option, :disabled")) continue;
    const drawn = element.closest("svg");
    judgeText(element, drawn ? getComputedStyle(element).fill : getComputedStyle(element).color, text.slice(0, 60));
  }
  // Letters that were turned into outlines: matplotlib puts each text into a group of its own, "…text_7".
  for (const shape of document.querySelectorAll('figure.ys-figure svg g[id*="text_"] :is(path, use)')) {
    if (shape.closest("defs")) continue;
    judgeText(shape, getComputedStyle(shape).fill, shape.closest('g[id*="text_"]').id, groundOfShape(shape));
  }

  for (const field of document.querySelectorAll("input[placeholder]")) {
    judgeText(field, getComputedStyle(field, "::placeholder").color, `placeholder ${field.placeholder}`);
  }
  for (const icon of document.querySelectorAll(":is(a, button, label, summary) svg")) {
    if (isDrawn(icon)) judge(icon, getComputedStyle(icon).color, `icon ${icon.dataset.icon}`, ground(icon), 3);
  }
  const controls = 'input:not([type="hidden"]), select, textarea, [role="textbox"], .noUi-handle';
  for (const control of document.querySelectorAll(controls)) {
    if (!isDrawn(control) || control.disabled) continue;
    const style = getComputedStyle(control);
    const below = ground(control.parentElement);
    const name = `edge of ${control.ariaLabel ?? control.name ?? control.className}`;
    if (control.type === "range") judge(control, style.accentColor, name, below, 3);
    else if (parseFloat(style.borderBottomWidth)) judge(control, style.borderBottomColor, name, below, 3);
  }
  still.remove();
  return found.sort((a, b) => a.ratio - b.ratio);
}
