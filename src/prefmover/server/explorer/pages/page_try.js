/** Try it yourself: rate a handful, and see at once who is like-minded, why, and what to watch next. */

import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { forgetAll, guestRatings, rate, ratingOf } from "../lib/guest.js";
import { announce } from "../lib/live.js";
import { href } from "../lib/routes.js";
import {
  count,
  distance,
  item as itemNoun,
  items as itemsNoun,
  nameOf,
  users as usersNoun,
} from "../lib/words.js";
import { combobox } from "../parts/combobox.js";
import { nearest } from "../parts/nearest.js";
import { recommended } from "../parts/reasons.js";
import { empty, region } from "../parts/region.js";
import { ribbons } from "../parts/ribbons.js";
import { starInput } from "../parts/stars.js";

const YOU = { you: true };
const OFFERED = 12;
const PAUSE = 250; // ms without another star before the server is asked

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

  function add(item, where) {
    if (rows.has(item.id)) return rows.get(item.id);
    const label = `Your rating of ${item.title}`;
    const stars = starInput({
      label,
      value: ratingOf(item.id),
      scale: model.scale,
      change: (value) => changed(item, value),
    });
    rows.set(item.id, stars);
    list[where](h("li", {}, h("span", { class: "title" }, item.title), stars.element));
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
    again.disabled = n === 0;
  }

  const again = h(
    "button",
    { type: "button", class: "quiet small", on: { click: () => restart() } },
    "Start again",
  );
  function restart() {
    forgetAll();
    for (const stars of rows.values()) stars.set(null);
    recount();
    results.update();
    announce("All ratings taken back");
  }

  const search = combobox({
    id: "pick-item",
    label: `Find a ${itemNoun()}`,
    placeholder: `Search ${itemsNoun()}`,
    clears: true,
    search: async (q, stop) => {
      const found = await api.items(q, 0, 12, stop);
      return {
        total: found.total,
        options: found.items.map((one) => ({
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
      `Rate a handful of ${itemsNoun()} you know. `,
      "The ratings stay in this tab, go along with each question, and are forgotten when it closes.",
    ),
    h(
      "div",
      { class: "split try" },
      h(
        "section",
        { class: "card", "aria-labelledby": "mine" },
        h("div", { class: "line" }, h("h2", { id: "mine" }, "Your ratings"), tally, again),
        search.element,
        offered.element,
      ),
      results.sections,
    ),
    results.glance,
  ];
}

/** What the ratings lead to; each part is loaded by itself and keeps its place. */
function drawResults(model, signal) {
  const near = region({ label: `like-minded ${usersNoun()}`, lines: 5, room: 20, signal });
  const best = region({ label: "recommendations", lines: 6, room: 24, signal });
  const plan = region({ label: "why", lines: 6, room: 24, signal });
  const because = h("h2", { id: "try-why" }, "Why");
  const more = (page, text) => h("a", { class: "more-link", href: href({ page, person: YOU }) }, text);
  const glance = h("button", { type: "button", class: "glance", hidden: true });

  function update() {
    if (guestRatings().length === 0) {
      near.say(empty(`Give a few ${itemsNoun()} stars, and the ${usersNoun()} nearest to you appear here.`));
      best.say(empty("What they would tell you to watch next, with reasons."));
      plan.say(empty("How your ratings become those of the nearest."));
      because.textContent = "Why";
      glance.hidden = true;
      return;
    }
    near.show(
      (stop) => api.neighbors(YOU, 5, stop),
      (answer) => {
        const first = answer.neighbors[0];
        if (first) why(first.user);
        glance.hidden = !first;
        if (first) glance.textContent = `Nearest: ${nameOf(first.user)}, ${distance(first.distance)} ↓`;
        return nearest(answer, YOU, { kind: model.kind, headline: false });
      },
    );
    best.show(
      (stop) => api.recommendations(YOU, 5, stop),
      (answer) => {
        const first = answer.recommendations[0];
        if (first) announce(`Updated. First recommendation: ${first.item.title}`);
        return recommended(answer, { scale: model.scale });
      },
    );
  }

  function why(other) {
    because.textContent = `Why ${nameOf(other)}`;
    plan.show(
      (stop) => api.explanation(YOU, { id: other.id }, stop),
      (answer) => [
        ribbons(answer, { most: 8, compact: true }),
        h(
          "p",
          {},
          h(
            "a",
            { class: "more-link", href: href({ page: "why", person: YOU, other: { id: other.id } }) },
            "The whole plan",
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
        h("h2", { id: "try-best" }, "Recommended to you"),
        more("recommended", "All parts"),
      ),
      best.element,
    ),
    h("section", { class: "card", "aria-labelledby": "try-why" }, because, plan.element),
  ];
  return { sections, glance, update };
}
