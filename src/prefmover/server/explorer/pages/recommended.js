/** Recommended: items that a person has not rated and would like, with reasons. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { capital, items as itemsNoun, nameOf, user as userNoun, withArticle } from "../lib/format.js";
import { href, rename } from "../lib/routes.js";
import { filters } from "../parts/filters.js";
import { onePicker } from "../parts/pickers.js";
import { ratingParts } from "../parts/rating_parts.js";
import { recommended, summary } from "../parts/recommended_list.js";
import { empty, region } from "../parts/region.js";
import { scoreParts } from "../parts/score_parts.js";

const FEW = 10;

export const name = "Recommended";

export function title(route) {
  return route.person ? `Recommended for ${nameOf(route.person)}` : `Recommended ${itemsNoun()}`;
}

export function draw(route, { model, signal }) {
  const picker = onePicker(route, capital(userNoun()));
  if (!route.person) {
    return [
      h("h1", {}, `Recommended ${itemsNoun()}`),
      picker,
      empty(
        `Choose ${withArticle(userNoun())}, or `,
        h("a", { href: href({ page: "try" }) }, "rate a few yourself"),
        ".",
      ),
    ];
  }
  const who = nameOf(route.person);
  const list = region({ label: "recommendations", lines: 12, room: 44, signal });
  let choices = {};
  const load = () =>
    list.show(
      (stop) => api.recommendations(route.person, FEW, stop, choices),
      (answer) => {
        announce(summary(answer));
        return recommended(answer, {
          person: route.person,
          scale: model.scale,
          opened: route.item,
          open: (item, into) => openParts(item, into),
          // The address names the open item, without an entry in the history.
          toggle: (item) => rename(href({ ...route, item: item ?? undefined })),
          refused: route.person.you ? load : null,
        });
      },
    );
  const wanted = filters(model, (chosen) => {
    choices = chosen;
    load();
  });
  load();
  const openParts = (item, into) => {
    const parts = region({ label: "the parts", lines: 8, room: 26, signal });
    into.append(parts.element);
    parts.show(
      (stop) =>
        Promise.all([
          api.whyRecommended(route.person, item, stop),
          api.recommendation(route.person, item, stop).catch(() => null), // no ratings: implicit feedback
        ]),
      ([why, rated]) => [
        scoreParts(why, route.person),
        rated ? h("h4", {}, "The predicted rating") : null,
        rated ? ratingParts(rated, route.person, model.value_name) : null,
      ],
    );
  };
  return [
    h("h1", {}, `Recommended for ${who}`),
    picker,
    h(
      "p",
      { class: "lead" },
      `What to see next, of the ${itemsNoun()} that ${who} ${route.person.you ? "have" : "has"} not rated, `,
      "with the predicted rating. Every score is a sum: open one to see what each rating adds.",
    ),
    h(
      "section",
      { class: "card", "aria-label": "Recommendations" },
      h("h2", { class: "unseen" }, "Recommendations"),
      h("details", { class: "more" }, h("summary", {}, "Filters"), wanted),
      list.element,
    ),
  ];
}
