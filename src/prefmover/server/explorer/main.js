/**
 * Starts the explorer: loads the facts about the model, then draws the page of the address.
 *
 * Words of all modules: a `model`, an `answer`, an `explanation` and a `why` are what the API sends, a
 * `person` is that of a route, a `scale` that of the ratings; a `signal` is aborted when the page is left.
 */

import { announce } from "./lib/announce.js";
import * as api from "./lib/api.js";
import { busy } from "./lib/busy.js";
import { capital, count, noun, setNouns } from "./lib/format.js";
import { guestRatings } from "./lib/guest.js";
import { byId, html } from "./lib/html.js";
import { href, parse, same, shown, shows } from "./lib/routes.js";
import * as itemPage from "./pages/item.js";
import * as likeMinded from "./pages/like_minded.js";
import * as mapPage from "./pages/map.js";
import * as measures from "./pages/measures.js";
import * as recommendedPage from "./pages/recommended.js";
import * as together from "./pages/together.js";
import * as tryPage from "./pages/try.js";
import * as why from "./pages/why.js";
import { finder } from "./parts/pickers.js";
import { empty, loaded } from "./parts/region.js";
import { askForToken } from "./parts/token.js";

const PAGES = {
  "like-minded": likeMinded,
  why,
  recommended: recommendedPage,
  together,
  try: tryPage,
  map: mapPage,
  measures,
  item: itemPage,
};

const main = byId("main");
const nav = byId("nav");
const heights = new Map(); // scroll position by address, for the back button
let leaving = new AbortController();
/** @type {import("./lib/routes.js").Route|null} */
let current = null;
let followed = false;
/** @type {Partial<import("./lib/routes.js").Route>} */
let recent = {}; // the people of the last page, with whom the other pages begin

function drawNav(route) {
  const links = Object.entries(PAGES)
    .filter(([, { name }]) => name)
    .map(([page, { name }]) => {
      const address = href({ ...recent, page, people: peopleOf(recent) });
      return html`<a href=${address} aria-current=${page === route.page ? "page" : null}>${name}</a>`;
    });
  nav.replaceChildren(...links);
  nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** The people of the last page who can be in a group: users of the data. */
const peopleOf = (/** @type {Partial<import("./lib/routes.js").Route>} */ { person, other, people }) => {
  const ids = people ?? [person, other].filter((one) => one?.id).map((one) => one?.id);
  return ids.length ? ids : undefined;
};

function drawPage(model) {
  const drawn = busy();
  const route = parse(location.hash);
  const samePage = current?.page === route.page;
  const focused = document.activeElement?.id;
  heights.set(shown(), scrollY);
  shows(location.hash);
  leaving.abort();
  leaving = new AbortController();
  if (route.person) {
    const other = route.other ?? (samePage ? undefined : recent.other);
    const people = recent.people?.includes(String(route.person.id)) ? recent.people : undefined;
    recent = { person: route.person, other: same(route.person, other) ? undefined : other, people };
  } else if (route.people) {
    recent = { ...recent, people: route.people };
  }
  const page = route.page && PAGES[route.page];
  main.replaceChildren(content(page, route, model));
  document.title = `${page ? page.title(route) : "Not found"} · prefmover`;
  drawNav(route);
  move(samePage, focused);
  current = route;
  followed = false;
  drawn();
}

/** Move the focus and the view to the new heading, or back to the field that was used. */
function move(samePage, focused) {
  const first = current === null;
  const heading = main.querySelector("h1");
  heading.tabIndex = -1;
  const field = samePage && focused ? byId(focused) : null;
  if (field && main.contains(field)) field.focus({ preventScroll: true });
  else if (!first) heading.focus({ preventScroll: true });
  if (!first) announce(document.title.replace(" · prefmover", ""));
  const y = followed ? 0 : (heights.get(location.hash) ?? 0);
  // In the next frame: cached content has been drawn by then, and the page has its length.
  if (!samePage || followed) requestAnimationFrame(() => scrollTo(0, y));
}

function content(page, route, model) {
  if (!page) return notFound();
  const you = [route.person, route.other].some((one) => one?.you);
  if (you && guestRatings().length === 0) return invitation();
  return page.draw(route, { model, signal: leaving.signal });
}

const invitation = () => html`
  <h1>You have no ${noun.ratings} yet</h1>
  ${empty(html`
    This page is about your ${noun.ratings}, which stay in the tab where you made them.
    ${capital(noun.rate)} a few ${noun.items}, and come back: <a href="#/try">try it yourself</a>.`)}`;

const notFound = () => html`
  <h1>There is no such page</h1>
  ${empty(html`Go to <a href="#/like-minded">like-minded people</a>.`)}`;

function start(model) {
  setNouns(model);
  const { name, n_users: users, n_items: items, n_ratings: ratings, version } = model;
  const sizes = `${count(users, noun.user)}, ${count(items, noun.item)}, ${count(ratings, noun.rating)}`;
  byId("facts").textContent = `${name}: ${sizes} · prefmover ${version}`;
  byId("finder").replaceChildren(finder());
  // popstate comes with the change of the address, so that the old page is never under the new address; while
  // the document is loaded it may come later than hashchange, which is a task of its own.
  for (const event of ["popstate", "hashchange"])
    addEventListener(event, () => location.hash !== shown() && drawPage(model));
  drawPage(model);
}

document.addEventListener("click", (event) => {
  const link = /** @type {any} */ (event.target).closest?.("a[href^='#/']");
  if (link) followed = link.getAttribute("href") !== location.hash;
});
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part after # is the address of the page
  (main.querySelector("h1") ?? main).focus();
});
api.onTokenNeeded(askForToken);
drawNav({ page: parse(location.hash).page });
main.append(
  loaded(
    { label: "the model", lines: 8, room: 44, signal: new AbortController().signal },
    (signal) => api.model(signal),
    (model) => queueMicrotask(() => start(model)), // after this region has been drawn
  ),
);
