(() => {
"use strict";

// The page on which a reader plays runs. The program that plays them runs in a worker, so the page answers meanwhile.

const $ = (id) => document.getElementById(id);
const claims = JSON.parse($("menu").textContent).claims;

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

// An Engine plays runs, one after the other. What the reader waits for comes first.
class Engine {
  constructor(engine) {
    this.waiting = [];
    this.busy = null;
    this.number = 0;
    const policy = window.trustedTypes?.createPolicy("lockstep", { createScriptURL: (url) => url }) ?? { createScriptURL: (url) => url };
    const source = URL.createObjectURL(new Blob([engine.worker], { type: "text/javascript" }));
    this.worker = new Worker(policy.createScriptURL(source));
    this.ready = new Promise((resolve, reject) => {
      this.worker.onerror = (e) => reject(new Error(e.message || "the worker did not start"));
      this.worker.onmessage = (m) => {
        const answer = JSON.parse(m.data);
        if (answer.ready) return resolve();
        const { done } = this.busy;
        this.busy = null;
        this.next();
        return done(answer);
      };
    });
    this.worker.postMessage(engine.program);
  }

  // play returns the answer to a request, or null if the request is dropped before it is played.
  play(request, urgent) {
    return new Promise((done) => {
      const item = { request: { ...request, id: ++this.number }, done };
      if (urgent) this.waiting.unshift(item);
      else this.waiting.push(item);
      this.next();
    });
  }

  // drop forgets what waits.
  drop() {
    for (const item of this.waiting.splice(0)) item.done(null);
  }

  next() {
    if (this.busy || !this.waiting.length) return;
    this.busy = this.waiting.shift();
    this.worker.postMessage(JSON.stringify(this.busy.request));
  }
}

let engine;
let claim, run; // that are chosen; no claim if the reader's own script is played
let chosen = []; // the number of the value of each quantity
let revealed = false; // whether the reader has seen what comes out
let guessed = ""; // the request whose outcome the reader has guessed
const known = new Map(); // the outcome of each brief request

// shown is how a value is written on the page: 12500ms is 12.5s.
const shown = (value) => value.replace(/^(\+?)(\d{4,})ms$/, (_, sign, ms) => `${sign}${ms / 1000}s`);

const capital = (text) => text.replace(/^./, (c) => c.toUpperCase());

const words = { ok: "kept", violated: "violated", unknown: "not decided" };

function request(values = chosen) {
  return { claim: claim.id, run: run.name, values: run.vary.map((q, n) => (values[n] === q.own ? "" : q.values[values[n]])) };
}

// status asks only whether the property of the claim is kept.
async function status(values) {
  const r = request(values);
  const key = JSON.stringify(r);
  const property = run.property; // the reader may choose another run meanwhile
  if (!known.has(key)) {
    const answer = await engine.play({ ...r, want: "properties" }, false);
    if (!answer) return undefined;
    known.set(key, answer.statuses?.[property] ?? "unknown");
  }
  return known.get(key);
}

function chooseClaim(id) {
  claim = claims.find((c) => c.id === id) ?? claims[0];
  revealed = false;
  guessed = "";
  $("claim").value = claim.id;
  $("said").textContent = claim.text;
  $("back").href = `${claim.chapter}.html#claim-${claim.id}`;
  $("runs").replaceChildren(make("legend", {}, "Which run"), ...claim.runs.map((r, n) => make("label", {},
    make("input", { type: "radio", name: "run", value: String(n), checked: n === 0, on: { change: () => chooseRun(n) } }), make("span", {}, r.name))));
}

function chooseRun(n, values) {
  run = claim.runs[n] ?? claim.runs[0];
  $("runs").querySelectorAll("input").forEach((input, i) => (input.checked = claim.runs[i] === run));
  chosen = run.vary.map((q, i) => Math.max(values?.[i] ? q.values.indexOf(values[i]) : q.own, 0));
  $("quantities").replaceChildren(...run.vary.map((q, n) => slider(q, n)));
  $("quantities").hidden = !run.vary.length;
  $("property").textContent = `“${run.property}”`;
  $("values").hidden = !run.vary.length;
  $("values").replaceChildren(...run.vary.flatMap((q, i) => [i ? "; " : "", i ? `${q.what}: ` : capital(`${q.what}: `), make("strong", {}, shown(q.values[chosen[i]]))]), ".");
  play();
}

// slider is a quantity that can be changed. Below it, a strip shows what comes out at each value, the other quantities being as they are.
function slider(q, n) {
  const value = make("output", {}, shown(q.values[chosen[n]]));
  const input = make("input", {
    type: "range", min: "0", max: String(q.values.length - 1), value: String(chosen[n]), "aria-label": q.what, "aria-valuetext": shown(q.values[chosen[n]]),
    on: { input: () => {
      chosen[n] = Number(input.value);
      value.textContent = shown(q.values[chosen[n]]);
      input.setAttribute("aria-valuetext", value.textContent);
      back.hidden = chosen[n] === q.own;
      play();
    } },
  });
  const back = make("button", { type: "button", class: "small", hidden: chosen[n] === q.own, on: { click: () => {
    input.value = String(q.own);
    input.dispatchEvent(new Event("input"));
  } } }, `back to ${shown(q.values[q.own])}`);
  const strip = make("div", { class: "strip", "aria-hidden": "true" }, q.values.map(() => make("span")));
  strip.style.setProperty("--n", q.values.length);
  return make("div", { class: "quantity" }, make("label", {}, make("span", { class: "what" }, q.what), value, back), input, strip, make("p", { class: "edge" }));
}

// paint fills the strip of a quantity with what is known, and returns the outcome at each value.
function paint(n) {
  const q = run.vary[n];
  const box = $("quantities").children[n];
  const all = q.values.map((_, i) => known.get(JSON.stringify(request(chosen.with(n, i)))));
  for (const [i, cell] of [...box.querySelector(".strip").children].entries()) cell.className = all[i] ?? "";
  box.querySelector(".edge").textContent = all.includes(undefined) ? "" : edge(q, all);
  return all;
}

// edges plays the runs that the strips still need. Another choice ends it.
async function edges() {
  const mine = (edges.last = {});
  for (const [n, q] of run.vary.entries()) {
    // From coarse to fine, so that the reader soon sees where the edge is.
    const order = [...q.values.keys()].sort((a, b) => (a % 8 ? 1 : 0) - (b % 8 ? 1 : 0) || a - b);
    for (const i of order) {
      const found = await status(chosen.with(n, i));
      if (edges.last !== mine) return;
      $("quantities").children[n].querySelector(".strip").children[i].className = found;
    }
    paint(n);
  }
}

// edge says in words from which value on the outcome is another.
function edge(q, all) {
  const parts = [];
  for (let i = 0; i < all.length;) {
    let j = i;
    while (j + 1 < all.length && all[j + 1] === all[i]) j++;
    parts.push(i === 0 && j === all.length - 1 ? `${words[all[i]]} at all values` : i === j ? `${words[all[i]]} at ${shown(q.values[i])}` : `${words[all[i]]} from ${shown(q.values[i])} to ${shown(q.values[j])}`);
    i = j + 1;
  }
  return parts.length > 4 ? "" : capital(`${parts.join(", ")}.`);
}

// play plays what is chosen, and then finds out where the edges are.
async function play() {
  address();
  $("predict").hidden = revealed;
  $("quantities").hidden = !revealed || !run.vary.length;
  for (const id of ["outcome", "guess", "stage", "more"]) $(id).hidden = !revealed;
  engine.drop();
  edges.last = null;
  const mine = (play.last = {});
  if (!revealed) return;
  $("guess").hidden = guessed !== JSON.stringify(request());
  for (const n of run.vary.keys()) paint(n);
  $("outcome").classList.add("old");
  const start = performance.now();
  const answer = await engine.play(request(), true);
  if (play.last !== mine || !answer) return;
  performance.measure("played", { start });
  if (answer.statuses) known.set(JSON.stringify(request()), answer.statuses[run.property] ?? "unknown");
  show(answer, run.property);
  performance.measure("drawn", { start });
  await edges();
}

// show shows what came out of a run.
function show(answer, property) {
  $("outcome").classList.remove("old");
  $("outcome").hidden = $("more").hidden = false;
  $("mistakes").replaceChildren(...(answer.errors ?? []).map((e) => make("li", {}, e.line ? `Line ${e.line}: ` : "", e.text)));
  if (answer.errors) {
    $("outcome").replaceChildren(make("strong", { class: "unknown" }, "This cannot be played"), claim ? `: ${answer.errors[0].text}.` : ": the errors are listed below.");
    $("stage").hidden = $("result").hidden = true;
    if (!claim) $("file").open = true;
    return;
  }
  const found = property ? answer.statuses[property] : undefined;
  const broken = (answer.broken?.[property] ?? []).map((b) => (b === "none" ? "no assumption was broken" : `broken assumption: ${b}`));
  $("outcome").replaceChildren(...(property
    ? [`“${property}” is `, make("strong", { class: found }, words[found]), broken.length ? ` (${broken.join("; ")})` : "", "."]
    : [make("strong", { class: { SAFE: "ok", UNSAFE: "violated" }[answer.verdict] ?? "unknown" }, answer.verdict), ". ",
      Object.entries(answer.statuses).filter(([, s]) => s === "violated").map(([p]) => p).join(", ") && `Violated: ${Object.entries(answer.statuses).filter(([, s]) => s === "violated").map(([p]) => p).join(", ")}.`]),
    ...(answer.unmet ?? []).map((u) => ` But ${u}.`));
  $("result").hidden = false;
  $("script").value = answer.script;
  $("checksum").textContent = answer.checksum;
  $("took").textContent = `${Math.round(answer.took)} ms`;
  $("token").textContent = answer.token ? `lockstep replay ${answer.token}` : "save the scenario as a file; it is too long for a link.";
  draw(answer.figure);
  if (!claim) setAddress(answer.token ? `#${answer.token}` : "#");
}

// draw shows a run as a figure that can be explored.
function draw(data) {
  const root = $("frame").content.firstElementChild.cloneNode(true);
  const bdi = (text) => make("bdi", {}, text);
  root.querySelector(".heads").append(make("div", { class: `head ${data.verdict.toLowerCase()}` }, make("h1", {}, bdi(data.name)),
    make("p", { class: "outcome" }, make("strong", { class: "verdict" }, data.verdict), " ", bdi(data.outcome)), make("p", { class: "reason" }, bdi(data.reason))));
  root.querySelector(".about").append(make("h2", {}, bdi(data.title || data.name)), make("p", { class: "facts" }, bdi((data.facts ?? []).join(" · "))),
    make("details", {}, make("summary", {}, "What was judged"), make("table", { class: "properties" }, data.properties.map((p) => make("tr", { class: p.status },
      make("th", { scope: "row" }, p.name), make("td", {}, make("strong", {}, p.status), (p.broken ?? []).map((b) => make("p", {}, bdi(b)))))))));
  root.lockstepData = { runs: [data] };
  $("stage").hidden = false;
  $("stage").replaceChildren(root);
  document.lockstepExplore(root);
  if (data.violations.length) root.lockstep.act("violation");
}

// address writes what is chosen into the address of the page, so that a copied link opens the same.
function address() {
  if (!claim) return;
  const n = claim.runs.indexOf(run);
  const values = run.vary.map((q, i) => q.values[chosen[i]]);
  const own = run.vary.every((q, i) => chosen[i] === q.own);
  setAddress(`#${claim.id}${n || !own ? `/${n + 1}` : ""}${own ? "" : `/${values.join(",")}`}`);
}

let addressing;
function setAddress(link) {
  clearTimeout(addressing); // browsers limit the number of changes
  addressing = setTimeout(() => history.replaceState(null, "", link), 250);
}

// follow opens what a link names: #10, #10/2, #10/1/12s,10s, or a token.
async function follow(link) {
  let text = "";
  try {
    text = decodeURIComponent(link.slice(1));
  } catch {
    // It is no link of this page.
  }
  if (/^lk\d/.test(text)) return playOwn({ token: text });
  const [, id, n, values] = /^(\d{1,2}[a-z]?)(?:\/(\d{1,2}))?(?:\/([^/]{1,200}))?$/.exec(text) ?? [];
  if (text && !claims.some((c) => c.id === id)) $("notice").textContent = "The link is damaged, or leads to another version of this page. Here is the first claim.";
  else $("notice").textContent = "";
  chooseClaim(id);
  return chooseRun(Number(n || 1) - 1, values?.split(","));
}

// playOwn plays a script of the reader, or a run in a token.
async function playOwn(r) {
  claim = undefined;
  revealed = true;
  $("claim").value = "";
  $("said").textContent = "A scenario of your own. The text below is a scenario file; change it, and play it.";
  $("runs").replaceChildren();
  $("quantities").replaceChildren();
  $("quantities").hidden = $("predict").hidden = $("guess").hidden = true;
  clearTimeout(addressing);
  engine.drop();
  edges.last = null;
  const mine = (play.last = {});
  const answer = await engine.play(r, true);
  if (play.last !== mine || !answer) return;
  show(answer);
}

function reveal(guess) {
  revealed = true;
  guessed = guess && JSON.stringify(request());
  $("guess").textContent = `You expected: ${guess}.`;
  play();
}

async function main() {
  document.documentElement.classList.toggle("embedded", window.top !== window.self); // in a page about the claim
  $("claim").append(...claims.map((c) => make("option", { value: c.id }, `${c.id}. ${c.heading}`)), make("option", { value: "" }, "A scenario of your own"));
  const started = performance.now();
  try {
    engine = new Engine(window.lockstepEngine);
    await engine.ready;
  } catch (e) {
    $("loading").textContent = `The program did not start: ${e.message}. The other pages show the same runs without it.`;
    return;
  }
  document.documentElement.dataset.ready = Math.round(performance.now() - started);
  $("loading").hidden = true;
  $("live").hidden = false;
  $("size").textContent = `${(window.lockstepEngine.size / 1e6).toFixed(1)} MB`;
  $("claim").addEventListener("change", () => {
    if (!$("claim").value) {
      $("file").open = true;
      return playOwn({ script: revealed && $("script").value ? $("script").value : run.script });
    }
    chooseClaim($("claim").value);
    return chooseRun(0);
  });
  $("kept").addEventListener("click", () => reveal("kept"));
  $("violated").addEventListener("click", () => reveal("violated"));
  $("look").addEventListener("click", () => reveal(""));
  $("play").addEventListener("click", () => playOwn({ script: $("script").value }));
  $("script").addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) playOwn({ script: $("script").value });
  });
  window.addEventListener("hashchange", () => follow(location.hash));
  await follow(location.hash);
}

main();
})();
