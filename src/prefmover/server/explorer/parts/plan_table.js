/** The transport plan as a table, for everybody who reads rather than looks; the last line is the sum. */

import { h } from "../lib/elements.js";
import { capital, count, distance, nameOf, percent, whose } from "../lib/words.js";

/** @param {object} answer of /explanations */
export function planTable(answer) {
  const total = (field) => answer.flows.reduce((all, flow) => all + flow[field], 0);
  const head = [
    `${capital(whose(answer.user))}`,
    `${capital(whose(answer.other))}`,
    "distance",
    "mass",
    "adds",
    "share",
  ];
  return h(
    "details",
    { class: "more" },
    h("summary", {}, `The plan as a table: ${count(answer.flows.length, "move")}`),
    h(
      "div",
      { class: "wide", tabindex: "0", role: "region", "aria-label": "The plan as a table" },
      h(
        "table",
        {},
        h("caption", {}, `How ${whose(answer.user)} preference becomes that of ${nameOf(answer.other)}`),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head.map((text, k) => h("th", { scope: "col", class: k < 2 ? "text" : null }, text)),
          ),
        ),
        h("tbody", {}, answer.flows.map(line)),
        h(
          "tfoot",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "row", class: "text", colspan: "3" }, "Sum"),
            h("td", {}, percent(total("mass"))),
            h("td", {}, distance(total("cost"))),
            h("td", {}, percent(total("share"))),
          ),
        ),
      ),
    ),
  );
}

function line(flow) {
  const stays = flow.source.id === flow.target.id;
  return h(
    "tr",
    {},
    h("th", { scope: "row", class: "text" }, flow.source.title),
    h("td", { class: "text" }, stays ? "stays (both rated it)" : flow.target.title),
    h("td", {}, distance(flow.distance)),
    h("td", {}, percent(flow.mass)),
    h("td", {}, distance(flow.cost)),
    h("td", {}, percent(flow.share)),
  );
}
