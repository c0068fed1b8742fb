/**
 * How numbers and names are written. The library knows users and items; people read of viewers and films
 * where the data are films.
 */

const FILMS = /cinema|film|movie|\bml-/i;
let film = false;

/** Choose the nouns by the name of the model. */
export function speakOf(model) {
  film = FILMS.test(`${model.name} ${model.geometry ?? ""}`);
}

export const item = () => (film ? "film" : "item");
export const user = () => (film ? "viewer" : "user");
export const items = () => `${item()}s`;
export const users = () => `${user()}s`;

/** "no film", "1 film", "12 films". */
export function count(n, noun, none = "no") {
  const number = n === 0 ? none : n.toLocaleString("en-US");
  const singular = n === 1 || (n === 0 && none === "no");
  return `${number} ${noun}${singular ? "" : "s"}`;
}

/** A person's name: bare numbers get a noun, the guest is "you". */
export function nameOf(person) {
  if (person.you || (person.id === "guest" && person.label === "You")) return "you"; // so the API calls them
  const label = person.label ?? person.id;
  return /^\d+$/.test(label) ? `${user()} ${label}` : label;
}

/** "petra-h's", "your". */
export function whose(person) {
  const name = nameOf(person);
  return name === "you" ? "your" : `${name}’s`;
}

/** The same at the start of a sentence; the names of others keep their spelling. */
export function capital(text) {
  return text.startsWith("you") ? `Y${text.slice(1)}` : text;
}

/** A distance, with as many digits as a comparison by eye needs. */
export const distance = (x) => x.toFixed(3);

/** A share of something. */
export const percent = (x) => `${(100 * x).toFixed(1)} %`;

/** A rating: 4.5, 4; a predicted one gets two digits. */
export const rating = (x) => String(Math.round(x * 100) / 100);
export const predicted = (x) => x.toFixed(2);

/** With its sign, a real minus. */
export const signed = (x, digits = 3) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(digits)}`;

/** A value of any measure, minus included. */
export const value = (x) =>
  (Math.abs(x) >= 1000 || (x !== 0 && Math.abs(x) < 0.0005) ? x.toPrecision(3) : x.toFixed(4)).replace(
    "-",
    "−",
  );
