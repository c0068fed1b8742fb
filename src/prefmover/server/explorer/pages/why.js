/** Why: two people, and the explanation of their distance. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import {
  capital,
  capitalName,
  count,
  decimal,
  item as itemNoun,
  items as itemsNoun,
  measured,
  nameOf,
  percent,
  rank,
  rating,
  users as usersNoun,
  value,
} from "../lib/format.js";
import { hasPlan } from "../lib/plan_layout.js";
import { href, same } from "../lib/routes.js";
import { pairPickers } from "../parts/pickers.js";
import { card, planCard } from "../parts/plan_card.js";
import { planTable } from "../parts/plan_table.js";
import { empty, region } from "../parts/region.js";

export const name = "Why";

const MOST_AGREED = 5;

export function title(route) {
  if (!route.other) return "How alike are two people?";
  return `Why: ${nameOf(route.person)} and ${nameOf(route.other)}`;
}

export function draw(route, context) {
  if (!route.person || !route.other) return [...opening(route), ...suggestions(route, context)];
  if (same(route.person, route.other)) {
    return [...opening(route), empty(`Choose two different ${usersNoun()}.`)];
  }
  const { signal } = context;
  const valueName = context.model.value_name;
  const why = region({ label: "the explanation", lines: 12, room: 44, signal });
  why.show(
    (stop) => api.explanation(route.person, route.other, stop),
    (explanation) => {
      const number = measured(explanation) === null ? "undefined" : decimal(measured(explanation));
      announce(`${capital(valueName)} ${number}, ${count(explanation.n_common, itemNoun())} in common`);
      return drawExplanation(explanation, route, valueName);
    },
  );
  return [...opening(route), why.element];
}

function opening(route) {
  const both = route.person && route.other;
  const who = both ? `${nameOf(route.person)} and ${nameOf(route.other)}` : "two people";
  return [h("h1", {}, `How alike are ${who}?`), pairPickers(route)];
}

/** People to compare with, while the second one is not chosen. */
export function suggestions(route, { signal }) {
  if (!route.person)
    return [
      empty(
        `Choose two ${usersNoun()}, or `,
        h("a", { href: href({ page: "try" }) }, "rate a few yourself"),
        ".",
      ),
    ];
  const near = region({ label: `${usersNoun()} to compare with`, lines: 8, room: 34, signal });
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
              { href: href({ page: route.page, person: route.person, other: { id: one.user } }) },
              capitalName({ id: one.user }),
              h(
                "span",
                { class: "soft" },
                ` ${decimal(measured(one))}, ${one.n_common || "nothing"} in common`,
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

function drawExplanation(explanation, route, valueName) {
  const people = [route.person, route.other];
  const number = measured(explanation);
  return [
    h(
      "dl",
      { class: "facts" },
      number === null
        ? fact(capital(valueName), "undefined", explanation.reason)
        : fact(capital(valueName), decimal(number), rank(explanation.nearer_than)),
      fact(
        "In common",
        explanation.n_common === 0 ? "nothing" : count(explanation.n_common, itemNoun()),
        commonNote(explanation),
      ),
      explanation.agreement.length ? agreementFact(explanation.agreement) : null,
      explanation.certificate ? proof(explanation.certificate) : null,
    ),
    explanation.agreement.length ? drawAgreement(explanation.agreement) : null,
    hasPlan(explanation) ? planCard(explanation, people) : drawFactors(explanation, people),
    h(
      "p",
      { class: "onward" },
      h("a", { href: href({ ...route, page: "measures" }) }, "The same two under twelve measures"),
    ),
  ];
}

function commonNote({ n_common, common_share }) {
  if (common_share === null) return "";
  return n_common === 0 ? "and still comparable" : `${percent(common_share)} of the preference`;
}

const agreed = (agreement) => agreement.filter((flow) => flow.value > 0);

function agreementFact(agreement) {
  const n = agreed(agreement).length;
  return fact("Agreement", `${n} of ${agreement.length}`, `${itemsNoun()} that both rated`);
}

/** What two people agree on most, and least: both rated it above their means, or both below, or not. */
function drawAgreement(agreement) {
  const opposed = agreement.filter((flow) => flow.value < 0).reverse();
  const list = (term, flows) =>
    h(
      "div",
      {},
      h("dt", {}, term),
      flows
        .slice(0, MOST_AGREED)
        .map((flow) =>
          h(
            "dd",
            {},
            `${flow.source_label}, ${rating(flow.source_rating)} and ${rating(flow.target_rating)}`,
          ),
        ),
    );
  return card(
    "Do they agree?",
    null,
    `They agree if both rated the ${itemNoun()} above their own mean, or both below it.`,
    h(
      "dl",
      { class: "factors" },
      agreed(agreement).length ? list("agree most on", agreed(agreement)) : null,
      opposed.length ? list("agree least on", opposed) : null,
    ),
  );
}

/** The factors of another measure. */
function drawFactors(explanation, people) {
  const factors = explanation.factors.map((factor) =>
    h("div", {}, h("dt", {}, factor.meaning), h("dd", {}, factorValue(factor.value))),
  );
  return card(
    "The formula",
    null,
    "The factors and sums of the measure, in the order of its formula.",
    h("dl", { class: "factors" }, factors),
    explanation.flows.length ? planTable(explanation, people) : null,
  );
}

function factorValue(x) {
  if (x === null) return "undefined";
  return Number.isInteger(x) ? String(x) : value(x);
}

function fact(term, value, note) {
  return h(
    "div",
    {},
    h("dt", {}, term),
    h("dd", {}, h("span", { class: "big" }, value), h("span", { class: "soft" }, note)),
  );
}

/** The certificate: the cost of the plan, and a bound that no plan can beat. */
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
          ? "cost of the plan = lower bound of any plan"
          : `cost of the plan and lower bound, ${certificate.gap.toExponential(1)} apart`,
      ),
    ),
  );
}
