/** Map: all people or all items in the plane, near ones near, with the neighbors of one lit up. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { capital, capitalName, count, decimal, items, measured, users } from "../lib/format.js";
import { href, rename } from "../lib/routes.js";
import { scatter } from "../lib/scatter.js";
import { combobox } from "../parts/combobox.js";
import { itemLink, personLink } from "../parts/links.js";
import { empty, region } from "../parts/region.js";

const NEAREST = 12;

export const name = "Map";

export function title(route) {
  return `Map of ${route.kind === "items" ? items() : users()}`;
}

export function draw(route, { signal }) {
  const kind = route.kind === "items" ? "items" : "users";
  const noun = kind === "items" ? items() : users();
  const holder = region({ label: `the map of ${noun}`, lines: 12, room: 40, signal });
  holder.show(
    (stop, report) => api.map(kind, stop, report),
    (answer) =>
      answer.points.length ? drawMap(answer, kind, route, signal) : empty(`There are no ${noun}.`),
  );
  const tab = (other, text) =>
    h(
      "a",
      { href: href({ page: "map", kind: other }), "aria-current": other === kind ? "true" : null },
      text,
    );
  return [
    h("h1", {}, `A map of ${noun}`),
    h(
      "div",
      { class: "tabs", role: "group", "aria-label": "What the map shows" },
      tab("users", capital(users())),
      tab("items", capital(items())),
    ),
    h(
      "p",
      { class: "lead" },
      kind === "users" ? `Near points are ${noun} with similar taste. ` : `Near points are similar ${noun}. `,
      "Drag to move, scroll to zoom, and choose a point to light up its neighbors. ",
      "Such distances do not fit into a plane: trust neighborhoods, not the gaps between them.",
    ),
    holder.element,
  ];
}

function drawMap({ groups, points }, kind, route, signal) {
  const byId = new Map(points.map((one, k) => [one.id, k]));
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const canvas = h("canvas", {
    class: "map",
    tabindex: "0",
    role: "img",
    "aria-label": `${count(points.length, "point")}; arrow keys move the map, plus and minus zoom`,
  });
  const about = region({ label: "the neighbors", lines: 6, room: 18, signal });
  const picture = scatter(canvas, points, {
    signal,
    choose: (k) => select(points[k].id),
    hover: (k) => {
      tip.hidden = k === null;
      if (k === null) return;
      const [x, y] = picture.place(k);
      tip.textContent = shown(points[k], kind);
      tip.style.setProperty("left", `${x.toFixed(0)}px`);
      tip.style.setProperty("top", `${y.toFixed(0)}px`);
      tip.classList.toggle("flipped", x > canvas.clientWidth / 2);
    },
  });

  function select(id) {
    const k = byId.get(id);
    rename(href({ page: "map", kind, item: id }));
    picture.light(k ?? null);
    about.show(
      async (stop) =>
        kind === "items"
          ? (await api.nearItems(id, NEAREST, stop)).near.map((one) => ({ ...one, id: one.item }))
          : (await api.neighbors({ id }, NEAREST, stop)).neighbors.map((one) => ({ ...one, id: one.user })),
      (near) => {
        const others = near.map((one) => byId.get(one.id)).filter((at) => at !== undefined);
        picture.light(k ?? null, others);
        announce(`${near.length} neighbors lit up`);
        return panel(id, near, kind, points[k]);
      },
    );
  }

  if (route.item) queueMicrotask(() => select(route.item));
  else about.notice(empty("Choose a point, or search for one."));
  const button = (text, label, click) =>
    h("button", { type: "button", class: "quiet", "aria-label": label, on: { click } }, text);
  return h(
    "div",
    { class: "atlas" },
    h(
      "div",
      { class: "sheet card" },
      canvas,
      tip,
      h(
        "div",
        { class: "zoom" },
        button("+", "Zoom in (+)", () => picture.zoomBy(1.6)),
        button("−", "Zoom out (−)", () => picture.zoomBy(1 / 1.6)),
      ),
    ),
    h(
      "div",
      { class: "aside" },
      finderOf(kind, select),
      legend(groups),
      h("section", { class: "card", "aria-label": "Neighbors" }, about.element),
    ),
  );
}

const shown = (point, kind) => (kind === "items" ? point.name : capitalName({ id: point.id }));

function finderOf(kind, select) {
  return combobox({
    id: "pick-point",
    label: `Find on the map`,
    placeholder: `Search ${kind === "items" ? items() : users()}`,
    search: async (q, stop) => {
      const answer = kind === "items" ? await api.items(q, 0, 10, stop) : await api.users(q, 10, stop);
      const options = (answer.items ?? answer.users).map((one) => ({
        label: one.title ?? capitalName(one),
        note: count(one.n_ratings, "rating"),
        value: one.id,
      }));
      return { total: answer.total, options };
    },
    choose: select,
  }).element;
}

/** The colors: the group that a point prefers, or is in. */
function legend(groups) {
  if (!groups.length) return null;
  return h(
    "ul",
    { class: "groups", "aria-label": "Colors" },
    groups.map((text, k) =>
      h("li", {}, h("span", { class: `patch group-${k}`, "aria-hidden": "true" }), text),
    ),
    h("li", {}, h("span", { class: "patch", "aria-hidden": "true" }), "others"),
  );
}

function panel(id, near, kind, point) {
  const link = (one, text) =>
    kind === "items" ? itemLink(one, text) : personLink({ id: one }, { capital: true });
  return [
    h("h2", {}, link(id, point ? shown(point, kind) : id)),
    h("p", { class: "soft" }, `The nearest ${kind === "items" ? items() : users()}, lit up on the map:`),
    h(
      "ol",
      { class: "near-items short" },
      near.map((one) =>
        h("li", {}, link(one.id, one.title), h("span", { class: "number" }, decimal(measured(one)))),
      ),
    ),
  ];
}
