// A Run says what was happening in a run at an instant.
const noEnd = 9e18; // greater values mean that there is no end

class Run {
  constructor(data, letter) {
    Object.assign(this, data);
    this.letter = letter;
    this.clockOf = new Map(this.clocks.map((c) => [c.lane, c]));
    this.marked = new Map(); // event: its lane and mark
    this.lanes.forEach((lane, n) => lane.marks.forEach((m) => this.marked.set(m.event, { lane: n, mark: m })));
    this.flightOf = new Map(this.flights.map((f) => [f.event, f]));
    this.laneOf = new Map(this.lanes.map((l, n) => [l.name, n]));
    this.told = new Map(); // event: the sentences about it
    this.stories.forEach((story) => story.sentences.forEach((s) => {
      for (const e of s.events) this.told.set(e, [...(this.told.get(e) ?? []), s]);
    }));
  }

  // instants returns the times at which something is drawn.
  instants() {
    const all = [];
    for (const lane of this.lanes) {
      for (const b of lane.bars) all.push(b.from, b.to);
      for (const s of lane.still) all.push(s.from, s.to);
      for (const m of lane.marks) all.push(m.at);
    }
    for (const f of this.flights) if (!f.quiet) all.push(f.sent, f.at);
    return all;
  }

  // where is the lane of an event, or undefined.
  where(event) {
    return this.marked.get(event)?.lane ?? this.laneOf.get(this.events[event].who) ?? this.flightOf.get(event)?.to;
  }

  // left is how long a lease or a key still lasts by the clock that decides, or undefined if that is not known.
  left(lane, bar, t) {
    const end = bar.ends?.findLast((e) => e.at <= t);
    if (!end || !end.until) return undefined;
    if (end.until > noEnd) return Infinity;
    const clock = this.clockOf.get(lane);
    return end.until - t - offset(bar.style === "holding" ? clock?.steady : clock?.wall, t);
  }

  // at lists the bars of a lane in which an instant lies.
  at(lane, t) {
    return this.lanes[lane].bars.filter((b) => b.from <= t && t < b.to);
  }

  // state says in words what the process of a lane does at an instant.
  state(n, t) {
    const lane = this.lanes[n];
    const parts = lane.still.filter((s) => s.from <= t && t < s.to).map((s) => s.text);
    for (const b of this.at(n, t)) {
      const left = this.left(n, b, t);
      const rest = left === undefined ? "" : left === Infinity ? ", without an end" : `, ${span(Math.max(0, left))} left`;
      switch (b.style) {
        case "holding": parts.push(`relies on ${b.short}${rest}`); break;
        case "asking": parts.push("asks for the lock"); break;
        case "writing": parts.push("waits for the resource"); break;
        case "living": parts.push(`key of ${b.text}${rest}`); break;
        case "copied": parts.push(`copy of the key of ${b.short}${rest}`); break;
        default: parts.push(b.text);
      }
    }
    const clock = this.clockOf.get(n);
    if (clock) {
      const [steady, wall] = [offset(clock.steady, t), offset(clock.wall, t)];
      if (steady) parts.push(`steady clock ${signed(steady)}`);
      if (wall) parts.push(`wall clock ${signed(wall)}`);
    }
    return parts;
  }

  // fields returns the fields of an event, as pairs of name and value.
  fields(e) {
    const all = [["at", seconds(e.at)]];
    if (e.kind !== "message" && e.clock && e.clock !== e.at) all.push(["by its clock", seconds(e.clock)]);
    if (e.wall) all.push(["wall clock", `${signed(e.wall)} from true time`]);
    if (e.by && e.kind === "message") all.push(["sender", e.by]);
    else if (e.by) all.push(["caused by", e.by]);
    if (e.sent) all.push(["sent", `${seconds(e.sent)}, ${span(e.at - e.sent)} before`]);
    if (e.lease) all.push(["lease", e.lease]);
    if (e.key) all.push(["key", e.key]);
    if (e.owner) all.push(["stood for", e.owner]);
    if (e.until) all.push(["until", e.until > noEnd ? "no end" : `${seconds(e.until)} by its clock`]);
    if (e.fence) all.push(["fence", String(e.fence)]);
    if (e.value) all.push(["value", e.value]);
    if (e.error) all.push(["error", e.error]);
    return all;
  }
}

// offset is how far a clock is ahead at an instant, by its readings.
function offset(points, t) {
  if (!points?.length) return 0;
  return between(points.map((p) => p.at), points.map((p) => p.offset), t);
}

// seconds formats a time as timelines do, cut off after milliseconds.
function seconds(ns) {
  const s = Math.floor(Math.abs(ns) / 1e6) / 1e3;
  return `${ns < 0 ? "-" : ""}${s.toFixed(3)}s`;
}

// span formats the length of an interval with about two digits.
function span(ns) {
  if (ns >= 9.95e9) return `${(ns / 1e9).toFixed(0)} s`;
  if (ns >= 1e9) return `${(ns / 1e9).toFixed(1)} s`;
  if (ns >= 9.95e6) return `${(ns / 1e6).toFixed(0)} ms`;
  if (ns >= 1e6) return `${(ns / 1e6).toFixed(1)} ms`;
  return `${(ns / 1e3).toFixed(0)} µs`;
}

function signed(ns) {
  return (ns < 0 ? "−" : "+") + span(Math.abs(ns));
}

// sentence is the text of an event in one line.
function sentence(e) {
  return [e.who, e.verb, e.what, e.detail].filter(Boolean).join(" ");
}
