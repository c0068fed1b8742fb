/** Words for screen readers when something changed that has no focus. */

const box = () => document.getElementById("live");
let timer = 0;

/** Say a sentence, politely; of several in a moment only the last one. */
export function announce(text) {
  clearTimeout(timer);
  timer = setTimeout(() => (box().textContent = text), 250);
}
