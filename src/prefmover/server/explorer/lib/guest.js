/**
 * The visitor's own ratings: kept in this tab (sessionStorage), sent with requests, never stored elsewhere.
 */

const KEY = "prefmover.ratings";
const MOST = 500; // what the server takes

/** @typedef {{id: string, title: string, rating: number}} Rated */

/** @type {Map<string, Rated>} */
const ratings = new Map(load().map((one) => [one.id, one]));

/** All ratings, oldest first. @returns {Rated[]} */
export const guestRatings = () => [...ratings.values()];

/** The rating of an item, or null. */
export const ratingOf = (id) => ratings.get(id)?.rating ?? null;

/** Rate an item; null takes the rating back. */
export function rate(item, rating) {
  if (rating === null) ratings.delete(item.id);
  else if (ratings.has(item.id) || ratings.size < MOST)
    ratings.set(item.id, { id: item.id, title: item.title, rating });
  save();
}

/** Take all ratings back. */
export function forgetAll() {
  ratings.clear();
  save();
}

function load() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return found.filter(
      (one) => typeof one.id === "string" && typeof one.title === "string" && Number.isFinite(one.rating),
    );
  } catch {
    return []; // no storage, or not ours
  }
}

function save() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(guestRatings()));
  } catch {
    // storage may be full or switched off; the ratings last as long as the page
  }
}
