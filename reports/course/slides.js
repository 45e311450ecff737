// Keys turn the slides; without this script they lie below each other, and are scrolled.
(() => {
"use strict";
const slides = [...document.querySelectorAll("section")];
const shown = () => {
  let best = 0;
  slides.forEach((s, i) => {
    if (Math.abs(s.getBoundingClientRect().top) < Math.abs(slides[best].getBoundingClientRect().top)) best = i;
  });
  return best;
};
const show = (i) => {
  const n = Math.max(0, Math.min(slides.length - 1, i));
  slides[n].scrollIntoView();
  try {
    history.replaceState(null, "", "#" + (n + 1));
  } catch {
    // A page that is opened from disk may not be allowed to change its address.
  }
};
const turns = {ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, Enter: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1, Backspace: -1};
document.addEventListener("keydown", (e) => {
  if (e.altKey || e.ctrlKey || e.metaKey) return;
  const back = e.key === " " && e.shiftKey;
  if (e.key in turns) show(shown() + (back ? -1 : turns[e.key]));
  else if (e.key === "Home") show(0);
  else if (e.key === "End") show(slides.length - 1);
  else return;
  e.preventDefault();
});
const asked = parseInt(location.hash.slice(1), 10);
if (asked > 0) show(asked - 1);
})();
