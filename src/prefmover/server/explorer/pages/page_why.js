/** Why: two people side by side, and the plan between them. */

import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { announce } from "../lib/live.js";
import { farthest } from "../lib/plan_layout.js";
import { href, same } from "../lib/routes.js";
import {
  capital,
  count,
  distance,
  item as itemNoun,
  nameOf,
  percent,
  user as userNoun,
} from "../lib/words.js";
import { pairPickers } from "../parts/pickers.js";
import { planTable } from "../parts/plan_table.js";
import { empty, region } from "../parts/region.js";
import { legend, ribbons } from "../parts/ribbons.js";

const FEW = 14;

export const name = "Why";

export function title(route) {
  if (!route.other) return "Why are two people alike?";
  return `Why: ${nameOf(route.person)} and ${nameOf(route.other)}`;
}

export function draw(route, context) {
  if (!route.person || !route.other) return [...opening(route), ...suggestions(route, context)];
  if (same(route.person, route.other)) {
    return [
      ...opening(route),
      empty(`Choose two different ${userNoun()}s: everybody is at distance 0 from themselves.`),
    ];
  }
  const { signal } = context;
  const plan = region({ label: "the plan", lines: 12, room: 44, signal });
  plan.show(
    (stop) => api.explanation(route.person, route.other, stop),
    (answer) => {
      const [moves, shared] = [count(answer.flows.length, "move"), count(answer.n_common, itemNoun())];
      announce(`Distance ${distance(answer.distance)}, ${moves}, ${shared} in common`);
      return drawPlan(answer, route);
    },
  );
  return [...opening(route), plan.element];
}

function opening(route) {
  const both = route.person && route.other;
  const who =
    both &&
    (route.person.you
      ? `Why are you and ${nameOf(route.other)} alike?`
      : `Why are ${nameOf(route.person)} and ${nameOf(route.other)} alike?`);
  return [h("h1", {}, who || "Why are two people alike?"), pairPickers(route)];
}

/** Somebody to compare with, while the second place is empty. */
export function suggestions(route, { signal }) {
  if (!route.person)
    return [
      empty(
        `Choose two ${userNoun()}s, or `,
        h("a", { href: href({ page: "try" }) }, "rate a few yourself"),
        ".",
      ),
    ];
  const near = region({ label: "somebody to compare with", lines: 8, room: 34, signal });
  near.show(
    (stop) => api.neighbors(route.person, 8, stop),
    (answer) =>
      h(
        "ul",
        { class: "chips" },
        answer.neighbors.map((one) =>
          h(
            "li",
            {},
            h(
              "a",
              { href: href({ page: route.page, person: route.person, other: { id: one.user.id } }) },
              capital(nameOf(one.user)),
              h(
                "span",
                { class: "soft" },
                ` ${distance(one.distance)}, ${one.n_common === 0 ? "nothing" : one.n_common} in common`,
              ),
            ),
          ),
        ),
      ),
  );
  return [
    h(
      "section",
      { "aria-labelledby": "with" },
      h("h2", { id: "with", class: "eyebrow" }, `Nearest to ${nameOf(route.person)}`),
      near.element,
    ),
  ];
}

function drawPlan(answer, route) {
  const stays = answer.flows
    .filter((flow) => flow.source.id === flow.target.id)
    .reduce((sum, flow) => sum + flow.mass, 0);
  const holder = h("div", {}, ribbons(answer, { most: FEW }));
  const many = Math.max(answer.source_items.length, answer.target_items.length) > FEW;
  let all = false;
  const whole = h(
    "button",
    {
      type: "button",
      class: "quiet",
      on: {
        click: () => {
          all = !all;
          whole.textContent = all ? "Take the small ones together" : `Show every ${itemNoun()}`;
          holder.replaceChildren(ribbons(answer, { most: all ? Infinity : FEW }));
        },
      },
    },
    `Show every ${itemNoun()}`,
  );
  return [
    h(
      "dl",
      { class: "facts" },
      fact("Distance", distance(answer.distance), "work to turn one taste into the other"),
      fact(
        "In common",
        answer.n_common === 0 ? "nothing" : count(answer.n_common, itemNoun()),
        answer.n_common === 0 ? "and still comparable" : `${percent(stays)} of the preference stays`,
      ),
      proof(answer.certificate),
    ),
    h(
      "section",
      { class: "card", "aria-labelledby": "plan" },
      h(
        "div",
        { class: "line" },
        h("h2", { id: "plan" }, "The cheapest plan"),
        legend(farthest(answer.flows)),
      ),
      h(
        "p",
        { class: "soft" },
        "The wider a ribbon, the more preference moves; the stronger its color, the less far.",
      ),
      holder,
      many ? h("p", {}, whole) : null,
      planTable(answer),
    ),
    h(
      "p",
      { class: "onward" },
      h("a", { href: href({ ...route, page: "measures" }) }, "The same two under twelve measures"),
    ),
  ];
}

function fact(term, value, note) {
  return h(
    "div",
    {},
    h("dt", {}, term),
    h("dd", {}, h("span", { class: "big" }, value), h("span", { class: "soft" }, note)),
  );
}

/** The certificate: a plan that costs so much, and prices that show that none can cost less. */
function proof(certificate) {
  const [cost, bound] = [certificate.primal.toFixed(9), certificate.dual.toFixed(9)];
  const exact = cost === bound;
  return h(
    "div",
    { class: "proof" },
    h("dt", {}, "Proof"),
    h(
      "dd",
      {},
      h(
        "span",
        { class: "equation" },
        h("span", {}, cost),
        h("b", {}, exact ? " = " : " ≥ "),
        h("span", {}, bound),
      ),
      h(
        "span",
        { class: "soft" },
        exact
          ? "what the plan costs = the least any plan can cost"
          : `the plan’s cost and a bound, ${certificate.gap.toExponential(1)} apart`,
      ),
    ),
  );
}
