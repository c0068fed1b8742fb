/** How the measure of the model reads ratings: what a low rating means to it. */

import { noun, rating } from "../lib/format.js";
import { html } from "../lib/html.js";

/** @param {object} model of /model */
export function howRatingsCount(model) {
  if (model.measure !== "pmd") return null;
  return html`
    <details class="more">
      <summary>How ratings count</summary>
      <p class="soft">${meaning(model)}</p>
    </details>`;
}

/** A few sentences. */
export function meaning({ scale }) {
  const [low, high] = [rating(scale.lowest), rating(scale.highest)];
  const times =
    scale.lowest > 0 ? `${rating(scale.highest / scale.lowest)} times as much as` : "much more than";
  return (
    `To find like-minded ${noun.users}, PMD reads ratings as shares of attention: a ${high} weighs ` +
    `${times} a ${low}. A low rating says that you care about such ` +
    `${noun.items}, not that you dislike them, so people who hate a genre and people ` +
    "who love it can be near each other. Recommendations do distinguish low ratings from high ones."
  );
}
