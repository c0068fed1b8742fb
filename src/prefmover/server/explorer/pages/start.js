/** The start: an example, people whose neighbors share nothing with them, and how often that is so. */

import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import {
  capitalName,
  count,
  decimal,
  item as itemNoun,
  measured,
  nameOf,
  percent,
  rank,
  user as userNoun,
  users as usersNoun,
} from "../lib/format.js";
import { hasPlan } from "../lib/plan_layout.js";
import { href } from "../lib/routes.js";
import { onePicker } from "../parts/pickers.js";
import { region } from "../parts/region.js";
import { ribbons } from "../parts/ribbons.js";

const NEAREST = 10;

export function drawStart(route, { model, signal }) {
  const some = region({ label: "examples", lines: 3, room: 12, signal });
  const example = region({ label: "an example", lines: 9, room: 25, signal });
  some.show(api.commonGround, (ground) => {
    example.show(
      (stop) => strangers(ground.examples[0], stop),
      (pair) => (pair === null ? [] : drawExample(pair, model.value_name)),
    );
    return [chips(ground.examples), h("p", { class: "soft" }, often(ground))];
  });
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
        h("h2", { id: "some", class: "eyebrow" }, "Some with neighbors who share nothing with them"),
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
      h("h2", { id: "example" }, "Alike, with nothing in common"),
      example.element,
    ),
  );
}

function chips(examples) {
  return h(
    "ul",
    { class: "chips" },
    examples.map((one) =>
      h(
        "li",
        {},
        h(
          "a",
          { href: href({ page: "like-minded", person: { id: one.id } }) },
          capitalName(one),
          h(
            "span",
            { class: "soft" },
            one.n_without ? `${one.n_without} of 10` : count(one.n_ratings, "rating"),
          ),
        ),
      ),
    ),
  );
}

/** How often it matters in these data, in plain words. */
function often(ground) {
  const light = `at most ${ground.light_ratings}`;
  const few = `the ${ground.n_light} ${usersNoun()} with the fewest ratings (${light})`;
  return (
    `In a sample, ${percent(ground.pairs_without)} of the pairs of ${usersNoun()} have rated nothing in ` +
    `common. It is rare among neighbors: ${percent(ground.neighbors_without)} of the ten nearest share no ` +
    `${itemNoun()} with the ${userNoun()}, and ${percent(ground.light_neighbors_without)} for ${few}.`
  );
}

/** The explanation of a user and the nearest one with nothing in common, or else of the nearest. */
async function strangers(example, stop) {
  if (!example) return null;
  const person = { id: example.id };
  const { neighbors } = await api.neighbors(person, NEAREST, stop);
  const other = neighbors.find((one) => one.n_common === 0) ?? neighbors[0];
  if (!other) return null;
  const people = [person, { id: other.user }];
  return { people, explanation: await api.explanation(...people, stop) };
}

function drawExample({ people, explanation }, valueName) {
  const [person, other] = people;
  return [
    h(
      "p",
      { class: "soft" },
      `${capitalName(person)} and ${nameOf(other)}: ${valueName} ${decimal(measured(explanation))}, `,
      `${rank(explanation.nearer_than)}, ${count(explanation.n_common, itemNoun())} in common.`,
    ),
    hasPlan(explanation) ? ribbons(explanation, people, { most: 8, compact: true }) : null,
    h("p", {}, h("a", { href: href({ page: "why", person, other }) }, "See the whole explanation")),
  ];
}
