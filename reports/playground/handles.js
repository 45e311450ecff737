// Handles are knobs in a figure, with which a reader moves a fault, or the end of a pause, along the time. While one is moved, the text
// follows; when it comes to rest, the run is played again.
class Handles {
  constructor(explorer, handles, moved, rested) {
    Object.assign(this, { explorer, moved, rested });
    this.picture = explorer.find("picture");
    this.knobs = handles.map((h) => this.knob(h));
    this.picture.append(...this.knobs.map((k) => k.element));
    explorer.drawn = () => this.place();
    this.place();
  }

  knob(handle) {
    const element = make("button", {
      type: "button", class: "knob", role: "slider", "aria-orientation": "horizontal", "aria-label": handle.what, "aria-valuemin": handle.least, title: `${handle.what}: drag it, or use the arrow keys`,
    });
    const k = { handle, element, value: handle.value };
    this.say(k);
    element.addEventListener("pointerdown", (e) => {
      e.preventDefault();
      element.focus({ preventScroll: true });
      element.setPointerCapture(e.pointerId);
      k.grip = e.clientX - element.getBoundingClientRect().left - element.offsetWidth / 2;
    });
    element.addEventListener("pointermove", (e) => {
      if (k.grip === undefined) return;
      const x = e.clientX - k.grip - this.picture.getBoundingClientRect().left;
      const { axis } = this.explorer;
      // Where the axis is not to scale, a pixel may be less than a step or a minute, so there a pixel is a step.
      const by = axis.toScale ? axis.at(x) - handle.at : Math.round(x - axis.x(handle.at)) * this.unit(handle.value);
      this.set(k, this.round(handle.value + by, handle.value));
    });
    for (const type of ["pointerup", "pointercancel"]) {
      element.addEventListener(type, () => {
        if (k.grip === undefined) return;
        k.grip = undefined;
        this.rest(k);
      });
    }
    element.addEventListener("keydown", (e) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (!step) return;
      e.preventDefault();
      e.stopPropagation();
      this.set(k, k.value + step * (e.shiftKey ? 1e9 : 1e8));
      clearTimeout(this.resting);
      this.resting = setTimeout(() => this.rest(k), 400);
    });
    return k;
  }

  // round drops digits that nobody can aim at.
  round(value, was) {
    const unit = this.unit(was);
    return Math.round(value / unit) * unit;
  }

  unit(was) {
    return was >= 2e9 ? 1e8 : was >= 1e8 ? 1e7 : 1e6;
  }

  // nth is the number of a knob among those of its line, and same the knob with that number in other handles.
  nth(handle) {
    return this.knobs.filter((k) => k.handle.line === handle.line).findIndex((k) => k.handle === handle);
  }

  same(line, n) {
    return this.knobs.filter((k) => k.handle.line === line)[n]?.element;
  }

  set(k, value) {
    k.value = Math.max(Math.min(value, k.handle.most || Infinity), k.handle.least);
    k.touched = true;
    this.say(k);
    this.place();
    this.moved(k.handle, this.line(k));
  }

  rest(k) {
    if (!k.touched) return;
    k.touched = false;
    this.rested(k.handle, this.line(k));
  }

  say(k) {
    k.element.setAttribute("aria-valuenow", k.value);
    k.element.setAttribute("aria-valuetext", duration(k.value));
    k.element.dataset.value = duration(k.value);
  }

  line(k) {
    return k.handle.text.replace("%", () => duration(k.value));
  }

  // place puts the knobs where they belong in the last run of the figure.
  place() {
    const { axis, diagram } = this.explorer;
    const box = diagram.boxes.at(-1);
    const taken = [];
    for (const { handle, element, value } of this.knobs) {
      const lane = box.lanes.find((l) => l?.lane.name === handle.lane) ?? box.lanes.find((l) => l?.lane.kind === "network") ?? box.lanes.find(Boolean);
      const x = axis.x(handle.at + value - handle.value);
      element.hidden = !lane || x < axis.left - 2 || x > axis.left + axis.width + 8 || this.explorer.runs.at(-1) !== box.run;
      if (element.hidden) continue;
      let y = lane.y + lane.height;
      while (taken.some(([a, b]) => Math.abs(a - x) < 14 && Math.abs(b - y) < 8)) y -= 10; // one above the other
      taken.push([x, y]);
      element.style.left = `${x}px`;
      element.style.top = `${y}px`;
    }
  }
}

// duration writes a time as scenario files do.
function duration(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) if (ns % size === 0) return `${ns / size}${unit}`;
  return `${ns}ns`;
}
