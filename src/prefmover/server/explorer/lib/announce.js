/** Announcements for screen readers, when something changes that does not have the focus. */

import { byId } from "./html.js";

let timer = 0;

/** Announce a sentence politely; of several in a moment, only the last one. */
export function announce(text) {
  clearTimeout(timer);
  timer = setTimeout(() => (byId("live").textContent = text), 250);
}
