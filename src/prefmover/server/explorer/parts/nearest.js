/** The nearest people: who, how far, and how little they have rated in common. */

import { h, unseen } from "../lib/elements.js";
import { bandOf } from "../lib/plan_layout.js";
import { href } from "../lib/routes.js";
import {
  capital,
  count,
  distance,
  item as itemNoun,
  items as itemsNoun,
  nameOf,
  user as userNoun,
  users as usersNoun,
} from "../lib/words.js";
import { empty } from "./region.js";

/**
 * @param {object} answer of .../neighbors
 * @param {object} person of the route
 * @param {{kind?: string, headline?: boolean}} options
 *   kind of the model's measure; whether to say how many are strangers
 */
export function nearest(answer, person, { kind = "distance", headline = true } = {}) {
  const near = answer.neighbors;
  if (near.length === 0) return empty(`There is no other ${userNoun()} to compare with.`);
  const values = near.map((one) => Math.abs(one.distance));
  const top =
    kind === "distance" && Math.max(...values) <= Math.PI / 2 ? Math.PI / 2 : Math.max(...values) || 1;
  return [
    headline ? point(near, answer.user) : null,
    h(
      "ol",
      { class: "near" },
      near.map((one) => row(one, person, kind, top)),
    ),
  ];
}

/** The point of it all: like-minded people who share nothing. */
function point(near, user) {
  const strangers = near.filter((one) => one.n_common === 0).length;
  const dots = near.map((one) => h("span", { class: one.n_common === 0 ? "dot none" : "dot" }));
  const whom = nameOf(user);
  const sentence =
    strangers === 0
      ? [`All ${near.length} share at least one ${itemNoun()} with ${whom}.`]
      : [
          h("strong", {}, `${strangers} of the ${near.length}`),
          ` nearest ${strangers === 1 ? "has" : "have"} rated nothing that ${whom} rated. `,
          `Measures of co\u2011rated ${itemsNoun()} cannot see them.`,
        ];
  return h(
    "div",
    { class: "point" },
    h("div", { class: "dots", "aria-hidden": "true" }, dots),
    h("p", {}, sentence),
  );
}

function row(one, person, kind, top) {
  const whom = nameOf(one.user);
  const share = Math.min(Math.abs(one.distance) / top, 1);
  const pair = { person, other: { id: one.user.id } };
  return h(
    "li",
    {},
    h("a", { class: "who", href: href({ page: "like-minded", person: { id: one.user.id } }) }, capital(whom)),
    h("span", { class: "far" }, unseen(`${kind} `), distance(one.distance)),
    h(
      "span",
      { class: "rule", "aria-hidden": "true" },
      h("span", {
        class: bandOf(kind === "distance" ? share : 1 - share, 1),
        style: { width: `${(100 * share).toFixed(1)}%` },
      }),
    ),
    h(
      "span",
      { class: one.n_common === 0 ? "common none" : "common" },
      one.n_common === 0 ? `no ${itemNoun()} in common` : `${count(one.n_common, itemNoun())} in common`,
    ),
    h("a", { class: "ask", href: href({ page: "why", ...pair }), "aria-label": `Why ${whom}?` }, "Why?"),
  );
}

/** A sentence for screen readers. */
export function heard(answer) {
  const near = answer.neighbors;
  if (!near.length) return `No other ${userNoun()}`;
  const none = near.filter((one) => one.n_common === 0).length;
  const first = `the nearest is ${nameOf(near[0].user)} at ${distance(near[0].distance)}`;
  return `${near.length} nearest ${usersNoun()}; ${first}; ${none} of them with nothing in common`;
}
