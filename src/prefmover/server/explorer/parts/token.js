/** The dialog that asks for the token of the server. */

import { html } from "../lib/html.js";

/**
 * @param {boolean} again whether a token was refused before
 * @returns {Promise<string|null>} null if the visitor does not have one
 */
export function askForToken(again) {
  return new Promise((resolve) => {
    const done = (token) => {
      dialog.close();
      dialog.remove();
      resolve(token);
    };
    const submitted = (event) => {
      event.preventDefault();
      if (input.value.trim()) done(input.value.trim());
    };
    const canceled = (event) => {
      event.preventDefault();
      done(null);
    };
    const input = html`
      <input id="token" type="password" autocomplete="off" required aria-describedby="token-why">`;
    const dialog = html`
      <dialog class="token" aria-labelledby="token-title" @submit=${submitted} @cancel=${canceled}>
        <form>
          <h2 id="token-title">This server asks for a token</h2>
          <p id="token-why">
            ${again ? "The token was not accepted. " : null}
            Enter the token that the server was started with. It stays in this tab.
          </p>
          <label for="token">Token</label>
          ${input}
          <div class="buttons">
            <button type="submit">Continue</button>
            <button type="button" class="quiet" @click=${() => done(null)}>Not now</button>
          </div>
        </form>
      </dialog>`;
    document.body.append(dialog);
    dialog.showModal();
    input.focus();
  });
}
