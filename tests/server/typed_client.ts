// A client with the types that openapi-typescript makes. `tsc` checks it, and `node` runs it.

import type { paths } from "./api";

declare const process: { argv: string[] };
const service = process.argv[2];

type Posted<P extends keyof paths> = paths[P] extends { post: infer Operation } ? Operation : never;
type Body<P extends keyof paths> =
  Posted<P> extends { requestBody: { content: { "application/json": infer Sent } } } ? Sent : never;
type Answer<P extends keyof paths> =
  Posted<P> extends { responses: { 200: { content: { "application/json": infer Got } } } } ? Got : never;

async function post<P extends keyof paths>(path: P, body: Body<P>): Promise<Answer<P>> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(service + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error((await response.json()).detail);
  return response.json();
}

const ratings = [{ item: "alien-1979", rating: 5 }];
const near = await post("/api/v1/neighbors", { user: "ada-b", k: 3 });
const best = await post("/api/v1/recommendations", { ratings, n: 2, novelty: 0.5 });
const problem = await post("/api/v1/neighbors", { user: "nobody" }).catch((error: Error) => error.message);
// @ts-expect-error: types are those of the service, so there is no such field
const nothing: undefined = best.films;
// @ts-expect-error: nor such an argument
const refused = await post("/api/v1/neighbors", { user: "ada-b", m: 3 }).catch((error: Error) => error.message);

const users: string[] = near.neighbors.map((one) => one.user);
const items: string[] = best.recommendations.map((one) => one.item);
console.log(JSON.stringify({ users, items, problem, nothing: nothing ?? null, refused }));
