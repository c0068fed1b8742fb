/** Why an item is recommended: first the person's own ratings, then people with the same taste. */

import { h } from "../lib/elements.js";
import { count, nameOf, rating, users } from "../lib/format.js";
import { itemLink, personLink } from "./links.js";

const OWN = 2; // ratings that are named
const NAMED = 2; // people for it

/**
 * @param {object} why of a recommendation
 * @param {object} person of the route
 */
export function reasons(why, person) {
  const lines = [becauseOf(why, person), ...taste(why)].filter(Boolean);
  if (lines.length === 0) lines.push([popular(why)]);
  return h(
    "ul",
    { class: "because" },
    lines.map((line) => h("li", {}, line)),
  );
}

/** "Because you gave Aliens (1986) 5 and Blade Runner (1982) 4.5". */
function becauseOf({ own }, person) {
  if (own.length === 0) return null;
  const parts = own
    .slice(0, OWN)
    .flatMap((one, k) => [k ? " and " : null, itemLink(one.item, one.label), ` ${rating(one.rating)}`]);
  return [`Because ${nameOf(person)} gave `, parts];
}

/** "12 for, 3 against", with names. */
function taste(why) {
  const { n_for: pro, n_against: contra, neighbors, strongest_against: against } = why;
  if (pro + contra === 0) return [];
  const named = neighbors
    .filter((one) => one.likes_it)
    .slice(0, NAMED)
    .flatMap((one, k) => [k ? ", " : ": ", personLink({ id: one.user }), ` gave it ${rating(one.rating)}`]);
  const most = why.n_like_minded > 1 ? ` among the ${why.n_like_minded} ${users()} who count most` : "";
  return [
    [h("strong", {}, `${pro} for, ${contra} against`), most, named],
    against ? ["against it: ", personLink({ id: against.user }), ` gave it ${rating(against.rating)}`] : null,
  ];
}

const popular = (why) => `${count(why.n_likes, "person").replace("persons", "people")} liked it`;
