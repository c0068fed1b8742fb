/** The dialog that asks for the token of the server. */

import { h } from "../lib/elements.js";

/**
 * @param {boolean} again whether a token was refused before
 * @returns {Promise<string|null>} null if the visitor does not have one
 */
export function askForToken(again) {
  return new Promise((resolve) => {
    const input = h("input", {
      id: "token",
      type: "password",
      autocomplete: "off",
      required: true,
      "aria-describedby": "token-why",
    });
    const dialog = h(
      "dialog",
      { class: "token", "aria-labelledby": "token-title" },
      h(
        "form",
        {},
        h("h2", { id: "token-title" }, "This server asks for a token"),
        h(
          "p",
          { id: "token-why" },
          again ? "The token was not accepted. " : "",
          "Enter the token that the server was started with. It stays in this tab.",
        ),
        h("label", { for: "token" }, "Token"),
        input,
        h(
          "div",
          { class: "buttons" },
          h("button", { type: "submit" }, "Continue"),
          h("button", { type: "button", class: "quiet", on: { click: () => done(null) } }, "Not now"),
        ),
      ),
    );
    const done = (token) => {
      dialog.close();
      dialog.remove();
      resolve(token);
    };
    dialog.addEventListener("submit", (event) => {
      event.preventDefault();
      if (input.value.trim()) done(input.value.trim());
    });
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      done(null);
    });
    document.body.append(dialog);
    dialog.showModal();
    input.focus();
  });
}
