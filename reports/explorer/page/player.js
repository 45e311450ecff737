// A Player moves the cursor from event to event, or through time at a constant speed on the axis, so that bursts are slow and gaps short.
// The constant is how many milliseconds it takes to cross the view.
const crossing = 14000;

class Player {
  constructor(axis, moved) {
    this.axis = axis;
    this.moved = moved;
    this.rows = [];
    this.n = 0; // the row of the cursor
    this.t = 0;
    this.playing = false;
  }

  // use changes the rows, and keeps the cursor as close as possible to where it was.
  use(rows, keep) {
    this.rows = rows;
    const same = rows.findIndex((r) => r.run === keep?.run && r.event === keep?.event);
    this.n = same >= 0 ? same : Math.max(0, after(rows, this.t, (r) => r.at) - 1);
  }

  go(n) {
    if (!this.rows.length) return;
    this.n = Math.min(this.rows.length - 1, Math.max(0, n));
    this.t = this.rows[this.n].at;
    this.moved();
  }

  // goTo moves to an instant, and the last event by then.
  goTo(t) {
    this.t = t;
    this.n = Math.max(0, after(this.rows, t, (r) => r.at) - 1);
    this.moved();
  }

  toggle() {
    if (this.playing) return this.stop();
    if (this.n >= this.rows.length - 1) this.go(0);
    this.playing = true;
    this.moved();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.timer = setInterval(() => this.tick(), 1000);
    else this.frame(performance.now(), performance.now());
  }

  stop() {
    this.playing = false;
    clearInterval(this.timer);
    cancelAnimationFrame(this.request);
    this.moved();
  }

  // tick is one step for readers who prefer reduced motion.
  tick() {
    if (this.n >= this.rows.length - 1) return this.stop();
    this.go(this.n + 1);
  }

  frame(last, now) {
    if (!this.playing) return;
    const place = this.axis.place(this.t) + ((this.axis.to - this.axis.from) * Math.min(100, Math.max(0, now - last))) / crossing;
    const end = this.rows.at(-1).at;
    if (place >= this.axis.place(end)) {
      this.go(this.rows.length - 1);
      return this.stop();
    }
    this.goTo(this.axis.time(place));
    this.request = requestAnimationFrame((next) => this.frame(now, next));
  }
}
