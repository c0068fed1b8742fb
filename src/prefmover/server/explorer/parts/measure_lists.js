/** The nearest people by several measures side by side, and how well each list predicts. */

import { count, decimal, nameOf, noun } from "../lib/format.js";
import { html } from "../lib/html.js";
import { personLink } from "./links.js";

const NOTES = {
  cos: () => `Cosine compares the ${noun.items} in common only. One ${noun.item} is enough for a perfect 1.`,
  jmsd: () => `JMSD weighs agreement on the ${noun.items} in common by how many there are.`,
};

/** A column for each of the lists. */
export function measureLists(answer, person) {
  const names = answer.lists.map((list) => new Set(list.neighbors.map((one) => one.user)));
  const others = (k) => names.filter((_, at) => at !== k);
  const most = Math.max(...answer.lists.map((list) => list.test?.hits ?? 0), 1);
  return html`
    <div class="lists">${answer.lists.map((list, k) => column(list, others(k), most))}</div>
    <p class="soft">${explained(answer, person)}</p>`;
}

function column({ name, label, test, neighbors }, others, most) {
  const alone = ({ user }) => !others.some((some) => some.has(user));
  const lines = neighbors.map(
    (one) => html`
      <li class=${alone(one) ? "alone" : null}>
        ${personLink(one.user)}
        <span class="number">${decimal(one.value)}</span>
        <span class=${one.n_common ? "soft" : "common none"}>${one.n_common} in common</span>
      </li>`,
  );
  const found = `${neighbors.filter(alone).length} of ${neighbors.length} are found by ${label} only.`;
  return html`
    <section aria-label=${`Nearest by ${label}`}>
      <h3>${label}</h3>
      ${test ? score(test, most) : null}
      <p class="soft note">${NOTES[name]?.() ?? `Uses all ${noun.ratings} of both.`}</p>
      <ol>${lines}</ol>
      <p class="soft">${lines.length ? found : `It finds nobody: it needs ${noun.items} in common.`}</p>
    </section>`;
}

/** The hidden favorites that a list finds, as a bar. */
function score({ hits, n_hidden: hidden }, most) {
  const width = `${((100 * hits) / Math.max(most, hidden, 1)).toFixed(1)}%`;
  return html`
    <p class="score">
      <strong>${hits} of ${hidden}</strong> favorites found
      <span class="rule" aria-hidden="true"><span style=${{ width }}></span></span>
    </p>`;
}

function explained(answer, person) {
  const test = answer.lists[0]?.test;
  if (!test) return `With so few favorites, the lists cannot be tested on ${nameOf(person)}.`;
  return (
    `The test: the ${count(test.n_hidden, "favorite")} of ${nameOf(person)} are hidden, a fifth at a time, ` +
    `and the nearest ${noun.users} are searched again without them. A favorite is found if it is among the ` +
    `${test.n_suggested} ${noun.items} that most of the ten liked.`
  );
}
