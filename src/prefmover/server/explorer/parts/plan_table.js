/** The flows of an explanation as a table; the last line is the sum. */

import { h } from "../lib/elements.js";
import { capitalWhose, count, decimal, nameOf, percent, rating, whose } from "../lib/format.js";
import { hasPlan } from "../lib/plan_layout.js";
import { itemLink } from "./links.js";

/**
 * @param {object} explanation of two people
 * @param {object[]} people the two, as in the route
 */
export function planTable(explanation, people) {
  const { flows } = explanation;
  const plan = hasPlan(explanation);
  const [title, caption] = plan
    ? ["The plan as a table", `How ${whose(people[0])} preference becomes that of ${nameOf(people[1])}`]
    : ["The terms as a table", `The terms of ${explanation.measure} for the two`];
  const columns = plan ? ["distance", "mass", "adds", "share"] : ["adds", "share"];
  const heads = [...people.map(capitalWhose), ...columns];
  const table = h(
    "table",
    {},
    h("caption", {}, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heads.map((text, k) => h("th", { scope: "col", class: k < 2 ? "text" : null }, text)),
      ),
    ),
    h(
      "tbody",
      {},
      flows.map((flow) => line(flow, plan)),
    ),
    plan ? foot(flows) : null,
  );
  return h(
    "details",
    { class: "more" },
    h("summary", {}, `${title}: ${count(flows.length, plan ? "flow" : "term")}`),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": title }, table),
  );
}

function line(flow, plan) {
  const stays = plan && flow.source === flow.target;
  const rated = (id, title, value) => [itemLink(id, title), plan ? null : `, ${rating(value)}`];
  return h(
    "tr",
    {},
    h("th", { scope: "row", class: "text" }, rated(flow.source, flow.source_label, flow.source_rating)),
    h(
      "td",
      { class: "text" },
      stays ? "stays (both rated it)" : rated(flow.target, flow.target_label, flow.target_rating),
    ),
    plan ? [h("td", {}, decimal(flow.distance)), h("td", {}, percent(flow.mass))] : null,
    h("td", {}, decimal(flow.value)),
    h("td", {}, percent(flow.share)),
  );
}

function foot(flows) {
  const total = (field) => flows.reduce((sum, flow) => sum + flow[field], 0);
  return h(
    "tfoot",
    {},
    h(
      "tr",
      {},
      h("th", { scope: "row", class: "text", colspan: "3" }, "Sum"),
      h("td", {}, percent(total("mass"))),
      h("td", {}, decimal(total("value"))),
      h("td", {}, percent(total("share"))),
    ),
  );
}
