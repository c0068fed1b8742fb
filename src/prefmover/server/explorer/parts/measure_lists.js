/** The nearest people by several measures side by side, and how well each list predicts. */

import { h } from "../lib/elements.js";
import { count, decimal, items, nameOf, users } from "../lib/format.js";
import { personLink } from "./links.js";

const NOTES = {
  cos: (n) => `Cosine compares the ${items()} in common only. One ${n} is enough for a perfect 1.`,
  jmsd: () => `JMSD weighs agreement on the ${items()} in common by how many there are.`,
};

/**
 * @param {object} answer of .../lists
 * @param {object} person of the route
 * @param {string} itemNoun
 */
export function lists(answer, person, itemNoun) {
  const names = answer.lists.map((list) => new Set(list.neighbors.map((one) => one.user)));
  const others = (k) => names.filter((_, at) => at !== k);
  const most = Math.max(...answer.lists.map((list) => list.test?.hits ?? 0), 1);
  return [
    h(
      "div",
      { class: "lists" },
      answer.lists.map((list, k) => column(list, others(k), most, itemNoun)),
    ),
    h("p", { class: "soft" }, explained(answer, person)),
  ];
}

function column(list, others, most, itemNoun) {
  const alone = list.neighbors.filter((one) => !others.some((some) => some.has(one.user))).length;
  return h(
    "section",
    { "aria-label": `Nearest by ${list.label}` },
    h("h3", {}, list.label),
    list.test ? score(list.test, most) : null,
    h("p", { class: "soft note" }, NOTES[list.name]?.(itemNoun) ?? "Uses all ratings of both."),
    h(
      "ol",
      {},
      list.neighbors.map((one) =>
        h(
          "li",
          { class: others.some((some) => some.has(one.user)) ? null : "alone" },
          personLink({ id: one.user }, { capital: true }),
          h("span", { class: "number" }, decimal(one.value)),
          h("span", { class: one.n_common ? "soft" : "common none" }, `${one.n_common} in common`),
        ),
      ),
    ),
    h(
      "p",
      { class: "soft" },
      list.neighbors.length
        ? `${alone} of ${list.neighbors.length} are found by ${list.label} only.`
        : `It finds nobody: it needs ${items()} in common.`,
    ),
  );
}

/** The hidden favorites that a list finds, as a bar. */
function score({ hits, n_hidden: hidden }, most) {
  return h(
    "p",
    { class: "score" },
    h("strong", {}, `${hits} of ${hidden}`),
    " favorites found",
    h(
      "span",
      { class: "rule", "aria-hidden": "true" },
      h("span", { style: { width: `${((100 * hits) / Math.max(most, hidden, 1)).toFixed(1)}%` } }),
    ),
  );
}

function explained(answer, person) {
  const test = answer.lists[0]?.test;
  if (!test) return `With so few favorites, the lists cannot be tested on ${nameOf(person)}.`;
  return (
    `The test: the ${count(test.n_hidden, "favorite")} of ${nameOf(person)} are hidden, a fifth at a time, ` +
    `and the nearest ${users()} are searched again without them. A favorite is found if it is among the ` +
    `${test.n_suggested} ${items()} that most of the ten liked.`
  );
}
