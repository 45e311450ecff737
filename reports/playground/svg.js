// An SvgPen has the methods of a canvas that diagrams use, and writes what they draw as SVG.
class SvgPen {
  constructor(width, height) {
    this.size = [width, height];
    this.real = document.createElement("canvas").getContext("2d"); // measures text, and keeps the state
    this.parts = [];
    this.defs = [];
    this.opened = [0]; // the groups that are open, for each save
    this.path = "";
  }

  static attributes(all) {
    return Object.entries(all).map(([name, value]) => ` ${name}="${String(value).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)}"`).join("");
  }

  tag(name, attributes, text) {
    const alpha = this.globalAlpha === 1 ? {} : { opacity: this.globalAlpha };
    this.parts.push(`<${name}${SvgPen.attributes({ ...attributes, ...alpha })}${text === undefined ? "/>" : `>${text}</${name}>`}`);
  }

  paint(style) {
    if (typeof style === "string") return style;
    let n = this.patterns.get(style);
    if (n === undefined) {
      this.patterns.set(style, (n = this.patterns.size));
      this.defs.push(`<pattern id="p${n}" width="8" height="8" patternUnits="userSpaceOnUse"><image width="8" height="8" href="${style.tile}"/></pattern>`);
    }
    return `url(#p${n})`;
  }

  lines() {
    const dash = this.dash?.length ? { "stroke-dasharray": this.dash.join(" ") } : {};
    return { fill: "none", stroke: this.paint(this.strokeStyle), "stroke-width": this.lineWidth, ...dash };
  }

  patterns = new Map();
  globalAlpha = 1;
  lineWidth = 1;
  fillStyle = "#000";
  strokeStyle = "#000";

  setTransform() {}
  clearRect() {}
  setLineDash(dash) { this.dash = dash; }
  save() { this.opened.push(0); }
  restore() { this.parts.push("</g>".repeat(this.opened.pop())); }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${SvgPen.number(x)} ${SvgPen.number(y)}`; }
  lineTo(x, y) { this.path += `${this.path ? "L" : "M"}${SvgPen.number(x)} ${SvgPen.number(y)}`; }
  closePath() { this.path += "Z"; }
  rect(x, y, w, h) { this.path += `M${x} ${y}h${w}v${h}h${-w}Z`; }
  arc(x, y, r) { this.path += `M${SvgPen.number(x - r)} ${SvgPen.number(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`; }
  fill() { this.tag("path", { d: this.path, fill: this.paint(this.fillStyle) }); }
  stroke() { this.tag("path", { d: this.path, ...this.lines() }); }
  fillRect(x, y, width, height) { this.tag("rect", { x: SvgPen.number(x), y: SvgPen.number(y), width: SvgPen.number(width), height, fill: this.paint(this.fillStyle) }); }
  strokeRect(x, y, width, height) { this.tag("rect", { x: SvgPen.number(x), y: SvgPen.number(y), width: SvgPen.number(width), height, ...this.lines() }); }

  clip() {
    const n = this.defs.length;
    this.defs.push(`<clipPath id="c${n}"><path d="${this.path}"/></clipPath>`);
    this.parts.push(`<g clip-path="url(#c${n})">`);
    this.opened[this.opened.length - 1]++;
  }

  createPattern(tile) {
    return { tile: tile.toDataURL(), setTransform() {} };
  }

  measureText(text) {
    this.real.font = this.font;
    return this.real.measureText(text);
  }

  fillText(text, x, y) {
    const [, weight, size] = /^(\w+) ([\d.]+)px/.exec(this.font) ?? [];
    const anchor = { center: "middle", right: "end" }[this.textAlign] ?? "start";
    this.tag("text", { x: SvgPen.number(x), y: SvgPen.number(y), fill: this.fillStyle, "font-size": size ?? 12, "font-weight": weight ?? "normal", "text-anchor": anchor, "dominant-baseline": "central" },
      text.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`));
  }

  static number(n) {
    return Math.round(n * 100) / 100;
  }

  toString() {
    const [width, height] = this.size;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Liberation Sans, Arial, Helvetica, sans-serif"><defs>${this.defs.join("")}</defs>${this.parts.join("\n")}</svg>\n`;
  }
}

// svgOf draws the diagram of an explorer, as it is shown, as SVG.
function svgOf(explorer) {
  const { diagram } = explorer;
  const pen = new SvgPen(diagram.width, diagram.height);
  const scene = diagram.scene;
  diagram.scene = { width: 0, height: 0, style: {}, getContext: () => pen };
  try {
    diagram.draw();
  } finally {
    diagram.scene = scene;
    explorer.redraw();
  }
  return pen.toString();
}
