/** Why: two people, and the explanation of their distance. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import {
  amount,
  capital,
  capitalName,
  count,
  measured,
  measuredText,
  nameOf,
  noun,
  percent,
  rank,
  value,
} from "../lib/format.js";
import { html } from "../lib/html.js";
import { hasPlan } from "../lib/plan_layout.js";
import { href, same } from "../lib/routes.js";
import { pairPickers } from "../parts/pickers.js";
import { card, planCard } from "../parts/plan_card.js";
import { planTable } from "../parts/plan_table.js";
import { empty, inviting, loaded } from "../parts/region.js";

export const name = "Why";

const MOST_AGREED = 5;

export function title(route) {
  if (!route.other) return "How alike are two people?";
  return `Why: ${nameOf(route.person)} and ${nameOf(route.other)}`;
}

export function draw(route, context) {
  const { person, other } = route;
  const who = person && other ? `${nameOf(person)} and ${nameOf(other)}` : "two people";
  const valueName = context.model.value_name;
  const why = () =>
    loaded(
      { label: "the explanation", lines: 12, room: 44, signal: context.signal },
      (stop) => api.explanation(person, other, stop),
      (explanation) => {
        const common = count(explanation.n_common, noun.item);
        announce(`${capital(valueName)} ${measuredText(explanation)}, ${common} in common`);
        return drawExplanation(explanation, route, valueName);
      },
    );
  return drawPair(`How alike are ${who}?`, route, context, why);
}

/** A page about two people: the pickers, and the content once two are chosen. */
export function drawPair(heading, route, { signal }, content) {
  const { person, other } = route;
  let below = content;
  if (!person) below = () => inviting(`Choose two ${noun.users}`);
  else if (!other) below = () => suggestions(route, signal);
  else if (same(person, other)) below = () => empty(`Choose two different ${noun.users}.`);
  return html`<h1>${heading}</h1>${pairPickers(route)}${below()}`;
}

/** People to compare with, while the second one is not chosen. */
function suggestions({ page, person }, signal) {
  const chip = (one) => html`
    <li>
      <a href=${href({ page, person, other: { id: one.user } })}>
        ${capitalName({ id: one.user })}
        <span class="soft"> ${measuredText(one)}, ${one.n_common || "nothing"} in common</span>
      </a>
    </li>`;
  const near = loaded(
    { label: `${noun.users} to compare with`, lines: 8, room: 34, signal },
    (stop) => api.neighbors(person, 8, stop),
    ({ neighbors }) => html`<ul class="chips">${neighbors.map(chip)}</ul>`,
  );
  return html`
    <section aria-labelledby="with">
      <h2 id="with" class="eyebrow">Nearest to ${nameOf(person)}</h2>
      ${near}
    </section>`;
}

function drawExplanation(explanation, route, valueName) {
  const people = [route.person, route.other];
  const { agreement, certificate, n_common: n } = explanation;
  const note = measured(explanation) === null ? explanation.reason : rank(explanation.nearer_than);
  return html`
    <dl class="facts">
      ${fact(capital(valueName), measuredText(explanation), note)}
      ${fact("In common", n === 0 ? "nothing" : count(n, noun.item), commonNote(explanation))}
      ${agreement.length ? agreementFact(agreement) : null}
      ${certificate ? proof(certificate) : null}
    </dl>
    ${agreement.length ? drawAgreement(agreement) : null}
    ${hasPlan(explanation) ? planCard(explanation, people) : drawFactors(explanation, people)}
    <p class="onward">
      <a href=${href({ ...route, page: "measures" })}>The same two under twelve measures</a>
    </p>`;
}

function commonNote({ n_common, common_share }) {
  if (common_share === null) return "";
  return n_common === 0 ? "and still comparable" : `${percent(common_share)} of the preference`;
}

const agreed = (agreement) => agreement.filter((flow) => flow.value > 0);

function agreementFact(agreement) {
  const n = agreed(agreement).length;
  return fact("Agreement", `${n} of ${agreement.length}`, `${noun.items} in common`);
}

/** What two people agree on most, and least: both rated it above their means, or both below, or not. */
function drawAgreement(agreement) {
  const opposed = agreement.filter((flow) => flow.value < 0).reverse();
  const line = ({ source_label: title, source_rating: one, target_rating: other }) =>
    html`<dd>${title}, ${amount(one)} and ${amount(other)}</dd>`;
  const list = (term, flows) =>
    flows.length ? html`<div><dt>${term}</dt>${flows.slice(0, MOST_AGREED).map(line)}</div>` : null;
  return card(
    "Do they agree?",
    null,
    `They agree if both rated the ${noun.item} above their own mean, or both below it.`,
    html`
      <dl class="factors">
        ${list("agree most on", agreed(agreement))}
        ${list("agree least on", opposed)}
      </dl>`,
  );
}

/** The factors of another measure. */
function drawFactors({ factors, flows, ...explanation }, people) {
  const lines = factors.map(
    ({ meaning, value: x }) => html`<div><dt>${meaning}</dt><dd>${factorValue(x)}</dd></div>`,
  );
  return card(
    "The formula",
    null,
    "The factors and sums of the measure, in the order of its formula.",
    html`<dl class="factors">${lines}</dl>`,
    flows.length ? planTable({ flows, ...explanation }, people) : null,
  );
}

function factorValue(x) {
  if (x === null) return "undefined";
  return Number.isInteger(x) ? String(x) : value(x);
}

const fact = (term, value, note) => html`
  <div>
    <dt>${term}</dt>
    <dd><span class="big">${value}</span><span class="soft">${note}</span></dd>
  </div>`;

/** The certificate: the cost of the plan, and a bound that no plan can beat. */
function proof(certificate) {
  const [cost, bound] = [certificate.primal.toFixed(9), certificate.dual.toFixed(9)];
  const exact = cost === bound;
  const apart = `cost of the plan and lower bound, ${certificate.gap.toExponential(1)} apart`;
  return html`
    <div class="proof">
      <dt>Proof</dt>
      <dd>
        <span class="equation"><span>${cost}</span><b> ${exact ? "=" : "≥"} </b><span>${bound}</span></span>
        <span class="soft">${exact ? "cost of the plan = lower bound of any plan" : apart}</span>
      </dd>
    </div>`;
}
