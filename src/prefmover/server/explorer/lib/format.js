/**
 * Numbers, names and nouns as people read them. Users and items are called what the data set calls them, and
 * what people gave to items is a rating on a scale, a count, such as 40 plays, or a choice without a count.
 */

/** What the data set calls its items and users, and what one of the people's ratings is. */
export const noun = { item: "", items: "", user: "", users: "", rating: "", ratings: "", rate: "" };
const said = { kind: "ratings", verb: "" };

/** Choose the words for the data of a model. */
export function setNouns({ item_noun: item, user_noun: user, rating_noun: one, feedback: kind, verb }) {
  const many = { items: plural(item), users: plural(user), ratings: plural(one) };
  const rate = kind === "ratings" ? "rate" : "choose";
  Object.assign(noun, { item, user, rating: one, rate, ...many });
  Object.assign(said, { kind, verb });
}

/** Whether people gave ratings on a scale, counts, or choices. */
export const isGiven = (kind) => said.kind === kind;

/** "4.5"; "40 times"; nothing for a choice. A rating of null is the like of a visitor. */
export function amount(/** @type {number|null} */ x) {
  if (x === null || said.kind === "choices") return "";
  if (said.kind === "ratings") return rating(x);
  return `${times(x)} ${x === 1 ? "time" : "times"}`;
}

/** "gave it 4.5", "played it 40 times", "chose it", "liked it". */
export const gave = (x) => [verb(x), "it", amount(x)].filter(Boolean).join(" ");

/** "gave", "played", "chose", "liked": what somebody did who gave this. */
const verb = (x) => (x === null ? "liked" : said.kind === "ratings" ? "gave" : said.verb);

/** "rated", "played", "chose": what people did. */
export const did = () => said.verb;

/** A count: 40, 3,200. */
export const times = (/** @type {number} */ x) => (Math.round(x * 100) / 100).toLocaleString("en-US");

/** "a film", "an item"; "a user" begins with a consonant. */
export const withArticle = (word) => `${/^[aeio]|^u(?!ser|ni|ti|se)/i.test(word) ? "an" : "a"} ${word}`;

/** "films", "stories", "boxes". */
export function plural(word) {
  if (/[^aeiou]y$/i.test(word)) return `${word.slice(0, -1)}ies`;
  return /(s|x|z|ch|sh)$/i.test(word) ? `${word}es` : `${word}s`;
}

/** "no film", "1 film", "12 films". */
export function count(n, word) {
  return `${n === 0 ? "no" : n.toLocaleString("en-US")} ${n <= 1 ? word : plural(word)}`;
}

const LONGEST = 60; // letters of a name
const isNumber = (person) => /^\d+$/.test(person.id);

/** The name of a person: "you", an id, or a noun and a number. */
export function nameOf(person) {
  if (person.you) return "you";
  if (isNumber(person)) return `${noun.user} ${person.id}`;
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
export const decimal = (/** @type {number} */ x) => withMinus(x.toFixed(3));

const withMinus = (digits) => digits.replace("-", "−");

/** A share of something. */
export const percent = (/** @type {number} */ x) => `${(100 * x).toFixed(1)}%`;

/** How near a pair is among random pairs: "nearer than 97% of pairs". */
export function rank(share) {
  if (share === null || share === undefined) return "";
  const [word, part] = share >= 0.5 ? ["nearer", share] : ["farther", 1 - share];
  const shown = part >= 0.99 ? Math.min(Math.floor(1000 * part) / 10, 99.9) : Math.floor(100 * part);
  return `${word} than ${shown}% of pairs`;
}

/** "Horror and Thriller", "Horror, Thriller and War". */
export const listed = (words) =>
  words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : (words[0] ?? "");

/** A rating: 4.5, 4; a predicted one has two digits. */
export const rating = (/** @type {number} */ x) => String(Math.round(x * 100) / 100);
export const predicted = (/** @type {number} */ x) => x.toFixed(2);

/** A number with its sign. */
export const signed = (/** @type {number} */ x, digits = 3) =>
  `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(digits)}`;

/** The value of any measure. */
export const value = (x) =>
  withMinus(Math.abs(x) >= 1000 || (x !== 0 && Math.abs(x) < 0.0005) ? x.toPrecision(3) : x.toFixed(4));

/** The distance or similarity of a neighbor or explanation, whichever the server sent; null if undefined. */
export const measured = (one) => one.distance ?? one.similarity ?? null;
export const measuredText = (one, none = "undefined") =>
  measured(one) === null ? none : decimal(measured(one));
