/**
 * A rating as stars: one slider for keyboards and screen readers (arrow keys step, Delete removes), with the
 * steps of the data's scale, such as half stars. Other scales get a plain slider.
 */

import { h, s } from "../lib/elements.js";
import { rating as formatted } from "../lib/format.js";

const STAR = "M12 2.6l2.9 6.2 6.7.8-5 4.6 1.4 6.7-6-3.4-6 3.4 1.4-6.7-5-4.6 6.7-.8z";
const MOST = 10;

/** Whether ratings on a scale can be shown as stars. */
export function isStars(scale) {
  return (
    scale.lowest >= 0 &&
    scale.highest <= MOST &&
    Number.isInteger(scale.highest) &&
    [0.5, 1].includes(scale.step)
  );
}

/** A rating as read-only stars. @returns {HTMLElement} */
export function shownStars(rating, scale) {
  const text = `${formatted(rating)} of ${scale.highest}`;
  if (!isStars(scale)) return h("span", { class: "number" }, formatted(rating));
  return h(
    "span",
    {
      class: "stars shown",
      role: "img",
      "aria-label": text,
      style: { "--fill": rating / scale.highest, "--n": scale.highest },
    },
    layers(scale.highest),
  );
}

/**
 * A slider for a rating.
 *
 * @param {object} options
 * @param {string} options.label "Your rating of Alien (1979)"
 * @param {number|null} options.value
 * @param {{lowest: number, highest: number, step: number|null}} options.scale
 * @param {(rating: number|null) => void} options.change
 */
export function starInput({ label, value, scale, change }) {
  let current = value;
  const step = scale.step ?? (scale.highest - scale.lowest) / 20;
  const stars = isStars(scale);
  const face = stars ? layers(scale.highest) : [h("span", { class: "track" }, h("span", { class: "thumb" }))];
  const control = h(
    "div",
    {
      class: stars ? "stars input" : "slider input",
      role: "slider",
      tabindex: "0",
      "aria-label": label,
      "aria-valuemin": scale.lowest,
      "aria-valuemax": scale.highest,
      style: { "--n": scale.highest },
    },
    face,
  );
  const number = h("span", { class: "value", "aria-hidden": "true" });
  const clear = h(
    "button",
    {
      type: "button",
      class: "clear",
      "aria-label": `Remove ${label.replace(/^Your/, "your")}`,
      on: { click: () => set(null, true) },
    },
    "×",
  );
  const element = h("div", { class: "rate" }, control, number, clear);

  function set(rating, notify = false) {
    current = rating;
    paint(rating);
    control.setAttribute("aria-valuenow", rating ?? scale.lowest);
    control.setAttribute(
      "aria-valuetext",
      rating === null ? "not rated" : `${formatted(rating)} of ${scale.highest}`,
    );
    number.textContent = rating === null ? "" : formatted(rating);
    clear.classList.toggle("absent", rating === null); // it keeps its space, so that nothing jumps
    clear.disabled = rating === null;
    if (notify) change(rating);
  }

  function paint(rating) {
    const from = stars ? 0 : scale.lowest;
    control.style.setProperty("--fill", rating === null ? 0 : (rating - from) / (scale.highest - from));
    control.classList.toggle("unrated", rating === null);
  }

  function under(event) {
    const box = control.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    const from = stars ? 0 : scale.lowest;
    const raw = from + share * (scale.highest - from);
    // The star under the pointer is filled up to the next step.
    return onScale(stars ? Math.ceil(raw / step - 1e-9) * step : Math.round(raw / step) * step);
  }

  const onScale = (x) => Math.min(Math.max(Number(x.toFixed(6)), scale.lowest), scale.highest);

  control.addEventListener("pointermove", (event) => event.pointerType === "mouse" && paint(under(event)));
  control.addEventListener("pointerleave", () => paint(current));
  control.addEventListener("click", (event) => set(under(event), true));
  control.addEventListener("keydown", (event) => {
    const moves = {
      ArrowRight: step,
      ArrowUp: step,
      ArrowLeft: -step,
      ArrowDown: -step,
      PageUp: 1,
      PageDown: -1,
    };
    if (event.key in moves) {
      const middle = scale.lowest + (scale.highest - scale.lowest) / 2;
      const first = onScale(Math.round(middle / step) * step); // the first arrow key begins in the middle
      set(current === null ? first : onScale(current + moves[event.key]), true);
    } else if (event.key === "Home") set(scale.lowest, true);
    else if (event.key === "End") set(scale.highest, true);
    else if (event.key === "Delete" || event.key === "Backspace") set(null, true);
    else if (stars && /^[0-9]$/.test(event.key)) set(onScale(Number(event.key)), true);
    else return;
    event.preventDefault();
  });
  set(current);
  return { element, control, set };
}

/** Outlines, and filled stars over them, clipped at --fill. */
function layers(n) {
  const row = (name) =>
    h(
      "span",
      { class: name, "aria-hidden": "true" },
      Array.from({ length: n }, () =>
        s("svg", { viewBox: "0 0 24 24", focusable: "false" }, s("path", { d: STAR })),
      ),
    );
  return [row("hollow"), row("filled")];
}
