/** The parts of a score: what the person's own ratings add, and what other people add. */

import { h } from "../lib/elements.js";
import { capitalWhose, count, items, rating, signed, users } from "../lib/format.js";
import { itemLink, personLink } from "./links.js";

/**
 * @param {object} why of .../recommendations/{item}
 * @param {object} person of the route
 */
export function scoreParts(why, person) {
  const own = why.own.map((one) => [[itemLink(one.item, one.label), `, ${rating(one.rating)}`], one.value]);
  const people = why.neighbors.map((one) => [
    [personLink({ id: one.user }), ` gave it ${rating(one.rating)}`],
    one.value,
  ]);
  const rows = [
    head(`${capitalWhose(person)} own ratings`, why.item_side),
    ...own,
    rest(why.other_own, `other ${items()}`),
    head("People with the same taste", why.user_side),
    ...people,
    rest(why.other_users, `other ${users()}`),
  ];
  return h(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": `Parts of the score of ${why.label}` },
    h(
      "table",
      { class: "contributions scores" },
      h("caption", {}, "The score it is ranked by"),
      h(
        "thead",
        {},
        h("tr", {}, h("th", { scope: "col", class: "text" }, "part"), h("th", { scope: "col" }, "adds")),
      ),
      h(
        "tbody",
        {},
        rows.filter(Boolean).map(([label, value, strong]) => line(label, value, strong)),
      ),
      h("tfoot", {}, line("Score", why.score, true)),
    ),
  );
}

const head = (text, value) => [text, value, true];
const rest = ({ count: n, value }, what) => (n ? [`${count(n, "part")} of ${what}`, value, false] : null);

function line(label, value, strong = false) {
  return h(
    "tr",
    { class: strong ? "sum-of" : null },
    h("th", { scope: "row", class: "text" }, label),
    h("td", { class: "number" }, signed(value)),
  );
}
