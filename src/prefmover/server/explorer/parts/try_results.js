/** What follows from the visitor's ratings: like-minded people, recommendations, and why. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { capital, decimal, items as itemsNoun, measured, nameOf, users as usersNoun } from "../lib/format.js";
import { guestRatings } from "../lib/guest.js";
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
  const near = region({ label: `like-minded ${usersNoun()}`, lines: 5, room: 20, signal });
  const best = region({ label: "recommendations", lines: 6, room: 24, signal });
  const plan = region({ label: "why", lines: 6, room: 24, signal });
  const because = h("h2", { id: "try-why" }, "Why they are near you");
  const more = (page, text) => h("a", { class: "more-link", href: href({ page, person: YOU }) }, text);
  let choices = {};
  const wanted = filters(model, (chosen) => {
    choices = chosen;
    if (guestRatings().length) recommend();
  });
  const glance = h("button", { type: "button", class: "glance", hidden: true });

  function update() {
    if (guestRatings().length === 0) {
      near.notice(empty(`Rate a few ${itemsNoun()}, and the ${usersNoun()} nearest to you appear here.`));
      best.notice(empty(`${capital(itemsNoun())} you would like, with reasons.`));
      plan.notice(empty("Why the nearest is like you."));
      because.textContent = "Why they are near you";
      glance.hidden = true;
      return;
    }
    near.show(
      (stop) => api.neighbors(YOU, 5, stop),
      (answer) => {
        const first = answer.neighbors[0];
        if (first) why({ id: first.user });
        glance.hidden = !first;
        if (first)
          glance.textContent = `Nearest: ${nameOf({ id: first.user })}, ${decimal(measured(first))} ↓`;
        return nearest(answer, YOU, {
          valueName: model.value_name,
          spread: model.spread,
          headline: false,
        });
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
        return recommended(answer, { person: YOU, scale: model.scale, refused: recommend });
      },
    );
  }

  function why(other) {
    because.textContent = `Why ${nameOf(other)} is near you`;
    plan.show(
      (stop) => api.explanation(YOU, other, stop),
      (explanation) => [
        hasPlan(explanation) ? ribbons(explanation, [YOU, other], { most: 8, compact: true }) : null,
        h(
          "p",
          {},
          h(
            "a",
            { class: "more-link", href: href({ page: "why", person: YOU, other }) },
            "The whole explanation",
          ),
        ),
      ],
    );
  }

  const heading = h("h2", { id: "try-near", tabindex: "-1" }, `Like-minded ${usersNoun()}`);
  glance.addEventListener("click", () => {
    heading.focus({ preventScroll: true });
    heading.scrollIntoView({ block: "start" });
  });
  const sections = [
    h(
      "section",
      { class: "card", "aria-labelledby": "try-near" },
      h("div", { class: "line" }, heading, more("like-minded", "All neighbors")),
      near.element,
    ),
    h(
      "section",
      { class: "card", "aria-labelledby": "try-best" },
      h(
        "div",
        { class: "line" },
        h("h2", { id: "try-best" }, "Recommended for you"),
        more("recommended", "All recommendations"),
      ),
      h("details", { class: "more" }, h("summary", {}, "Filters"), wanted),
      best.element,
    ),
    h("section", { class: "card", "aria-labelledby": "try-why" }, because, plan.element),
  ];
  return { sections, glance, soon, update };
}
