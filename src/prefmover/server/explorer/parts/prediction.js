/** All parts of a predicted rating: a bar for each, and who said what. */

import { h } from "../lib/elements.js";
import { href } from "../lib/routes.js";
import { distance, nameOf, rating, signed } from "../lib/words.js";
import { opinion } from "./reasons.js";

/** Parts of a prediction that have short names in the library. */
const NAMES = {
  mean: "Mean",
  user: "User",
  item: "Item",
  "similar items": "Similar items",
  "own taste": "Own taste",
  neighbors: "Neighbors",
};
const LONGEST = 40; // px of the tick of whoever says most

/**
 * What a predicted rating is made of, each part a bar from where the last one ended.
 *
 * @param {object} answer of .../recommendations/{item}
 * @param {object} person of the route
 */
export function partsOf(answer, person) {
  const end = `The scale ends at ${rating(answer.rating)}, so that is what is predicted.`;
  return [
    waterfall(answer.parts),
    answer.clipped ? h("p", { class: "soft" }, end) : null,
    answer.neighbors.length ? voices(answer, person) : null,
  ];
}

function waterfall(parts) {
  const steps = stacked(parts);
  const total = steps.at(-1)?.end ?? 0;
  const { low, high } = shownRange(steps.map((step) => step.end));
  const bar = (start, end) => drawBar(start, end, low, high);
  const lines = steps.map(({ part, start, end }, k) => {
    const first = k === 0;
    const name = h("th", { scope: "row" }, NAMES[part.name] ?? part.name, h("small", {}, part.label));
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

/** Each part with where its bar starts and ends. */
function stacked(parts) {
  let at = 0;
  return parts.map((part) => {
    const start = at;
    at += part.value;
    return { part, start, end: at };
  });
}

/** The first part, the mean of all ratings, is most of the sum: the picture begins below the rest. */
function shownRange(ends) {
  const inner = ends.length > 1 ? ends : [0, ...ends];
  const [least, most] = [Math.min(...inner), Math.max(...inner)];
  const air = Math.max((most - least) * 0.12, 0.02);
  return { low: least - air, high: most + air };
}

function drawBar(start, end, low, high) {
  const x = (value) => (100 * (Math.max(value, low) - low)) / (high - low);
  const left = x(Math.min(start, end));
  const width = x(Math.max(start, end)) - left;
  const style = { left: `${left.toFixed(2)}%`, width: `max(2px, ${width.toFixed(2)}%)` };
  const inner = h("span", { class: end >= start ? "up" : "down", style });
  return h("span", { class: "run", "aria-hidden": "true" }, inner);
}

function voices(answer, person) {
  const most = Math.max(...answer.neighbors.map((one) => Math.abs(one.contribution))) || 1;
  const heads = row(
    h("th", { scope: "col", class: "text" }, "neighbor"),
    h("th", { scope: "col" }, "adds"),
    h("th", { scope: "col", class: "apart" }, "distance"),
    h("th", { scope: "col", class: "text" }, "said"),
  );
  const lines = answer.neighbors.map((one) => voice(one, person, most));
  const table = h(
    "table",
    { class: "voices" },
    h("caption", {}, "Who said what"),
    h("thead", {}, heads),
    h("tbody", {}, lines, answer.others.count ? together(answer.others) : null),
  );
  const label = `Neighbors behind ${answer.item.title}`;
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, table);
}

function voice(one, person, most) {
  const who = h("a", { href: href({ page: "why", person, other: { id: one.user.id } }) }, nameOf(one.user));
  const width = (LONGEST * Math.abs(one.contribution)) / most;
  const tick = h("span", {
    class: one.contribution < 0 ? "tick down" : "tick up",
    "aria-hidden": "true",
    style: { width: `${width.toFixed(1)}px` },
  });
  return row(
    h("th", { scope: "row", class: "text" }, who),
    h("td", { class: "adds" }, tick, signed(one.contribution)),
    h("td", { class: "apart" }, one.distance === null ? "–" : distance(one.distance)),
    h("td", { class: "text said" }, opinion(one, 3)),
  );
}

/** Neighbors who are not listed, in one line. */
function together(others) {
  const who = `${others.count.toLocaleString("en-US")} ${others.count === 1 ? "other" : "others"}`;
  return row(
    h("th", { scope: "row", class: "text" }, who),
    h("td", { class: "adds" }, signed(others.contribution)),
    h("td", { class: "apart" }),
    h("td", { class: "text said" }, "all together"),
  );
}

const row = (...cells) => h("tr", {}, cells);
const number = (text) => h("td", { class: "number" }, text);
