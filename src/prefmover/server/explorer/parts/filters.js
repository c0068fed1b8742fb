/** Filters of recommendations: genre, years, how well known, and how different from each other. */

import { freshId, h } from "../lib/elements.js";

const KNOWN = [
  ["Better known", -0.5],
  ["No preference", 0],
  ["Less known", 0.5],
];
const VARIETY = [
  ["Best first", 0],
  ["Some variety", 0.3],
  ["A lot of variety", 0.6],
];

/**
 * @param {object} model of /model
 * @param {(choices: object) => void} change is called with the parameters of a request
 * @returns {HTMLElement}
 */
export function filters(model, change) {
  const genre = select([["Any genre", ""], ...model.genres.map((name) => [name, name])]);
  const known = select(KNOWN, 1);
  const variety = select(VARIETY);
  const [first, last] = model.years ?? [0, 0];
  const from = year(first, last, first);
  const to = year(first, last, last);
  const fields = [
    model.genres.length ? field("Genre", genre) : null,
    model.years ? field("From", from) : null,
    model.years ? field("To", to) : null,
    field("Known", known),
    field("Order", variety),
  ];

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

  const form = h("form", { class: "filters", "aria-label": "Filters" }, fields);
  form.addEventListener("change", () => change(choices()));
  form.addEventListener("submit", (event) => event.preventDefault());
  return form;
}

function select(options, chosen = 0) {
  const element = h(
    "select",
    {},
    options.map(([text, value]) => h("option", { value }, text)),
  );
  element.selectedIndex = chosen;
  return element;
}

const year = (first, last, placeholder) =>
  h("input", { type: "number", min: first, max: last, step: 1, placeholder, inputmode: "numeric" });

function field(text, control) {
  control.id = freshId("filter");
  return h("div", {}, h("label", { for: control.id }, text), control);
}
