/** The nearest people: their distance, and how little they have rated in common. */

import { h, unseen } from "../lib/elements.js";
import {
  capitalName,
  count,
  decimal,
  item as itemNoun,
  items as itemsNoun,
  measured,
  nameOf,
  user as userNoun,
  users as usersNoun,
} from "../lib/format.js";
import { bandOf } from "../lib/plan_layout.js";
import { href } from "../lib/routes.js";
import { empty } from "./region.js";

/**
 * @param {object} answer of .../neighbors
 * @param {object} person of the route
 * @param {{valueName: string, headline?: boolean}} options
 *   "distance" or "similarity"; whether to count the neighbors with nothing in common
 */
export function nearest(answer, person, { valueName, headline = true }) {
  const near = answer.neighbors;
  if (near.length === 0) return empty(`There is no other ${userNoun()} to compare with.`);
  const most = Math.max(...near.map((one) => Math.abs(measured(one))));
  const top = valueName === "distance" && most <= Math.PI / 2 ? Math.PI / 2 : most || 1;
  return [
    headline ? strangers(near, person) : null,
    h(
      "ol",
      { class: "near" },
      near.map((one) => row(one, person, valueName, top)),
    ),
  ];
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

function row(one, person, valueName, top) {
  const other = { id: one.user };
  const share = Math.min(Math.abs(measured(one)) / top, 1);
  const why = { href: href({ page: "why", person, other }), "aria-label": `Why ${nameOf(other)}?` };
  return h(
    "li",
    {},
    h("a", { class: "who", href: href({ page: "like-minded", person: other }) }, capitalName(other)),
    h("span", { class: "far" }, unseen(`${valueName} `), decimal(measured(one))),
    h(
      "span",
      { class: "rule", "aria-hidden": "true" },
      h("span", {
        class: bandOf(valueName === "distance" ? share : 1 - share, 1),
        style: { width: `${(100 * share).toFixed(1)}%` },
      }),
    ),
    h(
      "span",
      { class: one.n_common === 0 ? "common none" : "common" },
      `${count(one.n_common, itemNoun())} in common`,
    ),
    h("a", { class: "ask", ...why }, "Why?"),
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
