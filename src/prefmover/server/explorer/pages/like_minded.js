/** Like-minded: a person's taste, and the nearest people. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { capital, capitalWhose, nameOf, noun, whose } from "../lib/format.js";
import { html } from "../lib/html.js";
import { href } from "../lib/routes.js";
import { choices } from "../parts/choices.js";
import { howRatingsCount } from "../parts/how_ratings_count.js";
import { measureLists } from "../parts/measure_lists.js";
import { nearest, summary } from "../parts/nearest.js";
import { onePicker } from "../parts/pickers.js";
import { loaded, region } from "../parts/region.js";
import { taste } from "../parts/taste.js";
import { drawStart } from "./start.js";

const NEAREST = 10;
const MORE = 40;
const STRIPES = 200;

export const name = "Like-minded";

export const title = (route) =>
  route.person ? `Like-minded: ${nameOf(route.person)}` : `Like-minded ${noun.users}`;

export function draw(route, context) {
  return route.person ? drawPerson(route, context) : drawStart(route, context);
}

function drawPerson(route, { model, signal }) {
  const { person } = route;
  const who = nameOf(person);
  const about = loaded(
    { label: `${whose(person)} ${noun.ratings}`, lines: 9, room: 26, signal },
    (stop) => api.ratings(person, STRIPES, stop),
    (answer) => [taste(answer, model.scale), howRatingsCount(model)],
  );
  const compared = loaded(
    { label: "neighbors by other measures", lines: 10, room: 30, signal },
    (stop) => api.lists(person, stop),
    (answer) => measureLists(answer, person),
  );
  const map = () =>
    html`<a href=${href({ page: "map", kind: "users", item: person.id })}>${who} on the map</a>`;
  return html`
    <h1>Who is like ${who}?</h1>
    ${onePicker(route, capital(noun.user))}
    <div class="split">
      <section class="card" aria-labelledby="taste">
        <h2 id="taste">${capitalWhose(person)} taste</h2>
        ${about}
      </section>
      ${nearestCard(person, model, signal)}
    </div>
    <section class="card" aria-labelledby="by-measure">
      <h2 id="by-measure">The ten nearest, by three measures</h2>
      ${compared}
    </section>
    <p class="onward">
      <a href=${href({ page: "recommended", person })}>Recommendations for ${who}</a>
      ${person.you ? null : map()}
    </p>`;
}

/** The nearest people: of all, or of those with nothing in common. */
function nearestCard(person, model, signal) {
  const room = innerWidth < 640 ? 56 : 38; // rem; names and tastes need two lines on a phone
  const near = region({ label: `the nearest ${noun.users}`, lines: 10, room, signal });
  const none = `Every ${noun.user} has some ${noun.items} in common with ${nameOf(person)}.`;
  const options = { Everybody: false, "Nothing in common": true };
  const among = choices("Among whom", options, (withoutCommon) => load(withoutCommon));
  const load = (withoutCommon, k = NEAREST) => {
    among.press(withoutCommon);
    const more = () => html`
      <p>
        <button type="button" class="quiet" @click=${() => load(withoutCommon, MORE)}>
          Show the nearest ${MORE}
        </button>
      </p>`;
    near.show(
      (stop) => api.neighbors(person, k, stop, withoutCommon),
      (answer) => {
        announce(summary(answer));
        return [
          nearest(answer, person, model, { headline: !withoutCommon, none }),
          k < MORE && answer.neighbors.length === k ? more() : null,
        ];
      },
    );
  };
  load(false);
  return html`
    <section class="card" aria-labelledby="nearest">
      <div class="line"><h2 id="nearest">Nearest ${noun.users}</h2>${among.element}</div>
      ${near.element}
    </section>`;
}
