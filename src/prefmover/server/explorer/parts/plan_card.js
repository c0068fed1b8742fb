/** The transport plan of two people in a card: ribbons, what they are grouped by, and a table. */

import { h } from "../lib/elements.js";
import { items } from "../lib/format.js";
import { farthest, kindsOf, ratedItems } from "../lib/plan_layout.js";
import { planTable } from "./plan_table.js";
import { legend, ribbons } from "./ribbons.js";

const FEW = 14;
const STEP = 20; // items of a group that a click shows
const KINDS = {
  genre: () => "By genre",
  decade: () => "By decade",
  cluster: () => `By similar ${items()}`,
  none: () => "Largest one by one",
};

/** The transport plan of PMD. Many items are shown in groups, which a click opens. */
export function planCard(explanation, people) {
  const { flows } = explanation;
  const most = Math.max(...["source", "target"].map((end) => ratedItems(flows, end).length));
  const kinds = most > FEW ? kindsOf(explanation) : [];
  const holder = h("div", {});
  const state = { by: kinds[0] ?? null, open: new Map() };
  const closing = h("button", { type: "button", class: "quiet small" }, "Close the groups");
  const offered = [...kinds, null];
  const choices = offered.map((kind) => {
    const pick = () => redraw({ by: kind, open: new Map() });
    return h("button", { type: "button", class: "choice", on: { click: pick } }, KINDS[kind ?? "none"]());
  });
  closing.addEventListener("click", () => redraw({ open: new Map() }));

  function redraw(change = {}) {
    Object.assign(state, change);
    for (const [k, kind] of offered.entries())
      choices[k].setAttribute("aria-pressed", String(state.by === kind));
    closing.hidden = state.open.size === 0;
    const expand = (group) => redraw({ open: state.open.set(group, (state.open.get(group) ?? 0) + STEP) });
    holder.replaceChildren(
      ribbons(explanation, people, { most: FEW, ...state, expand: state.by ? expand : null }),
    );
  }

  redraw();
  return card(
    "The cheapest plan",
    legend(farthest(flows)),
    `The wider a ribbon, the more preference moves; the stronger its color, the closer the ${items()}. ` +
      (kinds.length ? "Click a group to see what is in it." : ""),
    kinds.length
      ? h(
          "div",
          { class: "line" },
          h("div", { class: "choices", role: "group", "aria-label": "Group by" }, choices),
          closing,
        )
      : null,
    holder,
    planTable(explanation, people),
  );
}

/** A card about a pair, with a heading. */
export function card(heading, aside, lead, ...content) {
  return h(
    "section",
    { class: "card", "aria-labelledby": "plan" },
    h("div", { class: "line" }, h("h2", { id: "plan" }, heading), aside),
    h("p", { class: "soft" }, lead),
    ...content,
  );
}
