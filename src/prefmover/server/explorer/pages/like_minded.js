/** Like-minded: a person's taste, and the nearest people. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import {
  capital,
  capitalWhose,
  item as itemNoun,
  items as itemsNoun,
  nameOf,
  user as userNoun,
  users as usersNoun,
  whose,
} from "../lib/format.js";
import { href } from "../lib/routes.js";
import { howRatingsCount } from "../parts/how_ratings_count.js";
import { lists } from "../parts/measure_lists.js";
import { nearest, summary } from "../parts/nearest.js";
import { onePicker } from "../parts/pickers.js";
import { region } from "../parts/region.js";
import { taste } from "../parts/taste.js";
import { drawStart } from "./start.js";

const NEAREST = 10;
const MORE = 40;
const STRIPES = 200;

export const name = "Like-minded";

export function title(route) {
  return route.person ? `Like-minded: ${nameOf(route.person)}` : `Like-minded ${usersNoun()}`;
}

export function draw(route, context) {
  return route.person ? drawPerson(route, context) : drawStart(route, context);
}

function drawPerson(route, { model, signal }) {
  const who = nameOf(route.person);
  const about = region({ label: `${whose(route.person)} ratings`, lines: 9, room: 26, signal });
  about.show(
    (stop) => api.ratings(route.person, STRIPES, stop),
    (answer) => [taste(answer, model.scale), howRatingsCount(model)],
  );
  const compared = region({ label: "neighbors by other measures", lines: 10, room: 30, signal });
  compared.show(
    (stop) => api.lists(route.person, stop),
    (answer) => lists(answer, route.person, itemNoun()),
  );
  return [
    h("h1", {}, `Who is like ${who}?`),
    onePicker(route, capital(userNoun())),
    h(
      "div",
      { class: "split" },
      h(
        "section",
        { class: "card", "aria-labelledby": "taste" },
        h("h2", { id: "taste" }, `${capitalWhose(route.person)} taste`),
        about.element,
      ),
      nearestCard(route, model, signal),
    ),
    h(
      "section",
      { class: "card", "aria-labelledby": "by-measure" },
      h("h2", { id: "by-measure" }, "The ten nearest, by three measures"),
      compared.element,
    ),
    h(
      "p",
      { class: "onward" },
      h("a", { href: href({ page: "recommended", person: route.person }) }, `Recommendations for ${who}`),
      route.person.you
        ? null
        : h("a", { href: href({ page: "map", kind: "users", item: route.person.id }) }, `${who} on the map`),
    ),
  ];
}

/** The nearest people: of all, or of those with nothing in common. */
function nearestCard(route, model, signal) {
  const room = innerWidth < 640 ? 56 : 38; // rem; names and tastes need two lines on a phone
  const near = region({ label: `the nearest ${usersNoun()}`, lines: 10, room, signal });
  const state = { k: NEAREST, strangers: false };
  const more = h(
    "button",
    { type: "button", class: "quiet", on: { click: () => load({ k: MORE }) } },
    `Show the nearest ${MORE}`,
  );
  const choices = [
    ["Everybody", false],
    ["Nothing in common", true],
  ].map(([text, strangers]) =>
    h(
      "button",
      { type: "button", class: "choice", on: { click: () => load({ strangers, k: NEAREST }) } },
      text,
    ),
  );
  const load = (change) => {
    Object.assign(state, change);
    for (const [k, one] of choices.entries())
      one.setAttribute("aria-pressed", String(state.strangers === Boolean(k)));
    near.show(
      (stop) => api.neighbors(route.person, state.k, stop, state.strangers),
      (answer) => {
        announce(summary(answer));
        return [
          nearest(answer, route.person, {
            valueName: model.value_name,
            spread: model.spread,
            headline: !state.strangers,
            none: `Every ${userNoun()} has rated some of the same ${itemsNoun()}.`,
          }),
          state.k < MORE && answer.neighbors.length === state.k ? h("p", {}, more) : null,
        ];
      },
    );
  };
  load({});
  return h(
    "section",
    { class: "card", "aria-labelledby": "nearest" },
    h(
      "div",
      { class: "line" },
      h("h2", { id: "nearest" }, `Nearest ${usersNoun()}`),
      h("div", { class: "choices", role: "group", "aria-label": "Among whom" }, choices),
    ),
    near.element,
  );
}
