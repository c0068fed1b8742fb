/** How often an item got each rating: one bar for each step of the scale. */

import { count, rating as formatted } from "../lib/format.js";
import { html } from "../lib/html.js";

const MOST = 20; // bars

/** @param {{rating: number, count: number}[]} counts lowest rating first */
export function histogram(counts, scale) {
  const bars = spread(counts, scale);
  const most = Math.max(...bars.map((one) => one.count), 1);
  const height = (n) => `${((100 * n) / most).toFixed(1)}%`;
  const rows = bars.map(
    (one) => html`
      <tr>
        <th scope="row">${formatted(one.rating)}</th>
        <td title=${count(one.count, "rating")}>
          <span class="tower" aria-hidden="true" style=${{ height: height(one.count) }}></span>
          <span class="times">${one.count}</span>
        </td>
      </tr>`,
  );
  return html`
    <table class="histogram">
      <caption class="unseen">How often each rating was given</caption>
      <thead class="unseen"><tr><th scope="col">rating</th><th scope="col">how often</th></tr></thead>
      <tbody>${rows}</tbody>
    </table>`;
}

/** The steps of the scale with their counts, those that nobody gave too. */
function spread(counts, { lowest, highest, step }) {
  const n = step ? Math.round((highest - lowest) / step) + 1 : 0;
  if (!n || n > MOST) return counts.slice(-MOST);
  const known = new Map(counts.map((one) => [Math.round((one.rating - lowest) / step), one.count]));
  return Array.from({ length: n }, (_, k) => ({ rating: lowest + k * step, count: known.get(k) ?? 0 }));
}
