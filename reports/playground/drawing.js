// An SvgPen has the methods of a canvas that diagrams use, and draws SVG.
class SvgPen {
  constructor(width, height) {
    this.svg = SvgPen.node("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "Liberation Sans, Arial, Helvetica, sans-serif" });
    this.defs = SvgPen.node("defs", {});
    this.svg.append(this.defs);
    this.group = this.svg; // the innermost group that is open
    this.saved = []; // the group at each save
    this.path = "";
    this.real = document.createElement("canvas").getContext("2d"); // measures text
  }

  static node(name, attributes, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  tag(name, attributes, ...children) {
    const alpha = this.globalAlpha === 1 ? {} : { opacity: this.globalAlpha };
    const node = SvgPen.node(name, { ...attributes, ...alpha }, ...children);
    this.group.append(node);
    return node;
  }

  // define adds a definition, and returns what refers to it.
  define(name, attributes, ...children) {
    const id = `${name}-${this.defs.children.length}`;
    this.defs.append(SvgPen.node(name, { id, ...attributes }, ...children));
    return `url(#${id})`;
  }

  lines() {
    const dash = this.dash?.length ? { "stroke-dasharray": this.dash.join(" ") } : {};
    return { fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth, ...dash };
  }

  globalAlpha = 1;
  lineWidth = 1;
  fillStyle = "#000";
  strokeStyle = "#000";

  setLineDash(dash) { this.dash = dash; }
  save() { this.saved.push(this.group); }
  restore() { this.group = this.saved.pop(); }
  translate(x, y) { this.group = this.tag("g", { transform: `translate(${x} ${SvgPen.number(y)})` }); }
  clip() { this.group = this.tag("g", { "clip-path": this.define("clipPath", {}, SvgPen.node("path", { d: this.path })) }); }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${SvgPen.number(x)} ${SvgPen.number(y)}`; }
  lineTo(x, y) { this.path += `${this.path ? "L" : "M"}${SvgPen.number(x)} ${SvgPen.number(y)}`; }
  closePath() { this.path += "Z"; }
  rect(x, y, w, h) { this.path += `M${x} ${y}h${w}v${h}h${-w}Z`; }
  arc(x, y, r) { this.path += `M${SvgPen.number(x - r)} ${SvgPen.number(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`; }
  fill() { this.tag("path", { d: this.path, fill: this.fillStyle }); }
  stroke() { this.tag("path", { d: this.path, ...this.lines() }); }
  fillRect(x, y, width, height) { this.tag("rect", { x: SvgPen.number(x), y: SvgPen.number(y), width: SvgPen.number(width), height, fill: this.fillStyle }); }
  strokeRect(x, y, width, height) { this.tag("rect", { x: SvgPen.number(x), y: SvgPen.number(y), width: SvgPen.number(width), height, ...this.lines() }); }

  // hatched returns a pattern of a tile that a function draws.
  hatched(draw) {
    const tile = new SvgPen(8, 8);
    draw(tile);
    return this.define("pattern", { width: 8, height: 8, patternUnits: "userSpaceOnUse" }, ...[...tile.svg.children].slice(1));
  }

  measureText(text) {
    this.real.font = this.font;
    return this.real.measureText(text);
  }

  fillText(text, x, y) {
    const [, weight, size] = /^(\w+) ([\d.]+)px/.exec(this.font) ?? [];
    this.tag("text", { x: SvgPen.number(x), y: SvgPen.number(y), fill: this.fillStyle, "font-size": size ?? 12, "font-weight": weight ?? "normal", "dominant-baseline": "central" },
      text.replace(/ {2,}/g, (spaces) => "\u00a0".repeat(spaces.length))); // SVG makes one space of several
  }

  static number(n) {
    return Math.round(n * 100) / 100;
  }
}

// drawFigure draws the figure of an explorer, as it is shown, with its legend, and its heads if they are wanted. Begin returns what to draw on,
// for a width and a height.
function drawFigure(explorer, heads, begin) {
  const { diagram, axis, runs } = explorer;
  const texts = [];
  let height = 0;
  const put = (text, weight, size, ink) => {
    for (const line of text ? diagram.wrapped(text, diagram.width - 16) : []) {
      texts.push({ line, font: diagram.type(weight, size), ink, y: height + 0.7 * size });
      height += 1.4 * size;
    }
  };
  const { ink } = diagram;
  for (const run of heads ? runs : []) {
    put(runs.length > 1 ? `${run.letter}  ${run.name}` : run.name, "bold", 16, ink.ink);
    put(`${run.verdict} ${run.outcome}`, "bold", 13, { SAFE: ink.green, UNSAFE: ink.red }[run.verdict] ?? ink.doubt);
    put(run.reason, "normal", 12, ink.soft);
    height += 8;
  }
  const top = height;
  height += diagram.height + 8;
  put(legend(runs, axis.toScale), "normal", 12, ink.soft);
  const c = begin(diagram.width, Math.ceil(height + 4));
  c.fillStyle = ink.paper;
  c.fillRect(0, 0, diagram.width, height + 4);
  for (const t of texts) {
    c.font = t.font;
    c.fillStyle = t.ink;
    c.fillText(t.line, 8, t.y);
  }
  c.translate(0, top);
  diagram.drawWhole(c);
  explorer.redraw();
}

function svgOf(explorer, heads) {
  let pen;
  drawFigure(explorer, heads, (width, height) => (pen = new SvgPen(width, height)));
  return pen.svg;
}

// canvasOf draws at twice the resolution of the page.
function canvasOf(explorer) {
  const canvas = document.createElement("canvas");
  drawFigure(explorer, true, (width, height) => {
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    const c = canvas.getContext("2d");
    c.scale(2, 2);
    c.textBaseline = "middle";
    return c;
  });
  return canvas;
}

// On paper a drawing of the whole story takes the place of a diagram, unless the page has one already.
window.addEventListener("beforeprint", () => {
  for (const e of explorers) {
    if (e.root.querySelector(".drawn")) continue;
    const { from, to } = e.axis;
    e.act("fit");
    e.find("left").prepend(make("figure", { class: "drawn for-print" }, svgOf(e, false)));
    Object.assign(e.axis, { from, to });
    e.redraw();
  }
});
window.addEventListener("afterprint", () => document.querySelectorAll(".for-print").forEach((f) => f.remove()));
