/** Measures: two people under all measures, some of which are undefined for them. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { capitalName, count, item as itemNoun, nameOf, users as usersNoun, value } from "../lib/format.js";
import { href, same } from "../lib/routes.js";
import { pairPickers } from "../parts/pickers.js";
import { empty, region } from "../parts/region.js";
import { suggestions } from "./why.js";

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
        ? `${capitalName(route.person)} and ${nameOf(route.other)} under twelve measures`
        : "One pair, twelve measures",
    ),
    pairPickers(route),
  ];
  if (!two) return [...opening, ...suggestions(route, context)];
  if (same(route.person, route.other)) return [...opening, empty(`Choose two different ${usersNoun()}.`)];
  const table = region({ label: "twelve measures", lines: 12, room: 60, signal: context.signal });
  table.show(
    (stop) => api.comparison(route.person, route.other, stop),
    (answer) => {
      const n = answer.measures.filter((one) => one.value === null).length;
      announce(`${n} of ${answer.measures.length} measures are undefined`);
      return [
        verdict(answer, n),
        drawTable(answer),
        h(
          "p",
          { class: "onward" },
          h("a", { href: href({ ...route, page: "why" }) }, "Why these two are alike"),
        ),
      ];
    },
  );
  return [...opening, table.element];
}

function verdict(answer, n) {
  const dots = answer.measures.map((one) => h("span", { class: one.value === null ? "dot none" : "dot" }));
  return h(
    "div",
    { class: "point" },
    h("div", { class: "dots", "aria-hidden": "true" }, dots),
    h(
      "p",
      {},
      `They have rated ${count(answer.n_common, itemNoun())} in common. `,
      n
        ? [
            h("strong", {}, `${n} of ${answer.measures.length} measures are undefined`),
            " for them. PMD uses all their ratings.",
          ]
        : "All measures are defined for them.",
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
  const closer = one.value_name === "distance" ? "distance: less is closer" : "similarity: more is closer";
  return h(
    "tr",
    { class: `${one.value === null ? "undefined" : ""} ${one.name === "pmd" ? "pmd" : ""}` },
    h("th", { scope: "row", class: "text" }, one.label, h("span", { class: "soft" }, one.summary)),
    one.value === null
      ? h("td", { class: "number" }, h("em", {}, "undefined"), h("span", { class: "soft" }, one.reason))
      : h("td", { class: "number" }, value(one.value)),
    h("td", { class: "text kind" }, closer),
  );
}
