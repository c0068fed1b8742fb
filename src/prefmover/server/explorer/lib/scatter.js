/**
 * Points on a canvas that can be moved and zoomed. Thousands are drawn in a few milliseconds, and only when
 * something has changed.
 */

const REACH = 14; // px around the pointer within which a point is found
const MOST_ZOOM = 40;

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{x: number, y: number, group: number|null}[]} points in the unit square
 * @param {{hover: (k: number|null) => void, choose: (k: number) => void, signal: AbortSignal}} listeners
 */
export function scatter(canvas, points, { hover, choose, signal }) {
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const view = { x: 0.5, y: 0.5, zoom: 1 };
  let lit = new Set();
  let [chosen, over] = /** @type {(number|null)[]} */ ([null, null]);
  let pending = 0;
  let colors = /** @type {any} */ (null);
  const pointers = new Map();
  let moved = 0;

  const side = () => Math.min(canvas.clientWidth, canvas.clientHeight) * 0.94 * view.zoom;
  const place = (one) => [
    canvas.clientWidth / 2 + (one.x - view.x) * side(),
    canvas.clientHeight / 2 + (view.y - one.y) * side(),
  ];

  function palette() {
    const read = (name) => {
      canvas.style.setProperty("color", `var(${name})`); // which resolves the scheme
      return getComputedStyle(canvas).color;
    };
    const groups = Array.from({ length: 8 }, (_, k) => read(`--group-${k}`));
    return { groups, none: read("--edge"), ink: read("--ink") };
  }

  const colorOf = ({ group }) => (group === null ? colors.none : colors.groups[group]);

  function draw() {
    pending = 0;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const size = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
    if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size);
    colors ??= palette();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const dot = Math.min(2 + 0.8 * Math.sqrt(view.zoom) + 60 / Math.sqrt(points.length), 9);
    const faint = chosen !== null || lit.size > 0;
    for (const [k, one] of points.entries()) {
      if (lit.has(k) || k === chosen) continue;
      pen.globalAlpha = faint ? 0.28 : 0.8;
      pen.fillStyle = colorOf(one);
      const [x, y] = place(one);
      if (x < -9 || y < -9 || x > width + 9 || y > height + 9) continue;
      pen.fillRect(x - dot / 2, y - dot / 2, dot, dot);
    }
    pen.globalAlpha = 1;
    for (const k of lit) spot(points[k], dot + 5, 2);
    if (chosen !== null) spot(points[chosen], dot + 9, 3);
    if (over !== null && over !== chosen) spot(points[over], dot + 6, 2);
  }

  /** A point with a rim. */
  function spot(one, size, rim) {
    const [x, y] = place(one);
    pen.beginPath();
    pen.arc(x, y, size / 2, 0, 2 * Math.PI);
    pen.fillStyle = colorOf(one);
    pen.fill();
    pen.lineWidth = rim;
    pen.strokeStyle = colors.ink;
    pen.stroke();
  }

  function redraw() {
    if (!pending) pending = requestAnimationFrame(draw);
  }

  function nearest({ offsetX, offsetY }) {
    let best = /** @type {number|null} */ (null);
    let least = REACH * REACH;
    for (const [k, one] of points.entries()) {
      const [x, y] = place(one);
      const far = (x - offsetX) ** 2 + (y - offsetY) ** 2;
      if (far < least) [best, least] = [k, far];
    }
    return best;
  }

  /** Zoom so that the place under a point of the canvas stays there. */
  function zoomBy(factor, cx = canvas.clientWidth / 2, cy = canvas.clientHeight / 2) {
    const [dx, dy] = [cx - canvas.clientWidth / 2, cy - canvas.clientHeight / 2];
    const before = side();
    view.zoom = Math.min(Math.max(view.zoom * factor, 1), MOST_ZOOM);
    view.x += dx / before - dx / side();
    view.y -= dy / before - dy / side();
    if (view.zoom === 1) Object.assign(view, { x: 0.5, y: 0.5 });
    redraw();
  }

  function pan(dx, dy) {
    view.x -= dx / side();
    view.y += dy / side();
    redraw();
  }

  const on = (name, listener, options = {}) =>
    canvas.addEventListener(name, listener, { signal, ...options });
  on("pointerdown", (event) => {
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    canvas.setPointerCapture(event.pointerId);
    moved = 0;
  });
  const point = (k) => {
    if (k === over) return;
    over = k;
    hover(k);
    redraw();
  };
  on("pointermove", (event) => {
    const last = pointers.get(event.pointerId);
    if (!last) return point(nearest(event));
    const here = [event.offsetX, event.offsetY];
    const [dx, dy] = [here[0] - last[0], here[1] - last[1]];
    const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    if (other) {
      const gap = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]);
      const middle = [(here[0] + other[0]) / 2, (here[1] + other[1]) / 2];
      zoomBy(gap(here) / Math.max(gap(last), 1), ...middle);
    } else pan(dx, dy);
    moved += Math.abs(dx) + Math.abs(dy);
    pointers.set(event.pointerId, here);
  });
  const release = (event) => pointers.delete(event.pointerId);
  on("pointerup", (event) => {
    release(event);
    const k = moved < 6 ? nearest(event) : null;
    if (k !== null) choose(k);
  });
  on("pointercancel", release);
  on("pointerleave", () => point(null));
  on(
    "wheel",
    (event) => {
      if (!event.ctrlKey && view.zoom === 1 && event.deltaY > 0) return; // the page scrolls
      event.preventDefault();
      zoomBy(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    },
    { passive: false },
  );
  on("keydown", (event) => {
    const step = 40;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (event.key in moves) pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") zoomBy(1.5);
    else if (event.key === "-") zoomBy(1 / 1.5);
    else if (event.key === "0") zoomBy(0);
    else return;
    event.preventDefault();
  });
  const observer = new ResizeObserver(redraw);
  observer.observe(canvas);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const recolor = () => {
    colors = null;
    redraw();
  };
  scheme.addEventListener("change", recolor, { signal });
  signal.addEventListener("abort", () => observer.disconnect());

  /** Light up a point and others; null for none. */
  function light(k, others = []) {
    chosen = k;
    lit = new Set(others);
    redraw();
  }

  return { light, zoomBy, place: (k) => place(points[k]) };
}
