/**
 * The layout of a transport plan: numbers in, numbers out; nothing is drawn here.
 *
 * Each side is a column of items, as tall as their mass. Each flow is a ribbon between slices of two items.
 * Many items are shown as a few groups, with their flows: masses and values are summed, so that the ribbons
 * always add up to the whole distance. What both people have is a group of its own.
 */

export const BOTH = "in common";
export const OTHERS = "others";
const GROUP = "\u0000"; // begins the id of a group, and of no item
const SLOT = 26; // px that a label needs
const BANDS = 7;
const SWEEPS = 6;

/** Whether an explanation has a plan to draw: the flows of other measures than PMD have no mass. */
export const hasPlan = (explanation) => explanation.flows.some((flow) => flow.mass !== null);

/** The end of the color scale: a right angle, unless the distances are on another scale. */
export function farthest(flows) {
  const most = Math.max(0, ...flows.map((flow) => flow.distance));
  return most > Math.PI / 2 || most < 0.15 ? most || 1 : Math.PI / 2;
}

/**
 * The class of a distance's color. The bands are equal steps of 1 - cos, the missing similarity, as in
 * UserExplanation.plot: most items are rather far apart, and the eye should still see a difference there.
 */
export function bandOf(distance, top) {
  const missing = 1 - Math.cos((Math.PI / 2) * Math.min(distance / top, 1));
  return `band-${Math.min(BANDS - 1, Math.floor(missing * BANDS))}`;
}

/**
 * @param {object} explanation of two users, with a plan
 * @param {object} [options]
 * @param {number} [options.most] items per side before small ones are grouped
 * @param {string|null} [options.by] the kind of groups: "genre", "decade", "cluster", or null for small ones
 * @param {Map<string, number>} [options.open] how many items of a group are shown one by one
 */
export function layout(explanation, { most = 14, by = null, open = new Map() } = {}) {
  const { flows } = explanation;
  const top = farthest(flows);
  const rated = [ratedItems(flows, "source"), ratedItems(flows, "target")];
  const [mine, theirs] = rated.map((items) => new Set(items.map((one) => one.id)));
  const inBoth = (id) => mine.has(id) && theirs.has(id);
  const kinds = new Map((explanation.items ?? []).map((one) => [one.item, one.groups]));
  const groupOf = (id) => (inBoth(id) ? BOTH : by ? (kinds.get(id)?.[by] ?? OTHERS) : OTHERS);
  const sides = rated.map((items) => (by ? byGroup(items, groupOf, open) : small(items, groupOf, most)));
  const ribbons = joined(flows, sides);
  const [left, right] = untangled(
    sides.map((side) => side.nodes),
    ribbons,
  );
  const px = Math.min(Math.max(34 * Math.max(left.length, right.length), 300), 640);
  const height = Math.max(stacked(left, px), stacked(right, px));
  for (const nodes of [left, right]) spread(nodes, height);
  for (const node of [...left, ...right]) node.common = node.group ? node.group === BOTH : inBoth(node.id);
  slice(ribbons, left, right, px);
  for (const ribbon of ribbons) ribbon.band = ribbon.stays ? "stays" : bandOf(ribbon.distance, top);
  ribbons.sort((a, b) => b.value - a.value || b.mass - a.mass);
  return { height, left, right, ribbons, top, px };
}

/** The items of one side of a plan, with their masses. */
export function ratedItems(flows, end) {
  const items = new Map();
  for (const flow of flows) {
    const id = flow[end];
    const known = items.get(id);
    if (known) known.mass += flow.mass;
    else items.set(id, { id, title: flow[`${end}_label`], rating: flow[`${end}_rating`], mass: flow.mass });
  }
  return [...items.values()];
}

/** The kinds of groups that an explanation has. */
export const kindsOf = (explanation) => Object.keys(explanation.items?.[0]?.groups ?? {});

const byMass = (items) => [...items].sort((a, b) => b.mass - a.mass);

/** The items with most mass one by one, the others in groups. */
function small(items, groupOf, most) {
  const sorted = byMass(items);
  if (sorted.length <= most) return columnOf(sorted, new Map());
  const rest = Map.groupBy(sorted.slice(most - 2), (one) => groupOf(one.id));
  return columnOf(sorted.slice(0, most - 2), rest);
}

/** All items in groups; of an open group, some one by one. */
function byGroup(items, groupOf, open) {
  const groups = Map.groupBy(byMass(items), (one) => groupOf(one.id));
  const single = [];
  const rest = new Map();
  for (const [group, members] of groups) {
    const shown = members.length === 1 ? 1 : Math.min(open.get(group) ?? 0, members.length);
    single.push(...members.slice(0, shown));
    if (members.length > shown) rest.set(group, members.slice(shown));
  }
  return columnOf(single, rest);
}

/** The nodes of a column, and the node of each item. */
function columnOf(single, rest) {
  const nodes = single.map((one) => ({ ...one, n: 1, group: null }));
  const nodeOf = new Map(single.map((one) => [one.id, one.id]));
  for (const [group, members] of rest) {
    const id = GROUP + group;
    const mass = members.reduce((sum, one) => sum + one.mass, 0);
    nodes.push({ id, title: null, rating: null, mass, n: members.length, group });
    for (const one of members) nodeOf.set(one.id, id);
  }
  return { nodes, nodeOf };
}

function joined(flows, /** @type {any[]} */ [source, target]) {
  const byEnds = new Map();
  const numbers = new Map();
  const number = (id) => numbers.get(id) ?? numbers.set(id, numbers.size).get(id);
  for (const flow of flows) {
    const from = source.nodeOf.get(flow.source);
    const to = target.nodeOf.get(flow.target);
    const key = `${number(from)} ${number(to)}`;
    const ribbon = byEnds.get(key) ?? { from, to, mass: 0, value: 0, share: 0, stays: true, flows: [] };
    byEnds.set(key, ribbon);
    ribbon.mass += flow.mass;
    ribbon.value += flow.value;
    ribbon.share += flow.share;
    ribbon.stays &&= flow.source === flow.target;
    ribbon.flows.push(flow);
  }
  const ribbons = [...byEnds.values()];
  for (const ribbon of ribbons) ribbon.distance = ribbon.mass > 0 ? ribbon.value / ribbon.mass : 0;
  return ribbons;
}

/** Order both columns so that few ribbons cross: each item near the middle of the items it is joined to. */
function untangled(/** @type {any[]} */ [left, right], ribbons) {
  let best = [left, right];
  let fewest = Infinity;
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    right = byMiddle(right, left, ribbons, "to", "from");
    const now = crossings(left, right, ribbons);
    if (now < fewest) [fewest, best] = [now, [left, right]];
    left = byMiddle(left, right, ribbons, "from", "to");
  }
  return best;
}

function byMiddle(nodes, others, ribbons, near, far) {
  const rank = new Map(others.map((node, k) => [node.id, k]));
  const middle = new Map(
    nodes.map((node) => {
      const mine = ribbons.filter((ribbon) => ribbon[near] === node.id);
      const mass = mine.reduce((sum, ribbon) => sum + ribbon.mass, 0);
      const at = mine.reduce((sum, ribbon) => sum + ribbon.mass * rank.get(ribbon[far]), 0) / (mass || 1);
      return [node.id, node.group === OTHERS ? Infinity : at]; // the group of small items comes last
    }),
  );
  return [...nodes].sort((a, b) => middle.get(a.id) - middle.get(b.id) || b.mass - a.mass);
}

function crossings(left, right, ribbons) {
  const rows = new Map(left.map((node, k) => [node.id, k]));
  const columns = new Map(right.map((node, k) => [node.id, k]));
  let sum = 0;
  for (let a = 0; a < ribbons.length; a += 1) {
    for (let b = a + 1; b < ribbons.length; b += 1) {
      const [p, q] = [ribbons[a], ribbons[b]];
      const turn = (rows.get(p.from) - rows.get(q.from)) * (columns.get(p.to) - columns.get(q.to));
      if (turn < 0) sum += p.mass * q.mass;
    }
  }
  return sum;
}

function stacked(nodes, px) {
  let height = 0;
  for (const node of nodes) {
    node.bar = node.mass * px;
    node.height = Math.max(node.bar + 6, SLOT);
    height += node.height;
  }
  return height;
}

function spread(nodes, height) {
  const used = nodes.reduce((sum, node) => sum + node.height, 0);
  const gap = (height - used) / Math.max(nodes.length, 1);
  let y = gap / 2;
  for (const node of nodes) {
    node.y = y;
    node.barY = y + (node.height - node.bar) / 2;
    y += node.height + gap;
  }
}

/** Cut each bar into the slices of its ribbons, in the order of their other ends. */
function slice(ribbons, left, right, px) {
  const ends = (nodes, near, far, others, field) => {
    const heights = new Map(others.map((node) => [node.id, node.y]));
    for (const node of nodes) {
      let y = node.barY;
      const mine = ribbons
        .filter((ribbon) => ribbon[near] === node.id)
        .sort((a, b) => heights.get(a[far]) - heights.get(b[far]));
      for (const ribbon of mine) {
        ribbon[field] = y;
        y += ribbon.mass * px;
      }
    }
  };
  ends(left, "from", "to", right, "y0");
  ends(right, "to", "from", left, "y1");
  for (const ribbon of ribbons) {
    const [a, b, w] = [ribbon.y0, ribbon.y1, ribbon.mass * px];
    const n = (x) => x.toFixed(2);
    const upper = `M0 ${n(a)}C50 ${n(a)} 50 ${n(b)} 100 ${n(b)}`;
    const lower = `V${n(b + w)}C50 ${n(b + w)} 50 ${n(a + w)} 0 ${n(a + w)}Z`;
    ribbon.path = upper + lower;
  }
}
