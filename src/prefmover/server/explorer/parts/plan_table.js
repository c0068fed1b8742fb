/** The flows of an explanation as a table; the last line is the sum. */

import { amount, capitalWhose, count, decimal, isGiven, nameOf, percent, whose } from "../lib/format.js";
import { html } from "../lib/html.js";
import { hasPlan } from "../lib/plan_layout.js";
import { itemLink } from "./links.js";

/** The table in a fold, with terms instead of flows if the measure has no plan. */
export function planTable(explanation, people) {
  const { flows } = explanation;
  const plan = hasPlan(explanation);
  const [title, caption] = plan
    ? ["The plan as a table", `How ${whose(people[0])} preference becomes that of ${nameOf(people[1])}`]
    : ["The terms as a table", `The terms of ${explanation.measure} for the two`];
  const columns = plan ? ["distance", "mass", "adds", "share"] : ["adds", "share"];
  const heads = [...people.map(capitalWhose), ...columns].map(
    (text, k) => html`<th scope="col" class=${k < 2 ? "text" : null}>${text}</th>`,
  );
  return html`
    <details class="more">
      <summary>${title}: ${count(flows.length, plan ? "flow" : "term")}</summary>
      <div class="wide" tabindex="0" role="region" aria-label=${title}>
        <table>
          <caption>${caption}</caption>
          <thead><tr>${heads}</tr></thead>
          <tbody>${flows.map((flow) => line(flow, plan))}</tbody>
          ${plan ? foot(flows) : null}
        </table>
      </div>
    </details>`;
}

function line(flow, plan) {
  const rated = (end) => [
    itemLink(flow[end], flow[`${end}_label`]),
    plan || isGiven("choices") ? null : `, ${amount(flow[`${end}_rating`])}`,
  ];
  const stays = plan && flow.source === flow.target;
  return html`
    <tr>
      <th scope="row" class="text">${rated("source")}</th>
      <td class="text">${stays ? "stays (in common)" : rated("target")}</td>
      ${plan ? html`<td>${decimal(flow.distance)}</td><td>${percent(flow.mass)}</td>` : null}
      <td>${decimal(flow.value)}</td>
      <td>${percent(flow.share)}</td>
    </tr>`;
}

function foot(flows) {
  const total = (field) => flows.reduce((sum, flow) => sum + flow[field], 0);
  return html`
    <tfoot>
      <tr>
        <th scope="row" class="text" colspan="3">Sum</th>
        <td>${percent(total("mass"))}</td>
        <td>${decimal(total("value"))}</td>
        <td>${percent(total("share"))}</td>
      </tr>
    </tfoot>`;
}
