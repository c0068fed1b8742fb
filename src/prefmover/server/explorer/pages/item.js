/** An item: how it was rated, who liked it, and which items are near. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { capital, count, decimal, did, isGiven, noun } from "../lib/format.js";
import { rate, ratingOf } from "../lib/guest.js";
import { html } from "../lib/html.js";
import { href } from "../lib/routes.js";
import { histogram } from "../parts/histogram.js";
import { ratingInput } from "../parts/like.js";
import { itemLink, personLink, tasteLine } from "../parts/links.js";
import { empty, loaded } from "../parts/region.js";
import { shownRating } from "../parts/stars.js";
import { figures } from "../parts/taste.js";

const NEAR = 12;

/** It is not in the navigation. */
export const name = null;

export const title = (route) => route.item ?? capital(noun.items);

export function draw({ item }, { model, signal }) {
  if (!item) return html`<h1>${capital(noun.items)}</h1>${empty(`Search for ${noun.items} at the top.`)}`;
  const heading = html`<h1>\u00a0</h1>`;
  const about = loaded(
    { label: `the ${noun.item}`, lines: 8, room: 30, signal },
    (stop) => api.itemDetails(item, stop),
    (one) => {
      heading.textContent = one.title;
      document.title = `${one.title} · prefmover`;
      announce(`${one.title}, ${count(one.n_ratings, noun.rating)}`);
      return [facts(one, model), liked(one, model)];
    },
  );
  const near = loaded(
    { label: `near ${noun.items}`, lines: 8, room: 30, signal },
    (stop) => api.nearItems(item, NEAR, stop),
    nearList,
  );
  return html`
    ${heading}
    <div class="split">
      ${about}
      <section class="card" aria-labelledby="near">
        <h2 id="near">Near ${noun.items}</h2>
        <p class="soft">By the distances between ${noun.items} that the model uses.</p>
        ${near}
      </section>
    </div>
    <p class="onward"><a href=${href({ page: "map", kind: "items", item })}>Show it on the map</a></p>`;
}

function facts(one, model) {
  const mine = ratingInput(one, ratingOf(one.id), model, (value) => rate(one, value));
  const genres = one.genres.map((genre) => html`<li>${genre}</li>`);
  return html`
    <section class="card" aria-labelledby="rated">
      <h2 id="rated">${capital(noun.ratings)}</h2>
      ${figures(one)}
      ${one.n_ratings ? (isGiven("choices") ? null : histogram(one.ratings)) : null}
      ${genres.length ? html`<ul class="tags">${genres}</ul>` : null}
      <div class="line yours"><span>Your ${noun.rating}</span>${mine.element}</div>
    </section>`;
}

function liked({ fans, n_fans: n }, model) {
  const who = n ? count(n, "person").replace("persons", "people") : "Nobody";
  const lines = fans.map(
    (fan) => html`
      <li>${shownRating(fan.rating, model.scale)}${personLink(fan.user)}${tasteLine(fan.taste)}</li>`,
  );
  const [above, most] = isGiven("ratings")
    ? ["rated it above their own average", "rated it farthest above their average"]
    : [`${did()} it`, `${did()} it most, compared with other ${noun.items}`];
  const farthest = `These are the ${noun.users} who ${most}.`;
  return html`
    <section class="card" aria-labelledby="fans">
      <h2 id="fans">Who liked it</h2>
      <p class="soft">${who} ${above}.</p>
      <ul class="fans">${lines}</ul>
      ${n > fans.length ? html`<p class="soft">${farthest}</p>` : null}
    </section>`;
}

function nearList({ near }) {
  if (!near.length) return empty(`There is no other ${noun.item}.`);
  const width = (share) => `${(100 * share).toFixed(1)}%`;
  const lines = near.map(
    (one) => html`
      <li>
        ${itemLink(one.item, one.title)}
        <span class="number">${decimal(one.distance)}</span>
        <span class="rule" aria-hidden="true"><span style=${{ width: width(one.similarity) }}></span></span>
      </li>`,
  );
  return html`<ol class="near-items">${lines}</ol>`;
}
