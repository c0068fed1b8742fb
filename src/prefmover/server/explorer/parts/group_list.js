/** What suits several people: each item with its predicted rating and a reason for each of them. */

import { count, nameOf, noun, predicted } from "../lib/format.js";
import { html } from "../lib/html.js";
import { personLink } from "./links.js";
import { headline } from "./recommended_list.js";
import { empty } from "./region.js";

/** @param {object} answer of /group/recommendations */
export function groupList(answer, scale) {
  if (answer.recommendations.length === 0) {
    return empty(`Nothing is left to recommend: no ${noun.item} is new to all of them.`);
  }
  const lines = answer.recommendations.map(
    (one) => html`
      <li>
        ${headline(one, scale)}
        <ul class="because for-each">${one.members.filter(says).map(member)}</ul>
      </li>`,
  );
  return html`<ol class="recommended">${lines}</ol>`;
}

/** Whether there is something to say about a person. */
const says = ({ rating, reason }) => rating !== null || reason;

/** One person: the predicted rating, and the strongest reason, which may begin with the person's name. */
function member({ user, rating, reason }) {
  const name = nameOf({ id: user });
  const own = reason.startsWith(`${name} `);
  const why = own ? reason.slice(name.length) : reason && `: ${reason}`;
  return html`
    <li>
      <span class="number">${rating === null ? "" : predicted(rating)}</span>
      <span>${personLink(user)}${why}</span>
    </li>`;
}

/** The list in a sentence, for screen readers. */
export function summary({ recommendations: list }) {
  if (list.length === 0) return `No ${noun.items} for all of them`;
  return `${count(list.length, "recommendation")} for all of them, first ${list[0].title}`;
}
