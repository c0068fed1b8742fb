/** How often an item got each rating: a bar for each level of the scale, or for each part of a finer one. */

import { amount, count, noun, times } from "../lib/format.js";
import { html } from "../lib/html.js";

/** @param {{rating: number, highest: number, count: number}[]} bars lowest rating first */
export function histogram(bars) {
  const most = Math.max(...bars.map((one) => one.count), 1);
  const height = (n) => `${((100 * n) / most).toFixed(1)}%`;
  const upTo = ({ rating, highest }) =>
    highest > rating ? html`<span class="unseen"> to ${times(highest)}</span>` : null;
  const span = ({ rating, highest }) => (highest > rating ? `${times(rating)} to ` : "") + amount(highest);
  const rows = bars.map(
    (one) => html`
      <tr>
        <th scope="row">${brief(one.rating)}${upTo(one)}</th>
        <td title=${`${span(one)}: ${count(one.count, noun.user)}`}>
          <span class="tower" aria-hidden="true" style=${{ height: height(one.count) }}></span>
          <span class="times">${one.count}</span>
        </td>
      </tr>`,
  );
  return html`
    <table class="histogram">
      <caption class="unseen">How many ${noun.users} gave what</caption>
      <thead class="unseen">
        <tr><th scope="col">${noun.rating}</th><th scope="col">${noun.users}</th></tr>
      </thead>
      <tbody>${rows}</tbody>
    </table>`;
}

/** 4.5, 512, 2k: the bars are narrow. */
const brief = (x) => (x < 1000 ? times(x) : `${Math.round(x / 1000)}k`);
