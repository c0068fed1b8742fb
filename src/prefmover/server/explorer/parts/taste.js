/** A person's taste at a glance: the distribution of the preference, and the highest ratings. */

import { count, isGiven, noun, percent, predicted } from "../lib/format.js";
import { html } from "../lib/html.js";
import { itemLink, tasteLine } from "./links.js";
import { empty } from "./region.js";
import { shownRating } from "./stars.js";

const SHOWN = 8;

/** @param {object} person of /users/{id} */
export function taste(person, scale) {
  if (person.n_ratings === 0) return empty(`No ${noun.ratings} yet.`);
  const highest = person.ratings.slice(0, SHOWN);
  const more = person.n_ratings - highest.length;
  const lines = highest.map(
    (one) => html`
      <li>
        ${shownRating(one.rating, scale)}
        <span class="title">${itemLink(one.item, one.title)}</span>
        <span class="share">${one.share === null ? null : percent(one.share)}</span>
      </li>`,
  );
  return html`
    ${figures(person)}
    ${person.taste?.length ? html`<p>More than others: ${tasteLine(person.taste)}.</p>` : null}
    ${person.ratings.every((one) => one.share !== null) ? strip(person, scale) : null}
    <ol class="best">${lines}</ol>
    <p class="soft">${more > 0 ? `and ${count(more, `more ${noun.rating}`)}` : "\u00a0"}</p>`;
}

/** "12 ratings, 3.75 on average", of a person or an item. */
export const figures = ({ n_ratings: n, mean_rating: mean }) => html`
  <p class="figures">${count(n, noun.rating)}${mean === null ? null : `, ${predicted(mean)} on average`}</p>`;

/** The preference in one strip: a stripe for each rating, as wide as its share; the higher, the stronger. */
function strip(person, scale) {
  const shown = person.ratings.reduce((sum, one) => sum + one.share, 0);
  const largest = person.ratings[0]?.share ?? 0;
  const strength = isGiven("ratings")
    ? ({ rating }) => (rating - scale.lowest) / (scale.highest - scale.lowest || 1)
    : ({ share }) => share / (largest || 1);
  const stripe = (share, strong, title) => html`
    <span title=${title} style=${{ "flex-grow": share.toFixed(6), "--strength": strong }}></span>`;
  const stripes = person.ratings.map((one) =>
    stripe(one.share, strength(one).toFixed(3), `${one.title}: ${percent(one.share)}`),
  );
  if (shown < 0.999) stripes.push(stripe(1 - shown, 0));
  const over = count(person.n_ratings, noun.rating);
  const label = `The preference over ${over}; the largest share is ${percent(largest)}`;
  const [first, last] = isGiven("ratings") ? ["highest", "lowest"] : ["most", "least"];
  return html`
    <div class="mass">
      <div class="strip" role="img" aria-label=${label}>${stripes}</div>
      <p class="soft ends">
        <span>${first}</span>
        <span>preference over ${noun.items}</span>
        <span>${last}</span>
      </p>
    </div>`;
}
