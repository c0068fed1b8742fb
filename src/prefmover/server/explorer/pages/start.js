/** The start: an example, people whose neighbors share nothing with them, and how often that is so. */

import * as api from "../lib/api.js";
import { capital, capitalName, count, measuredText, nameOf, noun, percent, rank } from "../lib/format.js";
import { html } from "../lib/html.js";
import { hasPlan } from "../lib/plan_layout.js";
import { href } from "../lib/routes.js";
import { onePicker } from "../parts/pickers.js";
import { loaded, region } from "../parts/region.js";
import { ribbons } from "../parts/ribbons.js";

const NEAREST = 10;

export function drawStart(route, { model, signal }) {
  const example = region({ label: "an example", lines: 9, room: 25, signal });
  const some = loaded({ label: "examples", lines: 3, room: 12, signal }, api.commonGround, (ground) => {
    example.show(
      (stop) => withoutCommon(ground.examples[0], stop),
      (pair) => pair && drawExample(pair, model.value_name),
    );
    return html`
      <ul class="chips">${ground.examples.map(chip)}</ul>
      <p class="soft">${often(ground)}</p>`;
  });
  return html`
    <div class="split start">
      <div class="opening">
        <h1>Who likes what you like?</h1>
        <p class="lead">
          Two people can have the same taste without one ${noun.item} in common. prefmover
          computes the exact cost of turning one person’s preferences into another’s, and shows the cheapest
          plan.
        </p>
        ${onePicker(route, `Choose one of ${count(model.n_users, noun.user)}`)}
        <section aria-labelledby="some">
          <h2 id="some" class="eyebrow">
            ${capital(noun.users)} whose nearest neighbors share no ${noun.item} with them
          </h2>
          ${some}
        </section>
        <p class="invite"><a class="button" href=${href({ page: "try" })}>Try it with your ${noun.ratings}</a></p>
      </div>
      <section class="card" aria-labelledby="example">
        <h2 id="example">Alike, with nothing in common</h2>
        ${example.element}
      </section>
    </div>`;
}

function chip(one) {
  const note = one.n_without ? `${one.n_without} of 10` : count(one.n_ratings, "rating");
  const address = href({ page: "like-minded", person: { id: one.id } });
  return html`<li><a href=${address}>${capitalName(one)}<span class="soft">${note}</span></a></li>`;
}

/** How often it matters in these data, in plain words. */
function often(ground) {
  const light = `at most ${ground.light_ratings}`;
  const few = `the ${ground.n_light} ${noun.users} with the fewest ratings (${light})`;
  return (
    `In a sample, ${percent(ground.pairs_without)} of the pairs of ${noun.users} have rated nothing in ` +
    `common. It is rare among neighbors: ${percent(ground.neighbors_without)} of the ten nearest share no ` +
    `${noun.item} with the ${noun.user}, and ${percent(ground.light_neighbors_without)} for ${few}.`
  );
}

/** The explanation of a user and the nearest one with nothing in common, or else of the nearest. */
async function withoutCommon(example, stop) {
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
  return html`
    <p class="soft">
      ${capitalName(person)} and ${nameOf(other)}: ${valueName} ${measuredText(explanation)},
      ${rank(explanation.nearer_than)}, ${count(explanation.n_common, noun.item)} in common.
    </p>
    ${hasPlan(explanation) ? ribbons(explanation, people, { most: 8, compact: true }) : null}
    <p><a href=${href({ page: "why", person, other })}>See the whole explanation</a></p>`;
}
