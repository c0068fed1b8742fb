/** What follows from the visitor's ratings: like-minded people, recommendations, and why. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { capital, measuredText, nameOf, noun } from "../lib/format.js";
import { guestRatings } from "../lib/guest.js";
import { html } from "../lib/html.js";
import { hasPlan } from "../lib/plan_layout.js";
import { href } from "../lib/routes.js";
import { filters } from "./filters.js";
import { nearest } from "./nearest.js";
import { recommended } from "./recommended_list.js";
import { empty, region } from "./region.js";
import { ribbons } from "./ribbons.js";

const YOU = { you: true };

/** Neighbors, recommendations and an explanation for the ratings; each is loaded separately. */
export function tryResults(model, signal) {
  const near = region({ label: `like-minded ${noun.users}`, lines: 5, room: 20, signal });
  const best = region({ label: "recommendations", lines: 6, room: 24, signal });
  const plan = region({ label: "why", lines: 6, room: 24, signal });
  const because = html`<h2 id="try-why">Why they are near you</h2>`;
  const more = (route, text) =>
    html`<a class="more-link" href=${href({ ...route, person: YOU })}>${text}</a>`;
  const heading = html`<h2 id="try-near" tabindex="-1">Like-minded ${noun.users}</h2>`;
  let choices = {};
  const wanted = filters(model, (chosen) => {
    choices = chosen;
    if (guestRatings().length) recommend();
  });
  const look = () => {
    heading.focus({ preventScroll: true });
    heading.scrollIntoView({ block: "start" });
  };
  const glance = html`<button type="button" class="glance" hidden @click=${look}>Nearest</button>`;

  function update() {
    if (guestRatings().length === 0) {
      near.notice(
        empty(`${capital(noun.rate)} a few ${noun.items}, and the ${noun.users} nearest to you appear here.`),
      );
      best.notice(empty(`${capital(noun.items)} you would like, with reasons.`));
      plan.notice(empty("Why the nearest is like you."));
      because.textContent = "Why they are near you";
      glance.hidden = true;
      return;
    }
    near.show(
      (stop) => api.neighbors(YOU, 5, stop),
      (answer) => {
        const first = answer.neighbors[0];
        glance.hidden = !first;
        if (first) {
          why({ id: first.user });
          glance.textContent = `Nearest: ${nameOf({ id: first.user })}, ${measuredText(first)} ↓`;
        }
        return nearest(answer, YOU, model, { headline: false });
      },
    );
    recommend();
  }

  /** Say that an update follows in a moment. */
  function soon() {
    near.soon();
    best.soon();
  }

  function recommend() {
    best.show(
      (stop) => api.recommendations(YOU, 5, stop, choices),
      (answer) => {
        const first = answer.recommendations[0];
        if (first) announce(`Updated. First recommendation: ${first.title}`);
        return recommended(answer, { scale: model.scale, refused: recommend });
      },
    );
  }

  function why(other) {
    because.textContent = `Why ${nameOf(other)} is near you`;
    plan.show(
      (stop) => api.explanation(YOU, other, stop),
      (explanation) => html`
        ${hasPlan(explanation) ? ribbons(explanation, [YOU, other], { most: 8, compact: true }) : null}
        <p>${more({ page: "why", other }, "The whole explanation")}</p>`,
    );
  }

  const sections = html`
    <section class="card" aria-labelledby="try-near">
      <div class="line">${heading}${more({ page: "like-minded" }, "All neighbors")}</div>
      ${near.element}
    </section>
    <section class="card" aria-labelledby="try-best">
      <div class="line">
        <h2 id="try-best">Recommended for you</h2>
        ${more({ page: "recommended" }, "All recommendations")}
      </div>
      ${wanted}
      ${best.element}
    </section>
    <section class="card" aria-labelledby="try-why">${because}${plan.element}</section>`;
  return { sections, glance, soon, update };
}
