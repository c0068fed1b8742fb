/** Recommended: items that a person has not rated and would like, with reasons. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { capital, isGiven, nameOf, noun, withArticle } from "../lib/format.js";
import { html } from "../lib/html.js";
import { href, rename } from "../lib/routes.js";
import { isSite } from "../lib/site.js";
import { filters } from "../parts/filters.js";
import { onePicker } from "../parts/pickers.js";
import { ratingParts, scoreParts } from "../parts/prediction_parts.js";
import { recommended, summary } from "../parts/recommended_list.js";
import { inviting, loaded, region } from "../parts/region.js";
import { whatIf } from "../parts/what_if.js";

const FEW = 10;

export const name = "Recommended";

export const title = (route) =>
  route.person ? `Recommended for ${nameOf(route.person)}` : `Recommended ${noun.items}`;

export function draw(route, { model, signal }) {
  const { person } = route;
  const picker = onePicker(route, capital(noun.user));
  const invitation = () => inviting(`Choose ${withArticle(noun.user)}`);
  if (!person) return html`<h1>Recommended ${noun.items}</h1>${picker}${invitation()}`;
  const who = nameOf(person);
  const list = region({ label: "recommendations", lines: 12, room: 44, signal });
  let choices = {};
  let opened = route.item;
  const load = () => {
    const without = what.ids();
    list.show(
      (stop) =>
        Promise.all([
          api.recommendations(person, FEW, stop, without.length ? { ...choices, without } : choices),
          without.length ? api.recommendations(person, FEW, stop, choices) : null, // to compare with
        ]),
      ([answer, whole]) => {
        announce(summary(answer));
        const best = recommended(answer, {
          scale: model.scale,
          opened,
          open: (item, into) => into.append(parts(item)),
          // The address names the open item, without an entry in the history.
          toggle: (item) => {
            opened = item;
            rename(href({ ...route, item: item ?? undefined }));
          },
          refused: person.you ? load : null,
          without: isSite ? undefined : what.without,
          known: whole && new Set(whole.recommendations.map((one) => one.item)),
        });
        return [whole && what.notice(answer.recommendations, whole.recommendations), best];
      },
    );
  };
  const what = whatIf(person, load);
  const parts = (item) =>
    loaded(
      { label: "the parts", lines: 8, room: 26, signal },
      (stop) =>
        Promise.all([
          api.whyRecommended(person, item, what.ids(), stop),
          isGiven("ratings") ? api.recommendation(person, item, what.ids(), stop) : null,
        ]),
      ([why, rated]) => [
        scoreParts(why, person),
        Object.keys(choices).length ? null : what.fewest(item, FEW, signal), // it knows no filters
        rated && html`<h4>The predicted rating</h4>`,
        rated && ratingParts(rated, person, model.value_name),
      ],
    );
  load();
  const filter = (chosen) => {
    choices = chosen;
    load();
  };
  const predicted = isGiven("ratings") ? ", with the predicted rating" : "";
  return html`
    <h1>Recommended for ${who}</h1>
    ${picker}
    <p class="lead">
      ${capital(noun.items)} that are new to ${who}, the best first${predicted}. Every score is a sum: open
      one to see what each ${noun.rating} adds.
    </p>
    <section class="card" aria-label="Recommendations">
      <h2 class="unseen">Recommendations</h2>
      ${filters(model, filter)}
      ${list.element}
    </section>`;
}
