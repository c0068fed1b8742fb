/** The parts of a predicted rating: a bar for each, and the contributions of the neighbors. */

import { h } from "../lib/elements.js";
import {
  capital,
  count,
  decimal,
  measured,
  nameOf,
  rating,
  signed,
  user as userNoun,
} from "../lib/format.js";
import { href } from "../lib/routes.js";
import { evidence } from "./recommended_list.js";

const LONGEST = 40; // px of the bar of the largest contribution

/**
 * A predicted rating as a sum, each part a bar that begins where the last one ended.
 *
 * @param {object} explanation of .../recommendations/{item}
 * @param {object} person of the route
 * @param {string} valueName "distance" or "similarity"
 */
export function ratingParts(explanation, person, valueName) {
  const end = `The scale ends at ${rating(explanation.rating)}, so that is the prediction.`;
  return [
    waterfall(summands(explanation)),
    explanation.clipped ? h("p", { class: "soft" }, end) : null,
    explanation.contributions.length ? contributions(explanation, person, valueName) : null,
  ];
}

/** The baselines, and the neighbors together. */
function summands({ baseline, contributions, others }) {
  const parts = baseline.map((part) => ({ ...part, name: capital(part.name) }));
  const n = contributions.length + others.count;
  if (n === 0) return parts;
  const value = contributions.reduce((sum, one) => sum + one.value, others.value);
  return [...parts, { name: "Neighbors", meaning: count(n, `like-minded ${userNoun()}`), value }];
}

function waterfall(parts) {
  const steps = stacked(parts);
  const total = steps.at(-1)?.end ?? 0;
  const { low, high } = shownRange(steps.map((step) => step.end));
  const bar = (start, end) => drawBar(start, end, low, high);
  const lines = steps.map(({ part, start, end }, k) => {
    const first = k === 0;
    const name = h("th", { scope: "row" }, part.name, h("small", {}, part.meaning));
    return row(
      name,
      h("td", {}, bar(first ? low : start, end)),
      number(first ? part.value.toFixed(3) : signed(part.value)),
    );
  });
  const heads = row(h("th", { scope: "col" }, "part"), h("td", {}), h("th", { scope: "col" }, "adds"));
  const sum = row(h("th", { scope: "row" }, "Sum"), h("td", {}, bar(low, total)), number(total.toFixed(3)));
  return h(
    "table",
    { class: "waterfall" },
    h("caption", { class: "unseen" }, "The parts of the predicted rating"),
    h("thead", { class: "unseen" }, heads),
    h("tbody", {}, lines),
    h("tfoot", {}, sum),
  );
}

/** Each part with the start and the end of its bar. */
function stacked(parts) {
  let sum = 0;
  return parts.map((part) => {
    const start = sum;
    sum += part.value;
    return { part, start, end: sum };
  });
}

/** The first part, the overall mean, is most of the sum: the picture begins just below the others. */
function shownRange(ends) {
  const inner = ends.length > 1 ? ends : [0, ...ends];
  const [least, most] = [Math.min(...inner), Math.max(...inner)];
  const margin = Math.max((most - least) * 0.12, 0.02);
  return { low: least - margin, high: most + margin };
}

function drawBar(start, end, low, high) {
  const x = (value) => (100 * (Math.max(value, low) - low)) / (high - low);
  const left = x(Math.min(start, end));
  const width = x(Math.max(start, end)) - left;
  const style = { left: `${left.toFixed(2)}%`, width: `max(2px, ${width.toFixed(2)}%)` };
  const inner = h("span", { class: end >= start ? "up" : "down", style });
  return h("span", { class: "run", "aria-hidden": "true" }, inner);
}

function contributions(explanation, person, valueName) {
  const { contributions: listed, others, label } = explanation;
  const most = Math.max(...listed.map((one) => Math.abs(one.value))) || 1;
  const heads = row(
    h("th", { scope: "col", class: "text" }, "neighbor"),
    h("th", { scope: "col" }, "adds"),
    h("th", { scope: "col", class: "apart" }, valueName),
    h("th", { scope: "col", class: "text" }, "evidence"),
  );
  const table = h(
    "table",
    { class: "contributions" },
    h("caption", {}, "Contributions of the neighbors"),
    h("thead", {}, heads),
    h(
      "tbody",
      {},
      listed.map((one) => line(one, person, most)),
      others.count ? together(others) : null,
    ),
  );
  return h(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": `Contributions to ${label}` },
    table,
  );
}

function line(one, person, most) {
  const other = { id: one.user };
  const width = (LONGEST * Math.abs(one.value)) / most;
  const tick = h("span", {
    class: one.value < 0 ? "tick down" : "tick up",
    "aria-hidden": "true",
    style: { width: `${width.toFixed(1)}px` },
  });
  return row(
    h(
      "th",
      { scope: "row", class: "text" },
      h("a", { href: href({ page: "why", person, other }) }, nameOf(other)),
    ),
    h("td", { class: "adds" }, tick, signed(one.value)),
    h("td", { class: "apart" }, measured(one) === null ? "–" : decimal(measured(one))),
    h("td", { class: "text evidence" }, evidence(one, 3)),
  );
}

/** The neighbors that are not listed, in one line. */
function together(others) {
  return row(
    h("th", { scope: "row", class: "text" }, count(others.count, "other")),
    h("td", { class: "adds" }, signed(others.value)),
    h("td", { class: "apart" }),
    h("td", { class: "text evidence" }, "all together"),
  );
}

const row = (...cells) => h("tr", {}, cells);
const number = (text) => h("td", { class: "number" }, text);
