// The panels say in words what the diagram shows. All text is inserted as text, never as markup. What needs no script is in the page.

// make makes an element. Strings become text.
function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [type, f] of Object.entries(value)) e.addEventListener(type, f);
    else if (value !== undefined && value !== false) e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== ""));
  return e;
}

// A WhyPanel lets readers step through the explanations in the page. A sentence leads to its events, and an event to the sentences about it.
class WhyPanel {
  constructor(root, choose) {
    this.root = root;
    this.choose = choose;
  }

  fill(runs) {
    this.items = [];
    const parts = runs.flatMap((run) => {
      const of = runs.length > 1 ? `${run.letter}: ` : "";
      if (!run.stories.length) return [make("h2", {}, `${of}${run.verdict === "SAFE" ? "Nothing was violated" : "Nothing was proven"}`), make("p", {}, make("bdi", {}, run.reason))];
      return run.stories.flatMap((story) => [
        make("h2", {}, `${of}Why “${story.property}” was violated`),
        make("ol", { class: "story" }, story.sentences.map((s) => this.item(run, s))),
      ]);
    });
    this.root.replaceChildren(...parts);
  }

  item(run, said) {
    const links = said.events.map((event) => make("button", {
      type: "button", class: "link", title: sentence(run.events[event]), on: { click: () => this.choose(run, event, said) },
    }, `${seconds(run.events[event].at)} ${run.events[event].who}`));
    const text = make("button", { type: "button", class: "said", "aria-expanded": "false", on: { click: () => this.choose(run, said.events[0], said) } }, make("bdi", {}, said.text));
    const whole = said.whole ? make("details", { class: "whole" }, make("summary", {}, "In full"), make("bdi", {}, said.whole)) : "";
    const li = make("li", {}, text, whole, make("div", { class: "links" }, links));
    this.items.push({ run, said, li, text });
    return li;
  }

  mark(cursor) {
    const told = cursor.run?.told.get(cursor.event) ?? [];
    for (const { run, said, li, text } of this.items) {
      const chosen = cursor.said === said;
      li.classList.toggle("chosen", chosen);
      li.classList.toggle("told", !chosen && run === cursor.run && told.includes(said));
      text.setAttribute("aria-expanded", String(chosen));
    }
  }
}

// A NowPanel shows the event at the cursor, and what each process does at that instant.
class NowPanel {
  constructor(root) {
    this.root = root;
  }

  show(cursor, runs) {
    const parts = [];
    if (cursor.run) {
      const e = cursor.run.events[cursor.event];
      parts.push(make("h2", {}, "This event"), make("p", { class: e.proof ? "event proof" : "event" }, make("bdi", {}, sentence(e))),
        make("dl", {}, cursor.run.fields(e).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, make("bdi", {}, value))])));
    }
    for (const run of runs) {
      parts.push(make("h2", {}, `${runs.length > 1 ? `${run.letter} at ` : "At "}${seconds(cursor.t)}`),
        make("table", {}, run.lanes.map((lane, n) => {
          const state = run.state(n, cursor.t);
          if (!state.length && (lane.probe || lane.kind === "network")) return "";
          return make("tr", { class: state.length ? "" : "idle" }, make("th", { scope: "row" }, make("bdi", {}, lane.name)), make("td", {}, make("bdi", {}, state.join("; ") || "—")));
        }).filter(Boolean)),
        run.right.length ? make("p", { class: "exact" }, `The clocks of ${run.right.join(" ")} are right.`) : "");
    }
    this.root.replaceChildren(...parts.filter(Boolean));
  }
}

// legend explains the signs that occur.
function legend(runs, toScale) {
  const lanes = runs.flatMap((r) => r.lanes);
  const shape = (name) => lanes.some((l) => l.marks.some((m) => m.shape === name));
  const style = (name) => lanes.some((l) => l.bars.some((b) => b.style === name));
  const [holder, held] = lanes.flatMap((l) => l.bars.filter((b) => b.style === "holding").map((b) => [l, b]))[0] ?? [];
  const servers = [...new Set(lanes.filter((l) => l.kind === "node").map((l) => l.name))];
  return [
    servers.length > 0 && servers.length <= 6 && `${servers.join(" ")}: ${servers.length > 1 ? "Redis servers" : "a Redis server"}`,
    held && `${held.short}: a lease of ${holder.name}`,
    shape("granted") && "★ lock granted", shape("crowned") && "♛ promotion", shape("accepted") && "● write accepted", shape("rejected") && "⊗ write rejected",
    shape("lost") && "✕ lost", shape("leapt") && "◆ clock changed", style("stale") && "dashed: the lease is over, its client still acts",
    style("copied") && "dotted: copy of a key", runs.some((r) => r.flights.some((f) => f.fate !== "deliver")) && "dashed arrow: late or lost",
    !toScale && "torn: time left out (+ how long); the axis is not to scale",
  ].filter(Boolean).join("   ");
}

// A List has the diagram as text, with a line for each event that the cursor steps through.
class List {
  constructor(root, choose, prefix) {
    this.root = root;
    this.choose = choose;
    this.prefix = prefix;
    root.addEventListener("click", (click) => {
      const at = click.target.closest("[role=option]");
      if (at) this.choose(this.rows[Number(at.dataset.n)]);
    });
  }

  fill(rows, several) {
    this.rows = rows;
    this.root.classList.toggle("several", several);
    this.root.classList.toggle("many", rows.length > 500);
    this.root.replaceChildren(...rows.map(({ run, event }, n) => {
      const e = run.events[event];
      return make("div", { role: "option", id: `${this.prefix}-${n}`, "data-n": n, class: `kind-${e.kind}${e.proof ? " proof" : ""}`, "aria-selected": "false" },
        several ? make("span", { class: "run" }, run.letter) : "",
        make("span", { class: "at" }, (e.proof ? "! " : "") + seconds(e.at)),
        make("bdi", { class: "who" }, e.who), make("bdi", { class: "verb" }, e.verb), make("bdi", { class: "what" }, e.what), make("bdi", { class: "detail" }, e.detail ?? ""));
    }));
    this.chosen = null;
  }

  // mark marks the line of the cursor, and the lines of the events of a sentence.
  mark(n, cursor) {
    this.chosen?.setAttribute("aria-selected", "false");
    this.chosen = this.root.children[n];
    if (cursor.said !== this.said) {
      this.said = cursor.said;
      this.rows.forEach(({ run, event }, k) => this.root.children[k].classList.toggle("meant", cursor.meant(run).includes(event)));
    }
    if (!this.chosen) return;
    this.chosen.setAttribute("aria-selected", "true");
    this.root.setAttribute("aria-activedescendant", this.chosen.id);
    const [top, height] = [this.chosen.offsetTop, this.chosen.offsetHeight];
    if (top < this.root.scrollTop) this.root.scrollTop = top - 2 * height;
    else if (top + height > this.root.scrollTop + this.root.clientHeight) this.root.scrollTop = top + 3 * height - this.root.clientHeight;
  }
}

// tipText is the text about what the pointer is on: a headline and lines below it.
function tipText({ run, event, flight, lane, bar: b, still }) {
  if (flight) {
    const e = run.events[flight.event];
    const names = `${run.lanes[flight.from].name} → ${run.lanes[flight.to].name}`;
    const fate = { deliver: "arrived", late: "came too late: nobody waited for it, at", drop: "was lost at" }[flight.fate];
    return [names, `sent ${seconds(flight.sent)}, ${fate} ${seconds(flight.at)} (${span(flight.at - flight.sent)})`, sentence(e), e.value];
  }
  if (event !== undefined) return [sentence(run.events[event]), ...run.fields(run.events[event]).map(([name, value]) => `${name}: ${value}`)];
  if (still) return [`${run.lanes[lane].name} ${still.text}`, `from ${seconds(still.from)} to ${seconds(still.to)}`];
  const words = { holding: "relies on its lease", asking: "asks for the lock", writing: "waits for the resource", living: "keeps the key of " + b.text, copied: "has a " + b.text, stale: b.text, severed: b.text };
  const given = (b.ends ?? []).map((e) => (e.until > noEnd ? `from ${seconds(e.at)}: no end` : e.until ? `from ${seconds(e.at)}: until ${seconds(e.until)} by its own clock` : ""));
  return [b.style === "stale" || b.style === "severed" ? b.text : `${run.lanes[lane].name} ${words[b.style]}`, b.style === "holding" ? b.text : "", `from ${seconds(b.from)} to ${seconds(b.to)} (${span(b.to - b.from)})`, ...given.slice(-3)];
}
