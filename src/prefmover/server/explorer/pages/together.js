/** Together: several people, who is near all of them, and what suits them. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { nameOf, noun } from "../lib/format.js";
import { html } from "../lib/html.js";
import { href } from "../lib/routes.js";
import { choices } from "../parts/choices.js";
import { groupList, summary } from "../parts/group_list.js";
import { members, namesOf } from "../parts/members.js";
import { nearest } from "../parts/nearest.js";
import { empty, loaded, region } from "../parts/region.js";

const MOST = 20; // the most that the server takes
const NEAREST = 10;
const RECOMMENDED = 10;

export const name = "Together";

export const title = ({ people = [] }) =>
  people.length ? `Together: ${namesOf(people)}` : `Several ${noun.users} together`;

export function draw(route, context) {
  const people = (route.people ?? []).slice(0, MOST);
  const go = (chosen) =>
    (location.hash = href({ page: "together", people: chosen.length ? chosen : undefined }));
  const several = people.length > 1;
  const whom = people.length ? `somebody to join ${nameOf({ id: people[0] })}` : `two ${noun.users} or more`;
  return html`
    <h1>${several ? `What suits ${namesOf(people)}?` : `Several ${noun.users} together`}</h1>
    ${members(people, MOST, go)}
    ${several ? cards(people, context) : empty(`Choose ${whom}, and see ${noun.items} for all of them.`)}`;
}

const cards = (people, context) => html`
  <div class="split together">${listCard(people, context)}${nearCard(people, context)}</div>`;

/** What suits everybody: on average, or so that nobody is left out. */
function listCard(people, { model, signal }) {
  const list = region({ label: "recommendations", lines: 12, room: 60, signal });
  const options = { "On average": "mean", "Nobody left out": "least" };
  const combining = choices("How scores are combined", options, (combine) => load(combine));
  const load = (combine) => {
    combining.press(combine);
    list.show(
      (stop) => api.groupRecommendations(people, RECOMMENDED, combine, stop),
      (answer) => {
        announce(summary(answer));
        return groupList(answer, model.scale);
      },
    );
  };
  load("mean");
  return html`
    <section class="card" aria-labelledby="for-all">
      <div class="line"><h2 id="for-all">Recommended</h2>${combining.element}</div>
      <p class="soft">These ${noun.items} are new to all of them. Everybody counts equally.</p>
      ${list.element}
    </section>`;
}

/** The people nearest to the mixture of their preferences; measures other than PMD have none. */
function nearCard(people, { model, signal }) {
  const join = (other) => html`
    <a class="ask" href=${href({ page: "together", people: [...people, other.id] })}
      aria-label=${`Add ${nameOf(other)}`}>Add</a>`;
  const act = people.length < MOST ? join : () => null;
  const near = () =>
    loaded(
      { label: `the nearest ${noun.users}`, lines: 10, room: 40, signal },
      (stop) => api.groupNeighbors(people, NEAREST, stop),
      (answer) => nearest(answer, null, model, { headline: false, act }),
    );
  const none = "Only PMD compares a group; the model of this server uses another measure.";
  return html`
    <section class="card" aria-labelledby="near-all">
      <h2 id="near-all">Nearest ${noun.users}</h2>
      <p class="soft">Nearest to the mixture of their preferences, in which everybody has the same share.</p>
      ${model.measure === "pmd" ? near() : empty(none)}
    </section>`;
}
