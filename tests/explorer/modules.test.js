// Modules of the explorer that need no browser: `npm test`, and `make test` where npm is.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import * as format from "../../src/prefmover/server/explorer/lib/format.js";
import * as guest from "../../src/prefmover/server/explorer/lib/guest.js";
import { bandOf, layout } from "../../src/prefmover/server/explorer/lib/plan_layout.js";
import { href, PAGES, parse } from "../../src/prefmover/server/explorer/lib/routes.js";

// Browsers have it, and Node from version 21 on.
Map.groupBy ??= (list, key) => {
  const groups = new Map();
  for (const one of list) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return groups;
};

const FILMS = { item_noun: "film", user_noun: "viewer", rating_noun: "rating", feedback: "ratings", verb: "rated" };
const PLAYS = { item_noun: "song", user_noun: "listener", rating_noun: "choice", feedback: "counts", verb: "played" };
const CHOICES = { ...PLAYS, feedback: "choices", verb: "chose" };

beforeEach(() => {
  format.setNouns(FILMS);
  guest.clearRatings();
});

test("what people gave, in the words of the data", () => {
  const said = (words) => {
    format.setNouns(words);
    return [40, 1, 4.5, null].map(format.gave);
  };
  assert.deepEqual(said(FILMS), ["gave it 40", "gave it 1", "gave it 4.5", "liked it"]);
  assert.deepEqual(said(PLAYS), ["played it 40 times", "played it 1 time", "played it 4.5 times", "liked it"]);
  assert.deepEqual(said(CHOICES), ["chose it", "chose it", "chose it", "liked it"]);
  assert.equal(format.noun.ratings, "choices");
});

test("nouns and numbers", () => {
  assert.deepEqual(["film", "story", "box", "day"].map(format.plural), ["films", "stories", "boxes", "days"]);
  assert.deepEqual([0, 1, 1200].map((n) => format.count(n, "film")), ["no film", "1 film", "1,200 films"]);
  assert.equal(format.rank(0.999), "nearer than 99.9% of pairs");
  assert.equal(format.rank(0.25), "farther than 75% of pairs");
  assert.equal(format.signed(-0.5), "−0.500");
});

test("addresses are read as they are written", () => {
  const ids = ["a", "a/b", "@you", "a,b", "%", "ä ö", "..", "constructor"];
  for (const id of ids) {
    for (const page of Object.keys(PAGES)) {
      const route = { page };
      for (const name of PAGES[page]) {
        if (name === "shared") route.shared = encodeURIComponent(id);
        else if (name === "people") route.people = [id, `${id}x`];
        else route[name] = name === "item" || name === "kind" ? id : { id };
      }
      if (Object.values(route).some((part) => part?.id === "@you")) continue; // the visitor's own word is encoded
      assert.deepEqual(parse(href(route)), route);
    }
  }
  for (const hash of ["#/nowhere", "#/why/a/b/c", "#/like-minded/%", "#/constructor", "#/__proto__"])
    assert.equal(parse(hash).page, null);
});

test("shared ratings and likes are those that were given", () => {
  guest.rate({ id: "a:b,c", title: "x" }, 4.5);
  guest.rate({ id: "b", title: "y" }, null);
  guest.rate({ id: "c", title: "z" }, 3);
  guest.rate({ id: "c", title: "z" }, undefined);
  assert.deepEqual(guest.sharedRatings(guest.shareCode()), [
    { id: "a:b,c", rating: 4.5 },
    { id: "b", rating: null },
  ]);
  assert.deepEqual(guest.sharedRatings("%E0%A4%A:4,x:y,:3"), []);
  assert.deepEqual([guest.ratingOf("b"), guest.ratingOf("c")], [null, undefined]);
});

test("a plan keeps its mass and its cost, however it is grouped", () => {
  const flows = [];
  for (let k = 0; k < 30; k += 1) {
    const [source, target] = [`s${k}`, `t${k % 7}`];
    const distance = (k % 5) / 4;
    const more = { source_label: source, target_label: target, source_rating: 3, target_rating: 4 };
    flows.push({ source, target, mass: 1 / 30, distance, value: distance / 30, share: 1 / 30, ...more });
  }
  const cost = flows.reduce((sum, flow) => sum + flow.value, 0);
  for (const most of [3, 6, 14, Infinity]) {
    const plan = layout({ flows, items: [] }, { most });
    const sum = (list, field) => list.reduce((all, one) => all + one[field], 0);
    assert.ok(Math.abs(sum(plan.ribbons, "value") - cost) < 1e-12);
    for (const side of [plan.left, plan.right]) assert.ok(Math.abs(sum(side, "mass") - 1) < 1e-12);
    assert.ok(plan.left.length <= most);
  }
  assert.deepEqual([bandOf(0, 1), bandOf(1, 1)], ["band-0", "band-6"]);
});
