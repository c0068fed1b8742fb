/** An item: how it was rated, who liked it, and which items are near. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { capital, count, decimal, item as itemNoun, items, predicted, users } from "../lib/format.js";
import { rate, ratingOf } from "../lib/guest.js";
import { href } from "../lib/routes.js";
import { histogram } from "../parts/histogram.js";
import { itemLink, personLink, tasteLine } from "../parts/links.js";
import { empty, region } from "../parts/region.js";
import { shownStars, starInput } from "../parts/stars.js";

const NEAR = 12;

/** It is not in the navigation. */
export const name = null;

export function title(route) {
  return route.item ?? capital(items());
}

export function draw(route, { model, signal }) {
  if (!route.item) return [h("h1", {}, capital(items())), empty(`Search for ${items()} at the top.`)];
  const heading = h("h1", {}, "\u00a0");
  const about = region({ label: `the ${itemNoun()}`, lines: 8, room: 30, signal });
  const near = region({ label: `near ${items()}`, lines: 8, room: 30, signal });
  about.show(
    (stop) => api.itemDetails(route.item, stop),
    (one) => {
      heading.textContent = one.title;
      document.title = `${one.title} · prefmover`;
      announce(`${one.title}, ${count(one.n_ratings, "rating")}`);
      return [facts(one, model), liked(one, model)];
    },
  );
  near.show((stop) => api.nearItems(route.item, NEAR, stop), nearList);
  return [
    heading,
    h(
      "div",
      { class: "split" },
      about.element,
      h(
        "section",
        { class: "card", "aria-labelledby": "near" },
        h("h2", { id: "near" }, `Near ${items()}`),
        h("p", { class: "soft" }, `By the distances between ${items()} that the model uses.`),
        near.element,
      ),
    ),
    h(
      "p",
      { class: "onward" },
      h("a", { href: href({ page: "map", kind: "items", item: route.item }) }, "Show it on the map"),
    ),
  ];
}

function facts(one, model) {
  const mine = starInput({
    label: `Your rating of ${one.title}`,
    value: ratingOf(one.id),
    scale: model.scale,
    change: (value) => rate(one, value),
  });
  return h(
    "section",
    { class: "card", "aria-labelledby": "rated" },
    h("h2", { id: "rated" }, "Ratings"),
    h(
      "p",
      { class: "figures" },
      count(one.n_ratings, "rating"),
      one.mean_rating === null ? null : `, ${predicted(one.mean_rating)} on average`,
    ),
    one.n_ratings ? histogram(one.ratings, model.scale) : null,
    one.genres.length
      ? h(
          "ul",
          { class: "tags" },
          one.genres.map((genre) => h("li", {}, genre)),
        )
      : null,
    h("div", { class: "line yours" }, h("span", {}, "Your rating"), mine.element),
  );
}

function liked(one, model) {
  return h(
    "section",
    { class: "card", "aria-labelledby": "fans" },
    h("h2", { id: "fans" }, "Who liked it"),
    h(
      "p",
      { class: "soft" },
      one.n_fans
        ? `${count(one.n_fans, "person").replace("persons", "people")} rated it above their own average.`
        : `Nobody has rated it above their own average.`,
    ),
    h(
      "ul",
      { class: "fans" },
      one.fans.map((fan) =>
        h(
          "li",
          {},
          shownStars(fan.rating, model.scale),
          personLink({ id: fan.user }, { capital: true }),
          tasteLine(fan.taste),
        ),
      ),
    ),
    one.n_fans > one.fans.length
      ? h("p", { class: "soft" }, `These are the ${users()} who rated it farthest above their average.`)
      : null,
  );
}

function nearList({ near }) {
  if (!near.length) return empty(`There is no other ${itemNoun()}.`);
  return h(
    "ol",
    { class: "near-items" },
    near.map((one) =>
      h(
        "li",
        {},
        itemLink(one.item, one.title),
        h("span", { class: "number" }, decimal(one.distance)),
        h(
          "span",
          { class: "rule", "aria-hidden": "true" },
          h("span", { style: { width: `${(100 * one.similarity).toFixed(1)}%` } }),
        ),
      ),
    ),
  );
}
