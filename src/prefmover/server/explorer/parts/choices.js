/** A few buttons of which one is pressed. */

import { html } from "../lib/html.js";

/**
 * @param {Object<string, any>} options values by text
 * @param {(value: any) => void} choose is called with the value of the button that is used
 * @returns {{element: HTMLElement, press: (value: any) => void}} press says which value is chosen
 */
export function choices(label, options, choose) {
  const buttons = Object.entries(options).map(
    ([text, value]) =>
      html`<button type="button" class="choice" @click=${() => choose(value)}>${text}</button>`,
  );
  const element = html`<div class="choices" role="group" aria-label=${label}>${buttons}</div>`;
  const press = (chosen) => {
    for (const [k, value] of Object.values(options).entries())
      buttons[k].ariaPressed = String(value === chosen);
  };
  return { element, press };
}
