// A Pen draws in the colours of the theme and the looks of clients.
class Pen {
  constructor(element) {
    this.element = element; // its style has the colours
  }

  // pen readies a canvas for a size in pixels of the page.
  pen(canvas, width, height) {
    const ratio = window.devicePixelRatio ?? 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
    }
    this.write = canvas.getContext("2d");
    this.write.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.write.clearRect(0, 0, width, height);
    this.write.textBaseline = "middle";
    return this.write;
  }

  type(weight, size = this.font) {
    return `${weight} ${size}px "Liberation Sans", Arial, Helvetica, sans-serif`;
  }

  // colours reads the colours of the theme.
  colours() {
    const style = getComputedStyle(this.element);
    const get = (name) => style.getPropertyValue(`--${name}`).trim();
    this.ink = Object.fromEntries(["paper", "ink", "soft", "rule", "faint", "still", "red", "redtint", "green", "doubt", "accent", "plate"].map((n) => [n, get(n)]));
    this.looks = [0, 1, 2, 3, 4, 5].map((n) => get(`look${n}`));
    this.tints = [0, 1, 2, 3, 4, 5].map((n) => get(`tint${n}`));
    this.patterns = new Map();
  }

  look(n) {
    return n < 0 ? this.ink.soft : this.looks[n % this.looks.length];
  }

  stroke(ink, width, ...lines) {
    const c = this.write;
    const dashed = typeof lines[0]?.[0] === "number" || lines[0]?.length === 0 ? lines.shift() : [];
    c.strokeStyle = ink;
    c.lineWidth = width;
    c.setLineDash(dashed);
    c.beginPath();
    for (const points of lines) points.forEach(([x, y], n) => (n ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.stroke();
    c.setLineDash([]);
  }

  outline(ink, width, x, y, w, h, dashed = []) {
    const c = this.write;
    c.strokeStyle = ink;
    c.lineWidth = width;
    c.setLineDash(dashed);
    c.strokeRect(x, y, w, h);
    c.setLineDash([]);
  }

  shape(ink, points) {
    const c = this.write;
    c.beginPath();
    points.forEach(([x, y], n) => (n ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.closePath();
    c.fillStyle = ink;
    c.fill();
  }

  star(ink, x, y, size) {
    const points = [];
    for (let n = 0; n < 10; n++) {
      const r = n % 2 ? size * 0.42 : size;
      points.push([x + r * Math.sin((n * Math.PI) / 5), y - r * Math.cos((n * Math.PI) / 5)]);
    }
    this.shape(ink, points);
  }

  cross(ink, x, y, size) {
    this.stroke(ink, 2.5, [[x - size, y - size], [x + size, y + size]], [[x - size, y + size], [x + size, y - size]]);
  }

  disc(ink, x, y, size, full) {
    const c = this.write;
    c.beginPath();
    c.arc(x, y, size, 0, 7);
    c.fillStyle = full ? ink : this.ink.paper;
    c.fill();
    c.strokeStyle = full ? this.ink.paper : ink;
    c.lineWidth = full ? 1 : 2;
    c.stroke();
  }

  // swatch fills a box in the look of a client.
  swatch(n, x, y, w, h) {
    const c = this.write;
    c.fillStyle = n < 0 ? this.ink.plate : this.tints[n % this.tints.length];
    c.fillRect(x, y, w, h);
    c.fillStyle = this.pattern(n);
    c.fillRect(x, y, w, h);
    this.outline(this.look(n), 1.4, x, y, w, h);
  }

  // pattern makes the hatch of a client: pictures are printed in black and white, and one reader in twenty cannot tell some
  // colours apart. -1 is the hatch of a link that is cut.
  pattern(n) {
    if (this.patterns.has(n)) return this.patterns.get(n);
    const made = this.write.hatched?.((c) => this.hatch(n, c)) ?? this.tiled(n);
    this.patterns.set(n, made);
    return made;
  }

  tiled(n) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = Math.round(8 * this.write.getTransform().a);
    const c = tile.getContext("2d");
    c.scale(tile.width / 8, tile.width / 8);
    this.hatch(n, c);
    const made = this.write.createPattern(tile, "repeat");
    made.setTransform(new DOMMatrix().scale(8 / tile.width));
    return made;
  }

  // hatch draws a tile of a pattern, which is 8 wide and high.
  hatch(n, c) {
    c.strokeStyle = c.fillStyle = n < 0 ? this.ink.rule : this.look(n);
    c.globalAlpha = n < 0 ? 1 : 0.6;
    c.lineWidth = 1.2;
    const lines = (...all) => {
      c.beginPath();
      for (const [x0, y0, x1, y1] of all) {
        c.moveTo(x0, y0);
        c.lineTo(x1, y1);
      }
      c.stroke();
    };
    switch (n < 0 ? 3 : (n + Math.floor(n / this.looks.length)) % this.looks.length) {
      case 0: lines([-1, 9, 9, -1], [-1, 1, 1, -1], [7, 9, 9, 7]); break;
      case 1: for (const [x, y] of [[2, 2], [6, 6]]) c.fillRect(x - 0.9, y - 0.9, 1.8, 1.8); break;
      case 2: lines([2, 0, 2, 8], [6, 0, 6, 8]); break;
      case 3: lines([-1, -1, 9, 9], [7, -1, 9, 1], [-1, 7, 1, 9]); break;
      case 4: lines([0, 2, 8, 2], [0, 6, 8, 6]); break;
      default: lines([-1, 9, 9, -1], [-1, -1, 9, 9]);
    }
  }

  fit(text, width) {
    const c = this.write;
    if (c.measureText(text).width <= width) return text;
    let n = text.length;
    while (n > 1 && c.measureText(`${text.slice(0, n)}…`).width > width) n--;
    return `${text.slice(0, n)}…`;
  }

  // wrapped breaks a text into at most three lines.
  wrapped(text, width) {
    const c = this.write;
    c.font = this.type("bold", 12);
    const lines = [""];
    for (const word of text.split(" ")) {
      const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
      if (c.measureText(longer).width <= width || !lines.at(-1)) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    if (lines.length > 3) lines.splice(2, lines.length, lines.slice(2).join(" "));
    return lines.map((l) => this.fit(l, width));
  }
}
