/**
 * Where the parts of a transport plan stand: numbers in, numbers out, nothing is drawn here.
 *
 * Each side is a column of items, as tall as their mass. Each flow is a ribbon between slices of two items.
 * Small items of long lists are taken together, with their flows: masses and costs are summed, so that what
 * is drawn always adds up to the whole.
 */

const OTHERS = Symbol("others");
const SLOT = 26; // px that a label needs
const BANDS = 7;
const SWEEPS = 6;

/** Distances run to a right angle, unless the items have another scale of their own. */
export function farthest(flows) {
  const most = Math.max(0, ...flows.map((flow) => flow.distance));
  return most > Math.PI / 2 || most < 0.15 ? most || 1 : Math.PI / 2;
}

/**
 * The class of a distance's color. Equal steps of 1 - cos, the similarity that is missing, as in
 * UserExplanation.plot: most items lie rather far apart, and there the eye should still see a difference.
 */
export function bandOf(distance, top) {
  const missing = 1 - Math.cos((Math.PI / 2) * Math.min(distance / top, 1));
  return `band-${Math.min(BANDS - 1, Math.floor(missing * BANDS))}`;
}

/**
 * @param {object} answer of /explanations
 * @param {{most?: number}} [options] items per side before small ones are taken together
 */
export function layout(answer, { most = 14 } = {}) {
  const top = farthest(answer.flows);
  const sides = [grouped(answer.source_items, most), grouped(answer.target_items, most)];
  const ribbons = joined(answer.flows, sides);
  const both = common(answer);
  const [left, right] = untangled(
    sides.map((side) => side.nodes),
    ribbons,
  );
  const px = Math.min(Math.max(34 * Math.max(left.length, right.length), 300), 640);
  const height = Math.max(stacked(left, px), stacked(right, px));
  for (const nodes of [left, right]) spread(nodes, height);
  for (const node of [...left, ...right]) node.shared = both.has(node.id);
  slice(ribbons, left, right, px);
  for (const ribbon of ribbons) ribbon.band = ribbon.stays ? "stays" : bandOf(ribbon.distance, top);
  ribbons.sort((a, b) => b.cost - a.cost || b.mass - a.mass);
  return { height, left, right, ribbons, top, px };
}

/** Ids that both rated. */
export function common(answer) {
  const mine = new Set(answer.source_items.map((one) => one.item.id));
  return new Set(answer.target_items.map((one) => one.item.id).filter((id) => mine.has(id)));
}

function grouped(rated, most) {
  const sorted = [...rated].filter((one) => one.mass > 0).sort((a, b) => b.mass - a.mass);
  const own = sorted.length > most ? sorted.slice(0, most - 1) : sorted;
  const nodes = own.map((one) => ({
    id: one.item.id,
    title: one.item.title,
    rating: one.rating,
    mass: one.mass,
    n: 1,
  }));
  const rest = sorted.slice(own.length);
  if (rest.length) {
    nodes.push({
      id: OTHERS,
      title: null,
      rating: null,
      mass: rest.reduce((sum, one) => sum + one.mass, 0),
      n: rest.length,
    });
  }
  return { nodes, own: new Set(own.map((one) => one.item.id)) };
}

function joined(flows, [source, target]) {
  const found = new Map();
  const numbers = new Map();
  const number = (id) => numbers.get(id) ?? numbers.set(id, numbers.size).get(id);
  for (const flow of flows) {
    const from = source.own.has(flow.source.id) ? flow.source.id : OTHERS;
    const to = target.own.has(flow.target.id) ? flow.target.id : OTHERS;
    const key = `${number(from)} ${number(to)}`;
    const known = found.get(key);
    const stays = flow.source.id === flow.target.id;
    if (!known)
      found.set(key, { from, to, mass: flow.mass, cost: flow.cost, share: flow.share, stays, flows: [flow] });
    else {
      known.mass += flow.mass;
      known.cost += flow.cost;
      known.share += flow.share;
      known.stays &&= stays;
      known.flows.push(flow);
    }
  }
  const ribbons = [...found.values()];
  for (const ribbon of ribbons) ribbon.distance = ribbon.mass > 0 ? ribbon.cost / ribbon.mass : 0;
  return ribbons;
}

/** Both columns in an order with few crossings: each item near the middle of what it is joined to. */
function untangled([left, right], ribbons) {
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

function byMiddle(nodes, others, ribbons, own, far) {
  const place = new Map(others.map((node, k) => [node.id, k]));
  const middle = new Map(
    nodes.map((node) => {
      const mine = ribbons.filter((ribbon) => ribbon[own] === node.id);
      const mass = mine.reduce((sum, ribbon) => sum + ribbon.mass, 0);
      const at = mine.reduce((sum, ribbon) => sum + ribbon.mass * place.get(ribbon[far]), 0) / (mass || 1);
      return [node.id, node.id === OTHERS ? Infinity : at]; // the small ones together come last
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

/** Cut each bar into the slices of its ribbons, ordered by where they go. */
function slice(ribbons, left, right, px) {
  const ends = (nodes, own, far, others, field) => {
    const place = new Map(others.map((node) => [node.id, node.y]));
    for (const node of nodes) {
      let y = node.barY;
      const mine = ribbons
        .filter((ribbon) => ribbon[own] === node.id)
        .sort((a, b) => place.get(a[far]) - place.get(b[far]));
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
