/** Import of ratings from Letterboxd or IMDb: a CSV file, matched by title and year on the server. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { h } from "../lib/elements.js";
import { count, item, items } from "../lib/format.js";
import { guestRatings, MOST, rate } from "../lib/guest.js";

const LISTED = 60; // titles without a match that are listed
const LARGEST = 900_000; // bytes; the server takes bodies of at most 1 MiB

/**
 * @param {() => void} done is called when ratings were added
 * @param {AbortSignal} signal
 */
export function importer(done, signal) {
  const report = h("div", { class: "imported", role: "status" });
  const input = h("input", { type: "file", accept: ".csv,text/csv", id: "import-file", class: "unseen" });
  input.addEventListener("change", async () => {
    const [file] = input.files;
    input.value = "";
    if (!file) return;
    report.setAttribute("aria-busy", "true");
    report.replaceChildren(...(await read(file, done, signal)));
    report.removeAttribute("aria-busy");
  });
  return h(
    "details",
    { class: "more" },
    h("summary", {}, "Import from Letterboxd or IMDb"),
    h(
      "div",
      { class: "import" },
      h(
        "p",
        { class: "soft" },
        "Export your ratings there (Letterboxd: Settings, Data, ratings.csv; IMDb: Your ratings, Export), ",
        "and ",
        `choose the CSV file. ${items()[0].toUpperCase()}${items().slice(1)} are matched by title and year. `,
        "The file is not stored.",
      ),
      input,
      h("label", { for: "import-file", class: "button quiet" }, "Choose a CSV file"),
      report,
    ),
  );
}

async function read(file, done, signal) {
  if (file.size > LARGEST) return [h("p", { class: "wrong" }, "The file is too large: at most 900 kB.")];
  try {
    const answer = await api.imported(await file.text(), signal);
    let added = 0;
    for (const { item: id, title, rating } of answer.ratings) {
      if (guestRatings().length >= MOST) break;
      rate({ id, title }, rating);
      added += 1;
    }
    if (added) done();
    announce(`${count(added, "rating")} imported`);
    return outcome(answer, added);
  } catch (error) {
    if (signal.aborted) return [];
    return [h("p", { class: "wrong" }, error.message)];
  }
}

function outcome({ origin, ratings, unmatched, n_unrated: unrated }, added) {
  const left = ratings.length - added;
  const missing = unmatched
    .slice(0, LISTED)
    .map((one) => (one.year ? `${one.title} (${one.year})` : one.title));
  return [
    h(
      "p",
      {},
      h("strong", {}, `${count(added, "rating")} imported`),
      ` from ${origin}.`,
      left ? ` ${count(left, "older one")} left out: ${MOST} is the limit.` : null,
      unrated ? ` ${count(unrated, `unrated ${item()}`)} skipped.` : null,
    ),
    unmatched.length
      ? h(
          "details",
          {},
          h("summary", {}, `${count(unmatched.length, "title")} without a match in this data`),
          h(
            "ul",
            { class: "unmatched" },
            missing.map((text) => h("li", {}, text)),
            unmatched.length > LISTED ? h("li", {}, `and ${unmatched.length - LISTED} more`) : null,
          ),
        )
      : null,
  ].filter(Boolean);
}
