/**
 * A rating as stars: one slider for keyboards and screen readers (arrow keys step, Delete removes), with the
 * steps of the data's scale, such as half stars. Other scales get a plain slider.
 */

import { rating as formatted } from "../lib/format.js";
import { html } from "../lib/html.js";

const STAR = "M12 2.6l2.9 6.2 6.7.8-5 4.6 1.4 6.7-6-3.4-6 3.4 1.4-6.7-5-4.6 6.7-.8z";
const MOST = 10;

/** Whether ratings on a scale can be shown as stars. */
const isStars = ({ lowest, highest, step }) =>
  lowest >= 0 && highest <= MOST && Number.isInteger(highest) && [0.5, 1].includes(step);

const outOf = (rating, scale) => `${formatted(rating)} of ${scale.highest}`;

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
 * @param {{label: string, value: number|null, scale: object, change: Function}} options the label is "Your
 *   rating of Alien (1979)"; `change` is called with a rating, or with null when it is removed
 */
export function starInput({ label, value, scale, change }) {
  const { lowest, highest } = scale;
  const step = scale.step || (highest - lowest) / 20;
  const stars = isStars(scale);
  const from = stars ? 0 : lowest;
  const onScale = (x) => Math.min(Math.max(Number(x.toFixed(6)), lowest), highest);
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
      @click=${() => rate(null)}>×</button>`;

  function set(rating) {
    current = rating;
    paint(rating);
    control.setAttribute("aria-valuenow", rating ?? lowest);
    control.setAttribute("aria-valuetext", rating === null ? "not rated" : outOf(rating, scale));
    number.textContent = rating === null ? "" : formatted(rating);
    clear.classList.toggle("absent", rating === null); // it keeps its space, so that nothing jumps
    clear.disabled = rating === null;
  }

  function rate(rating) {
    set(rating);
    change(rating);
  }

  function paint(rating) {
    control.style.setProperty("--fill", rating === null ? 0 : (rating - from) / (highest - from));
    control.classList.toggle("unrated", rating === null);
  }

  function under(event) {
    const box = control.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    const steps = (from + share * (highest - from)) / step;
    // The star under the pointer is filled up to the next step.
    return onScale((stars ? Math.ceil(steps - 1e-9) : Math.round(steps)) * step);
  }

  function pressed(event) {
    const [up, down] = [step, -step];
    const moves = { ArrowRight: up, ArrowUp: up, ArrowLeft: down, ArrowDown: down, PageUp: 1, PageDown: -1 };
    const middle = lowest + (highest - lowest) / 2;
    const first = onScale(Math.round(middle / step) * step); // the first arrow key begins in the middle
    if (event.key in moves) rate(current === null ? first : onScale(current + moves[event.key]));
    else if (event.key === "Home") rate(lowest);
    else if (event.key === "End") rate(highest);
    else if (event.key === "Delete" || event.key === "Backspace") rate(null);
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
