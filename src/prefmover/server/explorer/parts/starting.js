/** The notice of a server that starts: what it does, and how far it is. */

import { h } from "../lib/elements.js";
import { capital } from "../lib/format.js";

/** @returns {{element: HTMLElement, update: (progress: object|null) => void}} */
export function starting() {
  const doing = h("p", { class: "soft" });
  const bar = h("progress", { "aria-label": "Progress of the start" });
  const heading = document.querySelector("main h1") ? "h2" : "h1"; // before the first page there is none
  const element = h(
    "div",
    { class: "notice starting" },
    h("div", { role: "status" }, h(heading, {}, "The server is starting")),
    h("p", {}, "The first start fits a model, which can take minutes. This page continues by itself."),
    bar,
    doing,
  );

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
