/**
 * A rating as stars: one slider for keyboards and screen readers (arrow keys step, Delete removes), with the
 * steps of the data's scale, such as half stars. Other scales get a plain slider.
 */

import { amount, rating as formatted, isGiven } from "../lib/format.js";
import { html } from "../lib/html.js";

const STAR = "M12 2.6l2.9 6.2 6.7.8-5 4.6 1.4 6.7-6-3.4-6 3.4 1.4-6.7-5-4.6 6.7-.8z";
const MOST = 10;

/** Whether ratings on a scale can be shown as stars. */
const isStars = ({ lowest, highest, step }) =>
  lowest >= 0 && highest <= MOST && Number.isInteger(highest) && [0.5, 1].includes(step);

const outOf = (rating, scale) => `${formatted(rating)} of ${scale.highest}`;

/** What was given: stars, another rating as a number, "40 times", nothing for a choice. */
export function shownRating(rating, scale) {
  if (isGiven("ratings")) return shownStars(rating, scale);
  return html`<span class="number">${rating === null ? "liked" : amount(rating)}</span>`;
}

/** A rating as read-only stars. @returns {HTMLElement} */
export function shownStars(rating, scale) {
  if (!isStars(scale)) return html`<span class="number">${formatted(rating)}</span>`;
  const style = { "--fill": rating / scale.highest, "--n": scale.highest };
  return html`
    <span class="stars shown" role="img" aria-label=${outOf(rating, scale)} style=${style}>
      ${layers(scale.highest)}
    </span>`;
}

/**
 * A slider for a rating.
 *
 * @param {{label: string, value: number|undefined, scale: object, change: Function}} options the label is
 *   "Your rating of Alien (1979)"; `change` is called with a rating, or with undefined when it is removed
 */
export function starInput({ label, value, scale, change }) {
  const { lowest, highest } = scale;
  const step = scale.step || (highest - lowest) / 100;
  const stars = isStars(scale);
  const page = stars ? 1 : Math.max(step, Math.round((highest - lowest) / 10 / step) * step);
  const from = stars ? 0 : lowest;
  const onScale = (x) => {
    const nearest = lowest + Math.round((x - lowest) / step) * step;
    return Math.min(Math.max(Number(nearest.toPrecision(9)), lowest), highest);
  };
  let current = value;
  const face = () => (stars ? layers(highest) : html`<span class="track"><span class="thumb"></span></span>`);
  const control = html`
    <div class=${stars ? "stars input" : "slider input"} role="slider" tabindex="0" aria-label=${label}
      aria-valuemin=${lowest} aria-valuemax=${highest} style=${{ "--n": highest }}
      @pointermove=${(event) => event.pointerType === "mouse" && paint(under(event))}
      @pointerleave=${() => paint(current)} @click=${(event) => rate(under(event))} @keydown=${pressed}>
      ${face()}
    </div>`;
  const number = html`<span class="value" aria-hidden="true"></span>`;
  const clear = html`
    <button type="button" class="clear" aria-label=${`Remove ${label.replace(/^Your/, "your")}`}
      @click=${() => rate(undefined)}>×</button>`;

  function set(rating) {
    current = rating;
    paint(rating);
    control.setAttribute("aria-valuenow", rating ?? lowest);
    control.setAttribute("aria-valuetext", rating === undefined ? "not rated" : outOf(rating, scale));
    number.textContent = rating === undefined ? "" : formatted(rating);
    clear.classList.toggle("absent", rating === undefined); // it keeps its space, so that nothing jumps
    clear.disabled = rating === undefined;
  }

  function rate(rating) {
    set(rating);
    change(rating);
  }

  function paint(rating) {
    control.style.setProperty("--fill", rating === undefined ? 0 : (rating - from) / (highest - from));
    control.classList.toggle("unrated", rating === undefined);
  }

  function under(event) {
    const box = control.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    const value = from + share * (highest - from);
    // The star under the pointer is filled up to the next step.
    return onScale(stars ? Math.ceil(value / step - 1e-9) * step : value);
  }

  function pressed(event) {
    const [up, down] = [step, -step];
    const moves = {
      ArrowRight: up,
      ArrowUp: up,
      ArrowLeft: down,
      ArrowDown: down,
      PageUp: page,
      PageDown: -page,
    };
    const first = onScale(lowest + (highest - lowest) / 2); // the first arrow key begins in the middle
    if (event.key in moves) rate(current === undefined ? first : onScale(current + moves[event.key]));
    else if (event.key === "Home") rate(lowest);
    else if (event.key === "End") rate(highest);
    else if (event.key === "Delete" || event.key === "Backspace") rate(undefined);
    else if (stars && /^[0-9]$/.test(event.key)) rate(onScale(Number(event.key)));
    else return;
    event.preventDefault();
  }

  set(current);
  return { element: html`<div class="rate">${control}${number}${clear}</div>`, control, set };
}

/** Outlines, and filled stars over them, clipped at --fill. */
function layers(n) {
  const star = () => html`<svg viewBox="0 0 24 24" focusable="false"><path d=${STAR} /></svg>`;
  const row = (name) => html`
    <span class=${name} aria-hidden="true">${Array.from({ length: n }, star)}</span>`;
  return [row("hollow"), row("filled")];
}
