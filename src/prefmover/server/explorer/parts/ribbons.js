/**
 * The transport plan between two people as ribbons: the width is the mass, the color the distance. Pointing
 * at a ribbon, or moving through them with the arrow keys, shows its numbers.
 */

import { capitalWhose, count, decimal, isGiven, noun, percent, times, whose } from "../lib/format.js";
import { html } from "../lib/html.js";
import { BOTH, layout, OTHERS, ratedItems } from "../lib/plan_layout.js";
import { itemLink } from "./links.js";

const HOW = matchMedia("(hover: none)").matches
  ? "tap one to see its numbers"
  : "point at one, or press Tab and then the arrow keys";
const HELP = { head: "Every ribbon is a part of the distance", body: HOW };

/**
 * @param {object} explanation
 * @param {object[]} people
 * @param {object} [options] those of the layout, and:
 * @param {number} [options.most]
 * @param {boolean} [options.compact] without names and sum
 * @param {(group: string) => void} [options.expand] is called with a group that is to be opened
 */
export function ribbons(explanation, people, { compact = false, expand, ...options } = {}) {
  const plan = layout(explanation, options);
  const height = plan.height.toFixed(1);
  const title = (id, side) => nodeTitle(plan[side].find((node) => node.id === id));
  const texts = plan.ribbons.map((ribbon) =>
    sentences(ribbon, title(ribbon.from, "left"), title(ribbon.to, "right")),
  );
  const show = (k) => highlight([plan.ribbons[k]], texts[k], plan.ribbons[k].band);
  const paths = plan.ribbons.map(
    ({ band, path }, k) =>
      html`
      <svg>
        <path class=${`ribbon ${band}`} d=${path} role="img" tabindex=${k === 0 ? "0" : "-1"}
          aria-label=${`${texts[k].head}: ${texts[k].body}`} @pointerenter=${() => show(k)}
          @click=${() => walk(k)} @focus=${() => show(k)} @blur=${rest} />
      </svg>`.firstChild, // made inside of a picture, where it is a shape
  );
  const slices = plan.ribbons.map(
    ({ band, share }, k) => html`
      <span class=${`slice ${band}`} style=${{ "flex-grow": share.toFixed(6) }}
        @pointerenter=${() => show(k)}></span>`,
  );
  const label = `The plan: ${count(paths.length, "ribbon")}. Arrow keys move through them.`;
  // The columns share the width; only the ribbons stretch.
  const picture = html`
    <svg viewBox=${`0 0 100 ${height}`} preserveAspectRatio="none" role="group" aria-label=${label}
      @keydown=${pressed}>${paths}</svg>`;
  const detail = html`<div class="detail" aria-hidden="true"></div>`;
  const rated = (end) => count(ratedItems(explanation.flows, end).length, noun.rating);
  const side = (person, end) => html`<p><strong>${capitalWhose(person)}</strong> ${rated(end)}</p>`;
  const sides = () => html`<div class="sides">${side(people[0], "source")}${side(people[1], "target")}</div>`;

  /** Emphasize some ribbons, and show a text about them. */
  function highlight(chosen, text, band = "") {
    picture.classList.toggle("chosen", chosen.length > 0);
    plan.ribbons.forEach((ribbon, k) => {
      for (const one of [paths[k], slices[k]]) one.classList.toggle("active", chosen.includes(ribbon));
    });
    const mark = (nodes, end) => {
      const ids = new Set(chosen.map((ribbon) => ribbon[end]));
      for (const node of nodes) node.element.classList.toggle("active", ids.has(node.id));
    };
    mark(plan.left, "from");
    mark(plan.right, "to");
    detail.replaceChildren(html`<strong>${text.head}</strong><span>${text.body}</span>`);
    detail.className = `detail ${chosen.length ? "chosen" : ""} ${band}`;
  }

  function rest() {
    const k = paths.indexOf(document.activeElement);
    if (k >= 0) show(k);
    else highlight([], HELP);
  }

  function showNode(node, end, person) {
    const mine = plan.ribbons.filter((ribbon) => ribbon[end] === node.id);
    const body = `${percent(node.mass)} of ${whose(person)} preference, in ${count(mine.length, "part")}`;
    highlight(mine, { head: nodeTitle(node), body });
  }

  // One stop for Tab; the arrow keys move between ribbons.
  function walk(k) {
    for (const [at, path] of paths.entries()) path.setAttribute("tabindex", at === k ? "0" : "-1");
    paths[k].focus({ preventScroll: true });
  }

  function pressed(event) {
    const n = paths.length;
    const k = Math.max(paths.indexOf(event.target), 0);
    const [next, before] = [k + 1, k - 1];
    const arrows = { ArrowDown: next, ArrowRight: next, ArrowUp: before, ArrowLeft: before };
    const to = { ...arrows, Home: 0, End: n - 1 }[event.key];
    if (event.key === "Escape") event.target.blur();
    if (to === undefined) return;
    event.preventDefault();
    walk((to + n) % n);
  }

  const element = html`
    <figure class=${compact ? "plan compact" : "plan"} @pointerleave=${rest}>
      ${detail}
      ${compact ? null : sides()}
      <div class="columns" style=${{ height: `${height}px` }}>
        ${column(plan.left, "left", expand)}
        ${picture}
        ${column(plan.right, "right", expand)}
      </div>
      ${compact ? null : sum(explanation, plan, slices)}
    </figure>`;
  for (const [nodes, end, person] of [
    [plan.left, "from", people[0]],
    [plan.right, "to", people[1]],
  ])
    for (const node of nodes)
      node.element.addEventListener("pointerenter", () => showNode(node, end, person));
  highlight([], HELP);
  return element;
}

/** "Alien (1979)", "12 Horror films", "5 films in common". */
function nodeTitle(node) {
  if (!node.group) return node.title;
  if (node.group === OTHERS) return count(node.n, `other ${noun.item}`);
  if (node.group === BOTH) return `${count(node.n, noun.item)} in common`;
  if (node.group.startsWith("like ")) return `${count(node.n, noun.item)} ${node.group}`;
  return `${node.group}, ${count(node.n, noun.item)}`;
}

/** The items and groups of one person, each with a bar as tall as its mass; the nodes get their elements. */
function column(nodes, name, expand) {
  for (const node of nodes) node.element = nodeElement(node, expand);
  return html`<div class=${`column ${name}`}>${nodes.map((node) => node.element)}</div>`;
}

function nodeElement(node, expand) {
  const text = nodeTitle(node);
  const style = {
    top: `${node.y.toFixed(1)}px`,
    height: `${node.height.toFixed(1)}px`,
    "--bar": `${node.bar.toFixed(1)}px`,
    "--lines": Math.max(1, Math.floor(node.height / 18)),
  };
  const classes = `node${node.common ? " common" : ""}${node.group ? " group" : ""}`;
  return html`
    <div class=${classes} title=${text} style=${style}>
      <span class="words">
        <span class="name">${node.common ? both() : null}${label(node, text, expand)}</span>
        ${node.rating === null ? null : html`<span class="gave"> ${brief(node.rating)}</span>`}
      </span>
      <span class="bar" aria-hidden="true"></span>
    </div>`;
}

function label(node, text, expand) {
  if (!node.group) return itemLink(node.id, text);
  if (!expand) return text;
  return html`
    <button type="button" class="expand" aria-label=${`${text}: show the ${noun.items}`}
      @click=${() => expand(node.group)}>${text}</button>`;
}

/** What was given, without "times". */
const brief = (x) => (isGiven("choices") ? "" : times(x));

const both = () => html`
  <span class="both" aria-hidden="true">◆ </span><span class="unseen">in common: </span>`;

function sentences(ribbon, from, to) {
  const several = ribbon.flows.length > 1 ? `, ${ribbon.flows.length} flows together` : "";
  const mass = `${percent(ribbon.mass)} of the preference`;
  if (ribbon.stays) {
    const body = `${mass} is on ${noun.items} in common and costs nothing${several}`;
    return { head: `${from} stays`, body };
  }
  const cost = `${mass} × distance ${decimal(ribbon.distance)} = ${decimal(ribbon.value)}`;
  return { head: `${from} → ${to}`, body: `${cost}, ${percent(ribbon.share)} of the distance${several}` };
}

/** The costs of all ribbons in one bar, and their sum next to the distance. */
function sum(explanation, plan, slices) {
  const parts = plan.ribbons.filter((ribbon) => ribbon.value > 0);
  const total = parts.reduce((all, ribbon) => all + ribbon.value, 0);
  const label = `The costs of the ribbons, the largest first; together ${decimal(total)}`;
  const [n, added, whole] = [count(parts.length, "part"), total.toFixed(6), explanation.distance.toFixed(6)];
  return html`
    <div class="sum">
      <div class="slices" role="img" aria-label=${label}>${slices}</div>
      <p>
        ${n} of the distance add up to <output class="total">${added}</output> = the
        distance <span class="whole">${whole}</span>.
      </p>
    </div>`;
}

/** The meaning of the colors. */
export function legend(top) {
  const swatches = Array.from({ length: 7 }, (_, k) => html`<span class=${`swatch band-${k}`}></span>`);
  const label = `Colors from strong, near, 0, to weak, far, ${decimal(top)}`;
  return html`
    <div class="legend">
      <span class="scale" role="img" aria-label=${label}>
        <span>near 0</span>
        ${swatches}
        <span>${top.toFixed(2)} far</span>
      </span>
      <span><span class="swatch stays" aria-hidden="true"></span> stays</span>
      <span><span class="both" aria-hidden="true">◆</span> in common</span>
    </div>`;
}
