/** Try it yourself: rate a few items, and see like-minded people, why they are, and recommendations. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { capital, count, isGiven, noun, withArticle } from "../lib/format.js";
import { clearRatings, guestRatings, rate, ratingOf } from "../lib/guest.js";
import { html } from "../lib/html.js";
import { combobox, option } from "../parts/combobox.js";
import { meaning } from "../parts/how_ratings_count.js";
import { importer } from "../parts/import.js";
import { ratingInput } from "../parts/like.js";
import { itemLink } from "../parts/links.js";
import { region } from "../parts/region.js";
import { openShared, shareButton } from "../parts/share.js";
import { tryResults } from "../parts/try_results.js";

const FILMS = /^(film|movie|show|title|item)$/i; // what the sites have whose exports are read
const OFFERED = 12;
const PAUSE = 250; // ms after the last star or digit before the request

export const name = "Try it yourself";

export const title = () => "Try it yourself";

export function draw(route, { model, signal }) {
  const rows = new Map();
  const list = html`<ul class="mine"></ul>`;
  const tally = html`<p class="soft tally"></p>`;
  const results = tryResults(model, signal);
  const low = html`<p class="soft" hidden>${meaning(model)}</p>`;
  const startOver = html`<button type="button" class="quiet small" @click=${restart}>Start over</button>`;
  const share = shareButton();
  let timer = 0;

  function add(item, position) {
    if (rows.has(item.id)) return rows.get(item.id);
    const input = ratingInput(item, ratingOf(item.id), model, (value) => changed(item, value));
    rows.set(item.id, input);
    list[position](
      html`<li><span class="title">${itemLink(item.id, item.title)}</span>${input.element}</li>`,
    );
    return input;
  }

  function changed(item, value) {
    rate(item, value);
    recount();
    results.soon();
    clearTimeout(timer);
    timer = setTimeout(() => !signal.aborted && results.update(), PAUSE);
  }

  function recount() {
    const n = guestRatings().length;
    const rated = isGiven("ratings") ? " rated" : "";
    tally.textContent = n === 0 ? `Nothing${rated} yet` : `${count(n, noun.item)}${rated}`;
    startOver.disabled = share.disabled = n === 0;
    const middle = (model.scale.lowest + model.scale.highest) / 2;
    const some =
      isGiven("ratings") && guestRatings().some((one) => one.rating !== null && one.rating < middle);
    low.hidden = model.measure !== "pmd" || !some;
  }

  function restart() {
    clearRatings();
    renew();
    announce(`All ${noun.ratings} removed`);
  }

  /** Show ratings that were removed, imported, or came with a link. */
  function renew() {
    for (const [id, input] of rows) input.set(ratingOf(id));
    for (const one of guestRatings()) add(one, "prepend");
    recount();
    results.update();
  }

  const search = combobox({
    id: "pick-item",
    label: `Find ${withArticle(noun.item)}`,
    placeholder: `Search ${noun.items}`,
    clears: true,
    search: async (q, stop) => {
      const { total, items } = await api.items(q, 0, 12, stop);
      return { total, options: items.map((one) => option(one, one)) };
    },
    choose: (item) => {
      const input = add(item, "prepend");
      input.control.scrollIntoView({ block: "nearest" });
      input.control.focus();
    },
  });

  const offered = region({ label: `${noun.items} to rate`, lines: OFFERED, room: 34, signal });
  const offer = (n) =>
    offered.show(
      (stop) => api.items("", 0, n, stop),
      (answer) => {
        for (const one of [...guestRatings(), ...answer.items]) add(one, "append");
        const more = () => html`
          <button type="button" class="quiet" @click=${() => offer(n + OFFERED)}>
            More ${noun.items}
          </button>`;
        return [list, html`<p>${answer.total > n && n < 200 ? more() : null}</p>`];
      },
    );
  offer(OFFERED);
  recount();
  results.update();

  return html`
    <h1>Try it yourself</h1>
    <p class="lead">
      ${capital(noun.rate)} a few ${noun.items} you know. Your ${noun.ratings} stay in this tab, are sent
      with each request, and are gone when the tab is closed.
    </p>
    ${route.shared ? openShared(route.shared, renew, signal) : null}
    <div class="split try">
      <section class="card" aria-labelledby="mine">
        <div class="line"><h2 id="mine">Your ${noun.ratings}</h2>${tally}${startOver}</div>
        ${search}
        ${FILMS.test(noun.item) ? importer(renew, signal) : null}
        ${low}
        ${offered.element}
        <p>${share}</p>
      </section>
      ${results.sections}
    </div>
    ${results.glance}`;
}
