/** Filters of recommendations: genre, years, how well known, and how different from each other. */

import { freshId, html } from "../lib/html.js";

const KNOWN = { "Better known": -0.5, "No preference": 0, "Less known": 0.5 };
const VARIETY = { "Best first": 0, "Some variety": 0.3, "A lot of variety": 0.6 };

/** The form; `change` is called with the parameters of a request. */
export function filters(model, change) {
  const genre = select([["Any genre", ""], ...model.genres.map((name) => [name, name])]);
  const known = select(Object.entries(KNOWN), 1);
  const variety = select(Object.entries(VARIETY));
  const [first, last] = model.years ?? [0, 0];
  const [from, to] = [first, last].map(
    (hint) =>
      html`<input type="number" min=${first} max=${last} step="1" placeholder=${hint} inputmode="numeric">`,
  );

  function choices() {
    const where = [];
    if (genre.value) where.push(`genre=${genre.value}`);
    const [low, high] = [from, to].map((input) => (input.validity.valid && input.value ? input.value : ""));
    if (low || high) where.push(`year=${low}..${high}`);
    return {
      ...(where.length ? { where } : {}),
      ...(Number(known.value) ? { novelty: Number(known.value) } : {}),
      ...(Number(variety.value) ? { diversify: Number(variety.value) } : {}),
    };
  }

  return html`
    <details class="more">
      <summary>Filters</summary>
      <form class="filters" aria-label="Filters" @change=${() => change(choices())}
        @submit=${(event) => event.preventDefault()}>
        ${model.genres.length ? field("Genre", genre) : null}
        ${model.years ? [field("From", from), field("To", to)] : null}
        ${field("Known", known)}
        ${field("Order", variety)}
      </form>
    </details>`;
}

function select(options, chosen = 0) {
  const list = options.map(
    ([text, value], k) => html`<option value=${value} selected=${k === chosen}>${text}</option>`,
  );
  return html`<select>${list}</select>`;
}

function field(text, control) {
  control.id = freshId("filter");
  return html`<div><label for=${control.id}>${text}</label>${control}</div>`;
}
