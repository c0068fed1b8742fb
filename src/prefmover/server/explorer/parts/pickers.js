/** Search fields for one person, or for two. */

import * as api from "../lib/api.js";
import { capitalName, count, user as userNoun, users as usersNoun } from "../lib/format.js";
import { guestRatings } from "../lib/guest.js";
import { html } from "../lib/html.js";
import { href } from "../lib/routes.js";
import { combobox } from "./combobox.js";

const SHOWN = 12;

/**
 * A search field for people.
 *
 * @param {object} options
 * @param {string} options.id
 * @param {string} options.label
 * @param {object} [options.person] the present choice
 * @param {boolean} [options.you] whether the visitor can be chosen
 * @param {(person: object) => void} options.choose
 */
export function personPicker({ id, label, person, you = true, choose }) {
  const value = person ? capitalName(person) : "";
  const search = async (q, signal) => {
    const answer = await api.users(q, SHOWN, signal);
    const options = answer.users.map((one) => ({
      label: capitalName(one),
      note: count(one.n_ratings, "rating"),
      value: { id: one.id },
    }));
    const mine = guestRatings().length;
    const offered = you && mine > 0 && "you".startsWith(q.toLowerCase());
    if (offered) options.unshift({ label: "You", note: count(mine, "rating"), value: { you: true } });
    return { total: answer.total + (offered ? 1 : 0), options };
  };
  return combobox({ id, label, value, placeholder: `Search ${usersNoun()}`, search, choose });
}

/** The picker of pages about one person. */
export function onePicker({ page, person }, label) {
  const choose = (chosen) => (location.hash = href({ page, person: chosen }));
  return html`<div class="pickers one">${personPicker({ id: "pick-person", label, person, choose })}</div>`;
}

/** The pickers of pages about two people; the second one is always a user of the data. */
export function pairPickers({ page, person, other }) {
  const go = (one, another) => (location.hash = href({ page, person: one, other: another }));
  const left = { id: "pick-person", label: `One ${userNoun()}`, person, choose: (one) => go(one, other) };
  const right = { id: "pick-other", label: `Another ${userNoun()}`, person: other, you: false };
  const can = person && other && !person.you;
  return html`
    <div class="pickers two">
      ${personPicker(left)}
      <button id="swap" type="button" class="quiet swap" aria-label="Swap the two" disabled=${!can}
        @click=${() => go(other, person)}>⇄</button>
      ${personPicker({ ...right, choose: (one) => go(person, one) })}
    </div>`;
}
