/** Recommended: what somebody has not rated and would like, and who says so. */

import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { announce } from "../lib/live.js";
import { href } from "../lib/routes.js";
import { item as itemNoun, items as itemsNoun, nameOf, user as userNoun } from "../lib/words.js";
import { onePicker } from "../parts/pickers.js";
import { partsOf } from "../parts/prediction.js";
import { heard, recommended } from "../parts/reasons.js";
import { empty, region } from "../parts/region.js";

const FEW = 10;

export const name = "Recommended";

export function title(route) {
  return route.person ? `Recommended to ${nameOf(route.person)}` : `Recommended ${itemsNoun()}`;
}

export function draw(route, { model, signal }) {
  const picker = onePicker(route, `For which ${userNoun()}?`);
  if (!route.person) {
    return [
      h("h1", {}, "What to recommend?"),
      picker,
      empty(
        `Choose a ${userNoun()}, or `,
        h("a", { href: href({ page: "try" }) }, "rate a few yourself"),
        ".",
      ),
    ];
  }
  const who = nameOf(route.person);
  const list = region({ label: "recommendations", lines: 12, room: 44, signal });
  list.show(
    (stop) => api.recommendations(route.person, FEW, stop),
    (answer) => {
      announce(heard(answer));
      return recommended(answer, {
        scale: model.scale,
        opened: route.item,
        open: (item, into) => openParts(item, into),
        // The address follows what is open, without a page of its own in the history.
        toggle: (item) => history.replaceState(null, "", href({ ...route, item: item ?? undefined })),
      });
    },
  );
  const openParts = (item, into) => {
    const parts = region({ label: "the parts", lines: 8, room: 26, signal });
    into.append(parts.element);
    parts.show(
      (stop) => api.recommendation(route.person, item, stop),
      (answer) => partsOf(answer, route.person),
    );
  };
  return [
    h("h1", {}, `Recommended to ${who}`),
    picker,
    h(
      "p",
      { class: "lead" },
      `Predicted ratings of what ${who} ${who === "you" ? "have" : "has"} not rated. `,
      "Every prediction is a sum, and every neighbor’s part in it can be seen, ",
      `down to which ${itemNoun()} they speak through.`,
    ),
    h(
      "section",
      { class: "card", "aria-label": "Recommendations" },
      h("h2", { class: "unseen" }, "Recommendations"),
      list.element,
    ),
  ];
}
