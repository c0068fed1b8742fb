/** A person's taste at a glance: the distribution of the preference, and the highest ratings. */

import { h } from "../lib/elements.js";
import { count, items as itemsNoun, percent, predicted } from "../lib/format.js";
import { itemLink, tasteLine } from "./links.js";
import { empty } from "./region.js";
import { shownStars } from "./stars.js";

const SHOWN = 8;

/**
 * @param {object} person of /users/{id}
 * @param {object} scale
 */
export function taste(person, scale) {
  if (person.n_ratings === 0) return empty("No ratings yet.");
  const highest = person.ratings.slice(0, SHOWN);
  const more = person.n_ratings - highest.length;
  return [
    h(
      "p",
      { class: "figures" },
      count(person.n_ratings, "rating"),
      person.mean_rating === null ? null : `, ${predicted(person.mean_rating)} on average`,
    ),
    person.taste?.length ? h("p", {}, "More than others: ", tasteLine(person.taste), ".") : null,
    strip(person, scale),
    h(
      "ol",
      { class: "best" },
      highest.map((one) =>
        h(
          "li",
          {},
          shownStars(one.rating, scale),
          h("span", { class: "title" }, itemLink(one.item, one.title)),
          h("span", { class: "share" }, percent(one.share)),
        ),
      ),
    ),
    h("p", { class: "soft" }, more > 0 ? `and ${count(more, "more rating")}` : "\u00a0"),
  ];
}

/** The preference in one strip: a stripe for each rating, as wide as its share; the higher, the stronger. */
function strip(person, scale) {
  const shown = person.ratings.reduce((sum, one) => sum + one.share, 0);
  const span = scale.highest - scale.lowest || 1;
  const stripes = person.ratings.map((one) =>
    h("span", {
      title: `${one.title}: ${percent(one.share)}`,
      style: {
        "flex-grow": one.share.toFixed(6),
        "--strength": ((one.rating - scale.lowest) / span).toFixed(3),
      },
    }),
  );
  if (shown < 0.999)
    stripes.push(h("span", { style: { "flex-grow": (1 - shown).toFixed(6), "--strength": 0 } }));
  const largest = percent(person.ratings[0]?.share ?? 0);
  const over = count(person.n_ratings, "rating");
  const label = `The preference over ${over}; the largest share is ${largest}`;
  return h(
    "div",
    { class: "mass" },
    h("div", { class: "strip", role: "img", "aria-label": label }, stripes),
    h(
      "p",
      { class: "soft ends" },
      h("span", {}, "highest"),
      h("span", {}, `preference over ${itemsNoun()}`),
      h("span", {}, "lowest"),
    ),
  );
}
