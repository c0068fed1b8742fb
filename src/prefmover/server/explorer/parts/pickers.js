/** Search fields for one person, or for two. */

import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { capitalName, count, user as userNoun, users as usersNoun } from "../lib/format.js";
import { guestRatings } from "../lib/guest.js";
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
  return combobox({ id, label, value, placeholder: `Search ${usersNoun()}`, search, choose }).element;
}

/** The picker of pages about one person. */
export function onePicker(route, label) {
  const choose = (person) => (location.hash = href({ page: route.page, person }));
  return h(
    "div",
    { class: "pickers one" },
    personPicker({ id: "pick-person", label, person: route.person, choose }),
  );
}

/** The pickers of pages about two people; the second one is always a user of the data. */
export function pairPickers(route) {
  const go = (person, other) => (location.hash = href({ page: route.page, person, other }));
  const left = personPicker({
    id: "pick-person",
    label: `One ${userNoun()}`,
    person: route.person,
    choose: (person) => go(person, route.other),
  });
  const right = personPicker({
    id: "pick-other",
    label: `Another ${userNoun()}`,
    person: route.other,
    you: false,
    choose: (other) => go(route.person, other),
  });
  const can = route.person && route.other && !route.person.you;
  const swap = h(
    "button",
    {
      id: "swap",
      type: "button",
      class: "quiet swap",
      "aria-label": "Swap the two",
      disabled: !can,
      on: { click: () => go(route.other, route.person) },
    },
    "⇄",
  );
  return h("div", { class: "pickers two" }, left, swap, right);
}
