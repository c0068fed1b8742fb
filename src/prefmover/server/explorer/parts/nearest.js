/** The nearest people: their distance, and how little they have rated in common. */

import { h, unseen } from "../lib/elements.js";
import {
  count,
  decimal,
  item as itemNoun,
  items as itemsNoun,
  measured,
  nameOf,
  rank,
  user as userNoun,
  users as usersNoun,
} from "../lib/format.js";
import { bandOf } from "../lib/plan_layout.js";
import { href } from "../lib/routes.js";
import { personLink, tasteLine } from "./links.js";
import { empty } from "./region.js";

/**
 * @param {object} answer of .../neighbors
 * @param {object|null} person of the route; null for several people
 * @param {{valueName: string, spread: object, headline?: boolean, none?: string, act?: Function}} options
 *   "distance" or "similarity"; the values between random people; whether to count the neighbors with nothing
 *   in common; what to say if there is nobody; the link beside a neighbor, by default "Why?"
 */
export function nearest(answer, person, { valueName, spread, headline = true, none, act }) {
  const link = act ?? ((other) => whyLink(person, other));
  const near = answer.neighbors;
  if (near.length === 0) return empty(none ?? `There is no other ${userNoun()} to compare with.`);
  const nearness = nearnessOf(near, spread);
  return [
    headline ? strangers(near, person) : null,
    h(
      "ol",
      { class: "near" },
      near.map((one) => row(one, valueName, nearness(measured(one)), link)),
    ),
  ];
}

/** A function of a value: 1 for the nearest of all, 0 for the farthest of random pairs. */
function nearnessOf(near, { nearest: best, farthest }) {
  const first = measured(near[0]);
  const far = farthest ?? measured(near.at(-1));
  const close = best === null ? first : far > best ? Math.min(best, first) : Math.max(best, first);
  return (value) => Math.min(Math.max((far - value) / (far - close || 1), 0.02), 1);
}

/** The number of like-minded people with nothing in common. */
function strangers(near, person) {
  const n = near.filter((one) => one.n_common === 0).length;
  const dots = near.map((one) => h("span", { class: one.n_common === 0 ? "dot none" : "dot" }));
  const whom = nameOf(person);
  const sentence =
    n === 0
      ? [`All ${near.length} share at least one ${itemNoun()} with ${whom}.`]
      : [
          h("strong", {}, `${n} of the ${near.length}`),
          ` nearest ${n === 1 ? "has" : "have"} rated nothing that ${whom} rated. `,
          `Measures of co\u2011rated ${itemsNoun()} cannot see them.`,
        ];
  return h(
    "div",
    { class: "point" },
    h("div", { class: "dots", "aria-hidden": "true" }, dots),
    h("p", {}, sentence),
  );
}

function whyLink(person, other) {
  const why = { href: href({ page: "why", person, other }), "aria-label": `Why ${nameOf(other)}?` };
  return h("a", { class: "ask", ...why }, "Why?");
}

function row(one, valueName, share, link) {
  const other = { id: one.user };
  return h(
    "li",
    {},
    h("span", { class: "who" }, personLink(other, { capital: true }), tasteLine(one.taste?.slice(0, 2))),
    h(
      "span",
      { class: "far", title: rank(one.nearer_than) || null },
      unseen(`${valueName} `),
      decimal(measured(one)),
      one.nearer_than === null ? null : unseen(`, ${rank(one.nearer_than)}`),
    ),
    h(
      "span",
      { class: "rule", "aria-hidden": "true" },
      h("span", { class: bandOf(1 - share, 1), style: { width: `${(100 * share).toFixed(1)}%` } }),
    ),
    h(
      "span",
      { class: one.n_common === 0 ? "common none" : "common" },
      `${count(one.n_common, itemNoun())} in common`,
    ),
    link(other),
  );
}

/** The list in a sentence, for screen readers. */
export function summary(answer) {
  const near = answer.neighbors;
  if (!near.length) return `No other ${userNoun()}`;
  const none = near.filter((one) => one.n_common === 0).length;
  const first = `the nearest is ${nameOf({ id: near[0].user })} at ${decimal(measured(near[0]))}`;
  return `${near.length} nearest ${usersNoun()}; ${first}; ${none} of them with nothing in common`;
}
