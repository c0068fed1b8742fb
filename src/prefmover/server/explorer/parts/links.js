/** Every title and every name is a link to its page. */

import { h } from "../lib/elements.js";
import { capitalName, listed, nameOf } from "../lib/format.js";
import { href } from "../lib/routes.js";

/** The title of an item. */
export const itemLink = (item, title, attributes = {}) =>
  h("a", { class: "item", href: href({ page: "item", item }), ...attributes }, title);

/** The name of a person. */
export const personLink = (person, { capital = false, ...attributes } = {}) =>
  h(
    "a",
    { href: href({ page: "like-minded", person }), ...attributes },
    capital ? capitalName(person) : nameOf(person),
  );

/** What a person prefers more than others do, or nothing. */
export const tasteLine = (genres) =>
  genres?.length ? h("span", { class: "leaning" }, listed(genres)) : null;
