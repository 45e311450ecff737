// An Explorer is one figure: its runs, the diagram and the panels, and one cursor for all of them.
class Explorer {
  constructor(root, number, data = JSON.parse(root.querySelector("script[type='application/json']").textContent)) {
    this.root = root;
    this.first = number === 1;
    root.classList.add("live"); // shows the controls that need the script
    const find = (name) => root.querySelector(`:scope .${name}`);
    this.find = find;
    this.all = data.runs.map((d, n) => new Run(d, String.fromCharCode(65 + n)));
    this.runs = this.all;
    this.messages = false;
    this.axis = new Axis(this.all.flatMap((r) => r.instants()), Math.max(...this.all.map((r) => r.end)));
    this.diagram = new Diagram(find("picture"), this.axis);
    this.why = new WhyPanel(find("why"), (run, event, said) => this.choose(run, event, said));
    this.now = new NowPanel(find("now"));
    this.list = new List(find("rows"), (row) => this.choose(row.run, row.event), `lockstep-${number}`);
    this.player = new Player(this.axis, () => this.moved());
    this.said = null; // the sentence whose events are marked

    this.makeChoices();
    for (const b of root.querySelectorAll("[data-do]")) b.addEventListener("click", () => this.act(b.dataset.do));
    if (!this.all.some((r) => r.violations.length)) this.button("violation").hidden = true;
    this.listen();
    this.show(this.all);
    this.act("fit");
    this.player.go(0);
  }

  button(name) {
    return this.root.querySelector(`[data-do=${name}]`);
  }

  makeChoices() {
    if (this.all.length < 2) return;
    const choices = [...this.all.map((r) => [r.letter, [r]]), ["Both", this.all]];
    this.choices = choices.map(([name, runs]) => ({ runs, button: make("button", { type: "button", "data-run": name, on: { click: () => this.show(runs) } }, name) }));
    this.find("which").append(...this.choices.map((c) => c.button));
  }

  // show shows some of the runs.
  show(runs) {
    this.runs = runs;
    this.root.querySelectorAll(".drawn").forEach((picture, n) => (picture.hidden = !runs.includes(this.all[n])));
    for (const c of this.choices ?? []) c.button.setAttribute("aria-pressed", String(c.runs === runs));
    this.why.fill(runs);
    this.fillRows();
    this.layout();
    this.moved();
  }

  fillRows() {
    const level = this.messages ? 2 : 0;
    const rows = this.runs.flatMap((run) => run.events.map((e, event) => ({ run, event, at: e.at, level: e.proof ? 0 : e.level ?? 0 })))
      .filter((r) => r.level <= level);
    rows.sort((a, b) => a.at - b.at || a.run.letter.localeCompare(b.run.letter) || a.event - b.event);
    const before = this.player.rows[this.player.n];
    this.list.fill(rows, this.runs.length > 1);
    this.player.use(rows, before);
    this.find("cursor").setAttribute("aria-valuemax", rows.length);
  }

  layout() {
    this.diagram.hidden = !this.beyond();
    this.diagram.layout(this.runs);
    this.diagram.draw();
    this.drawn?.();
    this.find("legend").textContent = legend(this.runs, this.axis.toScale);
  }

  // beyond says whether the end of the run, after the story, is shown: everything heals, and a probe asks for the lock.
  beyond() {
    const storyEnd = this.storyEnd();
    return this.player.t > storyEnd || this.axis.to > this.axis.place(storyEnd) + 0.06 * (this.axis.to - this.axis.from);
  }

  // storyEnd is when the story ends.
  storyEnd() {
    return Math.max(...this.runs.map((r) => r.storyEnd));
  }

  redraw() {
    if (this.diagram.hidden === this.beyond()) this.layout();
    else this.diagram.draw();
    this.diagram.drawCursor(this.cursor());
    this.drawn?.();
  }

  cursor() {
    const row = this.player.rows[this.player.n];
    return {
      t: this.player.t, run: row?.run, event: row?.event, said: this.said,
      meant: (run) => (this.said && this.saidOf === run ? this.said.events : []),
    };
  }

  moved() {
    const { playing, n, rows } = this.player;
    const cursor = this.cursor();
    const play = this.button("play");
    play.setAttribute("aria-pressed", String(playing));
    play.setAttribute("aria-label", playing ? "Stop" : "Play");
    if (this.axis.reveal(cursor.t) || this.diagram.hidden === this.beyond()) this.redraw();
    else this.diagram.drawCursor(cursor);
    if (!cursor.run) return;
    const e = cursor.run.events[cursor.event];
    if (this.shown !== rows[n] || this.shownSaid !== this.said) {
      this.shown = rows[n];
      this.shownSaid = this.said;
      this.list.mark(n, cursor);
      this.why.mark(cursor);
      const text = [this.runs.length > 1 ? `${cursor.run.letter} ` : "", seconds(e.at), " ", sentence(e)].join("");
      this.find("caption").replaceChildren(make("span", { class: "count" }, `${n + 1} of ${rows.length}`), make("bdi", { class: e.proof ? "proof" : "" }, text));
      this.find("caption").setAttribute("aria-live", playing ? "off" : "polite");
      this.find("cursor").setAttribute("aria-valuenow", n + 1);
      this.find("cursor").setAttribute("aria-valuetext", text);
    }
    this.now.show(cursor, this.runs);
    if (!playing) this.address(cursor);
  }

  // address writes the event at the cursor into the address of the page, so that a copied link leads back to it. It waits until the
  // cursor rests, because browsers limit the number of changes, and writes nothing before the reader has moved the cursor. Only the first
  // figure of a page has links.
  address({ run, event }) {
    const link = `#${run.letter}${event}`;
    if (link === this.addressed) return;
    const moved = this.addressed !== undefined;
    this.addressed = link;
    clearTimeout(this.addressing);
    if (moved && this.first) this.addressing = setTimeout(() => history.replaceState(null, "", link), 250);
  }

  // follow goes where a link leads: #A57 is the 58th event of the first run; #violation is the first violation.
  follow(link) {
    const [, letter, event] = /^#([A-Z])(\d+)$/.exec(link) ?? [];
    const run = this.all.find((r) => r.letter === letter);
    if (link === "#violation") this.act("violation");
    if (!run?.events[event]) return;
    if (!this.runs.includes(run)) this.show(this.all);
    this.choose(run, Number(event));
  }

  // choose moves the cursor to an event, and marks the events of a sentence if one is given.
  choose(run, event, said = null) {
    this.said = said;
    this.saidOf = run;
    let n = this.player.rows.findIndex((r) => r.run === run && r.event === event);
    if (n < 0 && (run.events[event].level ?? 0) > 0 && !this.messages) {
      this.act("messages");
      n = this.player.rows.findIndex((r) => r.run === run && r.event === event);
    }
    if (said) {
      const times = said.events.map((i) => run.events[i].at);
      const places = [Math.min(...times), Math.max(...times)].map((t) => this.axis.place(t));
      if (places[1] - places[0] < this.axis.to - this.axis.from && (places[0] < this.axis.from || places[1] > this.axis.to)) {
        this.axis.show((places[0] + places[1] - this.axis.to + this.axis.from) / 2, (places[0] + places[1] + this.axis.to - this.axis.from) / 2);
        this.redraw();
      }
    }
    if (n >= 0) this.player.go(n);
  }

  // act does what a button or a key asks for.
  act(name) {
    const p = this.player;
    if (["first", "last", "back", "on", "violation"].includes(name)) {
      if (p.playing) p.stop();
      this.said = null;
    }
    switch (name) {
      case "first": return p.go(0);
      case "last": return p.go(p.rows.length - 1);
      case "back": return p.go(p.n - 1);
      case "on": return p.go(p.n + 1);
      case "play": return p.toggle();
      case "violation": return this.nextViolation();
      case "in": this.axis.zoom(1.6, this.axis.x(p.t)); return this.redraw();
      case "out": this.axis.zoom(1 / 1.6, this.axis.x(p.t)); return this.redraw();
      case "fit": this.axis.showTimes(0, this.storyEnd()); return this.redraw();
      case "left": this.axis.pan(-this.axis.width / 6); return this.redraw();
      case "right": this.axis.pan(this.axis.width / 6); return this.redraw();
      case "scale": {
        const all = this.axis.time(this.axis.from) <= 0 && this.axis.time(this.axis.to) >= this.storyEnd();
        this.axis.setScale(!this.axis.toScale);
        this.button("scale").setAttribute("aria-pressed", String(this.axis.toScale));
        this.layout();
        return all ? this.act("fit") : this.redraw();
      }
      case "messages":
        this.messages = !this.messages;
        this.button("messages").setAttribute("aria-pressed", String(this.messages));
        this.fillRows();
        return this.moved();
      case "which": {
        const n = this.choices?.findIndex((c) => c.runs === this.runs);
        if (n !== undefined) this.show(this.choices[(n + 1) % this.choices.length].runs);
        return undefined;
      }
      case "theme": return setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
      case "help": return this.find("help").showModal();
    }
    return undefined;
  }

  nextViolation() {
    const { rows, n } = this.player;
    const places = this.runs.flatMap((run) => run.violations.map((v) => rows.findIndex((r) => r.run === run && r.event === v.event))).filter((i) => i >= 0).sort((a, b) => a - b);
    if (places.length) this.player.go(places.find((i) => i > n) ?? places[0]);
  }

  key(e) {
    if (this.find("help").open || e.altKey || e.ctrlKey || e.metaKey || e.target.closest?.("input, select, textarea")) return;
    const onButton = e.target.closest?.("button, summary, a");
    const name = e.shiftKey && { ArrowLeft: "left", ArrowRight: "right" }[e.key] || {
      ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last", "+": "in", "=": "in", "-": "out", 0: "fit",
      v: "violation", t: "scale", m: "messages", b: "which", "?": "help",
      ...(this.root.querySelector(".rows").contains(e.target) ? { ArrowUp: "back", ArrowDown: "on" } : {}),
      ...(onButton ? {} : { " ": "play" }),
    }[e.key];
    if (!name) return;
    e.preventDefault();
    this.act(name);
  }

  // listen follows the pointer over the diagram: a tip shows what is below it, a click chooses, a drag moves, two fingers zoom.
  listen() {
    const over = this.find("cursor");
    const fingers = new Map();
    let dragged = 0;
    const place = (e) => {
      const box = over.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    };
    over.addEventListener("pointerdown", (e) => {
      fingers.set(e.pointerId, place(e));
      dragged = 0;
      over.setPointerCapture(e.pointerId);
    });
    over.addEventListener("pointermove", (e) => {
      const [x, y] = place(e);
      const last = fingers.get(e.pointerId);
      if (!last) return this.tip(this.diagram.find(x, y), x, y);
      const other = [...fingers].find(([id]) => id !== e.pointerId)?.[1];
      if (other) {
        const [before, now] = [Math.abs(last[0] - other[0]), Math.abs(x - other[0])];
        if (before > 8 && now > 8) this.axis.zoom(now / before, other[0]);
        dragged += 10;
      } else {
        this.axis.pan(last[0] - x);
        dragged += Math.abs(last[0] - x);
      }
      fingers.set(e.pointerId, [x, y]);
      if (dragged > 4) this.soon();
      return undefined;
    });
    over.addEventListener("pointerup", (e) => {
      const [x, y] = place(e);
      if (fingers.has(e.pointerId) && fingers.size === 1 && dragged <= 4) this.click(x, y);
      fingers.delete(e.pointerId);
    });
    over.addEventListener("pointercancel", (e) => fingers.delete(e.pointerId));
    over.addEventListener("pointerleave", () => this.tip(null));
    over.addEventListener("dblclick", (e) => {
      this.axis.zoom(2, place(e)[0]);
      this.redraw();
    });
    over.addEventListener("wheel", (e) => {
      if (e.ctrlKey || e.metaKey) this.axis.zoom(Math.exp(-e.deltaY / 200), place(e)[0]);
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.axis.pan(e.deltaX || e.deltaY);
      else return;
      e.preventDefault();
      this.soon();
    }, { passive: false });
    // After a click on a button the diagram gets the keys again, so that space plays. A reader who uses the keyboard keeps the focus.
    this.root.addEventListener("click", (e) => {
      if (e.detail > 0 && e.target.closest("button") && !e.target.closest("dialog") && !this.find("help").open) over.focus({ preventScroll: true });
    });
    let width = 0;
    new ResizeObserver(([entry]) => {
      if (Math.round(entry.contentRect.width) === width) return;
      width = Math.round(entry.contentRect.width);
      this.layout();
      this.redraw();
    }).observe(this.find("picture"));
  }

  // soon draws once in the next frame, however much happens until then.
  soon() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.redraw();
    });
  }

  click(x, y) {
    const found = this.diagram.find(x, y);
    this.tip(found, x, y);
    if (found?.event !== undefined) return this.choose(found.run, found.event);
    this.said = null;
    if (x >= this.axis.left) this.player.goTo(this.axis.at(x));
    return undefined;
  }

  tip(found, x, y) {
    const tip = this.find("tip");
    this.find("cursor").classList.toggle("found", Boolean(found));
    tip.hidden = !found;
    if (!found) return;
    const [headline, ...lines] = tipText(found);
    tip.replaceChildren(make("strong", {}, make("bdi", {}, headline)), ...lines.filter(Boolean).map((l) => make("div", {}, make("bdi", {}, l))));
    const box = this.find("picture");
    tip.style.left = `${Math.max(0, Math.min(x + 14, box.clientWidth - tip.offsetWidth - 2))}px`;
    const below = y + 18;
    tip.style.top = `${below + tip.offsetHeight > box.clientHeight && y - tip.offsetHeight - 12 > 0 ? y - tip.offsetHeight - 12 : below}px`;
  }
}

const explorers = [...document.querySelectorAll("section.lockstep")].map((root, n) => {
  root.lockstep = new Explorer(root, n + 1);
  return root.lockstep;
});
let used = explorers[0]; // keys go to the figure that was used last
function follow(e) {
  for (const type of ["pointerdown", "focusin"]) e.root.addEventListener(type, () => (used = e));
}
explorers.forEach(follow);
document.addEventListener("keydown", (e) => used?.key(e));

// explore makes a figure explorable that was put into the page later, in the place of all others.
function explore(root, data) {
  root.lockstep = used = new Explorer(root, 0, data); // no links lead into it
  explorers.splice(0, explorers.length, used);
  follow(used);
  setTheme(document.documentElement.dataset.theme);
  return used;
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  for (const e of explorers) {
    e.button("theme").setAttribute("aria-label", theme === "dark" ? "Light" : "Dark");
    e.redraw();
  }
}
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
setTheme(dark.matches ? "dark" : "light");

// On paper the page is light.
let screenTheme;
window.addEventListener("beforeprint", () => {
  screenTheme = document.documentElement.dataset.theme;
  setTheme("light");
});
window.addEventListener("afterprint", () => setTheme(screenTheme ?? "light"));

// In a frame, the page around it is the one that the link at the top leads to.
if (window !== window.top) document.querySelector(".lockstep-page > .back")?.remove();

explorers[0]?.follow(location.hash);
window.addEventListener("hashchange", () => explorers[0]?.follow(location.hash));
