/** How often an item got each rating: one bar for each step of the scale. */

import { h } from "../lib/elements.js";
import { count, rating as formatted } from "../lib/format.js";

const MOST = 20; // bars

/**
 * @param {{rating: number, count: number}[]} counts lowest rating first
 * @param {{lowest: number, highest: number, step: number|null}} scale
 */
export function histogram(counts, scale) {
  const bars = spread(counts, scale);
  const most = Math.max(...bars.map((one) => one.count), 1);
  return h(
    "table",
    { class: "histogram" },
    h("caption", { class: "unseen" }, "How often each rating was given"),
    h(
      "thead",
      { class: "unseen" },
      h("tr", {}, h("th", { scope: "col" }, "rating"), h("th", { scope: "col" }, "how often")),
    ),
    h(
      "tbody",
      {},
      bars.map((one) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, formatted(one.rating)),
          h(
            "td",
            { title: count(one.count, "rating") },
            h("span", {
              class: "tower",
              "aria-hidden": "true",
              style: { height: `${((100 * one.count) / most).toFixed(1)}%` },
            }),
            h("span", { class: "times" }, one.count),
          ),
        ),
      ),
    ),
  );
}

/** The steps of the scale with their counts, those that nobody gave too. */
function spread(counts, { lowest, highest, step }) {
  const n = step ? Math.round((highest - lowest) / step) + 1 : 0;
  if (!n || n > MOST) return counts.slice(-MOST);
  const known = new Map(counts.map((one) => [Math.round((one.rating - lowest) / step), one.count]));
  return Array.from({ length: n }, (_, k) => ({ rating: lowest + k * step, count: known.get(k) ?? 0 }));
}
