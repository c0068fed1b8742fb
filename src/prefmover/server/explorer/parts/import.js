/** Import of ratings from Letterboxd or IMDb: a CSV file, matched by title and year on the server. */

import { announce } from "../lib/announce.js";
import * as api from "../lib/api.js";
import { capital, count, isGiven, noun } from "../lib/format.js";
import { guestRatings, MOST, rate } from "../lib/guest.js";
import { html } from "../lib/html.js";

const LISTED = 60; // titles without a match that are listed
const LARGEST = 900_000; // bytes; the server takes bodies of at most 1 MiB

/** The form; `done` is called when ratings were added. */
export function importer(done, signal) {
  const report = html`<div class="imported" role="status"></div>`;
  const chosen = async ({ target: input }) => {
    const [file] = input.files;
    input.value = "";
    if (!file) return;
    report.setAttribute("aria-busy", "true");
    report.replaceChildren(await read(file, done, signal));
    report.removeAttribute("aria-busy");
  };
  return html`
    <details class="more">
      <summary>Import from Letterboxd or IMDb</summary>
      <div class="import">
        <p class="soft">
          Export your ratings there (Letterboxd: Settings, Data, ratings.csv; IMDb: Your ratings, Export), and
          choose the CSV file. ${capital(noun.items)} are matched by title and year. The file is not stored.
        </p>
        <input type="file" accept=".csv,text/csv" id="import-file" class="unseen" @change=${chosen}>
        <label for="import-file" class="button quiet">Choose a CSV file</label>
        ${report}
      </div>
    </details>`;
}

const unliked = () => (isGiven("ratings") ? "not rated there" : "not rated there, or low");

const wrong = (text) => html`<p class="wrong">${text}</p>`;

async function read(file, done, signal) {
  if (file.size > LARGEST) return wrong("The file is too large: at most 900 kB.");
  try {
    const answer = await api.imported(await file.text(), signal);
    let added = 0;
    for (const { item: id, title, rating } of answer.ratings) {
      if (guestRatings().length >= MOST) break;
      rate({ id, title }, rating);
      added += 1;
    }
    if (added) done();
    announce(`${count(added, noun.rating)} imported`);
    return outcome(answer, added);
  } catch (error) {
    return signal.aborted ? "" : wrong(error.message);
  }
}

function outcome({ origin, ratings, unmatched, n_unrated: unrated }, added) {
  const left = ratings.length - added;
  const more = unmatched.length - LISTED;
  const titles = unmatched.slice(0, LISTED).map(({ title, year }) => (year ? `${title} (${year})` : title));
  if (more > 0) titles.push(`and ${more} more`);
  const missing = html`
    <details>
      <summary>${count(unmatched.length, "title")} without a match in this data</summary>
      <ul class="unmatched">${titles.map((text) => html`<li>${text}</li>`)}</ul>
    </details>`;
  return html`
    <p>
      <strong>${count(added, noun.rating)} imported</strong> from ${origin}.
      ${left ? `${count(left, "older one")} left out: ${MOST} is the limit. ` : null}
      ${unrated ? `${count(unrated, `${noun.item}`)} skipped: ${unliked()}.` : null}
    </p>
    ${unmatched.length ? missing : null}`;
}
