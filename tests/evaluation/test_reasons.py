"""Reasons by removal: a worked example, twins of every measure, each kind of recommender, bad input."""

import math
from collections import Counter
from itertools import combinations, pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from prefmover import Dataset, Ratings, Recommender
from prefmover.data.splits import hashed
from prefmover.errors import InputError
from prefmover.evaluation import Experiment, evaluate, explained, orders, reasons
from prefmover.evaluation.baselines import linear, rankers
from prefmover.evaluation.record import METRICS, record_key
from prefmover.evaluation.removal import REMOVED
from prefmover.rank import RankingSettings
from prefmover.report import write_report
from tests.messages import names
from tests.oracles import reasons as slow

SETTINGS = RankingSettings(item_penalty=30.0)
NONE = np.empty(0, np.int64)


class Pairs:
    """Scores an item by how many people have it and a rated item, summed over the rated items."""

    def fit(self, data):
        self.given = {u: set(data.ratings[u]) for u in data.ratings.users.tolist()}
        self.items = data.ratings.items.tolist()
        self.pairs = Counter(pair for own in self.given.values() for pair in combinations(sorted(own), 2))

    def both(self, a, b):
        return self.pairs[min(a, b), max(a, b)]

    def without(self, user, items):
        return user, set(items)

    def recommend(self, users, n):
        lists = []
        for who in users:
            user, gone = who if isinstance(who, tuple) else (who, set())
            left = self.given[user] - gone
            scores = {j: sum(self.both(i, j) for i in left) for j in self.items if j not in self.given[user]}
            best = sorted(scores, key=lambda j: -scores[j])[:n]
            lists.append([SimpleNamespace(item=j, score=scores[j]) for j in best])
        return lists

    def explain(self, user, item):
        return sorted(self.given[user], key=lambda i: -self.both(i, item))


@pytest.fixture
def three_people():
    pairs = [("ann", "A"), ("ann", "B"), ("bob", "B"), ("bob", "D"), *(("cid", item) for item in "ABCD")]
    return Dataset(Ratings.from_arrays(*zip(*pairs, strict=True), [1] * len(pairs), feedback="implicit"))


def judged(model, data, n=10, **options):
    model.fit(data)
    return reasons.judge_reasons(explained.explained(model, data, "it"), n, **options)


def test_worked_example(three_people):
    """Ann is recommended D before C, 3 to 2, because of B. Without B it is 1 to 1, and C is first."""
    found = judged(Pairs(), three_people, n=1)
    ann, bob = (1 / 3, 2 / 3, 1 / math.log2(3), 0), (1 / 3, 2 / 3, 1, 1)
    for name, values in zip(("del", "ins", "cdcg", "pos"), zip(ann, bob, strict=True), strict=True):
        assert found["metrics"][name][0] == pytest.approx(np.mean(values), abs=1e-6)
        assert found["metrics"][name][1:] == (None,) * 4  # nothing is left of two ratings
    one = found["reasons"]
    assert (one.n_judged, one.n_named, one.explained, one.lists) == (2, 2.0, 1.0, None)
    assert (one.no_effect, one.same_place, one.all_same_place) == (0.0, 0.75, None)
    assert one.fixed_place == 0.5  # nothing moves what Bob is recommended
    assert one.trade == ()
    assert one.events.model_dump() == {
        "one_rating": 0, "no_list": 1, "unexplained": 0, "nothing_left": 2, "no_score": 0
    }  # fmt: skip
    assert one.orders[0].success == 0.5
    assert one.orders[0].size == 1.0


@pytest.fixture(scope="module")
def few(cinema):
    return cinema.with_ratings(cinema.ratings.take(users=np.arange(60)))


@pytest.fixture(scope="module")
def model(few):
    return Recommender(ranking=SETTINGS).fit(few, heads=["ranking"])


@pytest.fixture(scope="module")
def record_of_model(model, few):
    return reasons.judge_reasons(explained.explained(model, few, "ours"), 10, 12)


def test_measures_like_slow_twins(model, few, record_of_model):
    one, ratings = record_of_model["reasons"], few.ratings
    found = {name: [[] for _ in REMOVED] for name in METRICS["reasons"]}
    shares, named, sentences = ([], []), [], []
    for position in one.users:
        user = ratings.users[position]
        rated = list(ratings[user])

        def score(left, user=user, rated=rated):
            who = user if len(left) == len(rated) else model.without(user, set(rated) - left)
            best = model.recommend(who, few.n_items, reasons=False)
            scores = {film.item: film.score for film in best}
            return {film: scores[film] for film in ratings.items.tolist() if film in scores}

        best = model.recommend(user, 10)
        order = [part.item for part in best[0].why.own]
        shown = [(film.item, part.item) for film in best for part in film.why.because]
        sentences += [slow.related(few, *pair) for pair in shown]
        named += [len(film.why.own) for film in best]
        for k, removed in enumerate(REMOVED):
            values = slow.measures(order, rated, best[0].item, score, 10, removed)
            for name, value in (values or {}).items():
                found[name][k].append(value)
        for some, many in zip(shares, (2, 5), strict=True):
            some.extend(slow.related(few, best[0].item, film) for film in order[:many])
    assert one.related[0] == pytest.approx(np.mean(sentences), abs=1e-6)
    assert one.n_named == pytest.approx(np.mean(named), abs=1e-6)
    for name, columns in found.items():
        expected = [np.mean(values) for values in columns]
        assert record_of_model["metrics"][name] == pytest.approx(expected, abs=1e-4)
    assert one.orders[0].related == pytest.approx([np.mean(some) for some in shares], abs=1e-6)


def test_orders(record_of_model):
    found = {one.name: one for one in record_of_model["reasons"].orders}
    assert set(found) == set(orders.ORDERS)
    mean = {name: np.mean(one.metrics["del"]) for name, one in found.items()}
    assert mean["terms"] < mean["named"] <= mean["random"]
    # Of one rating, none takes more from the score than the best of all.
    assert all(found["leave-one-out"].metrics["del"][0] <= one.metrics["del"][0] for one in found.values())
    for one in found.values():
        assert len(one.per_user["cdcg"]) == len(record_of_model["reasons"].users)


def test_said_reasons_and_related_terms(record_of_model):
    found = {one.name: one for one in record_of_model["reasons"].orders}
    assert set(found["related-terms"].related) == {1.0}
    for k in range(5):
        least = found["related-terms"].metrics["del"][k]
        assert found["terms"].metrics["del"][k] <= least + 1e-6
        assert found["named"].metrics["del"][k] <= found["said"].metrics["del"][k] + 1e-6


def test_the_trade_is_judged_on_other_people(model, few, record_of_model):
    one, points = record_of_model["reasons"], record_of_model["reasons"].trade
    assert [point.alone for point in points] == list(reasons.ALONE)
    assert {point.users for point in points} == {12}
    named = [point.n_named for point in points]
    assert named == sorted(named)
    all_related = [point.related[1] for point in points]
    assert all(after <= before + 0.005 for before, after in pairwise(all_related))
    assert all_related[-1] < 0.9 < all_related[0]
    assert points[-1].behind == pytest.approx({"del": 0, "cdcg": 0}, abs=1e-3)  # the largest terms
    # Judged themselves, these people have the values of the point in use.
    order = np.argsort(hashed(orders.SEED, np.arange(few.n_users)), kind="stable")
    both = reasons.judge_reasons(explained.explained(model, few, "ours"), 10, 24)["reasons"]
    assert both.users == tuple(order[:24].tolist())
    point = next(point for point in points if point.alone == model.explainer_.alone)
    for name, digits in (("del", 1e-5), ("cdcg", 1e-5)):
        means = zip(both.orders[0].metrics[name], one.orders[0].metrics[name], strict=True)
        others = [2 * mean - first for mean, first in means]
        assert point.metrics[name] == pytest.approx(others, abs=digits)


def test_many_states_at_once(model, few):
    one = explained.OfModel(model)
    for user in (3, 40):
        rated = few.ratings.row(user)[0]
        sets = [NONE, rated[:1], rated[2:5], rated[1:]]
        state = model._state(few.ratings.users[[user]].tolist()[0])
        alone = [
            model.ranker_.scores(state.without(some, model.similarity_) if len(some) else state).total[0]
            for some in sets
        ]
        assert one.scores(user, sets) == pytest.approx(np.array(alone), abs=1e-5)


def test_a_person_taken_out(model, few):
    one = explained.OfModel(model)
    item = one.listed(3, 1)[0].item
    people = one.like_minded(3, item)
    state = model._state(few.ratings.users[[3]].tolist()[0])
    terms = model.ranker_.terms(state, np.array([item]), np.array(people)).user_terms[:, 0]
    assert terms.tolist() == sorted(terms.tolist(), reverse=True)
    without = one.without_people(3, np.array(people[:2]))[:, item]
    assert one.scores(3, [NONE])[0, item] - without == pytest.approx(terms[:2], abs=1e-5)


@pytest.mark.parametrize(("name", "learn"), [("ease", linear.ease), ("item-knn", rankers.item_knn)])
def test_linear_recommenders_are_the_peers_of_that_name(few, name, learn):
    ours = explained.Linear(name).fit(few)
    theirs = rankers.ByScores(learn).fit(few)
    users = few.ratings.users.tolist()[:20]
    scores = np.array([ours.scores(u, [NONE])[0] for u in range(20)])
    assert scores == pytest.approx(theirs.scores_(np.arange(20)), abs=1e-4)
    assert ours.recommend(users[:1], 3)[0] == theirs.recommend(users[:1], 3)[0]
    terms = ours.terms(4, np.array([7]))[:, 0]
    assert terms.sum() == pytest.approx(scores[4, 7], abs=1e-4)
    rated = few.ratings.row(4)[0]
    assert scores[4, 7] - ours.scores(4, [rated[:1]])[0, 7] == pytest.approx(terms[0], abs=1e-4)


def test_refitted_like_a_new_fit(few):
    def refit(data):
        return explained.explained(explained.Linear("item-knn").fit(data), data, "it")

    found = judged(explained.Linear("item-knn"), few, n_users=6, refit=refit, n_refitted=4)["reasons"]
    assert found.n_refitted == 4
    one, ratios = refit(few), []
    for user in found.users[:4]:
        item, own, *_ = one.listed(user, 1)[0]
        less = reasons.without_ratings(few, user, own)
        assert less.ratings.n_ratings == few.ratings.n_ratings - len(own)
        ratios.append(refit(less).scores(user, [NONE])[0, item] / one.scores(user, [NONE])[0, item])
    assert found.refitted[0].name == "named"
    assert found.refitted[0].metrics["del"][0] == pytest.approx(np.mean(ratios), abs=1e-5)


def test_a_run_in_a_folder(few, tmp_path):
    pairs = {"pairs": Pairs(), "item-knn": "item-knn"}
    first = evaluate(few, pairs, task="reasons", judged=5, folder=tmp_path)
    again = evaluate(few, pairs, task="reasons", judged=5, folder=tmp_path)
    assert [one.reasons for one in again] == [one.reasons for one in first]
    assert [one.key for one in first] == [
        record_key("random", 0.8, 0, name, "reasons") for name in ("object:pairs", "item-knn")
    ]
    assert first.summary().column("removed").to_pylist() == [*REMOVED, *REMOVED]
    with pytest.raises(InputError, match=names("ranking", "reasons")):
        Experiment(dataset="cinema", task="reasons").merged(Experiment(dataset="cinema"))
    page = write_report(tmp_path)["summary.md"].read_text()
    assert all(f"| {name} |" in page for name in ("item-knn", "popularity", "random", "**named**"))


class Silent(Pairs):
    explain = None


class Rigid(Pairs):
    without = None


class Wrong(Pairs):
    def explain(self, user, item):
        return [item]


class Odd(Pairs):
    def explain(self, user, item):
        return 3


@pytest.mark.parametrize(
    ("recommender", "said"),
    [(Silent(), ("explain",)), (Rigid(), ("without",)), (Wrong(), ("has not rated",)), (Odd(), ("explain",))],
)
def test_recommenders_without_reasons(few, recommender, said):
    with pytest.raises(InputError, match=names(*said)):
        evaluate(few, {"it": recommender}, task="reasons", judged=3)


def test_people_with_one_rating():
    one_each = Dataset(Ratings.from_arrays(["ann", "bob"], ["A", "B"], [3, 5]))
    with pytest.raises(InputError, match="two ratings"):
        judged(Pairs(), one_each)


def test_places_without_scores(three_people):
    class Places(Pairs):
        def recommend(self, users, n):
            return [[one.item for one in best] for best in super().recommend(users, n)]

    found = judged(Places(), three_people, n=1)["metrics"]
    assert found["del"] == found["ins"] == (None,) * 5
    assert found["cdcg"][0] == pytest.approx((1 + 1 / math.log2(3)) / 2, abs=1e-6)


def test_settings_of_this_task_only():
    with pytest.raises(InputError, match=names("refits", "ranking")):
        Experiment(dataset="cinema", refits=3)
    with pytest.raises(InputError, match=names("EDLAE", "reasons")):
        evaluate(Dataset(Ratings.from_arrays([1, 1], ["a", "b"], [1, 2])), "edlae", task="reasons")
