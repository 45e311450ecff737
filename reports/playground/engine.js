// An Engine plays runs, one after the other, in a program that runs in a worker. What the reader waits for comes first. A run that takes too
// long is ended with its worker, and a new one is started.
const patience = 20_000; // ms for one run

class Engine {
  constructor(source) {
    this.source = source;
    this.waiting = [];
    this.busy = null;
    this.number = 0;
    const policy = window.trustedTypes?.createPolicy("lockstep", { createScriptURL: (url) => url }) ?? { createScriptURL: (url) => url };
    this.script = policy.createScriptURL(URL.createObjectURL(new Blob([source.worker], { type: "text/javascript" })));
    this.start();
  }

  start() {
    this.running = false;
    this.worker = new Worker(this.script);
    this.ready = new Promise((resolve, reject) => {
      const failed = (why) => {
        if (this.running) return;
        reject(new Error(why));
        for (const item of this.waiting.splice(0)) item.done({ errors: [{ text: `the program did not start again: ${why}` }] });
      };
      this.worker.onerror = (e) => failed(e.message || "the worker did not start");
      this.worker.onmessage = (m) => {
        if (typeof m.data !== "string") {
          this.source.program = m.data; // compiled
          return undefined;
        }
        const answer = JSON.parse(m.data);
        if (answer.ready) {
          this.running = true;
          resolve();
          return this.next();
        }
        if (answer.failed) return failed(answer.failed);
        if (answer.exploration?.progress) {
          this.watch(); // it has not stopped
          return this.busy.progress?.(answer.exploration.progress);
        }
        return this.answer(answer);
      };
    });
    this.ready.catch(() => {}); // whoever waits for it hears of it
    this.worker.postMessage(this.source.program);
  }

  answer(answer) {
    const { done } = this.busy;
    clearTimeout(this.timer);
    this.busy = null;
    this.next();
    done(answer);
  }

  // play returns the answer to a request, or null if the request is dropped before it is played, or stopped.
  play(request, urgent, progress) {
    return new Promise((done) => {
      const item = { request: { ...request, id: ++this.number }, done, progress };
      if (urgent) this.waiting.unshift(item);
      else this.waiting.push(item);
      this.next();
    });
  }

  // drop forgets the runs that wait, but not questions about a text.
  drop() {
    const asks = (item) => ["completions", "fork", "inject"].includes(item.request.want);
    const dropped = this.waiting.filter((item) => !asks(item));
    this.waiting = this.waiting.filter(asks);
    for (const item of dropped) item.done(null);
  }

  next() {
    if (!this.running || this.busy || !this.waiting.length) return;
    this.busy = this.waiting.shift();
    this.watch();
    this.worker.postMessage(JSON.stringify(this.busy.request));
  }

  watch() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.stop({ errors: [{ text: `the run took more than ${patience / 1000} seconds, and was ended; make it shorter` }] }), patience);
  }

  // stop ends what is being played. Only the end of its worker ends it.
  stop(answer = null) {
    if (!this.busy) return;
    this.worker.terminate();
    this.start();
    this.answer(answer);
  }
}

// drawRuns shows what came of runs, below each other if there are two, as a figure that can be explored, and returns its explorer.
function drawRuns(stage, ...answers) {
  const runs = answers.map((a) => a.figure);
  const root = document.getElementById("frame").content.firstElementChild.cloneNode(true);
  const bdi = (text) => make("bdi", {}, text);
  const letter = (n) => (runs.length > 1 ? make("span", { class: "letter" }, String.fromCharCode(65 + n)) : "");
  root.querySelector(".heads").append(...runs.map((run, n) => make("div", { class: `head ${run.verdict.toLowerCase()}` }, make("h1", {}, letter(n), bdi(run.name)),
    make("p", { class: "outcome" }, make("strong", { class: "verdict" }, run.verdict), " ", bdi(run.outcome)), make("p", { class: "reason" }, bdi(run.reason)),
    answers[n].hint && make("p", { class: "reason" }, answers[n].hint))));
  root.querySelector(".about").append(...runs.flatMap((run, n) => [
    make("h2", {}, letter(n), bdi(run.title || run.name)), make("p", { class: "facts" }, bdi((run.facts ?? []).join(" · "))),
    make("details", {}, make("summary", {}, "What was judged"), make("table", { class: "properties" }, run.properties.map((p) => make("tr", { class: p.status },
      make("th", { scope: "row" }, p.name), make("td", {}, make("strong", {}, p.status), (p.broken ?? []).map((b) => make("p", {}, bdi(b))))))))]));
  stage.hidden = false;
  stage.replaceChildren(root);
  const explorer = explore(root, { runs });
  if (runs.at(-1).violations.length) explorer.act("violation");
  return explorer;
}

// startEngine starts the program, and returns its engine, or says on the page why it did not start.
async function startEngine() {
  const started = performance.now();
  const loading = document.getElementById("loading");
  try {
    if (!window.lockstepEngine) throw new Error("engine.js is missing, or damaged");
    const engine = new Engine(window.lockstepEngine);
    await engine.ready;
    document.documentElement.dataset.ready = Math.round(performance.now() - started);
    loading.hidden = true;
    return engine;
  } catch (e) {
    loading.textContent = `The program that plays the runs did not start: ${e.message.replace(/\.$/, "")}.`;
    return null;
  }
}

// setAddress writes a link into the address of the page, with a delay, because browsers limit the number of changes.
let addressing;
function setAddress(link) {
  clearTimeout(addressing);
  addressing = setTimeout(() => history.replaceState(null, "", link), 250);
}
