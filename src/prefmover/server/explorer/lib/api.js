/**
 * The HTTP API as functions. Answers are kept for a while, because a served model does not change: going
 * back is instant and nothing jumps. A person is `{id}` or `{you: true}`; for the latter, ratings are sent.
 */

import { guestRatings } from "./guest.js";

const ROOT = "/api/v1";
const KEPT = 60;
const TOKEN = "prefmover.token";

/** What went wrong, in words for people; status 0 if the server did not answer. */
export class ApiError extends Error {
  constructor(status, title, detail, retryAfter = null) {
    super(detail || title);
    Object.assign(this, { status, title, detail, retryAfter });
  }
}

const kept = new Map();
let askForToken = async () => null;
let asking = null;

/** Name the function that asks for a token; it is given whether one was tried already. */
export function onTokenNeeded(ask) {
  askForToken = ask;
}

export const model = (signal) => get("/model", {}, signal);
export const users = (q, limit, signal) => get("/users", { q, limit }, signal);
export const items = (q, offset, limit, signal) => get("/items", { q, offset, limit }, signal);

/** A person with their ratings, best first. */
export async function ratings(person, limit, signal) {
  if (!person.you) return get(`/users/${encodeURIComponent(person.id)}`, { limit }, signal);
  const mine = guestRatings();
  const total = mine.reduce((sum, one) => sum + one.rating, 0);
  const listed = mine
    .map((one) => ({
      item: { id: one.id, title: one.title },
      rating: one.rating,
      share: total ? one.rating / total : 0,
    }))
    .sort((a, b) => b.rating - a.rating);
  const mean = mine.length ? total / mine.length : null;
  return { id: "guest", label: "you", n_ratings: mine.length, mean_rating: mean, ratings: listed };
}

export const neighbors = (person, k, signal) =>
  person.you
    ? post("/guest/neighbors", { k }, signal)
    : get(`/users/${encodeURIComponent(person.id)}/neighbors`, { k }, signal);

export const recommendations = (person, n, signal) =>
  person.you
    ? post("/guest/recommendations", { n }, signal)
    : get(`/users/${encodeURIComponent(person.id)}/recommendations`, { n }, signal);

export const recommendation = (person, item, signal) =>
  person.you
    ? post("/guest/recommendations/explain", { item }, signal)
    : get(`/users/${encodeURIComponent(person.id)}/recommendations/${encodeURIComponent(item)}`, {}, signal);

export const explanation = (person, other, signal) =>
  person.you
    ? post("/guest/explanations", { other: other.id }, signal)
    : get("/explanations", { user: person.id, other: other.id }, signal);

export const comparison = (person, other, signal) =>
  person.you
    ? post("/guest/comparison", { other: other.id }, signal)
    : get("/comparison", { user: person.id, other: other.id }, signal);

function get(path, query, signal) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given).toString();
  return remembered(text ? `${path}?${text}` : path, { signal });
}

function post(path, body, signal) {
  const ratings = guestRatings().map(({ id, rating }) => ({ item: id, rating }));
  return remembered(path, { signal, method: "POST", body: JSON.stringify({ ratings, ...body }) });
}

async function remembered(path, options) {
  const key = `${path} ${options.body ?? ""}`;
  if (kept.has(key)) {
    const answer = kept.get(key);
    kept.delete(key); // and put back at the end: the oldest unused one goes first
    kept.set(key, answer);
    return answer;
  }
  const answer = await fetched(path, options);
  kept.set(key, answer);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return answer;
}

async function fetched(path, options) {
  const token = stored(TOKEN);
  const response = await sent(path, options, token);
  if (response.status === 401) {
    // Several requests may be refused at once; one question is enough.
    asking ??= askForToken(Boolean(token)).finally(() => (asking = null));
    const given = await asking;
    if (given === null) throw await problem(response);
    store(TOKEN, given);
    options.signal?.throwIfAborted();
    return fetched(path, options);
  }
  if (!response.ok) throw await problem(response);
  return response.json();
}

async function sent(path, options, token) {
  const headers = { Accept: "application/json" };
  if (options.body) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = `Bearer ${token}`;
  try {
    return await fetch(ROOT + path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "No answer", "The server does not answer. Is it still running?");
  }
}

async function problem(response) {
  let told = {};
  try {
    told = await response.json();
  } catch {
    // Something in between answered, not the server: its words would not help.
  }
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return new ApiError(
    response.status,
    told.title ?? `Error ${response.status}`,
    told.detail ?? "The server answered with an error.",
    Number.isFinite(seconds) ? seconds : null,
  );
}

function stored(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return memory.get(name) ?? null; // storage may be switched off; then the page remembers
  }
}

function store(name, value) {
  memory.set(name, value);
  try {
    sessionStorage.setItem(name, value);
  } catch {
    // see above
  }
}

const memory = new Map();
