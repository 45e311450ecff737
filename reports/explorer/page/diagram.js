// A Diagram draws runs below each other on one axis: a lane for each process with its leases or keys, the messages between the lanes, and
// how far clocks are off. What changes with the cursor is on a separate canvas above it.
const row = 22; // a bar and the gap below it
const bar = 18;
const line = 15; // a row of labels
const crowded = 400; // more messages or marks are drawn faintly, so that their density can be seen instead of each of them
const tearsMost = 16; // only this many of the longest gaps are marked
const arrowsMost = 2500; // more messages are drawn as lines without heads

class Diagram extends Pen {
  constructor(picture, axis) {
    super(picture);
    this.picture = picture;
    this.scene = picture.querySelector(".scene");
    this.over = picture.querySelector(".cursor");
    this.axis = axis;
    this.hidden = false; // whether the lane of the probe is hidden
  }

  // layout gives each lane its place. The heights do not depend on what is in view, so that nothing moves in a zoom.
  layout(runs) {
    const width = Math.max(260, this.picture.clientWidth);
    const narrow = width < 560;
    this.font = narrow ? 11 : 12;
    const names = runs.flatMap((r) => r.lanes.map((l) => l.name));
    this.pen(this.scene, width, 10);
    this.write.font = this.type("bold", 13);
    const gutter = Math.min(narrow ? 92 : 150, Math.max(44, ...names.map((n) => this.write.measureText(n).width + 30)));
    this.axis.left = gutter;
    this.axis.width = width - gutter - 8;
    this.boxes = [];
    let y = 4;
    for (const run of runs) {
      const head = runs.length > 1 ? 26 : 0;
      const top = y;
      y += head;
      const calls = run.callouts.map((c) => ({ ...c, lines: this.wrapped(c.text, Math.min(this.axis.width - 20, 520)) }));
      for (const c of calls) {
        c.y = y;
        y += c.lines.length * line + 8;
      }
      const lanes = [];
      run.lanes.forEach((lane, n) => {
        if (this.hidden && lane.probe) return;
        const labels = this.labelRows(run, lane, narrow);
        const height = labels * line + lane.rows * row + 8;
        lanes[n] = { lane, top: y, labels, y: y + labels * line + 2, height: lane.rows * row - (row - bar), bottom: y + height };
        y += height;
      });
      const clocks = run.clocks.map((clock) => {
        const strip = { clock, y: y + 4, height: 30 };
        y += 38;
        return strip;
      });
      this.boxes.push({ run, top, head, calls, lanes, clocks, bottom: y });
      y += runs.length > 1 ? 14 : 4;
    }
    this.bottom = y;
    this.width = width;
    this.height = y + 40;
    this.picture.style.height = `${this.height}px`;
  }

  labelRows(run, lane, narrow) {
    const texts = lane.marks.filter((m) => m.text).length + (lane.kind === "network" ? 0 : lane.still.length);
    if (!texts) return 0;
    if (lane.kind === "client") return 2;
    if (lane.kind === "resource") return Math.min(texts, 2);
    return texts > 1 && lane.kind === "node" && !narrow && run.lanes.length <= 6 ? 2 : 1;
  }

  draw() {
    this.pen(this.scene, this.width, this.height);
    this.drawScene();
  }

  drawScene() {
    this.colours();
    const c = this.write;
    c.fillStyle = this.ink.paper;
    c.fillRect(0, 0, this.width, this.height);
    for (const box of this.boxes) this.drawGround(box);
    c.save();
    c.beginPath();
    c.rect(this.axis.left, 0, this.axis.width + 8, this.bottom);
    c.clip();
    for (const box of this.boxes) this.drawStory(box);
    c.restore();
    this.drawAxis();
  }

  // drawWhole draws everything except the cursor on something that has the methods of a canvas.
  drawWhole(c) {
    this.write = c;
    this.drawScene();
    c.save();
    c.beginPath();
    c.rect(this.axis.left - 8, 0, this.axis.width + 16, this.height);
    c.clip();
    for (const box of this.boxes) this.drawBarTexts(box, -1, -1);
    c.restore();
    for (const box of this.boxes) this.drawCallouts(box);
  }

  drawGround(box) {
    const c = this.write;
    if (box.head) {
      c.fillStyle = this.ink.plate;
      c.fillRect(0, box.top, this.width, box.head - 4);
      c.fillStyle = this.ink.ink;
      c.font = this.type("bold", 13);
      const name = this.fit(`${box.run.letter}  ${box.run.name}`, this.width * 0.62);
      c.fillText(name, 8, box.top + 11);
      const from = 8 + c.measureText(name).width + 12;
      c.fillStyle = { SAFE: this.ink.green, UNSAFE: this.ink.red }[box.run.verdict] ?? this.ink.doubt;
      c.fillText(box.run.verdict, from, box.top + 11);
    }
    let kind = "";
    box.lanes.forEach(({ lane, top, y, height }) => {
      if (kind && lane.kind !== kind) this.stroke(this.ink.rule, 1, [[0, top], [this.width, top]]);
      kind = lane.kind;
      const middle = y + height / 2;
      if (lane.look >= 0) this.swatch(lane.look, 6, y, 10, bar);
      c.fillStyle = this.ink.ink;
      c.font = this.type("bold", 13);
      c.fillText(this.fit(lane.name, this.axis.left - 28), 22, lane.look >= 0 ? y + bar / 2 : middle);
    });
    for (const { clock, y, height } of box.clocks) {
      c.fillStyle = this.ink.ink;
      c.font = this.type("normal", 12);
      c.fillText(this.fit(clock.name, this.axis.left - 28), 22, y + 8);
      c.fillStyle = this.ink.soft;
      c.font = this.type("normal", 11);
      c.fillText("clock", 22, y + height - 7);
    }
  }

  drawStory(box) {
    const c = this.write;
    const x = (t) => this.axis.x(t);
    for (const { lane, top, bottom, y, height } of box.lanes.filter(Boolean)) {
      for (const s of lane.still) {
        const [from, to] = [x(s.from), Math.max(x(s.to), x(s.from) + 2)];
        c.fillStyle = this.ink.still;
        c.fillRect(from, top + 2, to - from, bottom - top - 4);
        this.stroke(this.ink.soft, 1, [[from, top + 2], [from, bottom - 2]], [[to, top + 2], [to, bottom - 2]]);
      }
      if (lane.kind !== "network") this.stroke(this.ink.faint, 1, [[this.axis.left, y + height / 2], [this.width, y + height / 2]]);
    }
    this.drawFlights(box, box.run.flights.filter((f) => !f.write && !f.proof && !f.quiet && f.fate === "deliver"), 0.5, 1);
    box.lanes.forEach((place, n) => this.drawBars(box.run, n, place));
    this.drawBands(box);
    this.drawFlights(box, box.run.flights.filter((f) => f.write || f.proof || f.fate !== "deliver"), 1, 2);
    this.drawGaps(box);
    box.lanes.forEach((place) => this.drawMarks(place));
    box.lanes.forEach((place) => this.drawLabels(place));
    for (const strip of box.clocks) this.drawClock(strip);
  }

  drawBars(run, n, { lane, y }) {
    const c = this.write;
    for (const b of lane.bars) {
      const [from, to] = [this.axis.x(b.from), Math.max(this.axis.x(b.to), this.axis.x(b.from) + 2)];
      if (to < this.axis.left || from > this.width) continue;
      const top = y + (b.row ?? 0) * row;
      const ink = this.look(b.look);
      switch (b.style) {
        case "holding":
        case "living":
          this.swatch(b.look, from, top, to - from, bar);
          break;
        case "copied":
          this.outline(ink, 1.2, from, top, to - from, bar, [2, 3]);
          break;
        case "stale":
          this.outline(ink, 1.6, from, top, to - from, bar, [6, 4]);
          break;
        case "asking":
          this.stroke(ink, 3, [[from, top + bar / 2], [to, top + bar / 2]], [[from, top + 3], [from, top + bar - 3]]);
          break;
        case "writing":
          this.stroke(ink, 3, [[from, top + bar], [to, top + bar]]);
          break;
        case "severed":
          c.fillStyle = this.pattern(-1);
          c.fillRect(from, top, to - from, bar);
          this.outline(this.ink.faint, 1, from, top, to - from, bar);
      }
    }
  }

  drawBands({ run, lanes }) {
    const c = this.write;
    for (const band of run.bands) {
      const ends = band.lanes.map((n) => lanes[n]).filter(Boolean);
      if (!ends.length) continue;
      const top = Math.min(...ends.map((l) => l.y)) - 3;
      const bottom = Math.max(...ends.map((l) => l.y + l.height)) + 3;
      const [from, to] = [this.axis.x(band.from), Math.max(this.axis.x(band.to), this.axis.x(band.from) + 2)];
      c.fillStyle = this.ink.redtint;
      c.fillRect(from, top, to - from, bottom - top);
      this.outline(this.ink.red, 2.5, from, top, to - from, bottom - top);
    }
  }

  // ends returns where a message leaves one lane and reaches another.
  ends({ lanes }, f) {
    const [from, to] = [lanes[f.from], lanes[f.to]];
    if (!from || !to) return null;
    const down = from.y < to.y;
    return {
      x0: this.axis.x(f.sent), y0: down ? from.y + from.height : from.y,
      x1: this.axis.x(f.at), y1: down ? to.y : to.y + to.height,
    };
  }

  drawFlights(box, flights, alpha, width) {
    const c = this.write;
    const seen = [];
    for (const f of flights) {
      const e = this.ends(box, f);
      if (e && Math.max(e.x0, e.x1) >= this.axis.left && Math.min(e.x0, e.x1) <= this.width) seen.push([f, e]);
    }
    const heads = seen.length <= arrowsMost;
    const crowd = Math.min(1, crowded / seen.length);
    for (const [f, e] of seen) {
      c.globalAlpha = f.proof ? 1 : alpha * Math.max(0.15, crowd);
      const ink = f.proof ? this.ink.red : this.look(f.look);
      const dashed = f.fate === "deliver" ? [] : [4, 3];
      if (f.fate === "drop") {
        const [x, y] = [e.x0 + (e.x1 - e.x0) * 0.6, e.y0 + (e.y1 - e.y0) * 0.6];
        this.stroke(ink, 1.5, dashed, [[e.x0, e.y0], [x, y]]);
        this.cross(ink, x, y, 4);
        continue;
      }
      this.stroke(ink, f.proof || crowd === 1 ? width : 1, dashed, [[e.x0, e.y0], [e.x1, e.y1]]);
      if (heads) this.head(ink, e, width > 1 ? 8 : 5, f.fate === "late");
    }
    c.globalAlpha = 1;
  }

  head(ink, { x0, y0, x1, y1 }, size, hollow) {
    const c = this.write;
    const angle = Math.atan2(y1 - y0, x1 - x0);
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x1 - size * Math.cos(angle - 0.35), y1 - size * Math.sin(angle - 0.35));
    c.lineTo(x1 - size * Math.cos(angle + 0.35), y1 - size * Math.sin(angle + 0.35));
    c.closePath();
    c.fillStyle = hollow ? this.ink.paper : ink;
    c.fill();
    if (hollow) {
      c.strokeStyle = ink;
      c.stroke();
    }
  }

  drawGaps(box) {
    const c = this.write;
    const middle = (g) => (this.axis.x(g.from) + this.axis.x(g.to)) / 2;
    const seen = this.axis.gaps().filter((g) => middle(g) > this.axis.left + 6 && middle(g) < this.width - 6 && this.axis.x(g.to) - this.axis.x(g.from) > 9);
    for (const g of seen.sort((a, b) => b.to - b.from - a.to + a.from).slice(0, tearsMost)) {
      const x = middle(g);
      for (const [width, ink] of [[5, this.ink.paper], [1, this.ink.faint]]) {
        for (const shift of width === 1 ? [-2.5, 2.5] : [0]) {
          c.beginPath();
          for (let y = box.top + box.head, k = 0; y <= box.bottom; y += 5, k++) c.lineTo(x + shift + (k % 2 ? 2 : -2), y);
          c.strokeStyle = ink;
          c.lineWidth = width;
          c.stroke();
        }
      }
    }
  }

  drawMarks({ lane, y }) {
    const c = this.write;
    const seen = this.seen(lane.marks);
    const last = {};
    for (const m of seen) {
      const x = this.axis.x(m.at);
      if (seen.length > crowded && !m.proof && x - (last[m.shape] ?? -9) < 6) continue;
      last[m.shape] = x;
      const top = y + (m.row ?? 0) * row;
      const middle = top + bar / 2;
      const ink = m.proof ? this.ink.red : this.look(m.look);
      switch (m.shape) {
        case "act": this.shape(ink, [[x - 4, top - 4], [x + 4, top - 4], [x, top + 3]]); break;
        case "granted": this.star(m.proof ? ink : this.ink.ink, x, middle, 8); break;
        case "lost": this.cross(m.proof ? ink : this.ink.ink, x, middle, 6); break;
        case "leapt": this.shape(m.proof ? ink : this.ink.ink, [[x, middle - 8], [x + 6, middle], [x, middle + 8], [x - 6, middle]]); break;
        case "crowned": this.shape(m.proof ? ink : this.ink.ink, [[x - 8, middle - 7], [x - 4, middle - 1], [x, middle - 8], [x + 4, middle - 1], [x + 8, middle - 7], [x + 7, middle + 7], [x - 7, middle + 7]]); break;
        case "accepted": this.disc(ink, x, middle, 7, true); break;
        case "rejected": this.disc(ink, x, middle, 7, false); this.cross(this.ink.ink, x, middle, 4); break;
        case "ticked": this.stroke(ink, 2, [[x, top], [x, top + bar]]); break;
        default: if (m.text || m.proof) this.stroke(m.proof ? ink : this.ink.soft, 1, [[x, top - 3], [x, top + 3]]);
      }
      if (m.proof) {
        c.beginPath();
        c.arc(x, middle, 11, 0, 7);
        c.strokeStyle = this.ink.red;
        c.lineWidth = 2.5;
        c.stroke();
      }
    }
  }

  // seen returns the marks in view.
  seen(marks) {
    return marks.filter((m) => {
      const x = this.axis.x(m.at);
      return x >= this.axis.left - 10 && x <= this.width + 10;
    });
  }

  // drawLabels writes the labels of the marks of a lane where there is room, those with the greatest weight first.
  drawLabels({ lane, labels, top, bottom }) {
    const c = this.write;
    const taken = Array.from({ length: labels }, () => []);
    const free = (r, from, to) => taken[r].every(([a, b]) => to < a || from > b);
    const put = (text, x, ink, bold) => {
      c.font = this.type(bold ? "bold" : "normal");
      const width = c.measureText(text).width;
      for (let r = labels - 1; r >= 0; r--) {
        for (const left of [x + 4, x - width - 4, x - width / 2]) {
          if (left < this.axis.left + 2 || left + width > this.width - 2 || !free(r, left, left + width)) continue;
          taken[r].push([left - 8, left + width + 8]);
          const y = top + r * line + line / 2 + 1;
          c.globalAlpha = 0.8;
          c.fillStyle = this.ink.paper;
          c.fillRect(left - 2, y - 7, width + 4, 14);
          c.globalAlpha = 1;
          c.fillStyle = ink;
          c.fillText(text, left, y);
          return;
        }
      }
    };
    let marks = this.seen(lane.marks).filter((m) => m.text);
    if (marks.length > crowded / 5) marks = marks.filter((m) => m.proof);
    marks.sort((a, b) => b.weight - a.weight || a.at - b.at);
    for (const s of lane.still) {
      const [from, to] = [Math.max(this.axis.x(s.from), this.axis.left), Math.min(this.axis.x(s.to), this.width)];
      if (from < to) put(s.text, from, this.ink.ink, true);
    }
    for (const m of marks) put(m.text, this.axis.x(m.at), m.proof ? this.ink.red : this.ink.ink, m.proof);
  }

  drawCallouts({ run, calls, lanes }) {
    const c = this.write;
    c.font = this.type("bold", 12);
    for (const call of calls) {
      const x = this.axis.x(call.at);
      const inside = x >= this.axis.left && x <= this.width;
      const width = Math.max(...call.lines.map((l) => c.measureText(l).width)) + 12;
      const left = Math.min(Math.max(this.axis.left + 2, x - 14), this.width - width - 4);
      const height = call.lines.length * line + 3;
      const place = lanes[call.lane];
      if (inside && place) {
        c.globalAlpha = 0.55;
        this.stroke(this.ink.red, 1.2, [2, 3], [[x, call.y + height], [x, place.y - 2]]);
        c.globalAlpha = 1;
      }
      c.fillStyle = this.ink.paper;
      c.fillRect(left, call.y, width, height);
      this.outline(this.ink.red, 1.6, left, call.y, width, height);
      c.fillStyle = this.ink.red;
      c.font = this.type("bold", 12);
      call.lines.forEach((text, n) => c.fillText(text, left + 6, call.y + n * line + line / 2 + 2));
    }
  }

  drawClock({ clock, y, height }) {
    const c = this.write;
    const points = [...clock.steady, ...clock.wall].map((p) => p.offset);
    const [low, high] = [Math.min(0, ...points), Math.max(0, ...points)];
    const at = (offset) => y + height - 3 - ((offset - low) / (high - low || 1)) * (height - 6);
    c.fillStyle = this.ink.plate;
    c.fillRect(this.axis.left, y, this.axis.width + 8, height);
    this.stroke(this.ink.faint, 1, [2, 2], [[this.axis.left, at(0)], [this.width, at(0)]]);
    const trace = (list) => {
      const first = { at: 0, offset: list[0].offset };
      return [first, ...list].map((p) => [this.axis.x(p.at), at(p.offset)]);
    };
    if (clock.wall.some((p) => p.offset)) this.stroke(this.ink.ink, 1.8, trace(clock.wall));
    if (clock.steady.some((p) => p.offset)) this.stroke(this.ink.accent, 1.8, [5, 3], trace(clock.steady));
  }

  drawAxis() {
    const c = this.write;
    const y = this.bottom;
    c.save();
    c.beginPath();
    c.rect(this.axis.left - 30, y - 2, this.width - this.axis.left + 30, 40);
    c.clip();
    this.stroke(this.ink.soft, 1, [[this.axis.left, y], [this.width, y]]);
    c.font = this.type("normal", 11);
    const taken = this.taken = []; // the parts of the axis with labels
    const put = (t, text, ink) => {
      const x = this.axis.x(t);
      const half = c.measureText(text).width / 2 + 5;
      if (x - half < this.axis.left - 30 || x + half > this.width + 2 || taken.some(([a, b]) => x + half > a && x - half < b)) return;
      taken.push([x - half, x + half]);
      c.fillStyle = ink;
      c.fillText(text, x - half + 5, y + 16);
    };
    if (this.axis.toScale) {
      const times = this.axis.round(this.font * 7);
      const digits = times.length > 1 ? Math.max(0, Math.min(6, Math.ceil(-Math.log10((times[1] - times[0]) / 1e9) + 0.01))) : 3;
      for (const t of times) {
        this.stroke(this.ink.soft, 1, [[this.axis.x(t), y], [this.axis.x(t), y + 6]]);
        put(t, `${(t / 1e9).toFixed(digits)}s`, this.ink.ink);
      }
    } else {
      let last = -9;
      for (const t of this.axis.instants) {
        const x = this.axis.x(t);
        if (x < this.axis.left || x > this.width || x - last < 3) continue;
        last = x;
        this.stroke(this.ink.soft, 1, [[x, y], [x, y + 4]]);
      }
      const told = this.boxes.flatMap((b) => b.run.lanes.flatMap((l) => l.marks.filter((m) => m.text || m.proof)));
      told.sort((a, b) => b.proof - a.proof || b.weight - a.weight || a.at - b.at);
      for (const m of told.filter((m) => m.proof || told.length < crowded)) put(m.at, seconds(m.at), this.ink.ink);
      for (let x = this.axis.left + 20; told.length >= crowded && x < this.width; x += 80) put(this.axis.at(x), seconds(this.axis.at(x)), this.ink.ink);
      for (const g of this.axis.gaps()) {
        const [from, to] = [this.axis.x(g.from), this.axis.x(g.to)];
        const text = `+${span(g.to - g.from)}`;
        if (to - from > c.measureText(text).width + 6 && from >= this.axis.left && to <= this.width) {
          c.fillStyle = this.ink.soft;
          c.fillText(text, (from + to - c.measureText(text).width) / 2, y + 30);
        }
      }
    }
    c.restore();
  }

  // drawCursor draws what depends on the cursor: its place, messages under way, the time left, and the events of a sentence.
  drawCursor(cursor) {
    const c = this.pen(this.over, this.width, this.height);
    const x = this.axis.x(cursor.t);
    c.save();
    c.beginPath();
    c.rect(this.axis.left - 8, 0, this.axis.width + 16, this.height);
    c.clip();
    for (const box of this.boxes) {
      for (const event of cursor.meant(box.run)) this.ring(box, event, this.ink.accent);
      if (cursor.run === box.run) this.ring(box, cursor.event, this.ink.accent, 2.5);
      for (const f of box.run.flights) {
        if (f.sent >= cursor.t || f.at <= cursor.t || f.quiet) continue;
        const e = this.ends(box, f);
        if (!e || f.fate === "drop" && cursor.t > f.sent + (f.at - f.sent) * 0.6) continue;
        const share = (x - e.x0) / (e.x1 - e.x0 || 1);
        this.disc(this.look(f.look), x, e.y0 + (e.y1 - e.y0) * share, 4.5, true);
      }
    }
    this.stroke(this.ink.accent, 1.5, [[x, 2], [x, this.bottom + 6]]);
    for (const box of this.boxes) this.drawBarTexts(box, cursor.t, x);
    c.restore();
    for (const box of this.boxes) this.drawCallouts(box);
    if (x < this.axis.left - 1 || x > this.width + 1) return;
    for (const box of this.boxes) this.drawOffsets(box, cursor.t, x);
    this.tag(seconds(cursor.t), x, this.bottom + 16, true);
  }

  // drawBarTexts writes the text of each bar, and at the cursor the time left.
  drawBarTexts({ run, lanes }, t, x) {
    lanes.forEach(({ lane, y }, n) => {
      for (const b of lane.bars) {
        const from = Math.max(this.axis.x(b.from), this.axis.left);
        const to = Math.min(this.axis.x(b.to), this.width);
        const middle = y + (b.row ?? 0) * row + bar / 2;
        const left = b.from <= t && t < b.to ? run.left(n, b, t) : undefined;
        let rooms = [[from, to]];
        if (left !== undefined && left !== Infinity && x >= this.axis.left && x <= this.width) {
          const tag = this.tag(left > 0 ? `${span(left)} left` : "over", x, middle);
          rooms = [[from, Math.min(x, tag[0]) - 2], [tag[1] + 2, to]];
        }
        if (b.text && to - from > 20) this.plate([b.text, b.short], rooms, middle, b.style !== "stale" && b.style !== "copied");
      }
    });
  }

  // plate writes the first of some texts that fits between two ends, at the place with the most room.
  plate(texts, rooms, y, bold) {
    const c = this.write;
    const [from, to] = rooms.sort((a, b) => b[1] - b[0] - a[1] + a[0])[0];
    c.font = this.type(bold ? "bold" : "normal");
    for (const text of texts) {
      if (!text) continue;
      const width = c.measureText(text).width + 8;
      if (width + 4 > to - from) continue;
      const left = (from + to - width) / 2;
      c.globalAlpha = 0.92;
      c.fillStyle = this.ink.paper;
      c.fillRect(left, y - 7.5, width, 15);
      c.globalAlpha = 1;
      c.fillStyle = this.ink.ink;
      c.fillText(text, left + 4, y + 0.5);
      return;
    }
  }

  drawOffsets({ clocks }, t, x) {
    for (const { clock, y, height } of clocks) {
      const [steady, wall] = [offset(clock.steady, t), offset(clock.wall, t)];
      const text = steady === wall || !steady ? signed(wall) : wall ? `wall ${signed(wall)}, steady ${signed(steady)}` : `steady ${signed(steady)}`;
      this.tag(steady || wall ? text : "right", x, y + height / 2);
    }
  }

  // tag writes beside the cursor, or below it, and returns where the text begins and ends.
  tag(text, x, y, below) {
    const c = this.write;
    c.font = this.type("bold", 11);
    const width = c.measureText(text).width + 8;
    let left = x + 5;
    if (below) left = Math.min(Math.max(2, x - width / 2), this.width - width - 2);
    else if (left + width > this.width) left = x - 5 - width;
    c.fillStyle = this.ink.paper; // other times would be covered in part, so they are erased
    if (below) for (const [a, b] of this.taken) if (a < left + width && b > left) c.fillRect(a, y - 8, b - a, 16);
    c.fillStyle = below ? this.ink.accent : this.ink.paper;
    c.fillRect(left, y - 8, width, 16);
    this.outline(this.ink.accent, 1, left, y - 8, width, 16);
    c.fillStyle = below ? this.ink.paper : this.ink.ink;
    c.fillText(text, left + 4, y + 0.5);
    return [left, left + width];
  }

  // spot is the place of an event in the picture.
  spot(box, event) {
    const n = box.run.where(event);
    const place = box.lanes[n];
    if (!place) return null;
    const mark = box.run.marked.get(event)?.mark;
    return { x: this.axis.x(box.run.events[event].at), y: place.y + (mark?.row ?? 0) * row + bar / 2 };
  }

  ring(box, event, ink, width = 1.8) {
    const c = this.write;
    const flight = box.run.flightOf.get(event);
    const e = flight && this.ends(box, flight);
    if (e) {
      c.globalAlpha = 0.25;
      this.stroke(ink, 7, [[e.x0, e.y0], [e.x1, e.y1]]);
      c.globalAlpha = 1;
    }
    const spot = this.spot(box, event);
    if (!spot) return;
    c.beginPath();
    c.arc(spot.x, spot.y, 12, 0, 7);
    c.strokeStyle = ink;
    c.lineWidth = width;
    c.stroke();
  }

  // find returns what is drawn at a point: a mark before a message, a message before a bar.
  find(px, py) {
    for (const box of this.boxes) {
      if (py < box.top || py > box.bottom || px < this.axis.left) continue;
      let [best, found] = [10, null];
      box.lanes.forEach(({ lane, y }) => {
        for (const m of lane.marks) {
          const d = Math.hypot(this.axis.x(m.at) - px, y + (m.row ?? 0) * row + bar / 2 - py);
          if (d < best) [best, found] = [d, { run: box.run, event: m.event, mark: m }];
        }
      });
      if (found) return found;
      best = 6;
      for (const f of box.run.flights) {
        if (f.quiet) continue;
        const e = this.ends(box, f);
        if (!e) continue;
        const d = distance(px, py, e);
        if (d < best) [best, found] = [d, { run: box.run, event: f.event, flight: f }];
      }
      if (found) return found;
      for (const [n, place] of box.lanes.entries()) {
        if (!place || py < place.top || py > place.bottom) continue;
        for (const b of place.lane.bars.toReversed()) {
          const top = place.y + (b.row ?? 0) * row;
          if (py >= top - 2 && py <= top + bar + 2 && px >= this.axis.x(b.from) && px <= this.axis.x(b.to)) return { run: box.run, lane: n, bar: b };
        }
        for (const s of place.lane.still) {
          if (px >= this.axis.x(s.from) && px <= this.axis.x(s.to)) return { run: box.run, lane: n, still: s };
        }
      }
    }
    return null;
  }
}

// distance is how far a point is from a line segment.
function distance(px, py, { x0, y0, x1, y1 }) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const share = Math.max(0, Math.min(1, ((px - x0) * dx + (py - y0) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(px - x0 - share * dx, py - y0 - share * dy);
}
