// The page on which a reader plays runs. The program that plays them runs in a worker, so the page answers meanwhile.

const $ = (id) => document.getElementById(id);
const { claims, locks } = JSON.parse($("menu").textContent);
for (const c of claims) for (const r of c.runs) r.claim = c;
const meanings = JSON.parse($("meanings").textContent);
const leading = claims.find((c) => c.id === "10") ?? claims[0]; // its run is the picture on the first page
const embedded = window.top !== window.self; // in the page of a chapter, which says what came out, so there is nothing to predict

let engine;
let claim, run; // that are chosen
let chosen = []; // the number of the value of each quantity
let revealed = false; // whether the reader has seen what comes out
let guessed = ""; // the request whose outcome the reader has guessed
let guess = ""; // which is the outcome that they expected
let moment; // of the violation that was shown last in a run of this claim
let unsaved; // the run and the values for which the page says what would have saved it
let saving = []; // for each answer, the run and the values to which it leads; null if it would not save the run
let stale = false; // whether the answers belong to an earlier choice
const known = new Map(); // the outcome of each brief request
const tried = new Set(); // the requests that the reader has played
let all = false; // whether the strips show all values, and not only those that the reader has played

// shown is how a value is written on the page: 12500ms is 12.5s.
const shown = (value) => value.replace(/^(\+?)(\d{4,})ms$/, (_, sign, ms) => `${sign}${ms / 1000}s`);

const capital = (text) => text.replace(/^./, (c) => c.toUpperCase());

const words = { ok: "kept", violated: "violated", unknown: "not decided" };

function request(values = chosen, of = run) {
  return { claim: of.claim.id, run: of.name, values: of.vary.map((q, n) => (values[n] === q.own ? "" : q.values[values[n]])) };
}

// status asks only whether a run keeps the property of the claim.
async function status(values, of = run) {
  const r = request(values, of);
  const key = JSON.stringify(r);
  if (!known.has(key)) {
    const answer = await engine.play({ ...r, want: "properties" }, false);
    if (!answer) return undefined;
    known.set(key, answer.statuses?.[of.property] ?? "unknown");
  }
  return known.get(key);
}

function chooseClaim(id) {
  claim = claims.find((c) => c.id === id) ?? leading;
  revealed = embedded;
  saving = [];
  $("saving").hidden = true;
  moment = undefined;
  showAll(false);
  guessed = "";
  $("claim").value = claim.id;
  $("said").textContent = claim.text;
  $("back").href = `${claim.chapter}.html#claim-${claim.id}`;
  $("saves").replaceChildren(...claim.saves.map((save, n) => make("button", { type: "button", class: "act", on: { click: () => toggle(n) } },
    capital(save.what), save.run ? " (another run)" : ` (${save.values.filter((v, i) => v !== own(claim.runs[0])[i]).map(shown).join(", ")})`)));
  $("runs").replaceChildren(make("legend", {}, "Which run"), ...claim.runs.map((r, n) => make("label", {},
    make("input", { type: "radio", name: "run", value: String(n), checked: n === 0, on: { change: () => chooseRun(n) } }), make("span", {}, apart(r), make("small", {}, r.name)))));
}

const plain = (name) => name.replaceAll("-", " ");

// apart says in words what distinguishes a run from the other runs of the claim.
function apart(r) {
  const parts = (name) => {
    const [scenario, lock, ...label] = name.split("/");
    return [scenario, lock, label.join("/")];
  };
  const mine = parts(r.name);
  const differs = (i) => claim.runs.some((o) => parts(o.name)[i] !== mine[i]);
  const [scenario, lock, label] = mine;
  const said = [differs(0) ? plain(scenario) : "", differs(1) || claim.runs.length === 1 ? described(lock, r) : "", label ? plain(label) : ""].filter(Boolean);
  return capital(said.join("; ") || plain(scenario));
}

// described says what a lock is, on the servers of a run.
function described(name, r) {
  const { about, nodes } = locks.find((l) => l.name === name);
  const servers = Number(/^-- .*\bnodes=(\d+)/m.exec(r.script)?.[1] ?? nodes);
  const many = `${["", "one", "two", "three", "four", "five"][servers] ?? servers} Redis server${servers > 1 ? "s" : ""}`;
  if (name === "redlock") return `Redlock: ${many}, of which a majority must agree`;
  return `${name}, on ${many}: ${about.replace(/^(single|redlock|watch)(?=,? )/, "like $1")}`; // many locks are described as a variant of another
}

function chooseRun(n, values) {
  $("notice").textContent = "";
  run = claim.runs[n] ?? claim.runs[0];
  showAll(false); // another run is another question
  $("runs").querySelectorAll("input").forEach((input, i) => (input.checked = claim.runs[i] === run));
  chosen = run.vary.map((q, i) => (q.values.includes(values?.[i]) ? q.values.indexOf(values[i]) : q.own));
  $("quantities").replaceChildren(...run.vary.map((q, n) => slider(q, n)));
  $("quantities").hidden = !run.vary.length;
  tell();
  play();
}

// tell says what happens in the run, and what its property means, so that the reader can predict the outcome from it.
function tell() {
  const [scenario, name] = run.name.split("/");
  const first = claim.runs[0].name.startsWith(`${scenario}/`);
  $("setting").textContent = first ? claim.setting : "";
  $("lock").textContent = `The lock is ${described(name, run)}.`;
  $("values").hidden = !run.vary.length;
  $("values").replaceChildren(...run.vary.flatMap((q, i) => [i ? "; " : "", i ? `${q.what}: ` : capital(`${q.what}: `), make("strong", {}, shown(q.values[chosen[i]]))]), ".");
  $("steps").hidden = run.vary.some((q, i) => chosen[i] !== q.own); // they have the values of the run
  $("steps").open = !first;
  $("script").textContent = run.script.replace(/^(#.*|speed .*)?\n/gm, "").trim(); // without the title, which may tell the outcome
  $("property").textContent = `“${run.property}”`;
  $("meaning").textContent = `“${capital(run.property)}” means that ${meanings[run.property].replace(/^./, (c) => c.toLowerCase())}`;
}

const own = (r) => r.vary.map((q) => q.values[q.own]);
const current = () => run.vary.map((q, i) => q.values[chosen[i]]);
const same = (a, b) => a?.run === b.run && String(a.values) === String(b.values);

// toggle chooses what would have saved the run, or, if it is chosen, what the reader had chosen before.
function toggle(n) {
  if (stale) return;
  const to = same(saving[n], { run, values: current() }) ? unsaved : saving[n];
  chooseRun(claim.runs.indexOf(to.run), to.values);
}

// offer shows the answers that save the run at the chosen values.
async function offer(found) {
  const mine = (offer.last = {});
  const now = { run, values: current() };
  if (!saving.some((s) => same(s, now))) {
    const from = await origin(now, found);
    const all = [];
    for (const save of from ? claim.saves : []) {
      if (offer.last !== mine) return;
      all.push(await saver(save, from.values, from.run));
    }
    if (offer.last !== mine) return;
    unsaved = from;
    saving = all;
  }
  for (const [n, s] of saving.entries()) {
    $("saves").children[n].hidden = !s;
    $("saves").children[n].setAttribute("aria-pressed", String(same(s, now)));
  }
  $("saving").hidden = !saving.some(Boolean);
  stale = false;
}

// origin is the violated run whose answers are shown: the present one, or one from which an answer leads to it. It is null if there is none.
async function origin(now, found) {
  const { saves, runs } = now.run.claim;
  const first = runs[0];
  if (now.run === first && found === "violated") return now;
  const was = unsaved?.run === first ? unsaved.values : own(first); // what the present choice does not say
  for (const save of found === "ok" ? saves : []) {
    if (runs[save.run] !== now.run) continue;
    const values = first.vary.map((q, i) => {
      if (now.run === first) return save.values[i] === own(first)[i] ? now.values[i] : was[i];
      const n = now.run.vary.findIndex((o, n) => o.what === q.what && own(now.run)[n] === own(first)[i]);
      return n >= 0 && q.values.includes(now.values[n]) ? now.values[n] : was[i];
    });
    if (await status(numbers(first, values), first) === "violated" && same(await saver(save, values, first), now)) return { run: first, values };
  }
  return null;
}

const numbers = (of, values) => of.vary.map((q, i) => q.values.indexOf(values[i]));

// saver is the run, and the values, to which an answer leads from these values of the first run. What the reader has moved is kept, unless the
// answer changes it, or the other run starts from another value. It is null if the answer does not save the run.
async function saver(save, values, first) {
  const to = first.claim.runs[save.run];
  const kept = to.vary.map((q, i) => {
    if (to === first) return save.values[i] === own(first)[i] ? values[i] : save.values[i];
    const n = first.vary.findIndex((f, n) => f.what === q.what && own(first)[n] === save.values[i]);
    return n >= 0 && q.values.includes(values[n]) ? values[n] : save.values[i];
  });
  return await status(numbers(to, kept), to) === "ok" ? { run: to, values: kept } : null;
}

// slider is a quantity that can be changed. Below it, a strip shows what came out at the values that the reader has tried, the other
// quantities being as they are. It shows all values only on demand: they are the answer to the question where the outcome changes.
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
  return make("div", { class: "quantity" }, make("label", {}, make("span", { class: "what" }, q.what), value, back), input, strip, make("p", { class: "edge", role: "status" }));
}

// paint fills the strip of a quantity with what the reader may see. Once the reader may see every value, a sentence sums them up.
function paint(n) {
  const q = run.vary[n];
  const box = $("quantities").children[n];
  const found = q.values.map((_, i) => {
    const key = JSON.stringify(request(chosen.with(n, i)));
    return all || tried.has(key) ? known.get(key) : undefined;
  });
  for (const [i, cell] of [...box.querySelector(".strip").children].entries()) cell.className = found[i] ?? "";
  box.querySelector(".edge").textContent = found.includes(undefined) ? "" : edge(q, found);
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

// showAll shows all values on the strips, or again only those that the reader has played.
function showAll(is) {
  all = is;
  $("every").textContent = all ? "Show only values tried" : "Show all values";
}

// play plays what is chosen, and then, if the reader has asked for it, finds out where the edges are.
async function play() {
  address();
  $("predict").hidden = revealed;
  $("quantities").hidden = !revealed || !run.vary.length;
  $("all").hidden = !revealed || !run.vary.length;
  for (const id of ["outcome", "guess", "stage", "more"]) $(id).hidden = !revealed;
  engine.drop();
  edges.last = offer.last = null;
  stale = true;
  const mine = (play.last = {});
  if (!revealed) return;
  $("guess").hidden = true;
  for (const n of run.vary.keys()) paint(n);
  $("outcome").classList.add("old");
  const start = performance.now();
  const answer = await engine.play(request(), true);
  if (play.last !== mine || !answer) return;
  performance.measure("played", { start });
  if (answer.statuses) {
    const key = JSON.stringify(request());
    known.set(key, answer.statuses[run.property] ?? "unknown");
    tried.add(key);
  }
  for (const n of run.vary.keys()) paint(n);
  show(answer, run.property);
  const found = words[answer.statuses?.[run.property]];
  $("guess").hidden = !found || guessed !== JSON.stringify(request());
  $("guess").textContent = found === guess ? "As you expected." : `You expected that it is ${guess}.`;
  performance.measure("drawn", { start });
  offer(answer.statuses?.[run.property]);
  if (all) await edges();
}

// show shows what came out of a run.
function show(answer, property) {
  $("outcome").classList.remove("old");
  $("outcome").hidden = $("more").hidden = false;
  if (answer.errors) {
    $("outcome").replaceChildren(make("strong", { class: "unknown" }, "This cannot be played"), `: ${answer.errors[0].text}.`);
    $("stage").hidden = $("result").hidden = true;
    return;
  }
  const found = answer.statuses[property];
  const others = Object.keys(answer.statuses).filter((p) => p !== property && answer.statuses[p] === "violated");
  const broken = (answer.broken?.[property] ?? []).map((b) => (b === "none" ? "no assumption was broken" : `broken assumption: ${b}`));
  $("outcome").replaceChildren(`“${property}” is `, make("strong", { class: found }, words[found]), broken.length ? ` (${broken.join("; ")})` : "", ".",
    found !== "violated" && others.length ? ` But ${others.map((p) => `“${p}”`).join(" and ")} ${others.length > 1 ? "are" : "is"} violated.` : "",
    ...(answer.unmet ?? []).map((u) => ` But ${u}.`), answer.hint ? ` ${answer.hint}` : "");
  $("result").hidden = false;
  $("checksum").textContent = answer.checksum;
  $("took").textContent = `${Math.round(answer.took)} ms`;
  $("edit").href = `playground.html#${answer.token ?? `${run.name}`}`;
  const asked = (v) => v.property === property;
  answer.figure.stories.sort((a, b) => asked(b) - asked(a)); // what the reader was asked about is explained first, and the cursor is there
  const explorer = drawRuns($("stage"), { ...answer, hint: "" });
  const drawn = explorer.all[0];
  const at = answer.figure.violations.find(asked);
  if (at) {
    explorer.choose(drawn, at.event);
    moment = drawn.events[at.event].at;
  } else if (moment !== undefined) { // what happens instead of the violation that was there before
    const event = explorer.player.rows.findLast((r) => drawn.events[r.event].at <= moment)?.event;
    if (event !== undefined) explorer.choose(drawn, event);
  }
}

// address writes what is chosen into the address of the page, so that a copied link opens the same.
function address() {
  const n = claim.runs.indexOf(run);
  const values = current();
  const changed = run.vary.some((q, i) => chosen[i] !== q.own);
  setAddress(`#${claim.id}${n || changed ? `/${n + 1}` : ""}${changed ? `/${values.join(",")}` : ""}`);
}

// follow opens what a link names: #10, #10/2, #10/1/12s,10s. Of a damaged link it opens what it can.
function follow(link) {
  let text;
  try {
    text = decodeURIComponent(link.slice(1));
  } catch {
    text = link.slice(1); // which is no link of this page
  }
  const [, id, n = "1", values] = /^(\d{1,2}[a-z]?)(?:\/(\d{1,2}))?(?:\/([^/]{1,200}))?$/.exec(text) ?? [];
  const vary = claims.find((c) => c.id === id)?.runs[n - 1]?.vary;
  const given = values?.split(",") ?? [];
  const whole = vary && given.length <= vary.length && given.every((v, i) => !v || vary[i].values.includes(v));
  chooseClaim(id);
  chooseRun(n - 1, given);
  if (text && !whole) $("notice").textContent = "The link is damaged, or leads to another version of this page.";
}

async function reveal(expected) {
  revealed = true;
  guess = expected;
  guessed = guess && JSON.stringify(request());
  await play();
  $("outcome").focus(); // the button is gone
}

// seen waits until an element comes into view, or the page is printed. When a site is opened from disk, Chromium loads all pages in a chapter's folds at
// once, although they are marked as lazy, and each of them would start a program.
function seen(element) {
  return new Promise((done) => {
    addEventListener("beforeprint", done, { once: true });
    new IntersectionObserver((entries, observer) => {
      if (!entries.some((e) => e.isIntersecting)) return;
      observer.disconnect();
      done();
    }).observe(element);
  });
}

async function main() {
  document.documentElement.classList.toggle("embedded", embedded);
  $("claim").append(...claims.map((c) => make("option", { value: c.id }, `${c.id}. ${c.heading}`)));
  if (embedded) await seen($("loading"));
  engine = await startEngine();
  if (!engine) return;
  $("live").hidden = false;
  $("size").textContent = `${(window.lockstepEngine.size / 1e6).toFixed(1)} MB`;
  $("claim").addEventListener("change", () => {
    chooseClaim($("claim").value);
    return chooseRun(0);
  });
  $("every").addEventListener("click", () => {
    showAll(!all);
    if (!all) edges.last = null;
    for (const n of run.vary.keys()) paint(n);
    if (all) edges();
  });
  $("kept").addEventListener("click", () => reveal("kept"));
  $("violated").addEventListener("click", () => reveal("violated"));
  $("look").addEventListener("click", () => reveal(""));
  window.addEventListener("hashchange", () => follow(location.hash));
  follow(location.hash);
}

main();
