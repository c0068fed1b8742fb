/** Recommended items, and who is behind each. */

import { h } from "../lib/elements.js";
import { href } from "../lib/routes.js";
import {
  capital,
  count,
  item as itemNoun,
  items as itemsNoun,
  nameOf,
  predicted,
  rating,
} from "../lib/words.js";
import { empty } from "./region.js";
import { shownStars } from "./stars.js";

/**
 * The list; `open` is told when somebody wants all parts of one.
 *
 * @param {object} answer of .../recommendations
 * @param {object} options
 * @param {object} options.scale
 * @param {string} [options.opened] the item whose parts are shown at once
 * @param {(id: string, into: HTMLElement) => void} [options.open] draws the parts of an item
 * @param {(id: string|null) => void} [options.toggle] is told what is open now
 */
export function recommended(answer, { scale, opened, open, toggle }) {
  if (answer.recommendations.length === 0) {
    return empty(`Nothing is left to recommend: every ${itemNoun()} is rated.`);
  }
  const cards = answer.recommendations.map((one, k) => {
    const parts = open ? folded(one.item, `parts-${k}`, { opened, open, toggle }) : null;
    return h(
      "li",
      {},
      headline(one, scale),
      h("div", { class: "line low" }, because(one), parts?.button),
      parts?.body,
    );
  });
  return h("ol", { class: "recommended" }, cards);
}

/** The item, with its predicted rating. */
function headline(one, scale) {
  const number = h("span", { class: "number" }, predicted(one.rating));
  const guess = h("span", { class: "guess" }, shownStars(one.rating, scale), number);
  return h("div", { class: "line" }, h("h3", {}, one.item.title), guess);
}

/** Those with the most to say, or why nobody says anything. */
function because(one) {
  if (one.fallback) return h("p", { class: "soft" }, capital(one.fallback));
  const voices = forFirst(one.reasons).map((reason) => h("li", {}, said(reason)));
  return h("ul", { class: "because" }, voices);
}

/** A button, and the place for all parts of a prediction that it opens and closes. */
function folded(item, id, { opened, open, toggle }) {
  const body = h("div", { id, class: "parts", hidden: true });
  const button = h("button", {
    type: "button",
    class: "quiet small",
    "aria-controls": id,
    "aria-label": `All parts of the prediction for ${item.title}`,
  });
  const set = (wanted) => {
    body.hidden = !wanted;
    button.setAttribute("aria-expanded", String(wanted));
    button.textContent = wanted ? "Close" : "All parts";
    if (wanted && !body.firstChild) open(item.id, body);
  };
  button.addEventListener("click", () => {
    const wanted = body.hidden;
    set(wanted);
    toggle?.(wanted ? item.id : null);
  });
  set(opened === item.id);
  return { button, body };
}

/** Who speaks for it before who speaks against it; there may be both among those with the most to say. */
function forFirst(reasons) {
  const speaksFor = reasons.filter((one) => one.contribution >= 0);
  const against = reasons.filter((one) => one.contribution < 0);
  return [...speaksFor, ...against];
}

/** Which neighbor said what. */
function said(reason) {
  const address = href({ page: "like-minded", person: { id: reason.user.id } });
  const who = h("a", { href: address }, nameOf(reason.user));
  return [reason.contribution < 0 ? "against it: " : null, who, ` ${opinion(reason, 2)}`];
}

/** In words: what they gave the item, or the items through which they speak. */
export function opinion(one, most) {
  if (one.rating !== null) return `gave it ${rating(one.rating)}`;
  const through = one.through.slice(0, most).map((t) => `${rating(t.rating)} to ${t.item.title}`);
  return through.length ? `gave ${through.join(" and ")}` : `speaks through similar ${itemsNoun()}`;
}

/** A sentence for screen readers. */
export function heard(answer) {
  const list = answer.recommendations;
  if (list.length === 0) return `No ${itemsNoun()} to recommend`;
  return `${count(list.length, "recommendation")}, first ${list[0].item.title}, ${predicted(list[0].rating)}`;
}
