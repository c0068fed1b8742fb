/** The start: an example, people whose neighbors share nothing with them, or little, and how often. */

import * as api from "../lib/api.js";
import { capital, capitalName, count, measuredText, nameOf, noun, percent, rank } from "../lib/format.js";
import { html } from "../lib/html.js";
import { hasPlan } from "../lib/plan_layout.js";
import { href } from "../lib/routes.js";
import { onePicker } from "../parts/pickers.js";
import { loaded, region } from "../parts/region.js";
import { ribbons } from "../parts/ribbons.js";

const NEAREST = 10;
const ALIKE = 0.75; // nearer than so many random pairs, as the server counts
const LEAST = 3; // examples of people with nothing in common; with fewer, another story is told

export function drawStart(route, { model, signal }) {
  const example = region({ label: "an example", lines: 9, room: 25, signal });
  const heading = html`<h2 id="example">Alike</h2>`;
  const some = loaded({ label: "examples", lines: 3, room: 12, signal }, api.commonGround, (ground) => {
    const alike = ground.examples.filter((one) => one.n_without > 0);
    const rare = alike.length < LEAST;
    heading.textContent = `Alike, with ${rare ? "little" : "nothing"} in common`;
    example.show(
      (stop) => withLeastInCommon(ground.examples[0], stop),
      (pair) => pair && drawExample(pair, model.value_name),
    );
    const whose = rare ? `share little with them` : `share no ${noun.item} with them`;
    return html`
      <h2 class="eyebrow">${capital(noun.users)} whose nearest neighbors ${whose}</h2>
      <ul class="chips">${(rare ? ground.examples : alike).map((one) => chip(one, rare))}</ul>
      <p class="soft">${rare ? little(ground) : often(ground)}</p>`;
  });
  return html`
    <div class="split start">
      <div class="opening">
        <h1>Who likes what you like?</h1>
        <p class="lead">
          Two people can have the same taste without one ${noun.item} in common. prefmover computes the exact
          cost of turning one person’s preferences into another’s, and shows the cheapest plan.
        </p>
        ${onePicker(route, `Choose one of ${count(model.n_users, noun.user)}`)}
        <section aria-label="Examples">${some}</section>
        <p class="invite">
          <a class="button" href=${href({ page: "try" })}>Try it with your ${noun.ratings}</a>
        </p>
      </div>
      <section class="card" aria-labelledby="example">${heading}${example.element}</section>
    </div>`;
}

function chip(one, rare) {
  const note = rare ? `${percent(one.common_share)} in common` : `${one.n_without} of ${NEAREST}`;
  const address = href({ page: "like-minded", person: { id: one.id } });
  return html`<li><a href=${address}>${capitalName(one)}<span class="soft">${note}</span></a></li>`;
}

/** How often it matters in these data, in plain words. */
function often(ground) {
  const light = `at most ${ground.light_ratings}`;
  const few = `the ${ground.n_light} ${noun.users} with the fewest ${noun.ratings} (${light})`;
  return (
    `In a sample, ${percent(ground.pairs_without)} of the pairs of ${noun.users} have nothing in common. ` +
    `Of the ten nearest, ${percent(ground.neighbors_without)} share no ${noun.item} with the ${noun.user}, ` +
    `and ${percent(ground.light_neighbors_without)} for ${few}.`
  );
}

/** What to see in data where near people always have something in common: how little it is. */
function little({ common_share: share, pairs_without: without }) {
  return (
    `In these data, near ${noun.users} nearly always have some ${noun.items} in common, but not many: of ` +
    `what a ${noun.user} has, one of the ten nearest has ${percent(share)}, in the mean. Measures of ` +
    `co\u2011rated ${noun.items} see only that; the plan also uses the other ${percent(1 - share)}. ` +
    `${percent(without)} of all pairs have nothing in common.`
  );
}

/** The explanation of a user and the one with least in common of the nearest who are alike. */
async function withLeastInCommon(example, stop) {
  if (!example) return null;
  const person = { id: example.id };
  const { neighbors } = await api.neighbors(person, NEAREST, stop);
  const alike = neighbors.filter((one) => (one.nearer_than ?? 0) >= ALIKE);
  const some = alike.length ? alike : neighbors;
  const fewest = Math.min(...some.map((one) => one.n_common));
  const other = some.find((one) => one.n_common === fewest);
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
