/** A link that carries the visitor's ratings, and what to do when such a link is opened. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { count, noun } from "../lib/format.js";
import { clearRatings, guestRatings, rate, shareCode, sharedRatings } from "../lib/guest.js";
import { html } from "../lib/html.js";
import { href, rename } from "../lib/routes.js";

/** A button that copies the link. */
export function shareButton() {
  const text = `Copy a link to these ${noun.ratings}`;
  const copy = async () => {
    const here = location.hash;
    const link = new URL(href({ page: "try", shared: shareCode() }), location.href).href;
    try {
      await navigator.clipboard.writeText(link);
      button.textContent = "Link copied";
      announce("Link copied");
    } catch {
      if (location.hash !== here) return; // the visitor has left
      rename(link); // no clipboard here: the address of the page is the link
      button.textContent = "The link is in the address bar";
    }
    setTimeout(() => (button.textContent = text), 3000);
  };
  const button = html`<button type="button" class="quiet small" @click=${copy}>${text}</button>`;
  return button;
}

/**
 * Take over the ratings of a link, then call `done`; if the visitor has other ratings, ask first.
 *
 * @returns {HTMLElement|null} a question, or an error
 */
export function openShared(code, done, signal) {
  const shared = sharedRatings(code);
  if (!shared.length || code === shareCode()) return null;
  const stars = new Map(shared.map((one) => [one.id, one.rating]));
  const take = async () => {
    question.setAttribute("aria-busy", "true");
    try {
      const known = await api.itemsById([...stars.keys()], signal);
      clearRatings();
      for (const item of known.items) rate(item, stars.get(item.id));
      question.remove();
      announce(`${count(known.items.length, noun.rating)} taken from the link`);
      done();
    } catch (error) {
      if (signal.aborted) return;
      question.replaceChildren(html`<p>${error.message}</p>`);
      question.removeAttribute("aria-busy");
      question.hidden = false;
    }
  };
  const nothingToAsk = guestRatings().length === 0;
  const question = html`
    <div class="notice" role="status" hidden=${nothingToAsk}>
      <p>This link has ${count(shared.length, noun.rating)}. Replace yours?</p>
      <button type="button" class="quiet" @click=${take}>Use the ${noun.ratings} of the link</button>
      <button type="button" class="quiet" @click=${() => question.remove()}>Keep mine</button>
    </div>`;
  if (nothingToAsk) take();
  return question;
}
