/** Recommended items, with the strongest reasons for each. */

import { count, nameOf, noun, predicted, rating } from "../lib/format.js";
import { refuse } from "../lib/guest.js";
import { html } from "../lib/html.js";
import { itemLink, personLink } from "./links.js";
import { empty } from "./region.js";
import { shownStars } from "./stars.js";

const OWN = 2; // ratings that are named as reasons
const NAMED = 2; // people for it

/**
 * The list.
 *
 * @param {string} [options.opened] the item whose parts are shown at once
 * @param {(id: string, into: HTMLElement) => void} [options.open] draws the parts of an item
 * @param {(id: string|null) => void} [options.toggle] is called with the item that is open now
 * @param {() => void} [options.refused] is called when the visitor is not interested in an item
 */
export function recommended(answer, { person, scale, opened, open, toggle, refused }) {
  if (answer.recommendations.length === 0) {
    return empty(`Nothing is left to recommend: every ${noun.item} is rated.`);
  }
  const cards = answer.recommendations.map((one, k) => {
    const parts = open ? folded(one, `parts-${k}`, { opened, open, toggle }) : null;
    return html`
      <li>
        ${headline(one, scale)}
        <div class="line low">
          ${reasons(one.why, person)}
          <div class="acts">${refused ? refusal(one, refused) : null}${parts?.button}</div>
        </div>
        ${parts?.body}
      </li>`;
  });
  return html`<ol class="recommended">${cards}</ol>`;
}

/** A button that leaves an item out from now on. */
function refusal(one, refused) {
  const click = () => {
    refuse(one.item);
    refused();
  };
  const label = `Not interested in ${one.title}`;
  return html`
    <button type="button" class="quiet small" aria-label=${label} @click=${click}>Not interested</button>`;
}

/** The item, with its predicted rating; implicit feedback has none. */
export function headline(one, scale) {
  const guess = () =>
    html`${shownStars(one.rating, scale)}<span class="number">${predicted(one.rating)}</span>`;
  return html`
    <div class="line">
      <h3>${itemLink(one.item, one.title)}</h3>
      <span class="guess">${one.rating === null ? null : guess()}</span>
    </div>`;
}

/** Why an item is recommended: first the person's own ratings, then people with the same taste. */
function reasons(why, person) {
  const lines = [becauseOf(why, person), ...taste(why)].filter(Boolean);
  if (lines.length === 0) lines.push(`${count(why.n_likes, "person").replace("persons", "people")} liked it`);
  return html`<ul class="because">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

/** "Because you gave Aliens (1986) 5 and Blade Runner (1982) 4.5". */
function becauseOf({ own }, person) {
  if (own.length === 0) return null;
  const parts = own
    .slice(0, OWN)
    .map((one, k) => [k ? " and " : null, itemLink(one.item, one.label), ` ${rating(one.rating)}`]);
  return [`Because ${nameOf(person)} gave `, parts];
}

/** "12 for, 3 against", with names. */
function taste(why) {
  const { n_for: pro, n_against: contra, neighbors, strongest_against: against } = why;
  if (pro + contra === 0) return [];
  const gave = (one) => [personLink(one.user, nameOf), ` gave it ${rating(one.rating)}`];
  const named = neighbors
    .filter((one) => one.likes_it)
    .slice(0, NAMED)
    .map((one, k) => [k ? ", " : ": ", gave(one)]);
  const most = why.n_like_minded > 1 ? ` among the ${why.n_like_minded} ${noun.users} who count most` : "";
  return [
    html`<strong>${pro} for, ${contra} against</strong>${most}${named}`,
    against ? ["against it: ", gave(against)] : null,
  ];
}

/** A button, and the element for the parts of a prediction that it opens and closes. */
function folded(one, id, { opened, open, toggle }) {
  const body = html`<div id=${id} class="parts" hidden></div>`;
  const set = (shown) => {
    body.hidden = !shown;
    button.setAttribute("aria-expanded", String(shown));
    button.textContent = shown ? "Close" : "All parts";
    const parts = `parts of the prediction for ${one.title}`;
    button.setAttribute("aria-label", shown ? `Close the ${parts}` : `All ${parts}`);
    if (shown && !body.firstChild) open(one.item, body);
  };
  const click = () => {
    const shown = body.hidden;
    set(shown);
    toggle?.(shown ? one.item : null);
  };
  const button = html`
    <button type="button" class="quiet small" aria-controls=${id} @click=${click}></button>`;
  set(opened === one.item);
  return { button, body };
}

/** The list in a sentence, for screen readers. */
export function summary({ recommendations: list }) {
  if (list.length === 0) return `No ${noun.items} to recommend`;
  const first = list[0].rating === null ? "" : `, ${predicted(list[0].rating)}`;
  return `${count(list.length, "recommendation")}, first ${list[0].title}${first}`;
}
