/** Like-minded: a person's taste, and the nearest people. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import {
  capital,
  capitalName,
  capitalWhose,
  count,
  decimal,
  item as itemNoun,
  measured,
  nameOf,
  user as userNoun,
  users as usersNoun,
  whose,
} from "../lib/format.js";
import { hasPlan } from "../lib/plan_layout.js";
import { href } from "../lib/routes.js";
import { nearest, summary } from "../parts/nearest.js";
import { onePicker } from "../parts/pickers.js";
import { region } from "../parts/region.js";
import { ribbons } from "../parts/ribbons.js";
import { taste } from "../parts/taste.js";

const NEAREST = 10;
const MORE = 40;
const STRIPES = 200;
const FIRST = 100;
const EXAMPLES = 10;
const TRIED = 6; // users among whose neighbors the example is looked for

export const name = "Like-minded";

export function title(route) {
  return route.person ? `Like-minded: ${nameOf(route.person)}` : `Like-minded ${usersNoun()}`;
}

export function draw(route, context) {
  return route.person ? drawPerson(route, context) : drawStart(route, context);
}

function drawStart(route, { model, signal }) {
  const some = region({ label: usersNoun(), lines: 3, room: 6.5, signal });
  const example = region({ label: "an example", lines: 9, room: 25, signal });
  some.show(
    (stop) => api.users("", FIRST, stop),
    (answer) => {
      const chosen = spread(answer.users, EXAMPLES);
      const few = [...answer.users].sort((a, b) => Math.abs(a.n_ratings - 6) - Math.abs(b.n_ratings - 6));
      example.show(
        (stop) => strangers(few.slice(0, TRIED), stop),
        (pair) => (pair === null ? [] : drawExample(pair, model.value_name)),
      );
      return h(
        "ul",
        { class: "chips" },
        chosen.map((one) =>
          h(
            "li",
            {},
            h(
              "a",
              { href: href({ page: "like-minded", person: { id: one.id } }) },
              capitalName(one),
              h("span", { class: "soft" }, one.n_ratings),
            ),
          ),
        ),
      );
    },
  );
  return h(
    "div",
    { class: "split start" },
    h(
      "div",
      { class: "opening" },
      h("h1", {}, "Who likes what you like?"),
      h(
        "p",
        { class: "lead" },
        `Two people can have the same taste without having rated one ${itemNoun()} in common. `,
        "prefmover computes the exact cost of turning one person’s preferences into another’s, ",
        "and shows the cheapest plan.",
      ),
      onePicker(route, `Choose one of ${count(model.n_users, userNoun())}`),
      h(
        "section",
        { "aria-labelledby": "some" },
        h("h2", { id: "some", class: "eyebrow" }, "Examples, with the number of ratings"),
        some.element,
      ),
      h(
        "p",
        { class: "invite" },
        h("a", { class: "button", href: href({ page: "try" }) }, "Try it with your ratings"),
      ),
    ),
    h(
      "section",
      { class: "card", "aria-labelledby": "example" },
      h("h2", { id: "example" }, "Alike, with little or nothing in common"),
      example.element,
    ),
  );
}

/** n of many, at equal steps. */
function spread(all, n) {
  const step = Math.max(1, Math.floor(all.length / n));
  return all.filter((_, k) => k % step === 0).slice(0, n);
}

/** The explanation of a user and a near one with nothing in common, or else of a user and the nearest. */
async function strangers(some, stop) {
  let pair = null;
  for (const { id } of some) {
    const { neighbors } = await api.neighbors({ id }, NEAREST, stop);
    const other = neighbors.find((one) => one.n_common === 0);
    if (other || (!pair && neighbors.length)) pair = [{ id }, { id: (other ?? neighbors[0]).user }];
    if (other) break;
  }
  return pair && { people: pair, explanation: await api.explanation(...pair, stop) };
}

function drawExample({ people, explanation }, valueName) {
  const [person, other] = people;
  return [
    h(
      "p",
      { class: "soft" },
      `${capitalName(person)} and ${nameOf(other)}: ${valueName} ${decimal(measured(explanation))}, `,
      `${count(explanation.n_common, itemNoun())} in common.`,
    ),
    hasPlan(explanation) ? ribbons(explanation, people, { most: 8, compact: true }) : null,
    h("p", {}, h("a", { href: href({ page: "why", person, other }) }, "See the whole explanation")),
  ];
}

function drawPerson(route, { model, signal }) {
  const who = nameOf(route.person);
  const about = region({ label: `${whose(route.person)} ratings`, lines: 9, room: 26, signal });
  about.show(
    (stop) => api.ratings(route.person, STRIPES, stop),
    (answer) => taste(answer, model.scale),
  );
  const near = region({ label: `the nearest ${usersNoun()}`, lines: 10, room: 34, signal });
  const more = h(
    "button",
    { type: "button", class: "quiet", on: { click: () => load(MORE) } },
    `Show the nearest ${MORE}`,
  );
  const load = (k) =>
    near.show(
      (stop) => api.neighbors(route.person, k, stop),
      (answer) => {
        announce(summary(answer));
        return [
          nearest(answer, route.person, { valueName: model.value_name }),
          k < MORE && answer.neighbors.length === k ? h("p", {}, more) : null,
        ];
      },
    );
  load(NEAREST);
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
      h(
        "section",
        { class: "card", "aria-labelledby": "nearest" },
        h("h2", { id: "nearest" }, `Nearest ${usersNoun()}`),
        near.element,
      ),
    ),
    h(
      "p",
      { class: "onward" },
      h("a", { href: href({ page: "recommended", person: route.person }) }, `Recommendations for ${who}`),
    ),
  ];
}
