/** Announcements for screen readers, when something changes that does not have the focus. */

const box = () => document.getElementById("live");
let timer = 0;

/** Announce a sentence politely; of several in a moment, only the last one. */
export function announce(text) {
  clearTimeout(timer);
  timer = setTimeout(() => (box().textContent = text), 250);
}
