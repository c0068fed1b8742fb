/** The transport plan of two people in a card: ribbons, what they are grouped by, and a table. */

import { noun } from "../lib/format.js";
import { html } from "../lib/html.js";
import { farthest, kindsOf, ratedItems } from "../lib/plan_layout.js";
import { choices } from "./choices.js";
import { planTable } from "./plan_table.js";
import { legend, ribbons } from "./ribbons.js";

const FEW = 14;
const STEP = 20; // items of a group that a click shows
const KINDS = {
  genre: () => "By genre",
  decade: () => "By decade",
  cluster: () => `By similar ${noun.items}`,
  none: () => "Largest one by one",
};

/** The transport plan of PMD. Many items are shown in groups, which a click opens. */
export function planCard(explanation, people) {
  const { flows } = explanation;
  const most = Math.max(...["source", "target"].map((end) => ratedItems(flows, end).length));
  const kinds = most > FEW ? kindsOf(explanation) : [];
  const holder = html`<div></div>`;
  const state = { by: kinds[0] ?? null, open: new Map() };
  const closing = html`
    <button type="button" class="quiet small" @click=${() => redraw({ open: new Map() })}>
      Close the groups
    </button>`;
  const offered = Object.fromEntries([...kinds, null].map((kind) => [KINDS[kind ?? "none"](), kind]));
  const grouping = choices("Group by", offered, (by) => redraw({ by, open: new Map() }));

  function redraw(change = {}) {
    Object.assign(state, change);
    grouping.press(state.by);
    closing.hidden = state.open.size === 0;
    const expand = (group) => redraw({ open: state.open.set(group, (state.open.get(group) ?? 0) + STEP) });
    holder.replaceChildren(
      ribbons(explanation, people, { most: FEW, ...state, expand: state.by ? expand : undefined }),
    );
  }

  redraw();
  return card(
    "The cheapest plan",
    legend(farthest(flows)),
    `The wider a ribbon, the more preference moves; the stronger its color, the closer the ${noun.items}. ` +
      (kinds.length ? "Click a group to see what is in it." : ""),
    kinds.length ? html`<div class="line">${grouping.element}${closing}</div>` : null,
    holder,
    planTable(explanation, people),
  );
}

/** A card about a pair, with a heading. */
export const card = (heading, aside, lead, ...content) => html`
  <section class="card" aria-labelledby="plan">
    <div class="line"><h2 id="plan">${heading}</h2>${aside}</div>
    <p class="soft">${lead}</p>
    ${content}
  </section>`;
