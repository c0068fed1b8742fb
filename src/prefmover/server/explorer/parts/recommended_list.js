/** Recommended items, with the strongest reasons for each. */

import { capital, count, noun, predicted } from "../lib/format.js";
import { refuse } from "../lib/guest.js";
import { html } from "../lib/html.js";
import { itemLink, personLink } from "./links.js";
import { empty } from "./region.js";
import { shownStars } from "./stars.js";

/**
 * The list.
 *
 * @param {import("../lib/api.js").Schemas["RecommendationsOut"]} answer
 * @param {object} options
 * @param {object} options.scale
 * @param {string} [options.opened] the item whose parts are shown at once
 * @param {(id: string, into: HTMLElement) => void} [options.open] draws the parts of an item
 * @param {(id: string|null) => void} [options.toggle] is called with the item that is open now
 * @param {(() => void)|null} [options.refused] is called when the visitor is not interested in an item
 * @param {(ratings: object[]) => void} [options.without] is called with a reason that is to be left out
 * @param {Set<string>|null} [options.known] the items of another list; those that are not there are marked
 */
export function recommended(answer, options) {
  const { scale, opened, open, toggle, refused, without, known } = options;
  if (answer.recommendations.length === 0) {
    return empty(`Nothing is left to recommend: no ${noun.item} is new.`);
  }
  const cards = answer.recommendations.map((one, k) => {
    const parts = open ? folded(one, `parts-${k}`, { opened, open, toggle }) : null;
    return html`
      <li>
        ${headline(one, scale, known ? !known.has(one.item) : false)}
        <div class="line low">
          ${reasons(one.why, without)}
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
export function headline(one, scale, fresh = false) {
  const guess = () =>
    html`${shownStars(one.rating, scale)}<span class="number">${predicted(one.rating)}</span>`;
  return html`
    <div class="line">
      <h3>${itemLink(one.item, one.title)}${fresh ? html` <span class="fresh">new</span>` : null}</h3>
      <span class="guess">${one.rating === null ? null : guess()}</span>
    </div>`;
}

/**
 * Why an item is recommended: the sentences, in which items and people are links. Behind what a person gave,
 * a button leads to the list without it.
 */
function reasons({ told, own }, without) {
  const part = ({ text, item, user }) => {
    if (user !== null) return personLink(user, () => text);
    return item === null ? text : itemLink(item, text);
  };
  // An id that is a name keeps its spelling.
  const begun = (one) => (one.text === one.user ? one : { ...one, text: capital(one.text) });
  const button = (one) => {
    const mine = without && own.find(({ item }) => item === one?.item);
    return mine ? whatIfNot(mine, without) : null;
  };
  const isText = (one) => one?.item === null && one.user === null;
  const drawn = (one, k, parts) => {
    const behind = isText(one) && button(parts[k - 1]);
    if (!behind) return [part(one), isText(parts[k + 1]) ? null : button(one)];
    const given = one.text.match(/^.*?(?= and |[,;](?!\d)|$)/s)[0]; // " 4.5", " 1,040 times"
    return [given, " ", behind, one.text.slice(given.length)];
  };
  const sentence = ([first, ...others]) => [begun(first), ...others].map(drawn);
  return html`<ul class="because">${told.map((parts) => html`<li>${sentence(parts)}</li>`)}</ul>`;
}

const whatIfNot = (one, without) => html`
  <button type="button" class="if-not" aria-label=${`Without it? The list without ${one.label}`}
    @click=${() => without([one])}>without it?</button>`;

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
