/** Measures: two people under all measures, some of which are undefined for them. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { capitalName, count, nameOf, noun, value } from "../lib/format.js";
import { html } from "../lib/html.js";
import { href } from "../lib/routes.js";
import { dotted } from "../parts/nearest.js";
import { loaded } from "../parts/region.js";
import { drawPair } from "./why.js";

export const name = "Measures";

export const title = (route) =>
  route.other ? `Measures: ${nameOf(route.person)} and ${nameOf(route.other)}` : "Twelve measures";

export function draw(route, context) {
  const { person, other } = route;
  const who = person && other && `${capitalName(person)} and ${nameOf(other)} under twelve measures`;
  const table = () =>
    loaded(
      { label: "twelve measures", lines: 12, room: 60, signal: context.signal },
      (stop) => api.comparison(person, other, stop),
      (answer) => {
        const n = answer.measures.filter((one) => one.value === null).length;
        announce(`${n} of ${answer.measures.length} measures are undefined`);
        return html`
          ${verdict(answer, n)}
          ${drawTable(answer)}
          <p class="onward"><a href=${href({ ...route, page: "why" })}>Why these two are alike</a></p>`;
      },
    );
  return drawPair(who ?? "One pair, twelve measures", route, context, table);
}

function verdict({ measures, n_common }, n) {
  const undefinedOnes = html`
    <strong>${n} of ${measures.length} measures are undefined</strong> for them. PMD uses all their
    ${noun.ratings}.`;
  return dotted(
    measures.map((one) => one.value === null),
    html`
      They have ${count(n_common, noun.item)} in common.
      ${n ? undefinedOnes : "All measures are defined for them."}`,
  );
}

const drawTable = ({ measures }) => html`
  <div class="card flush">
    <table class="measures">
      <caption class="unseen">The pair under each measure</caption>
      <thead>
        <tr>
          <th scope="col" class="text">Measure</th>
          <th scope="col">Value</th>
          <th scope="col" class="text kind">Kind</th>
        </tr>
      </thead>
      <tbody>${measures.map(line)}</tbody>
    </table>
  </div>`;

function line(one) {
  const closer = one.value_name === "distance" ? "distance: less is closer" : "similarity: more is closer";
  const missing = one.value === null;
  const none = () => html`<em>undefined</em><span class="soft">${one.reason}</span>`;
  return html`
    <tr class=${`${missing ? "undefined" : ""} ${one.name === "pmd" ? "pmd" : ""}`}>
      <th scope="row" class="text">${one.label}<span class="soft">${one.summary}</span></th>
      <td class="number">${missing ? none() : value(one.value)}</td>
      <td class="text kind">${closer}</td>
    </tr>`;
}
