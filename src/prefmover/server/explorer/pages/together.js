/** Together: several people, who is near all of them, and what suits them. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { items as itemsNoun, nameOf, users as usersNoun } from "../lib/format.js";
import { href } from "../lib/routes.js";
import { groupList, summary } from "../parts/group_list.js";
import { members, namesOf } from "../parts/members.js";
import { nearest } from "../parts/nearest.js";
import { empty, region } from "../parts/region.js";

const MOST = 20; // the most that the server takes
const NEAREST = 10;
const RECOMMENDED = 10;

export const name = "Together";

export function title({ people = [] }) {
  return people.length ? `Together: ${namesOf(people)}` : `Several ${usersNoun()} together`;
}

export function draw(route, context) {
  const people = (route.people ?? []).slice(0, MOST);
  const go = (chosen) =>
    (location.hash = href({ page: "together", people: chosen.length ? chosen : undefined }));
  const opening = [
    h("h1", {}, people.length > 1 ? `What suits ${namesOf(people)}?` : `Several ${usersNoun()} together`),
    members(people, MOST, go),
  ];
  if (people.length < 2) {
    const whom = people.length
      ? `somebody to join ${nameOf({ id: people[0] })}`
      : `two ${usersNoun()} or more`;
    return [...opening, empty(`Choose ${whom}, and see ${itemsNoun()} for all of them.`)];
  }
  return [
    ...opening,
    h("div", { class: "split together" }, listCard(people, context), nearCard(people, context)),
  ];
}

/** What suits everybody: on average, or so that nobody is left out. */
function listCard(people, { model, signal }) {
  const list = region({ label: "recommendations", lines: 12, room: 60, signal });
  const choices = [
    ["On average", "mean"],
    ["Nobody left out", "least"],
  ].map(([text, combine]) => ({
    combine,
    button: h("button", { type: "button", class: "choice", on: { click: () => load(combine) } }, text),
  }));
  const load = (combine) => {
    for (const one of choices) one.button.setAttribute("aria-pressed", String(one.combine === combine));
    list.show(
      (stop) => api.groupRecommendations(people, RECOMMENDED, combine, stop),
      (answer) => {
        announce(summary(answer));
        return groupList(answer, model.scale);
      },
    );
  };
  load("mean");
  return h(
    "section",
    { class: "card", "aria-labelledby": "for-all" },
    h(
      "div",
      { class: "line" },
      h("h2", { id: "for-all" }, "Recommended"),
      h(
        "div",
        { class: "choices", role: "group", "aria-label": "How scores are combined" },
        choices.map((one) => one.button),
      ),
    ),
    h("p", { class: "soft" }, `None of them has rated these ${itemsNoun()}. Everybody counts equally.`),
    list.element,
  );
}

/** The people nearest to the mixture of their preferences; measures other than PMD have none. */
function nearCard(people, { model, signal }) {
  const near = region({ label: `the nearest ${usersNoun()}`, lines: 10, room: 40, signal });
  const join = (other) =>
    h(
      "a",
      {
        class: "ask",
        href: href({ page: "together", people: [...people, other.id] }),
        "aria-label": `Add ${nameOf(other)}`,
      },
      "Add",
    );
  if (model.measure === "pmd") {
    near.show(
      (stop) => api.groupNeighbors(people, NEAREST, stop),
      (answer) =>
        nearest(answer, null, {
          valueName: model.value_name,
          spread: model.spread,
          headline: false,
          act: people.length < MOST ? join : () => null,
        }),
    );
  }
  return h(
    "section",
    { class: "card", "aria-labelledby": "near-all" },
    h("h2", { id: "near-all" }, `Nearest ${usersNoun()}`),
    h(
      "p",
      { class: "soft" },
      "Nearest to the mixture of their preferences, in which everybody has the same share.",
    ),
    model.measure === "pmd"
      ? near.element
      : empty("Only PMD compares a group; the model of this server uses another measure."),
  );
}
