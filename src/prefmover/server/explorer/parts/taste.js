/** A person's taste at a glance: the distribution of the preference, and the highest ratings. */

import { count, noun, percent, predicted } from "../lib/format.js";
import { html } from "../lib/html.js";
import { itemLink, tasteLine } from "./links.js";
import { empty } from "./region.js";
import { shownStars } from "./stars.js";

const SHOWN = 8;

/** @param {object} person of /users/{id} */
export function taste(person, scale) {
  if (person.n_ratings === 0) return empty("No ratings yet.");
  const highest = person.ratings.slice(0, SHOWN);
  const more = person.n_ratings - highest.length;
  const lines = highest.map(
    (one) => html`
      <li>
        ${shownStars(one.rating, scale)}
        <span class="title">${itemLink(one.item, one.title)}</span>
        <span class="share">${percent(one.share)}</span>
      </li>`,
  );
  return html`
    ${figures(person)}
    ${person.taste?.length ? html`<p>More than others: ${tasteLine(person.taste)}.</p>` : null}
    ${strip(person, scale)}
    <ol class="best">${lines}</ol>
    <p class="soft">${more > 0 ? `and ${count(more, "more rating")}` : "\u00a0"}</p>`;
}

/** "12 ratings, 3.75 on average", of a person or an item. */
export const figures = ({ n_ratings: n, mean_rating: mean }) => html`
  <p class="figures">${count(n, "rating")}${mean === null ? null : `, ${predicted(mean)} on average`}</p>`;

/** The preference in one strip: a stripe for each rating, as wide as its share; the higher, the stronger. */
function strip(person, scale) {
  const shown = person.ratings.reduce((sum, one) => sum + one.share, 0);
  const span = scale.highest - scale.lowest || 1;
  const stripe = (share, strength, title) => html`
    <span title=${title} style=${{ "flex-grow": share.toFixed(6), "--strength": strength }}></span>`;
  const stripes = person.ratings.map(({ title, rating, share }) =>
    stripe(share, ((rating - scale.lowest) / span).toFixed(3), `${title}: ${percent(share)}`),
  );
  if (shown < 0.999) stripes.push(stripe(1 - shown, 0));
  const largest = percent(person.ratings[0]?.share ?? 0);
  const over = count(person.n_ratings, "rating");
  const label = `The preference over ${over}; the largest share is ${largest}`;
  return html`
    <div class="mass">
      <div class="strip" role="img" aria-label=${label}>${stripes}</div>
      <p class="soft ends">
        <span>highest</span>
        <span>preference over ${noun.items}</span>
        <span>lowest</span>
      </p>
    </div>`;
}
