// An Axis maps instants to places. A run has bursts of a few milliseconds, and seconds in which nothing happens; drawn to scale, a burst
// is a single line. So the width of the interval between two neighbouring instants grows with the logarithm of its length, unless the
// reader asks for the true scale. A place is a number from 0 to 1.
const shortest = 1e5; // ns: the unit of that logarithm, about how far apart the messages of a burst lie
const longGap = 1e8; // ns: the shortest interval in which the axis is drawn broken

class Axis {
  constructor(instants, end) {
    this.instants = [...new Set([0, ...instants, Math.max(end, 1)])].filter((t) => t >= 0 && t <= Math.max(end, 1)).sort((a, b) => a - b);
    this.end = this.instants.at(-1);
    this.places = [0];
    for (let i = 1; i < this.instants.length; i++) {
      this.places.push(this.places[i - 1] + Math.log2(1 + (this.instants[i] - this.instants[i - 1]) / shortest));
    }
    const total = this.places.at(-1);
    this.places = this.places.map((p) => p / total);
    this.toScale = false;
    this.left = this.width = 0; // of the picture, in pixels
    this.from = 0; // the places between which the axis is shown
    this.to = 1;
  }

  place(t) {
    if (this.toScale) return t / this.end;
    return between(this.instants, this.places, t);
  }

  time(place) {
    if (this.toScale) return place * this.end;
    return between(this.places, this.instants, place);
  }

  x(t) {
    return this.left + ((this.place(t) - this.from) / (this.to - this.from)) * this.width;
  }

  at(x) {
    return this.time(Math.min(1, Math.max(0, this.from + ((x - this.left) / this.width) * (this.to - this.from))));
  }

  // show shows the part between two places, with a margin, and never so little that nothing can be distinguished.
  show(from, to) {
    const least = this.toScale ? 5e4 / this.end : 4 / Math.max(4, this.instants.length);
    const width = Math.min(1.06, Math.max(to - from, least));
    const middle = Math.min(1.03 - width / 2, Math.max(width / 2 - 0.03, (from + to) / 2));
    this.from = middle - width / 2;
    this.to = middle + width / 2;
  }

  showTimes(from, to) {
    const a = this.place(from);
    const b = this.place(to);
    const margin = 0.03 * Math.max(b - a, 1e-9);
    this.show(a - margin, b + margin);
  }

  zoom(factor, x = this.left + this.width / 2) {
    const share = (x - this.left) / this.width;
    const place = this.from + share * (this.to - this.from);
    const width = (this.to - this.from) / factor;
    this.show(place - share * width, place + (1 - share) * width);
  }

  pan(pixels) {
    const by = (pixels / this.width) * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }

  // reveal moves the picture if an instant is outside it.
  reveal(t) {
    const p = this.place(t);
    const width = this.to - this.from;
    if (p >= this.from + width * 0.02 && p <= this.to - width * 0.02) return false;
    this.show(p - width * 0.3, p + width * 0.7);
    return true;
  }

  setScale(toScale) {
    const [from, to] = [this.time(this.from), this.time(this.to)];
    this.toScale = toScale;
    this.show(this.place(from), this.place(to));
  }

  // gaps are the intervals that are drawn much shorter than they are.
  gaps() {
    const found = [];
    for (let i = 1; !this.toScale && i < this.instants.length; i++) {
      const [from, to] = [this.instants[i - 1], this.instants[i]];
      if (to - from >= longGap) found.push({ from, to });
    }
    return found;
  }

  // round returns round times for an axis to scale, about the given number of pixels apart.
  round(pixels) {
    const [from, to] = [this.at(this.left), this.at(this.left + this.width)];
    let step = 1e3;
    for (let i = 0; (step * this.width) / (to - from) < pixels && i < 60; i++) step *= i % 3 === 1 ? 2.5 : 2;
    const times = [];
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) times.push(t);
    return times;
  }
}

// between interpolates linearly: ys are the values at ascending xs.
function between(xs, ys, x) {
  const i = after(xs, x);
  if (i === 0) return ys[0];
  if (i === xs.length) return ys[i - 1];
  return ys[i - 1] + ((x - xs[i - 1]) / (xs[i] - xs[i - 1])) * (ys[i] - ys[i - 1]);
}

// after returns the index of the first of ascending xs that is greater than x.
function after(xs, x, of = (v) => v) {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(xs[middle]) > x) high = middle;
    else low = middle + 1;
  }
  return low;
}
