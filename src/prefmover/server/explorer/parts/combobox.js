/**
 * Search as you type: a combobox as in the ARIA practices. The focus stays in the text field, arrow keys move
 * through the list, Enter chooses, Escape closes.
 */

import { announce } from "../lib/announce.js";
import { capitalName, count, noun } from "../lib/format.js";
import { freshId, html } from "../lib/html.js";

const PAUSE = 120; // ms after the last letter before the request

/**
 * @param {object} options
 * @param {string} options.id of the text field, which gets the focus back when the page is drawn again
 * @param {string} options.label
 * @param {string} [options.placeholder]
 * @param {string} [options.value] the present choice
 * @param {(q: string, signal: AbortSignal) => Promise<{total: number, options: Array}>} options.search
 *   an option is {label, note, value}
 * @param {(value: any) => void} options.choose is called with the value of the option
 * @param {boolean} [options.clears] whether the field is emptied after a choice
 */
export function combobox({ id, label, value = "", placeholder = "", search, choose, clears = false }) {
  const listId = freshId("list");
  const input = html`<input id=${id} type="text" role="combobox" autocomplete="off" autocapitalize="none"
    spellcheck="false" placeholder=${placeholder} .value=${value} aria-expanded="false"
    aria-controls=${listId} aria-autocomplete="list" @input=${typed} @click=${clicked} @blur=${left}
    @keydown=${pressed}>`;
  const list = html`<ul id=${listId} role="listbox" aria-label=${label}></ul>`;
  const hint = html`<p class="hint"></p>`;
  const popup = html`<div class="popup" hidden>${list}${hint}</div>`;
  let matches = [];
  let active = -1;
  let pending = null;
  let timer = 0;

  async function request() {
    pending?.abort();
    const mine = new AbortController();
    pending = mine;
    list.setAttribute("aria-busy", "true");
    const q = input.value === value ? "" : input.value.trim();
    try {
      const results = await search(q, mine.signal);
      if (mine.signal.aborted) return;
      if (document.activeElement === input) fill(results, q);
      else list.removeAttribute("aria-busy");
    } catch (error) {
      if (!mine.signal.aborted) fill({ total: 0, options: [], error: error.message }, q);
    }
  }

  /** @param {{total: number, options: any[], error?: string}} results */
  function fill({ total, options, error }, q) {
    matches = options;
    list.removeAttribute("aria-busy");
    list.replaceChildren(...options.map((option, k) => row(option, k, q)));
    const more = total - options.length;
    const narrow = more > 0 ? `${more.toLocaleString("en-US")} more; type to narrow` : "";
    hint.textContent = error ?? (options.length === 0 ? "Nothing matches" : narrow);
    hint.hidden = hint.textContent === "";
    popup.hidden = false;
    input.setAttribute("aria-expanded", String(options.length > 0));
    activate(q && options.length ? 0 : -1);
    announce(options.length === 0 ? hint.textContent : `${total} results`);
  }

  /** An option. The field must not lose the focus before the click arrives. */
  function row({ label, note }, k, q) {
    return html`
      <li id=${`${listId}-${k}`} role="option" aria-selected="false" @click=${() => take(k)}
        @pointerdown=${(event) => event.preventDefault()} @pointermove=${() => activate(k)}>
        <span class="option">${marked(label, q)}</span>
        ${note ? html`<span class="note">${note}</span>` : null}
      </li>`;
  }

  function activate(k) {
    if (k === active && list.children[k]?.classList.contains("active")) return;
    active = k;
    [...list.children].forEach((line, at) => {
      line.classList.toggle("active", at === k);
      line.setAttribute("aria-selected", String(at === k));
    });
    if (k < 0) input.removeAttribute("aria-activedescendant");
    else {
      input.setAttribute("aria-activedescendant", `${listId}-${k}`);
      list.children[k].scrollIntoView({ block: "nearest" });
    }
  }

  function close() {
    clearTimeout(timer);
    pending?.abort();
    popup.hidden = true;
    list.removeAttribute("aria-busy");
    active = -1;
    input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-expanded", "false");
  }

  function take(k) {
    const option = matches[k];
    input.value = clears ? "" : option.label;
    close();
    choose(option.value);
  }

  function typed() {
    list.setAttribute("aria-busy", "true");
    clearTimeout(timer);
    timer = setTimeout(request, PAUSE);
  }

  function clicked() {
    if (!popup.hidden) return;
    input.select();
    request();
  }

  function left() {
    close();
    if (!clears) input.value = value;
  }

  function pressed(event) {
    const open = !popup.hidden;
    const n = matches.length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!open) request();
      else if (n) activate(event.key === "ArrowDown" ? (active + 1) % n : (active - 1 + n) % n);
    } else if (event.key === "Enter" && open && active >= 0) take(active);
    else if (event.key === "Escape" && (open || input.value)) {
      close();
      input.value = open && !clears ? value : clears ? "" : input.value;
    } else return;
    event.preventDefault();
  }

  return html`
    <div class="combobox">
      <label for=${id}>${label}</label>
      <div class="field">${input}${popup}</div>
    </div>`;
}

/** An option for a user or an item, with the number of ratings. */
export const option = (one, value) => ({
  label: one.title ?? capitalName(one),
  note: count(one.n_ratings, noun.rating),
  value,
});

/** The label, with the typed letters in bold. */
function marked(label, q) {
  const at = q ? label.toLowerCase().indexOf(q.toLowerCase()) : -1;
  if (at < 0) return label;
  return [label.slice(0, at), html`<b>${label.slice(at, at + q.length)}</b>`, label.slice(at + q.length)];
}
