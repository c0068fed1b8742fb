/** Map: all people or all items in the plane, near ones near, with the neighbors of one lit up. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { capital, capitalName, count, measuredText, noun } from "../lib/format.js";
import { html } from "../lib/html.js";
import { href, rename } from "../lib/routes.js";
import { scatter } from "../lib/scatter.js";
import { combobox, option } from "../parts/combobox.js";
import { itemLink, personLink } from "../parts/links.js";
import { empty, loaded, region } from "../parts/region.js";

const NEAREST = 12;
const KINDS = {
  users: {
    alike: () => `${noun.users} with similar taste`,
    near: async (id, stop) => (await api.neighbors({ id }, NEAREST, stop)).neighbors,
    find: (q, stop) => api.users(q, 10, stop),
    name: (point) => capitalName(point),
    link: (id) => personLink(id),
  },
  items: {
    alike: () => `similar ${noun.items}`,
    near: async (id, stop) => (await api.nearItems(id, NEAREST, stop)).near,
    find: (q, stop) => api.items(q, 0, 10, stop),
    name: (point) => point.name,
    link: itemLink,
  },
};

export const name = "Map";

const kindOf = (route) => (route.kind === "items" ? "items" : "users");

export const title = (route) => `Map of ${noun[kindOf(route)]}`;

export function draw(route, { signal }) {
  const chosen = kindOf(route);
  const many = noun[chosen];
  const map = loaded(
    { label: `the map of ${many}`, lines: 12, room: 40, signal },
    (stop, report) => api.map(chosen, stop, report),
    (answer) =>
      answer.points.length ? drawMap(answer, chosen, route.item, signal) : empty(`There are no ${many}.`),
  );
  const tabs = Object.keys(KINDS).map(
    (kind) => html`
      <a href=${href({ page: "map", kind })} aria-current=${kind === chosen ? "true" : null}>
        ${capital(noun[kind])}
      </a>`,
  );
  return html`
    <h1>A map of ${many}</h1>
    <div class="tabs" role="group" aria-label="What the map shows">${tabs}</div>
    <p class="lead">
      Near points are ${KINDS[chosen].alike()}. Drag to move, scroll to zoom, and choose a point to light up
      its neighbors. Such distances do not fit into a plane: trust neighborhoods, not the gaps between them.
    </p>
    ${map}`;
}

function drawMap({ groups, points }, chosen, opened, signal) {
  const kind = KINDS[chosen];
  const byId = new Map(points.map((one, k) => [one.id, k]));
  const tip = html`<div class="tip" hidden aria-hidden="true"></div>`;
  const label = `${count(points.length, "point")}; arrow keys move the map, plus and minus zoom`;
  const canvas = html`<canvas class="map" tabindex="0" role="img" aria-label=${label}></canvas>`;
  const about = region({ label: "the neighbors", lines: 6, room: 18, signal });
  const picture = scatter(canvas, points, {
    signal,
    choose: (k) => select(points[k].id),
    hover: (k) => {
      tip.hidden = k === null;
      if (k === null) return;
      const [x, y] = picture.place(k);
      tip.textContent = kind.name(points[k]);
      tip.style.setProperty("left", `${x.toFixed(0)}px`);
      tip.style.setProperty("top", `${y.toFixed(0)}px`);
      tip.classList.toggle("flipped", x > canvas.clientWidth / 2);
    },
  });

  function select(id) {
    const k = byId.get(id);
    rename(href({ page: "map", kind: chosen, item: id }));
    picture.light(k ?? null);
    about.show(
      async (stop) => (await kind.near(id, stop)).map((one) => ({ ...one, id: one.item ?? one.user })),
      (near) => {
        const others = near.map((one) => byId.get(one.id)).filter((at) => at !== undefined);
        picture.light(k ?? null, others);
        announce(`${near.length} neighbors lit up`);
        return panel(id, near, chosen, points[k]);
      },
    );
  }

  if (opened) queueMicrotask(() => select(opened));
  else about.notice(empty("Choose a point, or search for one."));
  const zoom = (sign, text, factor) => html`
    <button type="button" class="quiet" aria-label=${text} @click=${() => picture.zoomBy(factor)}>
      ${sign}
    </button>`;
  return html`
    <div class="atlas">
      <div class="sheet card">
        ${canvas}
        ${tip}
        <div class="zoom">${zoom("+", "Zoom in (+)", 1.6)}${zoom("−", "Zoom out (−)", 1 / 1.6)}</div>
      </div>
      <div class="aside">
        ${finderOf(chosen, select)}
        ${groups.length ? legend(groups) : null}
        <section class="card" aria-label="Neighbors">${about.element}</section>
      </div>
    </div>`;
}

function finderOf(chosen, choose) {
  const search = async (q, stop) => {
    const { total, items, users } = await KINDS[chosen].find(q, stop);
    return { total, options: (items ?? users).map((one) => option(one, one.id)) };
  };
  const placeholder = `Search ${noun[chosen]}`;
  return combobox({ id: "pick-point", label: "Find on the map", placeholder, search, choose });
}

/** The colors: the group that a point prefers, or is in. */
function legend(groups) {
  const line = (text, style) =>
    html`<li><span class="patch" style=${style} aria-hidden="true"></span>${text}</li>`;
  const lines = groups.map((text, k) => line(text, { "--color": `var(--group-${k})` }));
  return html`<ul class="groups" aria-label="Colors">${lines}${line("others", {})}</ul>`;
}

function panel(id, near, chosen, point) {
  const { link, name } = KINDS[chosen];
  const lines = near.map(
    (one) => html`<li>${link(one.id, one.title)}<span class="number">${measuredText(one)}</span></li>`,
  );
  return html`
    <h2>${link(id, point ? name(point) : id)}</h2>
    <p class="soft">The nearest ${noun[chosen]}, lit up on the map:</p>
    <ol class="near-items short">${lines}</ol>`;
}
