/** Search fields: for one person, for two, and the one in the header for people and items. */

import * as api from "../lib/api.js";
import { capitalName, count, listed, noun } from "../lib/format.js";
import { guestRatings } from "../lib/guest.js";
import { html } from "../lib/html.js";
import { href } from "../lib/routes.js";
import { combobox, option } from "./combobox.js";

const SHOWN = 12;
const FOUND = 6; // items, and people, in the header

/**
 * A search field for people.
 *
 * @param {object} options
 * @param {string} options.id
 * @param {string} options.label
 * @param {object} [options.person] the present choice
 * @param {boolean} [options.you] whether the visitor can be chosen
 * @param {(person: import("../lib/routes.js").Person) => void} options.choose
 */
export function personPicker({ id, label, person, you = true, choose }) {
  const value = person ? capitalName(person) : "";
  const search = async (q, signal) => {
    const answer = await api.users(q, SHOWN, signal);
    const options = answer.users.map((one) => option(one, { id: one.id }));
    const mine = guestRatings().length;
    const offered = you && mine > 0 && "you".startsWith(q.toLowerCase());
    if (offered) options.unshift({ label: "You", note: count(mine, noun.rating), value: { you: true } });
    return { total: answer.total + (offered ? 1 : 0), options };
  };
  return combobox({ id, label, value, placeholder: `Search ${noun.users}`, search, choose });
}

/** The picker of pages about one person. */
export function onePicker({ page, person }, label) {
  const choose = (chosen) => (location.hash = href({ page, person: chosen }));
  return html`<div class="pickers one">${personPicker({ id: "pick-person", label, person, choose })}</div>`;
}

/** The pickers of pages about two people; the second one is always a user of the data. */
export function pairPickers({ page, person, other }) {
  const go = (one, another) => (location.hash = href({ page, person: one, other: another }));
  const left = { id: "pick-person", label: `One ${noun.user}`, person, choose: (one) => go(one, other) };
  const right = { id: "pick-other", label: `Another ${noun.user}`, person: other, you: false };
  const can = person && other && !person.you;
  return html`
    <div class="pickers two">
      ${personPicker(left)}
      <button id="swap" type="button" class="quiet swap" aria-label="Swap the two" disabled=${!can}
        @click=${() => go(other, person)}>⇄</button>
      ${personPicker({ ...right, choose: (one) => go(person, one) })}
    </div>`;
}

/** The search field in the header: items and people by what is typed. */
export function finder() {
  const search = async (q, signal) => {
    const answer = await api.search(q, FOUND, signal);
    const films = answer.items.map((one) => option(one, { page: "item", item: one.id }));
    const people = answer.users.map((one) => {
      const found = option(one, { page: "like-minded", person: { id: one.id } });
      return { ...found, note: listed(one.taste.slice(0, 2)) || found.note };
    });
    return { total: answer.n_items + answer.n_users, options: [...films, ...people] };
  };
  const choose = (route) => (location.hash = href(route));
  const label = `Search ${noun.items} and ${noun.users}`;
  return combobox({ id: "find", label, placeholder: label, clears: true, search, choose });
}
