/** Try it yourself: rate a few items, and see like-minded people, why they are, and recommendations. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import {
  capital,
  count,
  decimal,
  item as itemNoun,
  items as itemsNoun,
  measured,
  nameOf,
  users as usersNoun,
  withArticle,
} from "../lib/format.js";
import { clearRatings, guestRatings, rate, ratingOf } from "../lib/guest.js";
import { hasPlan } from "../lib/plan_layout.js";
import { href } from "../lib/routes.js";
import { combobox } from "../parts/combobox.js";
import { nearest } from "../parts/nearest.js";
import { recommended } from "../parts/recommended.js";
import { empty, region } from "../parts/region.js";
import { ribbons } from "../parts/ribbons.js";
import { starInput } from "../parts/stars.js";

const YOU = { you: true };
const OFFERED = 12;
const PAUSE = 250; // ms after the last star before the request

export const name = "Try it yourself";

export function title() {
  return "Try it yourself";
}

export function draw(_route, { model, signal }) {
  const rows = new Map();
  const list = h("ul", { class: "mine" });
  const tally = h("p", { class: "soft tally" });
  const results = drawResults(model, signal);
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
    list[position](h("li", {}, h("span", { class: "title" }, item.title), stars.element));
    return stars;
  }

  function changed(item, value) {
    rate(item, value);
    recount();
    clearTimeout(timer);
    timer = setTimeout(() => !signal.aborted && results.update(), PAUSE);
  }

  function recount() {
    const n = guestRatings().length;
    tally.textContent = n === 0 ? "Nothing rated yet" : `${count(n, itemNoun())} rated`;
    startOver.disabled = n === 0;
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

  return [
    h("h1", {}, "Try it yourself"),
    h(
      "p",
      { class: "lead" },
      `Rate a few ${itemsNoun()} you know. `,
      "Your ratings stay in this tab, are sent with each request, and are gone when the tab is closed.",
    ),
    h(
      "div",
      { class: "split try" },
      h(
        "section",
        { class: "card", "aria-labelledby": "mine" },
        h("div", { class: "line" }, h("h2", { id: "mine" }, "Your ratings"), tally, startOver),
        search.element,
        offered.element,
      ),
      results.sections,
    ),
    results.glance,
  ];
}

/** Neighbors, recommendations and an explanation for the ratings; each is loaded separately. */
function drawResults(model, signal) {
  const near = region({ label: `like-minded ${usersNoun()}`, lines: 5, room: 20, signal });
  const best = region({ label: "recommendations", lines: 6, room: 24, signal });
  const plan = region({ label: "why", lines: 6, room: 24, signal });
  const because = h("h2", { id: "try-why" }, "Why");
  const more = (page, text) => h("a", { class: "more-link", href: href({ page, person: YOU }) }, text);
  const glance = h("button", { type: "button", class: "glance", hidden: true });

  function update() {
    if (guestRatings().length === 0) {
      near.notice(empty(`Rate a few ${itemsNoun()}, and the ${usersNoun()} nearest to you appear here.`));
      best.notice(empty(`${capital(itemsNoun())} you would like, with reasons.`));
      plan.notice(empty("Why the nearest is like you."));
      because.textContent = "Why";
      glance.hidden = true;
      return;
    }
    near.show(
      (stop) => api.neighbors(YOU, 5, stop),
      (answer) => {
        const first = answer.neighbors[0];
        if (first) why({ id: first.user });
        glance.hidden = !first;
        if (first)
          glance.textContent = `Nearest: ${nameOf({ id: first.user })}, ${decimal(measured(first))} ↓`;
        return nearest(answer, YOU, { valueName: model.value_name, headline: false });
      },
    );
    best.show(
      (stop) => api.recommendations(YOU, 5, stop),
      (answer) => {
        const first = answer.recommendations[0];
        if (first) announce(`Updated. First recommendation: ${first.title}`);
        return recommended(answer, { scale: model.scale });
      },
    );
  }

  function why(other) {
    because.textContent = `Why ${nameOf(other)}`;
    plan.show(
      (stop) => api.explanation(YOU, other, stop),
      (explanation) => [
        hasPlan(explanation) ? ribbons(explanation, [YOU, other], { most: 8, compact: true }) : null,
        h(
          "p",
          {},
          h(
            "a",
            { class: "more-link", href: href({ page: "why", person: YOU, other }) },
            "The whole explanation",
          ),
        ),
      ],
    );
  }

  const heading = h("h2", { id: "try-near", tabindex: "-1" }, `Like-minded ${usersNoun()}`);
  glance.addEventListener("click", () => {
    heading.focus({ preventScroll: true });
    heading.scrollIntoView({ block: "start" });
  });
  const sections = [
    h(
      "section",
      { class: "card", "aria-labelledby": "try-near" },
      h("div", { class: "line" }, heading, more("like-minded", "All neighbors")),
      near.element,
    ),
    h(
      "section",
      { class: "card", "aria-labelledby": "try-best" },
      h(
        "div",
        { class: "line" },
        h("h2", { id: "try-best" }, "Recommended for you"),
        more("recommended", "All recommendations"),
      ),
      best.element,
    ),
    h("section", { class: "card", "aria-labelledby": "try-why" }, because, plan.element),
  ];
  return { sections, glance, update };
}
