/** Measures: the same two people under all twelve measures, and where the classic ones give up. */

import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { announce } from "../lib/live.js";
import { href, same } from "../lib/routes.js";
import { capital, count, item as itemNoun, nameOf, user as userNoun, value } from "../lib/words.js";
import { pairPickers } from "../parts/pickers.js";
import { empty, region } from "../parts/region.js";
import { suggestions } from "./page_why.js";

export const name = "Measures";

export function title(route) {
  return route.other ? `Measures: ${nameOf(route.person)} and ${nameOf(route.other)}` : "Twelve measures";
}

export function draw(route, context) {
  const two = route.person && route.other;
  const opening = [
    h(
      "h1",
      {},
      two
        ? `${capital(nameOf(route.person))} and ${nameOf(route.other)} under twelve measures`
        : "One pair, twelve measures",
    ),
    pairPickers(route),
  ];
  if (!two) return [...opening, ...suggestions(route, context)];
  if (same(route.person, route.other)) return [...opening, empty(`Choose two different ${userNoun()}s.`)];
  const table = region({ label: "twelve measures", lines: 12, room: 44, signal: context.signal });
  table.show(
    (stop) => api.comparison(route.person, route.other, stop),
    (answer) => {
      const silent = answer.measures.filter((one) => !one.defined).length;
      announce(`${silent} of ${answer.measures.length} measures are undefined`);
      return [
        verdict(answer, silent),
        drawTable(answer),
        h(
          "p",
          { class: "onward" },
          h("a", { href: href({ ...route, page: "why" }) }, "Why: the plan behind PMD"),
        ),
      ];
    },
  );
  return [...opening, table.element];
}

function verdict(answer, silent) {
  const shared = answer.n_common === 0 ? `no ${itemNoun()}` : count(answer.n_common, itemNoun());
  const dots = answer.measures.map((one) => h("span", { class: one.defined ? "dot" : "dot none" }));
  return h(
    "div",
    { class: "point" },
    h("div", { class: "dots", "aria-hidden": "true" }, dots),
    h(
      "p",
      {},
      `They have rated ${shared} in common. `,
      silent
        ? [
            h("strong", {}, `${silent} of ${answer.measures.length} measures are undefined`),
            " for them. PMD looks at all they rated.",
          ]
        : "All measures have an answer.",
    ),
  );
}

function drawTable(answer) {
  return h(
    "div",
    { class: "card flush" },
    h(
      "table",
      { class: "measures" },
      h("caption", { class: "unseen" }, "The pair under each measure"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col", class: "text" }, "Measure"),
          h("th", { scope: "col" }, "Value"),
          h("th", { scope: "col", class: "text kind" }, "Kind"),
        ),
      ),
      h("tbody", {}, answer.measures.map(line)),
    ),
  );
}

function line(one) {
  const closer = one.kind === "distance" ? "distance, 0 is alike" : "similarity, more is alike";
  return h(
    "tr",
    { class: `${one.defined ? "" : "undefined"} ${one.name === "pmd" ? "ours" : ""}` },
    h("th", { scope: "row", class: "text" }, one.label, h("span", { class: "soft" }, one.summary ?? "")),
    one.defined
      ? h("td", { class: "number" }, value(one.value))
      : h("td", { class: "number" }, h("em", {}, "undefined"), h("span", { class: "soft" }, one.why ?? "")),
    h("td", { class: "text kind" }, closer),
  );
}
