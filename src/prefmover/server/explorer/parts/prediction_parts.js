/** The parts of a score, and those of a predicted rating: a bar for each, and what each neighbor adds. */

import {
  amount,
  capital,
  capitalWhose,
  count,
  gave,
  measuredText,
  nameOf,
  noun,
  rating,
  signed,
} from "../lib/format.js";
import { givenBy } from "../lib/guest.js";
import { html } from "../lib/html.js";
import { href } from "../lib/routes.js";
import { itemLink, personLink } from "./links.js";

const LONGEST = 40; // px of the bar of the largest contribution
const NAMED = 3; // ratings of similar items

/** The parts of a score: what the person's own ratings add, and what other people add. */
export function scoreParts(why, person) {
  const own = why.own.map((one) =>
    scoreLine([itemLink(one.item, one.label), comma(amount(givenBy(person, one)))], one.value),
  );
  const people = why.neighbors.map((one) =>
    scoreLine([personLink(one.user, nameOf), " ", gave(one.rating)], one.value),
  );
  const rest = ({ count: n, value }, what) => (n ? scoreLine(`${count(n, "part")} of ${what}`, value) : null);
  return html`
    <div class="wide" tabindex="0" role="region" aria-label=${`Parts of the score of ${why.label}`}>
      <table class="contributions scores">
        <caption>The score it is ranked by</caption>
        <thead><tr><th scope="col" class="text">part</th><th scope="col">adds</th></tr></thead>
        <tbody>
          ${scoreLine(`${capitalWhose(person)} own ${noun.ratings}`, why.item_side, true)}
          ${own}
          ${rest(why.other_own, `other ${noun.items}`)}
          ${scoreLine("People with the same taste", why.user_side, true)}
          ${people}
          ${rest(why.other_users, `other ${noun.users}`)}
        </tbody>
        <tfoot>${scoreLine("Score", why.score, true)}</tfoot>
      </table>
    </div>`;
}

const comma = (text) => text && `, ${text}`;

const scoreLine = (label, value, strong = false) => html`
  <tr class=${strong ? "sum-of" : null}>
    <th scope="row" class="text">${label}</th>
    <td class="number">${signed(value)}</td>
  </tr>`;

/** A predicted rating as a sum, each part a bar that begins where the last one ended. */
export function ratingParts(explanation, person, valueName) {
  const end = `The scale ends at ${rating(explanation.rating)}, so that is the prediction.`;
  return [
    waterfall(summands(explanation)),
    explanation.clipped ? html`<p class="soft">${end}</p>` : null,
    explanation.contributions.length ? contributions(explanation, person, valueName) : null,
  ];
}

/** The baselines, and the neighbors together. */
function summands({ baseline, contributions, others }) {
  const parts = baseline.map((part) => ({ ...part, name: capital(part.name) }));
  const n = contributions.length + others.count;
  if (n === 0) return parts;
  const value = contributions.reduce((sum, one) => sum + one.value, others.value);
  return [...parts, { name: "Neighbors", meaning: count(n, `like-minded ${noun.user}`), value }];
}

function waterfall(parts) {
  let sum = 0;
  const ends = parts.map((part) => (sum += part.value));
  const { low, high } = shownRange(ends);
  const bar = (start, end) => drawBar(start, end, low, high);
  const lines = parts.map(
    ({ name, meaning, value }, k) => html`
      <tr>
        <th scope="row">${name}<small>${meaning}</small></th>
        <td>${bar(k ? ends[k - 1] : low, ends[k])}</td>
        <td class="number">${k ? signed(value) : value.toFixed(3)}</td>
      </tr>`,
  );
  return html`
    <table class="waterfall">
      <caption class="unseen">The parts of the predicted rating</caption>
      <thead class="unseen"><tr><th scope="col">part</th><td></td><th scope="col">adds</th></tr></thead>
      <tbody>${lines}</tbody>
      <tfoot>
        <tr><th scope="row">Sum</th><td>${bar(low, sum)}</td><td class="number">${sum.toFixed(3)}</td></tr>
      </tfoot>
    </table>`;
}

/** The first part, the overall mean, is most of the sum: the picture begins just below the others. */
function shownRange(ends) {
  const inner = ends.length > 1 ? ends : [0, ...ends];
  const [least, most] = [Math.min(...inner), Math.max(...inner)];
  const margin = Math.max((most - least) * 0.12, 0.02);
  return { low: least - margin, high: most + margin };
}

function drawBar(start, end, low, high) {
  const x = (value) => (100 * (Math.max(value, low) - low)) / (high - low);
  const left = x(Math.min(start, end));
  const width = x(Math.max(start, end)) - left;
  const style = { left: `${left.toFixed(2)}%`, width: `max(2px, ${width.toFixed(2)}%)` };
  const direction = end >= start ? "up" : "down";
  return html`<span class="run" aria-hidden="true"><span class=${direction} style=${style}></span></span>`;
}

function contributions({ contributions: listed, others, label }, person, valueName) {
  const most = Math.max(...listed.map((one) => Math.abs(one.value))) || 1;
  return html`
    <div class="wide" tabindex="0" role="region" aria-label=${`Contributions to ${label}`}>
      <table class="contributions">
        <caption>Contributions of the neighbors</caption>
        <thead>
          <tr>
            <th scope="col" class="text">neighbor</th>
            <th scope="col">adds</th>
            <th scope="col" class="apart">${valueName}</th>
            <th scope="col" class="text">evidence</th>
          </tr>
        </thead>
        <tbody>
          ${listed.map((one) => line(one, person, most))}
          ${others.count ? together(others) : null}
        </tbody>
      </table>
    </div>`;
}

function line(one, person, most) {
  const other = { id: one.user };
  const width = `${((LONGEST * Math.abs(one.value)) / most).toFixed(1)}px`;
  return row(
    html`<a href=${href({ page: "why", person, other })}>${nameOf(other)}</a>`,
    html`
      <span class=${one.value < 0 ? "tick down" : "tick up"} aria-hidden="true" style=${{ width }}></span>
      ${signed(one.value)}`,
    measuredText(one, "–"),
    evidence(one),
  );
}

/** The neighbors that are not listed, in one line. */
const together = ({ count: n, value }) => row(count(n, "other"), signed(value), null, "all together");

const row = (who, adds, apart, evidence) => html`
  <tr>
    <th scope="row" class="text">${who}</th>
    <td class="adds">${adds}</td>
    <td class="apart">${apart}</td>
    <td class="text evidence">${evidence}</td>
  </tr>`;

/** What a neighbor gave to the item, or to the similar items that count. */
function evidence(one) {
  if (one.rating !== null) return `gave it ${rating(one.rating)}`;
  const ratings = one.evidence.slice(0, NAMED).map((e) => `${rating(e.rating)} to ${e.label}`);
  return ratings.length ? `gave ${ratings.join(" and ")}` : `rated similar ${noun.items}`;
}
