/**
 * The answers of an export of the explorer: files instead of a server, also where the page itself is a file.
 *
 * A file of data is a script, because a page from a file must not read files. It calls `prefmover` with its
 * name and gzipped JSON in base64. `prefmover export-site` writes them (server/site.py).
 */

const ITEMS = 40; // in one file

/** Whether this is an export. */
export const isSite = document.documentElement.hasAttribute("data-site");

/** What an export does not have; the message is for people. */
export class NeedsServer extends Error {
  constructor(what) {
    super(`${what} The service has it: prefmover serve.`);
    Object.assign(this, { status: 0, state: "site" });
  }
}

const waiting = new Map();
const files = new Map();

if (isSite) globalThis.prefmover = (name, text) => waiting.get(name)(unzipped(text));

async function unzipped(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** The content of a file of data. */
function file(name) {
  if (!files.has(name)) files.set(name, new Promise((done, failed) => ask(name, done, failed)));
  return files.get(name);
}

function ask(name, done, failed) {
  const script = document.createElement("script");
  waiting.set(name, done);
  script.onerror = () => failed(new NeedsServer("A file of this export is missing."));
  script.src = new URL(`data/${name}.js`, document.baseURI).href;
  document.head.append(script);
}

/**
 * The answer to a request, as the service would give it.
 *
 * @param {string} path with a query, as in lib/api.js
 * @param {string} [body] of a question
 */
export async function answerOf(path, body) {
  const [address, query] = path.split("?");
  const answer = body ? await answered(address, JSON.parse(body)) : await found(address, query);
  if (answer) return answer;
  throw new NeedsServer("This export has what the pages show of each one and of the ten nearest, not this.");
}

async function found(address, query) {
  const site = await file("site");
  const [, first, id, near] = address.split("/");
  const asked = Object.fromEntries(new URLSearchParams(query));
  const [from, most] = [Number(asked.offset ?? 0), Number(asked.limit)];
  if (first === "search") {
    const [items, users] = [search(site.items, asked.q), search(site.users, asked.q)];
    const [n_items, n_users] = [items.length, users.length];
    return { n_items, items: items.slice(0, most), n_users, users: users.slice(0, most) };
  }
  if (first === "users" && id) return (await aboutUser(decodeURIComponent(id)))?.details;
  if (first === "items" && id) return (await aboutItem(decodeURIComponent(id)))?.[near ? "near" : "details"];
  if (first === "users" || first === "items") {
    const all = search(site[first], asked.q);
    return { total: all.length, [first]: all.slice(from, from + most) };
  }
  return site[address.slice(1)];
}

/** The answer about a user of the data, if it is one of those that the pages ask for. */
async function answered(address, { user, ...more }) {
  const about = user && (await aboutUser(user));
  const { k, n, item, other, without_common_items: apart, without = [], ...choices } = more;
  if (!about || without.length || Object.keys(choices).length) return null;
  const some = (answer, list, most) => answer && { ...answer, [list]: answer[list].slice(0, most) };
  const answers = {
    "/neighbors": () => some(apart ? about.apart : about.near, "neighbors", k),
    "/neighbors/lists": () => about.lists,
    "/recommendations": () => some(about.best, "recommendations", n),
    "/recommendations/why": () => about.why[item],
    "/predictions/why": () => about.predicted[item],
    "/explanations": () => about.explained[other],
    "/comparison": () => about.compared[other],
  };
  return Object.hasOwn(answers, address) ? answers[address]() : null;
}

async function aboutUser(id) {
  const k = (await file("site")).users.findIndex((one) => one.id === id);
  return k < 0 ? null : file(`users/${k}`);
}

async function aboutItem(id) {
  const k = (await file("site")).items.findIndex((one) => one.id === id);
  return k < 0 ? null : (await file(`items/${Math.floor(k / ITEMS)}`))[id];
}

const plain = (text) =>
  text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}/gu, "")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

/** Users or items whose name contains a text: those that begin with it first, then by numbers of ratings. */
function search(all, text) {
  const q = plain(text ?? "");
  const rank = (one) => {
    const name = plain(one.title ?? one.id);
    return name.startsWith(q) ? 0 : name.includes(` ${q}`) ? 1 : name.includes(q) ? 2 : 3;
  };
  const ranks = all.map((one) => [rank(one), one]).filter(([place]) => place < 3);
  return ranks.sort(([a, one], [b, other]) => a - b || other.n_ratings - one.n_ratings).map(([, one]) => one);
}
