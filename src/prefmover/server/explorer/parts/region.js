/**
 * A part of the page that is loaded: a skeleton, then the content or an error, always in the same space.
 *
 * One request at a time: a newer one aborts the older one. While new content is loaded the old one stays, so
 * that nothing jumps. A request to a busy server (503) is repeated after the time that the server asks for;
 * while the server starts, the part waits until it is ready.
 */

import { ready } from "../lib/api.js";
import { h } from "../lib/elements.js";
import { starting } from "./starting.js";

const RETRIES = 5; // automatic ones, while the server is busy
const POLL = 1000; // ms between two looks at a server that starts
const LONGEST = 60;

/**
 * @param {object} options
 * @param {string} options.label of the content, for "Loading the nearest viewers"
 * @param {number} [options.lines] lines of the skeleton
 * @param {number} [options.room] height reserved for the content, in rem
 * @param {AbortSignal} options.signal aborted when the visitor leaves the page
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
      const answer = await load(stop, (progress) => !stop.aborted && waits(progress));
      if (stop.aborted) return;
      put(h("div", { class: "loaded" }, draw(answer)));
    } catch (error) {
      if (stop.aborted) return;
      if (error.status === undefined) console.error(error); // a defect of the page, not of the server
      const again = () => show(load, draw);
      if (error.state === "starting") wait(error, stop, again);
      else if (error.status !== 503 || error.state) put(failure(error, again));
      else busy(error, load, draw, attempt);
    }
  }

  /** Show how far something is that the server computes. */
  function waits({ done, total }) {
    const known = element.querySelector(".skeleton progress");
    if (known) return total ? Object.assign(known, { max: total, value: done }) : null;
    const bar = h("progress", { "aria-label": `Computing ${label}` });
    element
      .querySelector(".skeleton")
      ?.prepend(h("p", { class: "soft" }, `Computing ${label}, once for everybody.`), bar);
  }

  /** Wait until the server is ready, for as long as it says that it starts. */
  async function wait(error, stop, again) {
    const notice = starting();
    put(notice.element);
    for (let problem = error; problem?.state === "starting"; ) {
      notice.update(problem.progress);
      await new Promise((done) => setTimeout(done, POLL));
      if (stop.aborted) return;
      problem = await ready(stop).catch((other) => other);
      if (stop.aborted) return;
      if (problem && problem.state !== "starting") return put(failure(problem, again));
    }
    again();
  }

  function busy(error, load, draw, attempt) {
    const again = () => show(load, draw);
    if (attempt >= RETRIES) return put(failure(error, again));
    let seconds = Math.min(Math.max(error.retryAfter ?? 2, 1), LONGEST);
    const clock = h("span", {}, seconds);
    put(
      h(
        "div",
        { class: "notice", role: "status" },
        h(
          "p",
          {},
          h("strong", {}, "The server is busy. "),
          "Trying again in ",
          h("span", { "aria-hidden": "true" }, clock, " s"),
          h("span", { class: "unseen" }, "a moment"),
          ".",
        ),
        h("button", { type: "button", class: "quiet", on: { click: again } }, "Try now"),
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

  /** Say that the content is outdated, and that new content will be loaded in a moment. */
  function soon() {
    newest?.abort();
    clearTimeout(waiting);
    element.setAttribute("aria-busy", "true");
  }

  /** Stop loading, and show a notice instead. */
  function notice(content) {
    newest?.abort();
    clearTimeout(waiting);
    put(content);
  }

  return { element, show, soon, notice };
}

/** An error, with a button to try again. */
export function failure(error, again) {
  const title =
    error.status === 404 ? "Not found" : error.status === 401 ? "A token is needed" : "Something went wrong";
  return h(
    "div",
    { class: "notice bad", role: "alert" },
    h(
      "p",
      {},
      h("strong", {}, `${title}. `),
      error.status === undefined ? "This is a bug in the page." : error.message,
    ),
    h("button", { type: "button", class: "quiet", on: { click: again } }, "Try again"),
  );
}

/** A notice in place of content. */
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
