/** Recommended items, with the strongest reasons for each. */

import { h } from "../lib/elements.js";
import { count, item as itemNoun, items as itemsNoun, predicted, rating } from "../lib/format.js";
import { refuse } from "../lib/guest.js";
import { itemLink } from "./links.js";
import { reasons } from "./reasons.js";
import { empty } from "./region.js";
import { shownStars } from "./stars.js";

/**
 * The list.
 *
 * @param {object} answer of .../recommendations
 * @param {object} options
 * @param {object} options.person of the route
 * @param {object} options.scale
 * @param {string} [options.opened] the item whose parts are shown at once
 * @param {(id: string, into: HTMLElement) => void} [options.open] draws the parts of an item
 * @param {(id: string|null) => void} [options.toggle] is called with the item that is open now
 * @param {() => void} [options.refused] is called when the visitor is not interested in an item
 */
export function recommended(answer, { person, scale, opened, open, toggle, refused }) {
  if (answer.recommendations.length === 0) {
    return empty(`Nothing is left to recommend: every ${itemNoun()} is rated.`);
  }
  const cards = answer.recommendations.map((one, k) => {
    const parts = open ? folded(one, `parts-${k}`, { opened, open, toggle }) : null;
    return h(
      "li",
      {},
      headline(one, scale),
      h(
        "div",
        { class: "line low" },
        reasons(one.why, person),
        h("div", { class: "acts" }, refused ? refusal(one, refused) : null, parts?.button),
      ),
      parts?.body,
    );
  });
  return h("ol", { class: "recommended" }, cards);
}

/** A button that leaves an item out from now on. */
function refusal(one, refused) {
  const click = () => {
    refuse(one.item);
    refused();
  };
  return h(
    "button",
    {
      type: "button",
      class: "quiet small",
      "aria-label": `Not interested in ${one.title}`,
      on: { click },
    },
    "Not interested",
  );
}

/** The item, with its predicted rating. */
export function headline(one, scale) {
  const stars = () => [shownStars(one.rating, scale), h("span", { class: "number" }, predicted(one.rating))];
  const guess = h("span", { class: "guess" }, one.rating === null ? null : stars());
  return h("div", { class: "line" }, h("h3", {}, itemLink(one.item, one.title)), guess);
}

/** A button, and the element for the parts of a prediction that it opens and closes. */
function folded(one, id, { opened, open, toggle }) {
  const body = h("div", { id, class: "parts", hidden: true });
  const button = h("button", {
    type: "button",
    class: "quiet small",
    "aria-controls": id,
  });
  const set = (shown) => {
    body.hidden = !shown;
    button.setAttribute("aria-expanded", String(shown));
    button.textContent = shown ? "Close" : "All parts";
    const parts = `parts of the prediction for ${one.title}`;
    button.setAttribute("aria-label", shown ? `Close the ${parts}` : `All ${parts}`);
    if (shown && !body.firstChild) open(one.item, body);
  };
  button.addEventListener("click", () => {
    const shown = body.hidden;
    set(shown);
    toggle?.(shown ? one.item : null);
  });
  set(opened === one.item);
  return { button, body };
}

/** What a neighbor gave to the item, or to the similar items that count. */
export function evidence(one, most) {
  if (one.rating !== null) return `gave it ${rating(one.rating)}`;
  const ratings = one.evidence.slice(0, most).map((e) => `${rating(e.rating)} to ${e.label}`);
  return ratings.length ? `gave ${ratings.join(" and ")}` : `rated similar ${itemsNoun()}`;
}

/** The list in a sentence, for screen readers. */
export function summary(answer) {
  const list = answer.recommendations;
  if (list.length === 0) return `No ${itemsNoun()} to recommend`;
  return `${count(list.length, "recommendation")}, first ${list[0].title}, ${predicted(list[0].rating)}`;
}
