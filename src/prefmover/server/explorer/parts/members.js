/** The people of a group: a field that adds somebody, and a button for each that takes them out. */

import { capitalName, listed, nameOf, noun } from "../lib/format.js";
import { html } from "../lib/html.js";
import { personLink } from "./links.js";
import { personPicker } from "./pickers.js";

/** The members, of at most `most`; `change` is called with the new ids. */
export function members(people, most, change) {
  const choose = (/** @type {any} */ { id }) => change(people.includes(id) ? people : [...people, id]);
  const label = people.length ? `Add ${noun.user}` : `First ${noun.user}`;
  const picker = () => personPicker({ id: "add-person", label, you: false, choose });
  const member = (id) => html`
    <li class="member">
      ${personLink(id)}
      <button type="button" class="quiet out" aria-label=${`Remove ${nameOf({ id })}`}
        @click=${() => change(people.filter((one) => one !== id))}>×</button>
    </li>`;
  const chips = html`<ul class="chips" aria-label="Who is in the group">${people.map(member)}</ul>`;
  return html`
    <div class="members">
      ${people.length < most ? html`<div class="pickers one">${picker()}</div>` : null}
      ${people.length ? chips : null}
    </div>`;
}

/** The names of the people in a heading: "ada-b, hugo-m and 3 others". */
export function namesOf(people, most = 3) {
  const names = people.map((id, k) => (k ? nameOf({ id }) : capitalName({ id })));
  const left = names.length - most;
  return listed(left > 1 ? [...names.slice(0, most), `${left} others`] : names);
}
