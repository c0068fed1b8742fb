/** How the measure of the model reads ratings, counts or choices: what a low one means to it. */

import { isGiven, noun, rating } from "../lib/format.js";
import { html } from "../lib/html.js";

/** @param {object} model of /model */
export function howRatingsCount(model) {
  if (model.measure !== "pmd") return null;
  return html`
    <details class="more">
      <summary>How ${noun.ratings} count</summary>
      <p class="soft">${meaning(model)}</p>
    </details>`;
}

/** A few sentences. */
export function meaning({ scale }) {
  const shares = `To find like-minded ${noun.users}, PMD reads ${noun.ratings} as shares of attention`;
  if (isGiven("choices")) return `${shares}: every ${noun.item} has the same share.`;
  if (isGiven("counts")) return `${shares}: a larger count weighs more.`;
  const [low, high] = [rating(scale.lowest), rating(scale.highest)];
  const times =
    scale.lowest > 0 ? `${rating(scale.highest / scale.lowest)} times as much as` : "much more than";
  return (
    `${shares}: a ${high} weighs ${times} a ${low}. A low rating says that you care about such ` +
    `${noun.items}, not that you dislike them, so people who hate a genre and people ` +
    "who love it can be near each other. Recommendations do distinguish low ratings from high ones."
  );
}
