/** Why an item is recommended: first the person's own ratings, then people with the same taste. */

import { count, nameOf, rating, users } from "../lib/format.js";
import { html } from "../lib/html.js";
import { itemLink, personLink } from "./links.js";

const OWN = 2; // ratings that are named
const NAMED = 2; // people for it

/**
 * @param {object} why of a recommendation
 * @param {object} person of the route
 */
export function reasons(why, person) {
  const lines = [becauseOf(why, person), ...taste(why)].filter(Boolean);
  if (lines.length === 0) lines.push(`${count(why.n_likes, "person").replace("persons", "people")} liked it`);
  return html`<ul class="because">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

/** "Because you gave Aliens (1986) 5 and Blade Runner (1982) 4.5". */
function becauseOf({ own }, person) {
  if (own.length === 0) return null;
  const parts = own
    .slice(0, OWN)
    .map((one, k) => [k ? " and " : null, itemLink(one.item, one.label), ` ${rating(one.rating)}`]);
  return [`Because ${nameOf(person)} gave `, parts];
}

/** "12 for, 3 against", with names. */
function taste(why) {
  const { n_for: pro, n_against: contra, neighbors, strongest_against: against } = why;
  if (pro + contra === 0) return [];
  const gave = (one) => [personLink(one.user, nameOf), ` gave it ${rating(one.rating)}`];
  const named = neighbors
    .filter((one) => one.likes_it)
    .slice(0, NAMED)
    .map((one, k) => [k ? ", " : ": ", gave(one)]);
  const most = why.n_like_minded > 1 ? ` among the ${why.n_like_minded} ${users()} who count most` : "";
  return [
    html`<strong>${pro} for, ${contra} against</strong>${most}${named}`,
    against ? ["against it: ", gave(against)] : null,
  ];
}
