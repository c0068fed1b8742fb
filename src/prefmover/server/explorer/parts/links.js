/** Every title and every name is a link to its page. */

import { capitalName, listed } from "../lib/format.js";
import { html } from "../lib/html.js";
import { href } from "../lib/routes.js";

/** The title of an item. */
export const itemLink = (item, title) =>
  html`<a class="item" href=${href({ page: "item", item })}>${title}</a>`;

/** The name of a user, as at the start of a sentence or by `name`. */
export const personLink = (id, name = capitalName) =>
  html`<a href=${href({ page: "like-minded", person: { id } })}>${name({ id })}</a>`;

/** What a person prefers more than others do, or nothing. */
export const tasteLine = (genres) =>
  genres?.length ? html`<span class="leaning">${listed(genres)}</span>` : null;
