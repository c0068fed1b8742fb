/**
 * Numbers, names and nouns as people read them. The library has users and items; the pages say viewers and
 * films where the items are films.
 */

let itemNoun = "item";
let userNoun = "user";

/** Choose the nouns for the data of a model. */
export function setNouns(model) {
  itemNoun = model.item_noun;
  userNoun = itemNoun === "film" ? "viewer" : "user";
}

/** "a film", "an item"; "a user" begins with a consonant. */
export const withArticle = (noun) => `${/^[aeio]|^u(?!ser|ni|ti|se)/i.test(noun) ? "an" : "a"} ${noun}`;

export const item = () => itemNoun;
export const user = () => userNoun;
export const items = () => `${itemNoun}s`;
export const users = () => `${userNoun}s`;

/** "no film", "1 film", "12 films". */
export function count(n, noun) {
  return `${n === 0 ? "no" : n.toLocaleString("en-US")} ${noun}${n <= 1 ? "" : "s"}`;
}

const LONGEST = 60; // letters of a name
const isNumber = (person) => /^\d+$/.test(person.id);

/** The name of a person: "you", an id, or a noun and a number. */
export function nameOf(person) {
  if (person.you) return "you";
  if (isNumber(person)) return `${userNoun} ${person.id}`;
  return person.id.length > LONGEST ? `${person.id.slice(0, LONGEST - 1)}…` : person.id;
}

/** "your", "petra-h’s". */
export const whose = (person) => (person.you ? "your" : `${nameOf(person)}’s`);

/** The same at the start of a sentence; ids keep their spelling. */
export const capitalName = (person) => capitalized(nameOf(person), person);
export const capitalWhose = (person) => capitalized(whose(person), person);

/** A text with a capital letter. */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const capitalized = (text, person) => (person.you || isNumber(person) ? capital(text) : text);

/** A distance or similarity, with as many digits as a comparison by eye needs. */
export const decimal = (x) => x.toFixed(3).replace("-", "−");

/** A share of something. */
export const percent = (x) => `${(100 * x).toFixed(1)} %`;

/** A rating: 4.5, 4; a predicted one has two digits. */
export const rating = (x) => String(Math.round(x * 100) / 100);
export const predicted = (x) => x.toFixed(2);

/** A number with its sign. */
export const signed = (x, digits = 3) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(digits)}`;

/** The value of any measure. */
export const value = (x) =>
  (Math.abs(x) >= 1000 || (x !== 0 && Math.abs(x) < 0.0005) ? x.toPrecision(3) : x.toFixed(4)).replace(
    "-",
    "−",
  );

/** The distance or similarity of a neighbor or explanation, whichever the server sent; null if undefined. */
export const measured = (one) => one.distance ?? one.similarity ?? null;
