/** The notice of a server that starts: what it does, and how far it is. */

import { capital } from "../lib/format.js";
import { html } from "../lib/html.js";

/** @returns {{element: HTMLElement, update: (progress: object|null) => void}} */
export function starting() {
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
