/**
 * The visitor's ratings: they stay in this tab (sessionStorage) and are sent with requests.
 */

const KEY = "prefmover.ratings";
const MOST = 500; // limit of the server

/** @typedef {{id: string, title: string, rating: number}} Rated */

/** @type {Map<string, Rated>} */
const ratings = new Map(load().map((one) => [one.id, one]));

/** All ratings, oldest first. @returns {Rated[]} */
export const guestRatings = () => [...ratings.values()];

/** The rating of an item, or null. */
export const ratingOf = (id) => ratings.get(id)?.rating ?? null;

/** Rate an item; null removes the rating. */
export function rate(item, rating) {
  if (rating === null) ratings.delete(item.id);
  else if (ratings.has(item.id) || ratings.size < MOST)
    ratings.set(item.id, { id: item.id, title: item.title, rating });
  save();
}

/** Remove all ratings. */
export function clearRatings() {
  ratings.clear();
  save();
}

function load() {
  try {
    const stored = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return stored.filter(
      (one) => typeof one.id === "string" && typeof one.title === "string" && Number.isFinite(one.rating),
    );
  } catch {
    return []; // no storage, or not our content
  }
}

function save() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(guestRatings()));
  } catch {
    // storage may be full or disabled; the ratings last as long as the page
  }
}
