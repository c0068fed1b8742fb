/**
 * Addresses of pages, in the part after `#`: they can be linked to, and the back button works.
 *
 *     #/like-minded/ada-b      #/why/ada-b/hugo-m      #/recommended/ada-b/alien-1979
 *     #/measures/ada-b/hugo-m  #/try                   #/why/@you/hugo-m
 *     #/item/alien-1979        #/map/users/ada-b       #/try/alien-1979:4.5,aliens-1986:5
 *     #/together/ada-b,hugo-m
 *
 * `@you` is the visitor. Ids are percent-encoded, commas too, so no id can look like it or like two.
 */

import { byId } from "./html.js";

const YOU = "@you";

/** Pages in the order of the navigation, with the parts of their addresses. */
export const PAGES = {
  "like-minded": ["person"],
  why: ["person", "other"],
  recommended: ["person", "item"],
  together: ["people"],
  try: ["shared"],
  map: ["kind", "item"],
  measures: ["person", "other"],
  item: ["item"],
};

const PLAIN = new Set(["item", "kind", "shared"]); // parts that are no people

/**
 * @typedef {{you?: boolean, id?: string}} Person
 * @typedef {{page: string|null, person?: Person, other?: Person, item?: string,
 *   kind?: string, shared?: string, people?: string[]}} Route
 */

/** @returns {Route} page is null if there is no page at the address. */
export function parse(hash) {
  const parts = hash.replace(/^#\/?/, "").split("/").filter(Boolean);
  const page = parts.shift() ?? "like-minded";
  const names = Object.hasOwn(PAGES, page) ? PAGES[page] : null; // not what every object inherits
  if (!names || parts.length > names.length) return { page: null };
  const route = { page };
  try {
    parts.forEach((part, k) => {
      if (names[k] === "shared") route.shared = part;
      else if (names[k] === "people") route.people = listOf(part);
      else if (PLAIN.has(names[k])) route[names[k]] = decodeURIComponent(part);
      else route[names[k]] = part === YOU ? { you: true } : { id: decodeURIComponent(part) };
    });
  } catch {
    return { page: null }; // a lone % is not an address
  }
  // The server compares the visitor with users, not users with the visitor.
  if (route.other?.you) [route.person, route.other] = [route.other, route.person];
  return route;
}

/** Ids with commas between them, each one once. */
const listOf = (part) => [...new Set(part.split(",").filter(Boolean).map(decodeURIComponent))];

/** The address of a route. */
export function href(route) {
  const parts = [];
  for (const name of PAGES[route.page]) {
    const part = route[name];
    if (part === undefined || part === null) break;
    if (name === "shared") parts.push(part);
    else if (name === "people") parts.push(part.map(encodeURIComponent).join(","));
    else if (PLAIN.has(name)) parts.push(encodeURIComponent(part));
    else parts.push(part.you ? YOU : encodeURIComponent(part.id));
  }
  return `#/${[route.page, ...parts].join("/")}`;
}

/** Say that the page shows what an address names, as tests and the back button want to know. */
export const shows = (hash) => (byId("main").dataset.shows = hash);

/** The address of what is on the page. */
export const shown = () => byId("main").dataset.shows;

/** Change the address of what is on the page: nothing is drawn, and the history gets no entry. */
export function rename(address) {
  history.replaceState(null, "", address);
  shows(location.hash);
}

/** Whether two people are the same. */
export function same(a, b) {
  return Boolean(a && b) && Boolean(a.you) === Boolean(b.you) && a.id === b.id;
}
