/**
 * Whether something is loaded: while it is, `main` has `aria-busy`, from before the first request of a page
 * on, so that screen readers do not read half a page.
 */

import { byId } from "./html.js";

let n = 0;

/** Say that something is loaded. @returns {() => void} ends it; a second call does nothing */
export function busy() {
  n += 1;
  show();
  return once(() => {
    n -= 1;
    show();
  });
}

function show() {
  byId("main").ariaBusy = n > 0 ? "true" : null;
}

function once(call) {
  let called = false;
  return () => {
    if (!called) call();
    called = true;
  };
}
