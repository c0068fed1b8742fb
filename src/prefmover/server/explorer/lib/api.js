/**
 * The HTTP API as functions. A served model does not change, so responses are cached: going back is instant,
 * and nothing jumps. A person is `{id}`, or `{you: true}` for the visitor, whose ratings are sent along.
 */

import { isGiven } from "./format.js";
import { asGivenBy, guestRatings, notInterested } from "./guest.js";
import { answerOf, isSite } from "./site.js";

/** @typedef {import("prefmover/api").components["schemas"]} Schemas what the server sends, by its schema */

const ROOT = new URL("api/v1", document.baseURI).pathname; // the pages may be in any folder
const READY = new URL("readyz", document.baseURI);
const CACHE_SIZE = 60;
const POLL = 700; // ms between two looks at something that is being computed
const TOKEN = "prefmover.token";

/** An error with a message for people; status 0 if the server did not respond. */
export class ApiError extends Error {
  constructor(status, title, detail, more = {}) {
    super(detail || title);
    Object.assign(this, { status, title, detail, retryAfter: null, state: null, progress: null }, more);
  }
}

const cache = new Map();
/** @type {(refused: boolean) => Promise<string|null>} */
let askForToken = async () => null;
let asking = null;
let token = null;
try {
  token = sessionStorage.getItem(TOKEN);
} catch {
  // storage may be disabled; then the page remembers
}

/** Set the function that asks for a token; its argument says whether a token was refused. */
export function onTokenNeeded(ask) {
  askForToken = ask;
}

/** Nothing if the server is ready; otherwise an error, whose `state` and `progress` say why not. */
export async function ready(signal) {
  const response = await answered(READY, { signal, cache: "no-store" });
  if (!response.ok) throw await problem(response);
}

/** @returns {Promise<Schemas["ModelOut"]>} */
export const model = (signal) => get("/model", {}, signal);
/** @returns {Promise<Schemas["UsersOut"]>} */
export const users = (q, limit, signal) => get("/users", { q, limit }, signal);
/** @returns {Promise<Schemas["ItemsOut"]>} */
export const items = (q, offset, limit, signal) => get("/items", { q, offset, limit }, signal);

/** @returns {Promise<Schemas["SearchOut"]>} */
export const search = (q, limit, signal) => get("/search", { q, limit }, signal);
/** @returns {Promise<Schemas["ItemDetailsOut"]>} */
export const itemDetails = (id, signal) => get(`/items/${encodeURIComponent(id)}`, {}, signal);
/** @returns {Promise<Schemas["NearItemsOut"]>} */
export const nearItems = (id, k, signal) => get(`/items/${encodeURIComponent(id)}/near`, { k }, signal);
/** @returns {Promise<Schemas["ListedItemsOut"]>} */
export const itemsById = (ids, signal) => post("/lookup", { ids }, signal);
/** @returns {Promise<Schemas["ImportOut"]>} */
export const imported = (csv, signal) => post("/import", { csv }, signal);

/**
 * Figures about common ratings, and maps: computed when first asked for. `report` gets {done, total}.
 *
 * @returns {Promise<Schemas["CommonGroundOut"]>}
 */
export const commonGround = (signal, report) => later("/common-ground", signal, report);
/** @returns {Promise<Schemas["MapOut"]>} */
export const map = (kind, signal, report) => later(`/map/${kind}`, signal, report);

/**
 * A person with ratings, highest first. The visitor's shares of likes are equal; those of counts are not
 * known here, because the server damps counts.
 *
 * @returns {Promise<any>} as Schemas["UserDetailsOut"]; a share may be null
 */
export async function ratings(person, limit, signal) {
  if (!person.you) return get(`/users/${encodeURIComponent(person.id)}`, { limit }, signal);
  const mine = /** @type {any[]} */ (guestRatings());
  const counted = !isGiven("ratings") && mine.some((one) => one.rating !== null);
  const weights = mine.map((one) => (isGiven("ratings") ? one.rating : 1));
  const total = weights.reduce((sum, one) => sum + one, 0);
  const listed = mine
    .map(({ id: item, title, rating }, k) => {
      const share = counted ? null : weights[k] / (total || 1);
      return { item, title, rating, share };
    })
    .sort((a, b) => b.rating - a.rating);
  const mean_rating = isGiven("ratings") && mine.length ? total / mine.length : null;
  return { n_ratings: mine.length, mean_rating, ratings: listed };
}

/** @returns {Promise<Schemas["NeighborsOut"]>} */
export const neighbors = (person, k, signal, withoutCommon = false) =>
  ask("/neighbors", person, { k, without_common_items: withoutCommon }, signal);

/** @returns {Promise<Schemas["NeighborListsOut"]>} */
export const lists = (person, signal) => ask("/neighbors/lists", person, {}, signal);

/**
 * The best n items, by the choices of filters.js, perhaps as if some ratings were not there; for the visitor,
 * without what they refused.
 *
 * @returns {Promise<Schemas["RecommendationsOut"]>}
 */
export function recommendations(person, n, signal, choices = {}) {
  const exclude = person.you ? notInterested() : [];
  return ask("/recommendations", person, { n, ...choices, ...(exclude.length ? { exclude } : {}) }, signal);
}

/**
 * Several people together: who is near all of them, and what suits them; `combine` is "mean" or "least".
 *
 * @returns {Promise<Schemas["GroupNeighborsOut"]>}
 */
export const groupNeighbors = (users, k, signal) => post("/group/neighbors", { users, k }, signal);
/** @returns {Promise<Schemas["GroupRecommendationsOut"]>} */
export const groupRecommendations = (users, n, combine, signal) =>
  post("/group/recommendations", { users, n, combine }, signal);

/**
 * The parts of a score, those of a predicted rating, and without what an item would leave the first n.
 *
 * @returns {Promise<Schemas["RecommendationExplanationOut"]>}
 */
export const whyRecommended = (person, item, without, signal) =>
  ask("/recommendations/why", person, { item, without }, signal);
/** @returns {Promise<Schemas["RatingExplanationOut"]>} */
export const recommendation = (person, item, without, signal) =>
  ask("/predictions/why", person, { item, without }, signal);
/** @returns {Promise<Schemas["CounterfactualOut"]>} */
export const counterfactual = (person, item, without, n, signal) =>
  ask("/recommendations/counterfactual", person, { item, without, n }, signal);

/**
 * Two people: why they are near, and their values under all measures.
 *
 * @returns {Promise<Schemas["UserExplanationOut"]>}
 */
export const explanation = async (person, other, signal) =>
  asGivenBy(person, await ask("/explanations", person, { other: other.id }, signal));
/** @returns {Promise<Schemas["ComparisonOut"]>} */
export const comparison = (person, other, signal) => ask("/comparison", person, { other: other.id }, signal);

/** Ask something about a user, or about the visitor. */
function ask(path, person, parameters, signal) {
  const mine = () => ({ ratings: guestRatings().map(({ id, rating }) => ({ item: id, rating })) });
  return post(path, { ...(person.you ? mine() : { user: person.id }), ...parameters }, signal);
}

function get(path, query, signal) {
  const text = new URLSearchParams(query).toString();
  return cached(text ? `${path}?${text}` : path, { signal });
}

const post = (path, body, signal) => cached(path, { signal, method: "POST", body: JSON.stringify(body) });

/** Ask until the answer is there. */
async function later(path, signal, report) {
  for (;;) {
    const answer = await cached(path, { signal });
    if (!answer.pending) return answer;
    report(answer.pending);
    await new Promise((done) => setTimeout(done, POLL));
    signal.throwIfAborted();
  }
}

async function cached(path, options) {
  const key = `${path} ${options.body ?? ""}`;
  if (cache.has(key)) {
    const answer = cache.get(key);
    cache.delete(key); // and insert it at the end: the least recently used one is dropped first
    cache.set(key, answer);
    return answer;
  }
  const answer = await fetched(path, options);
  if (answer.pending) return answer;
  cache.set(key, answer);
  if (cache.size > CACHE_SIZE) cache.delete(cache.keys().next().value);
  return answer;
}

async function fetched(path, options) {
  if (isSite) return answerOf(path, options.body);
  const refused = Boolean(token);
  const response = await sent(path, options);
  if (response.status === 401) {
    // Several requests may be refused at once; one dialog is enough.
    asking ??= askForToken(refused).finally(() => (asking = null));
    const newToken = await asking;
    if (newToken === null) throw await problem(response);
    token = newToken;
    try {
      sessionStorage.setItem(TOKEN, token);
    } catch {
      // see above
    }
    options.signal?.throwIfAborted();
    return fetched(path, options);
  }
  if (!response.ok) throw await problem(response);
  return response.status === 202 ? { pending: await response.json() } : response.json();
}

function sent(path, options) {
  const headers = { Accept: "application/json" };
  if (options.body) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = `Bearer ${token}`;
  return answered(ROOT + path, { ...options, headers });
}

async function answered(address, options) {
  try {
    return await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "No response", "The server does not respond. Is it still running?");
  }
}

async function problem(response) {
  let body = {};
  try {
    body = await response.json();
  } catch {
    // A proxy responded, not the server; its text would not help.
  }
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  const title = body.title ?? `Error ${response.status}`;
  const detail = body.detail ?? "The server responded with an error.";
  const { state = null, progress = null } = body;
  const retryAfter = Number.isFinite(seconds) ? seconds : null;
  return new ApiError(response.status, title, detail, { retryAfter, state, progress });
}
