/**
 * The transport plan between two people as ribbons: the width is the mass, the color the distance. Pointing
 * at a ribbon, or moving through them with the arrow keys, shows its numbers.
 */

import { h, s } from "../lib/elements.js";
import { capitalWhose, count, decimal, items, percent, whose } from "../lib/format.js";
import { layout, ratedItems } from "../lib/plan_layout.js";
import { column, nodeTitle } from "./plan_columns.js";

const HOW = matchMedia("(hover: none)").matches
  ? "tap one to see its numbers"
  : "point at one, or press Tab and then the arrow keys";
const HELP = { head: "Every ribbon is a part of the distance", body: HOW };

/**
 * @param {object} explanation of two people, with a plan
 * @param {object[]} people the two, as in the route
 * @param {object} [options] those of the layout, and:
 * @param {boolean} [options.compact] without names and sum
 * @param {(group: string) => void} [options.expand] is called with a group that is to be opened
 * @returns {HTMLElement}
 */
export function ribbons(explanation, people, { compact = false, expand, ...options } = {}) {
  const plan = layout(explanation, options);
  const title = (id, side) => nodeTitle(plan[side].find((node) => node.id === id));
  const texts = plan.ribbons.map((ribbon) =>
    sentences(ribbon, title(ribbon.from, "left"), title(ribbon.to, "right")),
  );
  const paths = plan.ribbons.map((ribbon, k) =>
    s("path", {
      class: `ribbon ${ribbon.band}`,
      d: ribbon.path,
      role: "img",
      tabindex: k === 0 ? "0" : "-1",
      "aria-label": `${texts[k].head}: ${texts[k].body}`,
    }),
  );
  const picture = s(
    "svg",
    {
      viewBox: `0 0 100 ${plan.height.toFixed(1)}`,
      preserveAspectRatio: "none", // the columns share the width; only the ribbons stretch
      role: "group",
      "aria-label": `The plan: ${count(paths.length, "ribbon")}. Arrow keys move through them.`,
    },
    paths,
  );
  const detail = h("div", { class: "detail", "aria-hidden": "true" });
  const slices = plan.ribbons.map((ribbon) =>
    h("span", { class: `slice ${ribbon.band}`, style: { "flex-grow": ribbon.share.toFixed(6) } }),
  );
  const element = h(
    "figure",
    { class: `plan${compact ? " compact" : ""}` },
    detail,
    compact
      ? null
      : h(
          "div",
          { class: "sides" },
          side(explanation, people[0], "source"),
          side(explanation, people[1], "target"),
        ),
    h(
      "div",
      { class: "columns", style: { height: `${plan.height.toFixed(1)}px` } },
      column(plan.left, "left", expand),
      picture,
      column(plan.right, "right", expand),
    ),
    compact ? null : sum(explanation, plan, slices),
  );

  /** Emphasize some ribbons, and show a text about them. */
  function highlight(chosen, text, band = "") {
    picture.classList.toggle("chosen", chosen.length > 0);
    plan.ribbons.forEach((ribbon, k) => {
      paths[k].classList.toggle("active", chosen.includes(ribbon));
      slices[k].classList.toggle("active", chosen.includes(ribbon));
    });
    const mark = (nodes, end) => {
      const ids = new Set(chosen.map((ribbon) => ribbon[end]));
      for (const node of nodes) node.element.classList.toggle("active", ids.has(node.id));
    };
    mark(plan.left, "from");
    mark(plan.right, "to");
    detail.replaceChildren(h("strong", {}, text.head), h("span", {}, text.body));
    detail.className = `detail ${chosen.length ? "chosen" : ""} ${band}`;
  }

  const show = (k) => highlight([plan.ribbons[k]], texts[k], plan.ribbons[k].band);
  const rest = () => {
    const k = paths.indexOf(document.activeElement);
    if (k >= 0) show(k);
    else highlight([], HELP);
  };
  const showNode = (node, end, person) => {
    const mine = plan.ribbons.filter((ribbon) => ribbon[end] === node.id);
    const body = `${percent(node.mass)} of ${whose(person)} preference, in ${count(mine.length, "part")}`;
    highlight(mine, { head: nodeTitle(node), body });
  };

  // One stop for Tab; the arrow keys move between ribbons.
  function walk(k) {
    for (const [at, path] of paths.entries()) path.setAttribute("tabindex", at === k ? "0" : "-1");
    paths[k].focus({ preventScroll: true });
  }

  paths.forEach((path, k) => {
    path.addEventListener("pointerenter", () => show(k));
    path.addEventListener("click", () => walk(k));
    path.addEventListener("focus", () => show(k));
    path.addEventListener("blur", rest);
    slices[k].addEventListener("pointerenter", () => show(k));
  });
  for (const node of plan.left)
    node.element.addEventListener("pointerenter", () => showNode(node, "from", people[0]));
  for (const node of plan.right)
    node.element.addEventListener("pointerenter", () => showNode(node, "to", people[1]));
  element.addEventListener("pointerleave", rest);
  picture.addEventListener("keydown", (event) => {
    const n = paths.length;
    const k = Math.max(paths.indexOf(document.activeElement), 0);
    const to = { ArrowDown: k + 1, ArrowRight: k + 1, ArrowUp: k - 1, ArrowLeft: k - 1, Home: 0, End: n - 1 }[
      event.key
    ];
    if (event.key === "Escape") document.activeElement.blur();
    if (to === undefined) return;
    event.preventDefault();
    walk((to + n) % n);
  });
  highlight([], HELP);
  return element;
}

function sentences(ribbon, from, to) {
  const several = ribbon.flows.length > 1 ? `, ${ribbon.flows.length} flows together` : "";
  const mass = `${percent(ribbon.mass)} of the preference`;
  if (ribbon.stays) {
    return {
      head: `${from} stays`,
      body: `${mass} is on ${items()} that both rated and costs nothing${several}`,
    };
  }
  const cost = `${mass} × distance ${decimal(ribbon.distance)} = ${decimal(ribbon.value)}`;
  return { head: `${from} → ${to}`, body: `${cost}, ${percent(ribbon.share)} of the distance${several}` };
}

function side(explanation, person, end) {
  const n = ratedItems(explanation.flows, end).length;
  return h("p", {}, h("strong", {}, capitalWhose(person)), ` ${count(n, "rating")}`);
}

/** The costs of all ribbons in one bar, and their sum next to the distance. */
function sum(explanation, plan, slices) {
  const parts = plan.ribbons.filter((ribbon) => ribbon.value > 0);
  const total = parts.reduce((all, ribbon) => all + ribbon.value, 0);
  return h(
    "div",
    { class: "sum" },
    h(
      "div",
      {
        class: "slices",
        role: "img",
        "aria-label": `The costs of the ribbons, the largest first; together ${decimal(total)}`,
      },
      slices,
    ),
    h(
      "p",
      {},
      `${count(parts.length, "part")} of the distance add up to `,
      h("output", { class: "total" }, total.toFixed(6)),
      " = the distance ",
      h("span", { class: "whole" }, explanation.distance.toFixed(6)),
      ".",
    ),
  );
}

/** The meaning of the colors. */
export function legend(top) {
  const swatches = Array.from({ length: 7 }, (_, k) => h("span", { class: `swatch band-${k}` }));
  return h(
    "div",
    { class: "legend" },
    h(
      "span",
      {
        class: "scale",
        role: "img",
        "aria-label": `Colors from strong, near, 0, to weak, far, ${decimal(top)}`,
      },
      h("span", {}, "near 0"),
      swatches,
      h("span", {}, `${top.toFixed(2)} far`),
    ),
    h("span", {}, h("span", { class: "swatch stays", "aria-hidden": "true" }), " stays"),
    h("span", {}, h("span", { class: "both", "aria-hidden": "true" }, "◆"), " rated by both"),
  );
}
