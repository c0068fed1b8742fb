/** Like-minded: somebody's taste, and who is nearest. */

import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { announce } from "../lib/live.js";
import { href } from "../lib/routes.js";
import {
  capital,
  count,
  distance,
  item as itemNoun,
  nameOf,
  user as userNoun,
  users as usersNoun,
  whose,
} from "../lib/words.js";
import { heard, nearest } from "../parts/nearest.js";
import { onePicker } from "../parts/pickers.js";
import { region } from "../parts/region.js";
import { ribbons } from "../parts/ribbons.js";
import { taste } from "../parts/taste.js";

const NEAREST = 10;
const MORE = 40;
const STRIPES = 200;
const FIRST = 100;
const EXAMPLES = 10;
const TRIED = 6; // people asked for a stranger nearby, for the example

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
      example.show((stop) => strangers(few.slice(0, TRIED), stop), drawExample);
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
              capital(nameOf(one)),
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
        "prefmover measures how much work it takes to turn one person’s ratings into another’s, exactly, ",
        "and shows the plan.",
      ),
      onePicker(route, `Choose one of ${count(model.n_users, userNoun())}`),
      h(
        "section",
        { "aria-labelledby": "some" },
        h("h2", { id: "some", class: "eyebrow" }, "For example, with the number of ratings"),
        some.element,
      ),
      h(
        "p",
        { class: "invite" },
        h("a", { class: "button", href: href({ page: "try" }) }, "Try it with your own ratings"),
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

/** Some of many, evenly. */
function spread(all, n) {
  const step = Math.max(1, Math.floor(all.length / n));
  return all.filter((_, k) => k % step === 0).slice(0, n);
}

/** The plan between somebody and a near one who has rated nothing in common, or else the nearest. */
async function strangers(some, stop) {
  let pair = null;
  for (const user of some) {
    const { neighbors } = await api.neighbors({ id: user.id }, NEAREST, stop);
    const other = neighbors.find((one) => one.n_common === 0);
    if (other || (!pair && neighbors.length)) pair = [user, (other ?? neighbors[0]).user];
    if (other) break;
  }
  return pair && api.explanation({ id: pair[0].id }, { id: pair[1].id }, stop);
}

function drawExample(answer) {
  if (answer === null) return [];
  const pair = { person: { id: answer.user.id }, other: { id: answer.other.id } };
  return [
    h(
      "p",
      { class: "soft" },
      `${capital(nameOf(answer.user))} and ${nameOf(answer.other)}: distance ${distance(answer.distance)}, `,
      `${count(answer.n_common, itemNoun())} in common.`,
    ),
    ribbons(answer, { most: 8, compact: true }),
    h("p", {}, h("a", { href: href({ page: "why", ...pair }) }, "See the whole plan")),
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
        announce(heard(answer));
        return [
          nearest(answer, route.person, { kind: model.kind }),
          k < MORE && answer.neighbors.length === k ? h("p", {}, more) : null,
        ];
      },
    );
  load(NEAREST);
  return [
    h("h1", {}, who === "you" ? "Who is like you?" : `Who is like ${who}?`),
    onePicker(route, capital(userNoun() === "viewer" ? "Viewer" : "User")),
    h(
      "div",
      { class: "split" },
      h(
        "section",
        { class: "card", "aria-labelledby": "taste" },
        h("h2", { id: "taste" }, `${capital(whose(route.person))} taste`),
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
      h("a", { href: href({ page: "recommended", person: route.person }) }, `What to recommend to ${who}`),
    ),
  ];
}
