/** The parts of a score: what the person's own ratings add, and what other people add. */

import { capitalWhose, count, items, nameOf, rating, signed, users } from "../lib/format.js";
import { html } from "../lib/html.js";
import { itemLink, personLink } from "./links.js";

/**
 * @param {object} why of .../recommendations/{item}
 * @param {object} person of the route
 */
export function scoreParts(why, person) {
  const own = why.own.map((one) =>
    line([itemLink(one.item, one.label), `, ${rating(one.rating)}`], one.value),
  );
  const people = why.neighbors.map((one) =>
    line([personLink(one.user, nameOf), ` gave it ${rating(one.rating)}`], one.value),
  );
  const rest = ({ count: n, value }, what) => (n ? line(`${count(n, "part")} of ${what}`, value) : null);
  return html`
    <div class="wide" tabindex="0" role="region" aria-label=${`Parts of the score of ${why.label}`}>
      <table class="contributions scores">
        <caption>The score it is ranked by</caption>
        <thead><tr><th scope="col" class="text">part</th><th scope="col">adds</th></tr></thead>
        <tbody>
          ${line(`${capitalWhose(person)} own ratings`, why.item_side, true)}
          ${own}
          ${rest(why.other_own, `other ${items()}`)}
          ${line("People with the same taste", why.user_side, true)}
          ${people}
          ${rest(why.other_users, `other ${users()}`)}
        </tbody>
        <tfoot>${line("Score", why.score, true)}</tfoot>
      </table>
    </div>`;
}

const line = (label, value, strong = false) => html`
  <tr class=${strong ? "sum-of" : null}>
    <th scope="row" class="text">${label}</th>
    <td class="number">${signed(value)}</td>
  </tr>`;
