// An Editor is a text area for scenario files. Below its text, which is transparent, lies the same text in colours, with the numbers of the
// lines and marks at those that are wrong. What can come next in a line is offered in a list.
const colours = [
  ["duration", /^[+-]?\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|ppm)\b/],
  ["process", /^(?:[cnrsp]\d+|resource|probe)(?![\w.])/],
  ["word", /^[\w.%#-]+/],
  ["space", /^\s+/],
  ["sign", /^./],
];

// paintLine returns the parts of a line, each with its colour.
function paintLine(text, section) {
  if (text.startsWith("#")) return [["prose", text]];
  if (text.startsWith("-- ")) return [["section", text]];
  if (section && /^(!|\s*\d+\.\d{3}s|verdict:)/.test(text)) return [["golden", text]];
  const parts = [];
  for (let rest = text, first = true; rest;) {
    const [kind, found] = colours.map(([k, re]) => [k, re.exec(rest)?.[0]]).find(([, f]) => f);
    parts.push([first && kind === "word" ? "key" : kind, found]);
    if (kind !== "space") first = /^(at|when|must|expect|repeat)$/.test(found) && kind === "word";
    rest = rest.slice(found.length);
  }
  return parts;
}

class Editor {
  constructor(box, complete, changed, meaning) {
    this.box = box;
    this.scrolled = box.querySelector(".editor");
    this.area = box.querySelector("textarea");
    this.under = box.querySelector(".under");
    this.list = box.querySelector(".choices");
    this.complete = complete;
    this.changed = changed;
    this.meaning = meaning;
    this.wrong = new Map(); // the mistakes of each line
    this.choices = [];
    this.area.addEventListener("input", (e) => {
      this.paint();
      this.changed();
      if (e.inputType?.startsWith("insert") && !e.inputType.startsWith("insertFrom")) this.offer();
      else this.close(); // what is deleted or pasted needs no list
    });
    this.area.addEventListener("keydown", (e) => this.key(e));
    for (const type of ["blur", "click"]) this.area.addEventListener(type, () => this.close());
    this.list.addEventListener("pointerdown", (e) => {
      e.preventDefault(); // the text area keeps the focus
      const n = [...this.list.children].indexOf(e.target.closest("[role=option]"));
      if (n >= 0) this.accept(n);
    });
  }

  get text() {
    return this.area.value;
  }

  // writing is the line for which a list is open, or 0.
  get writing() {
    return this.choices.length ? this.text.slice(0, this.area.selectionStart).split("\n").length : 0;
  }

  // load replaces the whole text.
  load(text) {
    this.area.value = text;
    this.wrong.clear();
    this.close();
    this.paint();
  }

  // edit replaces a part of the text so that the reader can undo it.
  edit(from, to, text) {
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(from, to);
    if (!document.execCommand("insertText", false, text)) {
      this.area.setRangeText(text, from, to, "end");
      this.area.dispatchEvent(new Event("input"));
    }
  }

  // line replaces a line, counted from 1.
  line(number, text) {
    const lines = this.text.split("\n");
    const from = lines.slice(0, number - 1).reduce((sum, l) => sum + l.length + 1, 0);
    this.edit(from, from + lines[number - 1].length, text);
  }

  paint() {
    const lines = this.text.split("\n");
    const section = lines.findIndex((l) => l.startsWith("-- "));
    this.under.replaceChildren(...lines.map((l, n) => make("div", { class: this.wrong.has(n + 1) ? "line wrong" : "line", title: this.wrong.get(n + 1) },
      paintLine(l, section >= 0 && n > section).map(([kind, text]) => make("span", { class: kind }, text)), l ? "" : "\u200b")));
    this.area.style.height = `calc(${lines.length + 1}lh + 1rem)`;
    this.area.style.width = `max(100%, ${Math.max(...lines.map((l) => l.length)) + 8}ch)`;
  }

  // mark shows mistakes at their lines.
  mark(mistakes) {
    this.wrong = new Map();
    for (const m of mistakes) if (m.line) this.wrong.set(m.line, m.text);
    this.paint();
  }

  // go puts the cursor at the end of a line.
  go(number) {
    const place = this.text.split("\n").slice(0, number).join("\n").length;
    this.area.focus();
    this.area.setSelectionRange(place, place);
    this.reveal(number);
  }

  reveal(number) {
    this.under.children[number - 1]?.scrollIntoView({ block: "nearest" });
  }

  // offer lists what can come next.
  async offer() {
    const place = this.area.selectionStart;
    const before = this.text.slice(0, place).split("\n");
    const rest = this.text.slice(place).split("\n", 1)[0];
    const last = before.at(-1);
    this.close();
    if (rest.trim() || this.area.selectionEnd !== place || last.startsWith("#") || !last && before.length > 1) return undefined;
    const mine = (this.offered = {});
    const found = await this.complete({ script: this.text, line: before.length, before: last });
    if (this.offered !== mine) return undefined;
    const word = last.slice(last.lastIndexOf(" ") + 1);
    const taken = mine.taken; // before it was there
    this.open(found, word, before.length, last.length - word.length);
    return taken && found.length ? this.accept(0) : undefined;
  }

  open(found, word, line, column) {
    this.choices = found.map((c) => ({ ...c, typed: word.length }));
    if (!found.length) return;
    this.list.replaceChildren(...found.map((c, n) => make("div", { role: "option", id: `choice-${n}`, "aria-selected": "false" },
      make("span", { class: "text" }, c.text), make("span", { class: "form" }, this.after(c)), make("span", { class: "note" }, this.meaning(c)))));
    this.list.hidden = false;
    const lineHeight = parseFloat(getComputedStyle(this.area).lineHeight);
    this.list.style.setProperty("--column", column);
    this.list.style.top = `${8 + lineHeight * line - this.scrolled.scrollTop}px`;
    this.area.setAttribute("aria-expanded", "true");
    this.at = -1;
  }

  // after is the part of the form from a completion on.
  after({ text, form }) {
    const rest = form.slice(Math.max(form.indexOf(text), 0));
    return rest === text ? "" : rest;
  }

  close() {
    this.offered = null;
    this.choices = [];
    this.list.hidden = true;
    this.area.setAttribute("aria-expanded", "false");
    this.area.removeAttribute("aria-activedescendant");
  }

  choose(n) {
    this.list.children[this.at]?.setAttribute("aria-selected", "false");
    this.at = (n + this.choices.length) % this.choices.length;
    const chosen = this.list.children[this.at];
    chosen.setAttribute("aria-selected", "true");
    chosen.scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", chosen.id);
  }

  accept(n) {
    const { text, typed } = this.choices[n];
    const place = this.area.selectionStart;
    this.close();
    const ends = /[=]$/.test(text) || this.text[place] === " ";
    this.edit(place - typed, place, ends ? text : `${text} `);
  }

  key(e) {
    if (e.key === " " && e.ctrlKey) {
      e.preventDefault();
      return this.offer();
    }
    if (this.offered && !this.choices.length && e.key === "Tab" && !e.shiftKey) {
      e.preventDefault();
      this.offered.taken = true;
      return undefined;
    }
    if (this.choices.length) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (step) {
        e.preventDefault();
        return this.choose(this.at < 0 && step < 0 ? this.choices.length - 1 : this.at + step);
      }
      if (e.key === "Tab" && !e.shiftKey || e.key === "Enter" && this.at >= 0 && !e.ctrlKey && !e.metaKey) {
        e.preventDefault();
        return this.accept(Math.max(this.at, 0));
      }
      if (e.key === "Escape") return this.close();
      if (e.key.startsWith("Arrow")) this.close();
    }
    if (e.key === "Enter" && !e.ctrlKey && !e.metaKey && !e.shiftKey) return this.newline(e);
    return undefined;
  }

  // newline begins a line of a lane with its indentation.
  newline(e) {
    const { selectionStart: from, selectionEnd: to } = this.area;
    const line = this.text.slice(0, from).split("\n").at(-1);
    if (!/^(  \S|client |nemesis$)/.test(line)) return;
    e.preventDefault();
    this.edit(from, to, "\n  ");
  }
}
