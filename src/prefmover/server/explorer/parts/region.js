/**
 * A part of the page that is loaded: a skeleton, then the content or an error, always in the same space.
 *
 * One request at a time: a newer one aborts the older one. While new content is loaded the old one stays, so
 * that nothing jumps. A request to a busy server (503) is repeated after the time that the server asks for;
 * while the server starts, the part waits until it is ready.
 */

import { ready } from "../lib/api.js";
import { busy } from "../lib/busy.js";
import { capital, noun } from "../lib/format.js";
import { html } from "../lib/html.js";

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
  const element = html`<div class="region" style=${{ "--room": `${room}rem` }}></div>`;
  let newest = null;
  let waiting = 0;
  let loaded = () => {};
  signal.addEventListener("abort", () => loaded());

  /**
   * @template T
   * @param {(stop: AbortSignal, report: (progress: any) => void) => Promise<T>} load
   * @param {(answer: T) => any} draw
   */
  async function show(load, draw, attempt = 0) {
    soon();
    const mine = new AbortController();
    newest = mine;
    const stop = AbortSignal.any([signal, mine.signal]);
    if (!element.firstElementChild?.classList.contains("loaded"))
      element.replaceChildren(skeleton(label, lines));
    try {
      const answer = await load(stop, (progress) => !stop.aborted && waits(progress));
      if (!stop.aborted) put(html`<div class="loaded">${draw(answer)}</div>`);
    } catch (error) {
      if (stop.aborted) return;
      if (error.status === undefined) console.error(error); // a defect of the page, not of the server
      const again = () => show(load, draw);
      if (error.state === "starting") wait(error, stop, again);
      else if (error.status !== 503 || error.state || attempt >= RETRIES) put(failure(error, again));
      else retry(error, again, () => show(load, draw, attempt + 1));
    }
  }

  /** Show how far something is that the server computes. */
  function waits({ done, total }) {
    const known = element.querySelector(".skeleton progress");
    if (known) return total ? Object.assign(known, { max: total, value: done }) : null;
    element.querySelector(".skeleton")?.prepend(html`
      <p class="soft">Computing ${label}; this happens once.</p>
      <progress aria-label=${`Computing ${label}`}></progress>`);
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

  /** Count the seconds down after which the request is repeated. */
  function retry(error, again, next) {
    let seconds = Math.min(Math.max(error.retryAfter ?? 2, 1), LONGEST);
    const clock = html`<span>${seconds}</span>`;
    put(html`
      <div class="notice" role="status">
        <p>
          <strong>The server is busy. </strong>Trying again in <span aria-hidden="true">${clock} s</span>
          <span class="unseen">a moment</span>.
        </p>
        <button type="button" class="quiet" @click=${again}>Try now</button>
      </div>`);
    const tick = () => {
      if (signal.aborted) return;
      seconds -= 1;
      if (seconds <= 0) return next();
      clock.textContent = seconds;
      waiting = setTimeout(tick, 1000);
    };
    waiting = setTimeout(tick, 1000);
  }

  function put(content) {
    element.removeAttribute("aria-busy");
    loaded();
    element.replaceChildren(content);
  }

  /** Say that the content is outdated, and that new content will be loaded in a moment. */
  function soon() {
    newest?.abort();
    clearTimeout(waiting);
    element.setAttribute("aria-busy", "true");
    const before = loaded;
    loaded = busy();
    before();
  }

  /** Stop loading, and show a notice instead. */
  function notice(content) {
    soon();
    put(content);
  }

  return { element, show, soon, notice };
}

/**
 * The element of a part that is loaded once.
 *
 * @template T
 * @param {{label: string, lines?: number, room?: number, signal: AbortSignal}} options
 * @param {(stop: AbortSignal, report: (progress: any) => void) => Promise<T>} load
 * @param {(answer: T) => any} draw
 */
export function loaded(options, load, draw) {
  const part = region(options);
  part.show(load, draw);
  return part.element;
}

/** An error, with a button to try again, unless that would not help. */
function failure(error, again) {
  if (error.state === "site") return empty(html`<strong>This needs the service. </strong>${error.message}`);
  const titles = { 404: "Not found", 401: "A token is needed" };
  return html`
    <div class="notice bad" role="alert">
      <p>
        <strong>${titles[error.status] ?? "Something went wrong"}. </strong>
        ${error.status === undefined ? "This is a bug in the page." : error.message}
      </p>
      <button type="button" class="quiet" @click=${again}>Try again</button>
    </div>`;
}

/** The notice of a server that starts: what it does, and how far it is. */
function starting() {
  const doing = html`<p class="soft"></p>`;
  const bar = html`<progress aria-label="Progress of the start"></progress>`;
  const text = "The server is starting";
  // before the first page there is no heading of the first level
  const heading = document.querySelector("main h1") ? html`<h2>${text}</h2>` : html`<h1>${text}</h1>`;
  const element = html`
    <div class="notice starting">
      <div role="status">${heading}</div>
      <p>The first start fits a model, which can take minutes. This page continues by itself.</p>
      ${bar}
      ${doing}
    </div>`;

  function update(progress) {
    const { doing: what, done, total } = progress ?? { doing: "starting", done: 0, total: 0 };
    const [a, b] = [done, total].map((n) => n.toLocaleString("en-US"));
    doing.textContent = capital(total ? `${what}: ${a} of ${b}` : what);
    if (total) Object.assign(bar, { max: total, value: done });
    else bar.removeAttribute("value"); // of unknown length
  }

  update(null);
  return { element, update };
}

/** A notice in place of content. */
export const empty = (...content) => html`<div class="notice"><p>${content}</p></div>`;

/** The same, with the offer to rate instead: "Choose two users, or rate a few yourself." */
export const inviting = (text) => empty(html`${text}, or <a href="#/try">${noun.rate} a few yourself</a>.`);

function skeleton(label, lines) {
  const bones = Array.from(
    { length: lines },
    (_, k) => html`<span class="bone" style=${{ "--k": k }}></span>`,
  );
  return html`
    <div class="skeleton" role="status"><span class="unseen">Loading ${label}</span>${bones}</div>`;
}
