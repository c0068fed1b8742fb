/** The search field in the header: items and people by what is typed. */

import * as api from "../lib/api.js";
import { capitalName, count, items, listed, users } from "../lib/format.js";
import { href } from "../lib/routes.js";
import { combobox } from "./combobox.js";

const SHOWN = 6; // of each kind

/** @returns {HTMLElement} */
export function finder() {
  const search = async (q, signal) => {
    const answer = await api.search(q, SHOWN, signal);
    const films = answer.items.map((one) => ({
      label: one.title,
      note: count(one.n_ratings, "rating"),
      value: { page: "item", item: one.id },
    }));
    const people = answer.users.map((one) => ({
      label: capitalName(one),
      note: listed(one.taste.slice(0, 2)) || count(one.n_ratings, "rating"),
      value: { page: "like-minded", person: { id: one.id } },
    }));
    return { total: answer.n_items + answer.n_users, options: [...films, ...people] };
  };
  const choose = (route) => (location.hash = href(route));
  const label = `Search ${items()} and ${users()}`;
  return combobox({ id: "find", label, placeholder: label, clears: true, search, choose });
}
