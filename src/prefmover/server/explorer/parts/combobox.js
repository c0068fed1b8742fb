/**
 * Search as you type, as a combobox of the ARIA practices: the focus stays in the text field, arrows walk
 * through the list, Enter chooses, Escape closes. Answers to older letters are dropped.
 */

import { freshId, h } from "../lib/elements.js";
import { announce } from "../lib/live.js";

const PAUSE = 120; // ms without a letter before the server is asked

/**
 * @param {object} options
 * @param {string} options.id of the text field: it gets the focus back when its page is drawn again
 * @param {string} options.label
 * @param {string} [options.value] what is chosen
 * @param {string} [options.placeholder]
 * @param {(q: string, signal: AbortSignal) => Promise<{total: number, options: Array}>} options.search
 *   an option is {label, note, value}
 * @param {(value: any) => void} options.choose
 * @param {boolean} [options.clears] whether the field is emptied after a choice
 */
export function combobox({ id, label, value = "", placeholder = "", search, choose, clears = false }) {
  const listId = freshId("list");
  const input = h("input", {
    id,
    type: "text",
    role: "combobox",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    placeholder,
    "aria-expanded": "false",
    "aria-controls": listId,
    "aria-autocomplete": "list",
  });
  input.value = value;
  const list = h("ul", { id: listId, role: "listbox", "aria-label": label });
  const hint = h("p", { class: "hint" });
  const popup = h("div", { class: "popup", hidden: true }, list, hint);
  const element = h(
    "div",
    { class: "combobox" },
    h("label", { for: id }, label),
    h("div", { class: "field" }, input, popup),
  );
  let found = [];
  let active = -1;
  let asked = null;
  let timer = 0;

  async function ask() {
    asked?.abort();
    const mine = new AbortController();
    asked = mine;
    const q = input.value === value ? "" : input.value.trim();
    try {
      const answer = await search(q, mine.signal);
      if (!mine.signal.aborted && document.activeElement === input) fill(answer, q);
    } catch (error) {
      if (!mine.signal.aborted) fill({ total: 0, options: [], trouble: error.message }, q);
    }
  }

  function fill({ total, options, trouble }, q) {
    found = options;
    list.replaceChildren(...options.map((option, k) => row(option, k, q)));
    const more = total - options.length;
    hint.textContent =
      trouble ??
      (options.length === 0
        ? "Nothing matches"
        : more > 0
          ? `${more.toLocaleString("en-US")} more; type to narrow`
          : "");
    hint.hidden = hint.textContent === "";
    popup.hidden = false;
    input.setAttribute("aria-expanded", String(options.length > 0));
    activate(q && options.length ? 0 : -1);
    announce(options.length === 0 ? hint.textContent : `${total} found`);
  }

  function row(option, k, q) {
    return h(
      "li",
      {
        id: `${listId}-${k}`,
        role: "option",
        "aria-selected": "false",
        // The field must not lose the focus before the click arrives.
        on: {
          pointerdown: (event) => event.preventDefault(),
          click: () => take(k),
          pointermove: () => activate(k),
        },
      },
      h("span", { class: "option" }, marked(option.label, q)),
      option.note ? h("span", { class: "note" }, option.note) : null,
    );
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
    asked?.abort();
    popup.hidden = true;
    active = -1;
    input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-expanded", "false");
  }

  function take(k) {
    const option = found[k];
    input.value = clears ? "" : option.label;
    close();
    choose(option.value);
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  });
  input.addEventListener("click", () => {
    if (!popup.hidden) return;
    input.select();
    ask();
  });
  input.addEventListener("blur", () => {
    close();
    if (!clears) input.value = value;
  });
  input.addEventListener("keydown", (event) => {
    const open = !popup.hidden;
    const n = found.length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) ask();
      else if (n) activate(event.key === "ArrowDown" ? (active + 1) % n : (active - 1 + n) % n);
    } else if (event.key === "Enter" && open && active >= 0) {
      event.preventDefault();
      take(active);
    } else if (event.key === "Escape" && (open || input.value)) {
      event.preventDefault();
      close();
      input.value = open && !clears ? value : clears ? "" : input.value;
    }
  });
  return { element, input };
}

/** The label with the letters that were typed made bold. */
function marked(label, q) {
  const at = q ? label.toLowerCase().indexOf(q.toLowerCase()) : -1;
  if (at < 0) return label;
  return [label.slice(0, at), h("b", {}, label.slice(at, at + q.length)), label.slice(at + q.length)];
}
