/** The columns of a plan: the items and groups of one person, each with a bar as tall as its mass. */

import { count, item as itemNoun, items, rating } from "../lib/format.js";
import { html } from "../lib/html.js";
import { BOTH, OTHERS } from "../lib/plan_layout.js";
import { itemLink } from "./links.js";

/** "Alien (1979)", "12 Horror films", "5 films rated by both". */
export function nodeTitle(node) {
  if (!node.group) return node.title;
  if (node.group === OTHERS) return count(node.n, `other ${itemNoun()}`);
  if (node.group === BOTH) return `${count(node.n, itemNoun())} rated by both`;
  if (node.group.startsWith("like ")) return `${count(node.n, itemNoun())} ${node.group}`;
  return `${node.group}, ${count(node.n, itemNoun())}`;
}

/**
 * @param {object[]} nodes of the layout, which get their elements
 * @param {string} name "left" or "right"
 * @param {(group: string) => void} [expand] opens a group
 */
export function column(nodes, name, expand) {
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
        ${node.rating === null ? null : html`<span class="gave"> ${rating(node.rating)}</span>`}
      </span>
      <span class="bar" aria-hidden="true"></span>
    </div>`;
}

function label(node, text, expand) {
  if (!node.group) return itemLink(node.id, text);
  if (!expand) return text;
  return html`
    <button type="button" class="expand" aria-label=${`${text}: show the ${items()}`}
      @click=${() => expand(node.group)}>${text}</button>`;
}

const both = () => html`
  <span class="both" aria-hidden="true">◆ </span><span class="unseen">rated by both: </span>`;
