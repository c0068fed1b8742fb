/** The people of a group: a field that adds somebody, and a button for each that takes them out. */

import { h } from "../lib/elements.js";
import { capitalName, nameOf, user as userNoun } from "../lib/format.js";
import { personLink } from "./links.js";
import { personPicker } from "./pickers.js";

/**
 * @param {string[]} people ids
 * @param {number} most
 * @param {(people: string[]) => void} change is called with the new ids
 */
export function members(people, most, change) {
  const add = ({ id }) => change(people.includes(id) ? people : [...people, id]);
  const label = people.length ? `Add ${userNoun()}` : `First ${userNoun()}`;
  return h(
    "div",
    { class: "members" },
    people.length < most
      ? h("div", { class: "pickers one" }, personPicker({ id: "add-person", label, you: false, choose: add }))
      : null,
    people.length
      ? h(
          "ul",
          { class: "chips", "aria-label": "Who is in the group" },
          people.map((id) => h("li", { class: "member" }, personLink({ id }, { capital: true }), out(id))),
        )
      : null,
  );

  function out(id) {
    const click = () => change(people.filter((one) => one !== id));
    const label = `Remove ${nameOf({ id })}`;
    return h("button", { type: "button", class: "quiet out", "aria-label": label, on: { click } }, "×");
  }
}

/** The names of the people in a heading: "ada-b, hugo-m and 3 others". */
export function namesOf(people, most = 3) {
  const names = people.map((id, k) => (k ? nameOf({ id }) : capitalName({ id })));
  const left = names.length - most;
  const shown = left > 1 ? [...names.slice(0, most), `${left} others`] : names;
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}` : (shown[0] ?? "");
}
