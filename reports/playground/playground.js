// The playground: a scenario file at the left, the run at the right.
const $ = (id) => document.getElementById(id);
const { menu, start, help } = JSON.parse($("menu").textContent);
const alike = " Both runs have the same events.";
const settled = 300; // ms without a change, after which the text is played

let engine, editor, explorer;
let shown = null; // the last answer that is drawn
let kept = null; // the answer to compare with
let source = ""; // the run of the catalogue whose text is in the editor, unchanged
let origin = null; // the last run of the catalogue that was in the editor, with its text
let handles; // the knobs of the last run
let exploring = false;
let explored = ""; // the text of the last exploration
let forked = 0; // the line of an unfinished step that injects another fault

// play plays the text in the editor.
async function play() {
  clearTimeout(play.timer);
  engine.drop();
  $("state").classList.add("busy");
  const text = editor.text;
  const mine = (play.last = {});
  const answer = await engine.play({ script: text }, true);
  if (play.last !== mine || !answer || editor.text !== text) return; // a change since then will be played, too
  $("state").classList.remove("busy");
  if (answer.errors) return wrong(answer.errors);
  right(answer);
}

// outdate says that the figure is not the run of the text.
function outdate() {
  $("stage").classList.add("old");
  $("outdated").hidden = !shown;
}

// wrong shows mistakes in the text. The last run stays, faintly, and the page says that it is another.
function wrong(mistakes) {
  $("refused").textContent = "";
  outdate();
  if (!editor.text.trim()) {
    editor.mark([]);
    $("mistakes").replaceChildren();
    return $("state").replaceChildren("Write a scenario, or choose one under ", make("em", {}, "Start from"), ".");
  }
  const unfinished = mistakes.every((m) => m.line === forked || m.line === editor.writing);
  editor.mark(unfinished ? [] : mistakes);
  $("mistakes").replaceChildren(...(unfinished ? [] : mistakes).map((m) => make("li", {}, m.line
    ? [make("button", { type: "button", class: "link", on: { click: () => editor.go(m.line) } }, `Line ${m.line}`), ": ", m.text]
    : m.text)));
  $("state").textContent = unfinished ? "The line is not complete yet." : mistakes.length === 1 ? "There is a mistake in the text:" : `There are ${mistakes.length} mistakes in the text:`;
}

function right(answer) {
  $("refused").textContent = ""; // it was about another text
  editor.mark([]);
  forked = 0;
  if (source) origin = { run: source, text: answer.script };
  else if (origin?.text === answer.script) $("run").value = source = origin.run; // the reader has taken all changes back
  if (origin && title(origin.text) === title(answer.script)) { // a text with another title is another scenario
    answer.figure.name = answer.figure.name.replace(/^scenario · /, `${origin.run.split("/")[0]}${source ? "" : ", changed"} · `);
  }
  answer.figure.name = answer.figure.name.replace(/^replay · /, "from a link · ");
  shown = answer;
  $("elsewhere").hidden = !explored || explored === answer.script;
  $("mistakes").replaceChildren();
  $("notice").textContent = "";
  $("state").textContent = `Played and judged in ${Math.round(answer.took)} ms. Checksum ${answer.checksum}.${kept?.checksum === answer.checksum ? alike : ""}`;
  const lock = /^-- (\S+)/m.exec(answer.script)?.[1] ?? "";
  $("lock").value = lock;
  for (const id of ["keep", "fork", "png", "svg", "explore"]) $(id).disabled = false;
  $("command").textContent = answer.token ? `lockstep replay ${answer.token}` : "lockstep run my.txtar";
  $("how").textContent = answer.token ? "" : "The run is too long for a token: save the text as my.txtar.";
  draw();
  address();
}

const title = (text) => text.split("\n", 1)[0];

function draw() {
  const at = explorer?.axis.toScale;
  $("stage").classList.remove("old", "stale");
  $("outdated").hidden = true;
  explorer = drawRuns($("stage"), ...(kept ? [kept, shown] : [shown]));
  if (at) explorer.act("scale");
  knobs();
}

// knobs lets the reader move the faults of the run in the figure.
function knobs() {
  const before = editor.text;
  handles = new Handles(explorer, shown.handles ?? [], (handle, line) => {
    const lines = before.split("\n");
    lines[handle.line - 1] = line;
    editor.area.value = lines.join("\n");
    editor.paint();
    editor.reveal(handle.line);
    $("stage").classList.add("old");
  }, (handle, line) => {
    const held = document.activeElement?.classList.contains("knob");
    const n = handles.nth(handle);
    editor.area.value = before; // so that the change is one that the reader can undo
    editor.line(handle.line, line);
    changed();
    play().then(() => held && handles.same(handle.line, n)?.focus({ preventScroll: true }));
  });
}

// changed plays the text once the reader pauses.
function changed() {
  if (exploring) engine.stop();
  source = "";
  $("run").value = "";
  $("stage").classList.add("stale"); // its knobs belong to the text before
  clearTimeout(play.timer);
  play.timer = setTimeout(play, settled);
}

// address writes what is shown into the address of the page: a run of the catalogue, or one or two runs as tokens.
function address() {
  const name = (a) => a.source || a.token;
  shown.source = source;
  const names = [...(kept ? [name(kept)] : []), name(shown)];
  setAddress(names.every(Boolean) ? `#${names.join(",")}` : "#");
}

// follow opens what a link names. A link that is damaged changes nothing.
async function follow(link) {
  if (exploring) engine.stop();
  let names;
  try {
    names = decodeURIComponent(link.slice(1)).split(",").slice(0, 2);
  } catch {
    names = [link.slice(1)]; // which is no name
  }
  const answers = [];
  for (const name of names) {
    const answer = await engine.play(ask(name), true);
    if (!answer) return undefined; // the reader has gone on meanwhile
    if (answer.errors) {
      if (shown) address();
      else await open("pause-after-acquire/redlock");
      return ($("notice").textContent = `The link is damaged, or leads to another version of this page: ${answer.errors[0].text}.`);
    }
    answers.push(answer);
  }
  const last = answers.at(-1);
  kept = answers.length === 2 ? { ...answers[0], source: named(names[0]) } : null;
  comparing();
  source = named(names.at(-1));
  origin = null;
  $("run").value = source;
  editor.load(last.script);
  return right(last);
}

const ask = (name) => (/^lk\d/.test(name) ? { token: name } : { run: name });
const named = (name) => (/^lk\d/.test(name) ? "" : name);

// open opens a run of the catalogue.
async function open(name) {
  if (exploring) engine.stop();
  const answer = await engine.play({ run: name }, true);
  if (!answer) return;
  editor.load(answer.script ?? "");
  if (answer.errors) return wrong(answer.errors);
  source = name;
  $("run").value = name;
  right(answer);
}

function comparing() {
  $("keep").textContent = kept ? "Stop comparing" : "Compare with this";
}

// fork begins a step that injects a fault right after the event at the cursor.
async function fork() {
  const { run, event, t } = explorer.cursor();
  const of = run && run !== explorer.all.at(-1) ? undefined : event; // an event of the run that is kept has no place in the text
  const at = of === undefined ? t : explorer.all.at(-1).events[of].at;
  if (!kept) {
    kept = shown;
    comparing();
  }
  const answer = await engine.play({ script: editor.text, want: "fork", at: soonAfter(at) }, true);
  if (!answer || answer.errors) return;
  forked = answer.line;
  const end = insertStep(answer);
  editor.area.setSelectionRange(end, end);
  editor.offer();
}

// insertStep puts the new step of an answer into the text, with the line above it if its lane is new, and returns where it ends.
function insertStep({ script, line }) {
  const lines = script.split("\n");
  const fresh = lines.slice(line - (lines.length - editor.text.split("\n").length), line).join("\n");
  const end = lines.slice(0, line).join("\n").length;
  editor.edit(end - fresh.length, end - fresh.length, `${fresh}\n`);
  editor.close();
  editor.reveal(line);
  return end;
}

// inject adds a fault to the run, and selects its step, which the reader can change or take back.
async function inject(fault) {
  const script = editor.text;
  const answer = await engine.play({ script, want: "inject", fault: fault.words }, true);
  if (!answer || editor.text !== script) return; // the reader has gone on meanwhile
  explain(fault);
  if (answer.errors) return ($("refused").textContent = `It cannot be added: ${answer.errors[0].text}.`);
  const end = insertStep(answer);
  const step = answer.script.split("\n")[answer.line - 1].trim();
  editor.area.setSelectionRange(end - step.length, end);
  return play();
}

// explain says below the palette what a fault does. A screen reader has it from the title of the button.
function explain(fault) {
  $("meaning").replaceChildren(make("code", {}, fault.words), `: ${fault.note}.`);
  $("refused").textContent = "";
}

// fillPalette offers the faults of the language, each by the words with which it begins. Arrow keys go from one to the next, as in any toolbar.
function fillPalette() {
  const buttons = help.faults.map((fault, n) => make("button", {
    type: "button", title: fault.note, tabindex: n ? "-1" : "0", on: { click: () => inject(fault), focus: () => explain(fault), pointerenter: () => explain(fault) },
  }, /^[a-z| ]+(?= )/.exec(fault.words)[0]));
  const groups = [...new Set(help.faults.map((f) => f.group))];
  $("faults").replaceChildren(...groups.map((group) => make("div", { role: "group", "aria-label": group },
    make("span", { "aria-hidden": "true" }, group), make("div", {}, buttons.filter((_, n) => help.faults[n].group === group)))));
  $("faults").addEventListener("keydown", (e) => {
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: -1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    buttons.at(to % buttons.length).focus();
  });
  $("faults").addEventListener("focusin", (e) => buttons.forEach((b) => (b.tabIndex = b === e.target ? 0 : -1)));
}

// explore plays the run with each fault at each moment. The button stops it, and so does a change of the text.
async function exploreAll() {
  if (exploring) return engine.stop();
  exploring = true;
  $("explore").textContent = "Stop";
  $("finds").replaceChildren();
  $("done").hidden = false;
  $("done").removeAttribute("value");
  engine.drop();
  const started = performance.now();
  explored = "";
  $("elsewhere").hidden = true;
  const { text } = editor;
  const answer = await engine.play({ script: text, want: "exploration" }, true, ([done, all]) => {
    $("done").max = all;
    $("done").value = done;
    $("explored").textContent = `${done} of about ${all} runs`;
  });
  exploring = false;
  $("explore").textContent = "Explore";
  $("done").hidden = true;
  if (!answer) {
    $("explored").textContent = "Stopped.";
  } else if (answer.errors) {
    $("explored").textContent = `Not explored: ${answer.errors[0].text}.`;
  } else {
    const { sentence, finds } = answer.exploration;
    explored = text;
    $("explored").textContent = `${sentence} It took ${Math.round((performance.now() - started) / 1000)} s.`;
    $("finds").replaceChildren(...finds.map((f) => make("li", {}, make("strong", {}, f.property),
      f.assumption === "none" ? " is violated, and no assumption was broken: " : ` is violated (broken assumption: ${f.assumption}): `,
      make("a", { href: `#${f.token}` }, f.plan))));
  }
  return undefined;
}

// soonAfter is the next whole millisecond, or microsecond if an event follows before that.
function soonAfter(t) {
  const next = explorer.all.at(-1).events.find((e) => e.at > t)?.at ?? Infinity;
  const ms = (Math.floor(t / 1e6) + 1) * 1e6;
  return ms < next ? ms : (Math.floor(t / 1e3) + 1) * 1e3;
}

// copy copies a text, and says so on the button.
async function copy(button, text, done = "Copied") {
  const said = (button.dataset.said ??= button.textContent);
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = done;
  } catch {
    button.textContent = "The browser does not allow it";
  }
  setTimeout(() => (button.textContent = said), 1500);
}

// save offers a file for download.
function save(name, blob) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const fileName = () => shown.figure.name.replace(/[^a-z0-9-]+/g, "-");

// fillHelp writes the example, and the tables of steps and faults.
function fillHelp() {
  $("example").textContent = help.example;
  const code = (text) => make("code", {}, text);
  for (const [id, rows] of [["step-forms", help.steps], ["fault-forms", help.faults]]) {
    $(id).tBodies[0].append(...rows.map((r) => make("tr", {}, make("th", { scope: "row" }, code(r.words)), make("td", {}, r.note), make("td", {}, code(r.example)))));
  }
}

// meaning says what a step or a fault does, if a completion begins it.
function meaning({ text, form }) {
  return [...help.faults, ...help.steps].find((r) => form.endsWith(r.words) && r.words.startsWith(text))?.note;
}

function fillMenus() {
  $("run").append(...menu.pages.map((p) => make("optgroup", { label: p.name }, p.runs.map((r) => make("option", { value: `${p.name}/${r}` }, `${p.name}/${r}`)))));
  $("lock").append(...menu.locks.map((l) => make("option", { value: l.name, title: l.about }, l.name)));
}

async function main() {
  fillMenus();
  fillHelp();
  fillPalette();
  engine = await startEngine();
  if (!engine) return;
  $("first")?.remove();
  $("playground").hidden = false;
  $("size").textContent = `${(window.lockstepEngine.size / 1e6).toFixed(1)} MB`;
  editor = new Editor($("editor"), async (r) => (await engine.play({ ...r, want: "completions" }, true))?.completions ?? [], changed, meaning);
  $("run").addEventListener("change", () => $("run").value && open($("run").value));
  $("lock").addEventListener("change", () => {
    if (!$("lock").value) return;
    const lines = editor.text.split("\n");
    const n = lines.findIndex((l) => /^-- \S+/.test(l));
    const named = (name) => menu.locks.find((l) => l.name === name);
    const { name, nodes } = named($("lock").value);
    if (n < 0) { // a text that has no last line yet gets one
      editor.edit(editor.text.length, editor.text.length, `${/\n$|^$/.test(editor.text) ? "" : "\n"}\n-- ${name} nodes=${nodes} --\n`);
      return;
    }
    const kin = named(/^-- (\S+)/.exec(lines[n])[1])?.nodes === nodes; // a lock for as many nodes takes the place of the other
    editor.line(n + 1, lines[n].replace(/^-- \S+/, `-- ${name}`).replace(/ nodes=\d+/, (now) => (kin ? now : ` nodes=${nodes}`)));
    play();
  });
  $("keep").addEventListener("click", () => {
    kept = kept ? null : shown;
    comparing();
    if (!kept) $("state").textContent = $("state").textContent.replace(alike, "");
    draw();
    address();
  });
  $("fork").addEventListener("click", fork);
  $("explore").addEventListener("click", exploreAll);
  $("editor").addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey)) return;
    e.preventDefault();
    play();
  });
  $("link").addEventListener("click", () => copy($("link"), location.href, $("outdated").hidden && !$("stage").classList.contains("stale") ? "Copied" : "Copied the last run that was played"));
  $("text").addEventListener("click", () => copy($("text"), shown?.script === editor.text && shown.file || editor.text));
  $("use").addEventListener("click", () => {
    editor.edit(0, editor.text.length, help.example);
    origin = null;
  });
  $("copy").addEventListener("click", () => copy($("copy"), $("command").textContent));
  $("png").addEventListener("click", () => canvasOf(explorer).toBlob((blob) => save(`${fileName()}.png`, blob)));
  $("svg").addEventListener("click", () => save(`${fileName()}.svg`, new Blob([new XMLSerializer().serializeToString(svgOf(explorer, true))], { type: "image/svg+xml" })));
  // #A57 is an event of the figure that was there before.
  const here = () => follow(location.hash.length > 1 && !/^#[A-Z]\d+$/.test(location.hash) ? location.hash : `#${start}`);
  window.addEventListener("hashchange", here);
  await here();
}

main();
