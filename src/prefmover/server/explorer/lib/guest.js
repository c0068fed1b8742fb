/**
 * The visitor's ratings: they stay in this tab (sessionStorage) and are sent with requests.
 */

const KEY = "prefmover.ratings";
const REFUSED = "prefmover.not-interested";
export const MOST = 500; // limit of the server
const MOST_REFUSED = 200;

/**
 * What a visitor gave to an item: a rating on the scale, or a count; null is "liked it", of data with counts
 * or choices, as in requests. Nothing, undefined, is no rating.
 *
 * @typedef {number|null} Given
 * @typedef {{id: string, title: string, rating: Given}} Rated
 */

/** @type {Map<string, Rated>} */
const ratings = new Map(load().map((one) => [one.id, one]));

const refused = new Set(stored(REFUSED).filter((id) => typeof id === "string"));

/** All ratings, oldest first. @returns {Rated[]} */
export const guestRatings = () => [...ratings.values()];

/** What was given to an item. @returns {Given|undefined} */
export const ratingOf = (id) => ratings.get(id)?.rating;

/** What a person gave to an item of an answer; there, a visitor's like is a count. @returns {Given} */
export const givenBy = (person, { item, rating }) => (person.you ? (ratingOf(item) ?? null) : rating);

/** An explanation of two people with what the first one gave. */
export function asGivenBy(person, explanation) {
  const given = ({ source: item, source_rating: rating }) => givenBy(person, { item, rating });
  const flows = explanation.flows.map((flow) => ({ ...flow, source_rating: given(flow) }));
  return { ...explanation, flows };
}

/** Rate an item; undefined removes the rating. */
export function rate(item, rating) {
  if (rating === undefined) ratings.delete(item.id);
  else if (ratings.has(item.id) || ratings.size < MOST)
    ratings.set(item.id, { id: item.id, title: item.title, rating });
  save();
}

/** Remove all ratings, and what was refused. */
export function clearRatings() {
  ratings.clear();
  refused.clear();
  save();
}

/** The ids of items in which the visitor is not interested. @returns {string[]} */
export const notInterested = () => [...refused];

/** Leave an item out of recommendations, or let it in again. */
export function refuse(id, out = true) {
  if (out && refused.size < MOST_REFUSED) refused.add(id);
  else refused.delete(id);
  save();
}

/** The ratings as a part of an address: `alien-1979:4.5,aliens-1986:5`; a like is the id alone. */
export const shareCode = () =>
  guestRatings()
    .map(({ id, rating }) => encodeURIComponent(id) + (rating === null ? "" : `:${rating}`))
    .join(",");

/** The ratings in such a part, without titles; those that cannot be read are left out. */
export function sharedRatings(code) {
  return code
    .split(",")
    .slice(0, MOST)
    .flatMap((part) => {
      const [id, rating] = part.split(":");
      try {
        const given = rating === undefined ? null : Number.parseFloat(rating);
        return id && isRating(given) ? [{ id: decodeURIComponent(id), rating: given }] : [];
      } catch {
        return [];
      }
    });
}

function load() {
  return stored(KEY).filter(
    (one) => typeof one.id === "string" && typeof one.title === "string" && isRating(one.rating),
  );
}

function isRating(value) {
  return value === null || Number.isFinite(value);
}

function stored(key) {
  try {
    const list = JSON.parse(sessionStorage.getItem(key) ?? "[]");
    return Array.isArray(list) ? list : [];
  } catch {
    return []; // no storage, or not our content
  }
}

function save() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(guestRatings()));
    sessionStorage.setItem(REFUSED, JSON.stringify(notInterested()));
  } catch {
    // storage may be full or disabled; the ratings last as long as the page
  }
}
