/**
 * A part of the page that is loaded: a skeleton, then the content, or an error, always in the same place.
 *
 * One request at a time: a newer one aborts the older, and an answer that comes too late is dropped. While
 * newer content is on its way the old one stays, so that nothing jumps. A busy server (503) is asked again
 * when it said it could be.
 */

import { h } from "../lib/elements.js";

const PATIENCE = 5; // times that a busy server is asked again without being told to
const LONGEST = 60;

/**
 * @param {object} options
 * @param {string} options.label what is loaded, for "Loading the nearest viewers"
 * @param {number} [options.lines] of the skeleton; it takes the room the content will need
 * @param {number} [options.room] height that is kept free for the content, in rem
 * @param {AbortSignal} options.signal aborted when the page is left
 */
export function region({ label, lines = 6, room = 3, signal }) {
  const element = h("div", { class: "region", style: { "--room": `${room}rem` } });
  let newest = null;
  let waiting = 0;

  async function show(load, draw, attempt = 0) {
    newest?.abort();
    clearTimeout(waiting);
    const mine = new AbortController();
    newest = mine;
    const stop = AbortSignal.any([signal, mine.signal]);
    element.setAttribute("aria-busy", "true");
    if (!element.firstElementChild?.classList.contains("loaded"))
      element.replaceChildren(skeleton(label, lines));
    try {
      const answer = await load(stop);
      if (stop.aborted) return;
      put(h("div", { class: "loaded" }, draw(answer)));
    } catch (error) {
      if (stop.aborted) return;
      if (error.status === undefined) console.error(error); // ours, not the server's
      const again = () => show(load, draw);
      if (error.status !== 503) put(trouble(error, again));
      else busy(error, load, draw, attempt);
    }
  }

  function busy(error, load, draw, attempt) {
    const again = () => show(load, draw);
    if (attempt >= PATIENCE) return put(trouble(error, again));
    let seconds = Math.min(Math.max(error.retryAfter ?? 2, 1), LONGEST);
    const clock = h("span", {}, seconds);
    put(
      h(
        "div",
        { class: "notice", role: "status" },
        h(
          "p",
          {},
          h("strong", {}, "The server has much to do. "),
          "Asking again in ",
          h("span", { "aria-hidden": "true" }, clock, " s"),
          h("span", { class: "unseen" }, "a moment"),
          ".",
        ),
        h("button", { type: "button", class: "quiet", on: { click: again } }, "Ask now"),
      ),
    );
    const tick = () => {
      if (signal.aborted) return;
      seconds -= 1;
      if (seconds <= 0) return show(load, draw, attempt + 1);
      clock.textContent = seconds;
      waiting = setTimeout(tick, 1000);
    };
    waiting = setTimeout(tick, 1000);
  }

  function put(content) {
    element.removeAttribute("aria-busy");
    element.replaceChildren(content);
  }

  /** Stop loading, and show something instead. */
  function say(content) {
    newest?.abort();
    clearTimeout(waiting);
    put(content);
  }

  return { element, show, say };
}

/** An error with what to do about it. */
export function trouble(error, again) {
  const title =
    error.status === 404 ? "Not found" : error.status === 401 ? "A token is needed" : "That did not work";
  return h(
    "div",
    { class: "notice bad", role: "alert" },
    h(
      "p",
      {},
      h("strong", {}, `${title}. `),
      error.status === undefined ? "The page met something unexpected." : error.message,
    ),
    h("button", { type: "button", class: "quiet", on: { click: again } }, "Try again"),
  );
}

/** Nothing to show, and what to do about it. */
export function empty(...content) {
  return h("div", { class: "notice" }, h("p", {}, ...content));
}

function skeleton(label, lines) {
  const bars = Array.from({ length: lines }, (_, k) => h("span", { class: "bone", style: { "--k": k } }));
  return h(
    "div",
    { class: "skeleton", role: "status" },
    h("span", { class: "unseen" }, `Loading ${label}`),
    bars,
  );
}
