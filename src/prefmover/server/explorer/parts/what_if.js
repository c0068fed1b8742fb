/** What if a rating were not there: the list without it, what is new there, and the way back. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { listed, nameOf, noun } from "../lib/format.js";
import { html } from "../lib/html.js";
import { region } from "./region.js";

/**
 * The ratings that are taken out, one after the other.
 *
 * @param {object} person
 * @param {() => void} changed is called when one is taken out, or put back
 */
export function whatIf(person, changed) {
  let out = []; // {item, label}

  const set = (now) => {
    out = now;
    changed();
  };

  /** Take some more out. */
  const without = (some) => set([...out, ...some.filter((one) => !ids().includes(one.item))]);
  const ids = () => out.map((one) => one.item);

  /** What is different from the list with all ratings; nothing if none is taken out. */
  function notice(list, whole) {
    if (!out.length) return null;
    const before = new Set(whole.map((one) => one.item));
    const fresh = list.filter((one) => !before.has(one.item)).length;
    const gone = whole.filter((one) => !list.some((other) => other.item === one.item));
    const changes = fresh
      ? `${fresh} of ${list.length} ${fresh === 1 ? "is" : "are"} new`
      : `the same ${noun.items}`;
    const titles = listed(out.map((one) => one.label));
    announce(`Without ${titles}: ${changes}`);
    return html`
      <div class="notice what-if">
        <p>
          <strong>Without ${titles}</strong> ${nameOf(person)} would get this list: ${changes}.
          ${gone.length ? `Gone: ${listed(gone.map((one) => one.title))}.` : null}
        </p>
        <div class="acts">
          <button type="button" class="quiet small" @click=${() => set(out.slice(0, -1))}>Undo</button>
          ${out.length > 1 ? undoAll() : null}
        </div>
      </div>`;
  }

  const undoAll = () => html`
    <button type="button" class="quiet small" @click=${() => set([])}>Undo all</button>`;

  /** A button that finds the fewest ratings without which an item leaves the list, and can show that list. */
  function fewest(item, n, signal) {
    const label = `the ${noun.ratings} that it depends on`;
    const found = region({ label, lines: 2, room: 3, signal });
    const search = () =>
      found.show(
        (stop) => api.counterfactual(person, item, ids(), n, stop),
        (answer) => [html`<p>${sentence(answer)}</p>`, answer.without.length ? show(answer.without) : null],
      );
    const show = (some) => html`
      <p><button type="button" class="quiet small" @click=${() => without(some)}>Show that list</button></p>`;
    found.notice(html`
      <button type="button" class="quiet small" @click=${search}>What does it depend on?</button>`);
    return found.element;
  }

  return { ids, without, notice, fewest };
}

/** "Without A and B, C would not be among the first 10; D would be there instead." */
function sentence({ label, without, n, instead_label: instead, smallest }) {
  if (!without.length)
    return `${label} stays among the first ${n}, whatever few ${noun.ratings} are taken out.`;
  const names = listed(without.map((one) => one.label));
  const sure = smallest ? "" : " (fewer might do)";
  const other = instead ? `; ${instead} would be there instead` : "";
  return `Without ${names}${sure}, ${label} would not be among the first ${n}${other}.`;
}
