// Texts of the article that are hard to read: [{text, ratio, colour, ground}], the worst first.
// A ratio of 4.5 is asked for, 3 for large text; what is not drawn is left out.
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
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
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const opacity = (element) => {
    let product = 1;
    for (let e = element; e; e = e.parentElement) product *= Number(getComputedStyle(e).opacity);
    return product;
  };

  const article = document.querySelector("article");
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const found = [];
  const judge = (element, colour, text) => {
    const style = getComputedStyle(element);
    if (style.visibility === "hidden" || !element.getClientRects().length) return;
    const below = ground(element);
    const [r, g, b, a] = rgba(colour);
    const seen = ratio(over([r, g, b, a * opacity(element)], below), below);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (seen < (large ? 3 : 4.5)) found.push({ text, ratio: seen, colour, ground: below.map(Math.round).join(" ") });
  };

  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    // A heading's link sign is shown on hovering only; formulas hold text for screen readers.
    if (!text || element.closest(".headerlink, mjx-assistive-mml, script, style")) continue;
    const drawn = element.closest("svg");
    judge(element, drawn ? getComputedStyle(element).fill : getComputedStyle(element).color, text.slice(0, 60));
  }
  // Letters that were turned into outlines: matplotlib puts each text into a group of its own, "…text_7".
  for (const shape of article.querySelectorAll('figure.ys-figure svg g[id*="text_"] :is(path, use)')) {
    if (!shape.closest("defs")) judge(shape, getComputedStyle(shape).fill, shape.closest('g[id*="text_"]').id);
  }
  return found.sort((a, b) => a.ratio - b.ratio);
}
