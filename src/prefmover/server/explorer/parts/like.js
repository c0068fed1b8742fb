/**
 * What a visitor gives to an item: stars or a slider; for counts and choices, a button "Liked it", which is
 * one click; and for counts, a field in which a number can stand for it.
 */

import { capital, did, isGiven } from "../lib/format.js";
import { freshId, html } from "../lib/html.js";
import { starInput } from "./stars.js";

/**
 * @param {{title: string}} item
 * @param {import("../lib/guest.js").Given|undefined} value
 * @param {object} model of /model
 * @param {(value: import("../lib/guest.js").Given|undefined) => void} change is called with what is given,
 *   and with undefined when it is removed
 * @returns {{element: HTMLElement, control: HTMLElement, set: Function}} set shows what was given
 */
export function ratingInput(item, value, model, change) {
  const label = `Your rating of ${item.title}`;
  if (isGiven("ratings")) return starInput({ label, value: value ?? undefined, scale: model.scale, change });
  return likeInput(item, value, model, change);
}

function likeInput({ title }, value, { scale }, change) {
  const id = freshId("times");
  const control = html`
    <button type="button" class="choice" aria-label=${`Liked it: ${title}`}
      @click=${() => give(pressed() ? undefined : null)}>Liked it</button>`;
  const field = html`
    <input id=${id} type="number" inputmode="decimal" min=${scale.step || 0.001} step=${scale.step || "any"}
      placeholder="how often" @input=${typed}>`;
  const label = `${capital(did())} ${title} so many times`;
  const often = html`
    <span class="often"><label for=${id} class="unseen">${label}</label>${field} times</span>`;
  const pressed = () => control.getAttribute("aria-pressed") === "true";

  function set(given) {
    control.setAttribute("aria-pressed", String(given !== undefined));
    often.hidden = given === undefined || !isGiven("counts");
    if (document.activeElement !== field) field.value = given ?? "";
  }

  function give(given) {
    set(given);
    change(given);
  }

  function typed() {
    if (field.validity.valid) change(field.value === "" ? null : field.valueAsNumber);
  }

  set(value);
  return { element: html`<div class="rate like">${often}${control}</div>`, control, set };
}
