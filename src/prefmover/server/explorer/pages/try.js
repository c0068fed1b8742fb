/** Try it yourself: rate a few items, and see like-minded people, why they are, and recommendations. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { count, item as itemNoun, items as itemsNoun, withArticle } from "../lib/format.js";
import { clearRatings, guestRatings, rate, ratingOf } from "../lib/guest.js";
import { combobox } from "../parts/combobox.js";
import { meaning } from "../parts/how_ratings_count.js";
import { importer } from "../parts/import.js";
import { itemLink } from "../parts/links.js";
import { region } from "../parts/region.js";
import { openShared, shareButton } from "../parts/share.js";
import { starInput } from "../parts/stars.js";
import { tryResults } from "../parts/try_results.js";

const OFFERED = 12;
const PAUSE = 250; // ms after the last star before the request

export const name = "Try it yourself";

export function title() {
  return "Try it yourself";
}

export function draw(route, { model, signal }) {
  const rows = new Map();
  const list = h("ul", { class: "mine" });
  const tally = h("p", { class: "soft tally" });
  const results = tryResults(model, signal);
  const low = h("p", { class: "soft", hidden: true }, meaning(model));
  let timer = 0;

  function add(item, position) {
    if (rows.has(item.id)) return rows.get(item.id);
    const label = `Your rating of ${item.title}`;
    const stars = starInput({
      label,
      value: ratingOf(item.id),
      scale: model.scale,
      change: (value) => changed(item, value),
    });
    rows.set(item.id, stars);
    list[position](h("li", {}, h("span", { class: "title" }, itemLink(item.id, item.title)), stars.element));
    return stars;
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
    tally.textContent = n === 0 ? "Nothing rated yet" : `${count(n, itemNoun())} rated`;
    startOver.disabled = share.disabled = n === 0;
    const middle = (model.scale.lowest + model.scale.highest) / 2;
    low.hidden = model.measure !== "pmd" || !guestRatings().some((one) => one.rating < middle);
  }

  const startOver = h(
    "button",
    { type: "button", class: "quiet small", on: { click: () => restart() } },
    "Start over",
  );
  function restart() {
    clearRatings();
    for (const stars of rows.values()) stars.set(null);
    recount();
    results.update();
    announce("All ratings removed");
  }

  const share = shareButton();

  /** Show ratings that were imported or came with a link. */
  function renew() {
    for (const [id, stars] of rows) stars.set(ratingOf(id));
    for (const one of guestRatings()) add(one, "prepend");
    recount();
    results.update();
  }

  const search = combobox({
    id: "pick-item",
    label: `Find ${withArticle(itemNoun())}`,
    placeholder: `Search ${itemsNoun()}`,
    clears: true,
    search: async (q, stop) => {
      const answer = await api.items(q, 0, 12, stop);
      return {
        total: answer.total,
        options: answer.items.map((one) => ({
          label: one.title,
          note: count(one.n_ratings, "rating"),
          value: one,
        })),
      };
    },
    choose: (item) => {
      const stars = add(item, "prepend");
      stars.control.scrollIntoView({ block: "nearest" });
      stars.control.focus();
    },
  });

  const offered = region({ label: `${itemsNoun()} to rate`, lines: OFFERED, room: 34, signal });
  const offer = (n) =>
    offered.show(
      (stop) => api.items("", 0, n, stop),
      (answer) => {
        for (const one of guestRatings()) add(one, "append");
        for (const one of answer.items) add(one, "append");
        const more =
          answer.total > n && n < 200
            ? h(
                "button",
                { type: "button", class: "quiet", on: { click: () => offer(n + OFFERED) } },
                `More ${itemsNoun()}`,
              )
            : null;
        return [list, h("p", {}, more)];
      },
    );
  offer(OFFERED);
  recount();
  results.update();

  const question = route.shared ? openShared(route.shared, renew, signal) : null;

  return [
    h("h1", {}, "Try it yourself"),
    h(
      "p",
      { class: "lead" },
      `Rate a few ${itemsNoun()} you know. `,
      "Your ratings stay in this tab, are sent with each request, and are gone when the tab is closed.",
    ),
    question,
    h(
      "div",
      { class: "split try" },
      h(
        "section",
        { class: "card", "aria-labelledby": "mine" },
        h("div", { class: "line" }, h("h2", { id: "mine" }, "Your ratings"), tally, startOver),
        search.element,
        importer(renew, signal),
        low,
        offered.element,
        h("p", {}, share),
      ),
      results.sections,
    ),
    results.glance,
  ];
}
