/** The nearest people: their distance, and how little they have in common. */

import { count, measured, measuredText, nameOf, noun, rank } from "../lib/format.js";
import { html } from "../lib/html.js";
import { bandOf } from "../lib/plan_layout.js";
import { href } from "../lib/routes.js";
import { personLink, tasteLine } from "./links.js";
import { empty } from "./region.js";

/**
 * @param {object} answer of .../neighbors
 * @param {object|null} person of the route; null for several people
 * @param {object} model of /model
 * @param {{headline?: boolean, none?: string, act?: Function}} options whether to count the neighbors with
 *   nothing in common; what to say if there is nobody; the link beside a neighbor, by default "Why?"
 */
export function nearest(answer, person, model, { headline = true, none, act } = {}) {
  const near = answer.neighbors;
  if (near.length === 0) return empty(none ?? `There is no other ${noun.user} to compare with.`);
  const link = act ?? ((other) => whyLink(person, other));
  const nearness = nearnessOf(near, model.spread);
  const rows = near.map((one) => row(one, model.value_name, nearness(measured(one)), link));
  return [headline ? withoutCommon(near, person) : null, html`<ol class="near">${rows}</ol>`];
}

/** A function of a value: 1 for the nearest of all, 0 for the farthest of random pairs. */
function nearnessOf(near, { nearest: best, farthest }) {
  const first = measured(near[0]);
  const far = farthest ?? measured(near.at(-1));
  const close = best === null ? first : far > best ? Math.min(best, first) : Math.max(best, first);
  return (value) => Math.min(Math.max((far - value) / (far - close || 1), 0.02), 1);
}

/** A dot for each of several, hollow for some, and a sentence. */
export function dotted(hollow, sentence) {
  const dots = hollow.map((none) => html`<span class=${none ? "dot none" : "dot"}></span>`);
  return html`
    <div class="point">
      <div class="dots" aria-hidden="true">${dots}</div>
      <p>${sentence}</p>
    </div>`;
}

/** The number of like-minded people with nothing in common. */
function withoutCommon(near, person) {
  const none = near.map((one) => one.n_common === 0);
  const n = none.filter(Boolean).length;
  const whom = nameOf(person);
  const sentence = html`
    <strong>${n} of the ${near.length}</strong> nearest ${n === 1 ? "has" : "have"} no ${noun.item} in
    common with ${whom}. Measures of co\u2011rated ${noun.items} cannot see them.`;
  return dotted(none, n ? sentence : `All ${near.length} share at least one ${noun.item} with ${whom}.`);
}

const whyLink = (person, other) => html`
  <a class="ask" href=${href({ page: "why", person, other })} aria-label=${`Why ${nameOf(other)}?`}>Why?</a>`;

function row(one, valueName, share, link) {
  const width = `${(100 * share).toFixed(1)}%`;
  const better = rank(one.nearer_than);
  const common = one.n_common ? "common" : "common none";
  return html`
    <li>
      <span class="who">${personLink(one.user)}${tasteLine(one.taste?.slice(0, 2))}</span>
      <span class="far" title=${better || null}>
        <span class="unseen">${valueName} </span>
        ${measuredText(one)}
        ${better ? html`<span class="unseen">, ${better}</span>` : null}
      </span>
      <span class="rule" aria-hidden="true">
        <span class=${bandOf(1 - share, 1)} style=${{ width }}></span>
      </span>
      <span class=${common}>${count(one.n_common, noun.item)} in common</span>
      ${link({ id: one.user })}
    </li>`;
}

/** The list in a sentence, for screen readers. */
export function summary(answer) {
  const near = answer.neighbors;
  if (!near.length) return `No other ${noun.user}`;
  const none = near.filter((one) => one.n_common === 0).length;
  const first = `the nearest is ${nameOf({ id: near[0].user })} at ${measuredText(near[0])}`;
  return `${near.length} nearest ${noun.users}; ${first}; ${none} of them with nothing in common`;
}
