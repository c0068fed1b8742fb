/** Recommended items, who is behind each, and all parts of a predicted rating. */

import { h } from "../lib/elements.js";
import { empty } from "./region.js";
import { href } from "../lib/routes.js";
import { shownStars } from "./stars.js";
import { capital, count, distance, item as itemNoun, items as itemsNoun, nameOf, predicted, rating, signed } from "../lib/words.js";

/** Parts of a prediction that have short names in the library. */
const NAMES = { mean: "Mean", user: "User", item: "Item", "similar items": "Similar items", "own taste": "Own taste", neighbors: "Neighbors" };

/**
 * The list; `open` is told when somebody wants all parts of one.
 *
 * @param {object} answer of .../recommendations
 * @param {{scale: object, opened?: string, open?: (id: string, into: HTMLElement) => void, toggle?: (id: string|null) => void}} options
 */
export function recommended(answer, { scale, opened, open, toggle }) {
  if (answer.recommendations.length === 0) return empty(`Nothing is left to recommend: every ${itemNoun()} is rated.`);
  return h(
    "ol",
    { class: "recommended" },
    answer.recommendations.map((one, k) => card(one, k, { scale, opened, open, toggle })),
  );
}

function card(one, k, { scale, opened, open, toggle }) {
  const id = `parts-${k}`;
  const body = h("div", { id, class: "parts", hidden: true });
  const button = open
    ? h("button", { type: "button", class: "quiet small", "aria-expanded": "false", "aria-controls": id, "aria-label": `All parts of the prediction for ${one.item.title}` }, "All parts")
    : null;
  const set = (wanted) => {
    body.hidden = !wanted;
    button.setAttribute("aria-expanded", String(wanted));
    button.textContent = wanted ? "Close" : "All parts";
    if (wanted && !body.firstChild) open(one.item.id, body);
  };
  button?.addEventListener("click", () => {
    const wanted = body.hidden;
    set(wanted);
    toggle?.(wanted ? one.item.id : null);
  });
  if (open && opened === one.item.id) set(true);
  return h(
    "li",
    {},
    h("div", { class: "line" }, h("h3", {}, one.item.title), h("span", { class: "guess" }, shownStars(one.rating, scale), h("span", { class: "number" }, predicted(one.rating)))),
    h("div", { class: "line low" }, one.fallback ? h("p", { class: "soft" }, capital(one.fallback)) : h("ul", { class: "because" }, forFirst(one.reasons).map((reason) => h("li", {}, said(reason)))), button),
    open ? body : null,
  );
}

/** Who speaks for it before who speaks against it; there may be both among those with the most to say. */
function forFirst(reasons) {
  return [...reasons.filter((one) => one.contribution >= 0), ...reasons.filter((one) => one.contribution < 0)];
}

/** Which neighbor said what. */
function said(reason) {
  const who = h("a", { href: href({ page: "like-minded", person: { id: reason.user.id } }) }, nameOf(reason.user));
  return [reason.contribution < 0 ? "against it: " : null, who, ` ${opinion(reason, 2)}`];
}

/** In words: what they gave the item, or the items through which they speak. */
function opinion(one, most) {
  if (one.rating !== null) return `gave it ${rating(one.rating)}`;
  const through = one.through.slice(0, most).map((t) => `${rating(t.rating)} to ${t.item.title}`);
  return through.length ? `gave ${through.join(" and ")}` : `speaks through similar ${itemsNoun()}`;
}

/**
 * What a predicted rating is made of, each part a bar from where the last one ended.
 *
 * @param {object} answer of .../recommendations/{item}
 * @param {object} person of the route
 */
export function partsOf(answer, person) {
  const total = answer.parts.reduce((sum, part) => sum + part.value, 0);
  return [
    waterfall(answer.parts, total),
    answer.clipped ? h("p", { class: "soft" }, `The scale ends at ${rating(answer.rating)}, so that is what is predicted.`) : null,
    answer.neighbors.length ? voices(answer, person) : null,
  ];
}

function waterfall(steps, total) {
  let at = 0;
  const ends = steps.map((step) => (at += step.value));
  // The first part, the mean of all ratings, is most of the sum: the picture begins a little below the rest.
  const inner = ends.length > 1 ? ends : [0, ...ends];
  const low = Math.min(...inner, total);
  const high = Math.max(...inner, total);
  const air = Math.max((high - low) * 0.12, 0.02);
  const [from, to] = [low - air, high + air];
  const x = (value) => (100 * (Math.max(value, from) - from)) / (to - from);
  const bar = (a, b) => {
    const [left, right] = [x(Math.min(a, b)), x(Math.max(a, b))];
    const kind = b >= a ? "up" : "down";
    return h("span", { class: "run", "aria-hidden": "true" }, h("span", { class: kind, style: { left: `${left.toFixed(2)}%`, width: `max(2px, ${(right - left).toFixed(2)}%)` } }));
  };
  at = 0;
  return h(
    "table",
    { class: "waterfall" },
    h("caption", { class: "unseen" }, "The parts of the predicted rating"),
    h("thead", { class: "unseen" }, h("tr", {}, h("th", { scope: "col" }, "part"), h("td", {}), h("th", { scope: "col" }, "adds"))),
    h(
      "tbody",
      {},
      steps.map((step, k) => {
        const start = at;
        at += step.value;
        return h("tr", {}, h("th", { scope: "row" }, NAMES[step.name] ?? step.name, h("small", {}, step.label)), h("td", {}, bar(k === 0 ? from : start, at)), h("td", { class: "number" }, k === 0 ? step.value.toFixed(3) : signed(step.value)));
      }),
    ),
    h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, "Sum"), h("td", {}, bar(from, total)), h("td", { class: "number" }, total.toFixed(3)))),
  );
}

function voices(answer, person) {
  const most = Math.max(...answer.neighbors.map((one) => Math.abs(one.contribution))) || 1;
  return h(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": `Neighbors behind ${answer.item.title}` },
    h(
      "table",
      { class: "voices" },
      h("caption", {}, "Who said what"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "text" }, "neighbor"), h("th", { scope: "col" }, "adds"), h("th", { scope: "col", class: "apart" }, "distance"), h("th", { scope: "col", class: "text" }, "said"))),
      h(
        "tbody",
        {},
        answer.neighbors.map((one) =>
          h(
            "tr",
            {},
            h("th", { scope: "row", class: "text" }, h("a", { href: href({ page: "why", person, other: { id: one.user.id } }) }, nameOf(one.user))),
            h("td", { class: "adds" }, h("span", { class: one.contribution < 0 ? "tick down" : "tick up", "aria-hidden": "true", style: { width: `${((40 * Math.abs(one.contribution)) / most).toFixed(1)}px` } }), signed(one.contribution)),
            h("td", { class: "apart" }, one.distance === null ? "–" : distance(one.distance)),
            h("td", { class: "text said" }, opinion(one, 3)),
          ),
        ),
        answer.others.count
          ? h("tr", {}, h("th", { scope: "row", class: "text" }, `${answer.others.count.toLocaleString("en-US")} ${answer.others.count === 1 ? "other" : "others"}`), h("td", { class: "adds" }, signed(answer.others.contribution)), h("td", { class: "apart" }), h("td", { class: "text said" }, "all together"))
          : null,
      ),
    ),
  );
}

/** A sentence for screen readers. */
export function heard(answer) {
  const list = answer.recommendations;
  return list.length ? `${count(list.length, "recommendation")}, first ${list[0].item.title}, ${predicted(list[0].rating)}` : `No ${itemsNoun()} to recommend`;
}

