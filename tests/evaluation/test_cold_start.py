"""Lists of warm and cold items from one ranking, and people with a few ratings as guests."""

import numpy as np
import pytest

from prefmover import Dataset, ItemGeometry, Ratings, Recommender
from prefmover.data.cold_start import cold_items, new_people
from prefmover.errors import InputError
from prefmover.evaluation import Experiment, compute, evaluate, tasks
from prefmover.evaluation.baselines.rankers import ByScores
from prefmover.evaluation.guests import AsGuests
from prefmover.evaluation.recommenders import Method
from prefmover.evaluation.tasks import RankingTask
from prefmover.rank import tuning
from tests.oracles import evaluation as slow

PLAIN = Method.parse("object:plain")


class Fixed:
    """Recommends all items in one order; those that a user has rated are left out."""

    def __init__(self, order=None):
        self.order = order

    def fit(self, data):
        self.data = data

    def recommend(self, users, n):
        order = self.data.ratings.items.tolist() if self.order is None else self.order
        return [[item for item in order if item not in self.data.ratings[user]][:n] for user in users]


def test_a_worked_example():
    """Three warm items and two cold ones, a to e; one user has relevant b and d, the other d only."""
    whole = Ratings.from_arrays(list("uuuuvvvv"), list("abcdaced"), [5, 4, 1, 5, 4, 1, 2, 4])
    train = Ratings.from_arrays(list("uuvv"), list("acac"), [5, 1, 4, 1], scale=whole.scale)
    train = train.with_items(np.array(list("abcde"), dtype=object))
    positions = {item: k for k, item in enumerate("abcde")}
    keys = np.array([0 * 5 + positions["b"], 0 * 5 + positions["d"], 1 * 5 + positions["d"]])
    cold = np.array([False, False, False, True, True])
    task = RankingTask(train, np.array([0, 1]), np.array([2, 1]), keys, 4.0, (2,), cold)
    model = Fixed(["e", "b", "a", "d", "c"])
    model.fit(Dataset(train))
    answer = task.ask(model, PLAIN)
    # Mixed: e, b. Without cold items: b. Cold items alone: e, d.
    assert answer.positions.tolist() == [[4, 1], [4, 1]]
    assert answer.parts[0].tolist() == [[1, -1], [1, -1]]
    assert answer.parts[1].tolist() == [[4, 3], [4, 3]]
    fields = task.score(answer, PLAIN, None)
    second = 1 / np.log2(3)
    assert fields["metrics"]["ndcg"] == (pytest.approx((second / (1 + second) + 0) / 2, abs=1e-8),)
    warm, cold = fields["parts"]
    assert (warm.name, warm.n_users, warm.metrics["ndcg"]) == ("warm items", 1, (1.0,))  # of u alone
    assert (cold.name, cold.n_users, cold.metrics["recall"]) == ("cold items", 2, (1.0,))
    assert cold.metrics["ndcg"] == (pytest.approx(second, abs=1e-8),)


@pytest.mark.parametrize("block", [1, 10**9])
def test_parts_are_the_ranking_filtered(cinema, monkeypatch, block):
    """Slow twin: rank all items for one user after the other, and leave out what is not asked."""
    monkeypatch.setattr(tasks, "BLOCK_PLACES", block)
    split = cold_items(cinema.ratings, 0.5, 1)
    data, rng = cinema.with_ratings(split.train), np.random.default_rng(0)
    table = rng.random((data.n_users, data.n_items))
    cold = data.ratings_per_item == 0
    task = RankingTask.of_split(split, None, (5, 10)).sampled(60)
    task = RankingTask(task.train, task.users, task.n_relevant, task.keys, task.threshold, task.ns, cold)
    model = ByScores(lambda data: lambda users: table[users]).fit(data)
    fields = task.score(task.ask(model, PLAIN), PLAIN, None)
    found = {"warm items": [], "cold items": [], "all": []}
    for user in task.users.tolist():
        rated = set(data.ratings.row(user)[0].tolist())
        ranking = [i for i in np.argsort(-table[user]).tolist() if i not in rated]
        relevant = {int(key % data.n_items) for key in task.keys if key // data.n_items == user}
        for name, some in (("warm items", ~cold), ("cold items", cold), ("all", np.ones_like(cold))):
            if own := {i for i in relevant if some[i]}:
                found[name].append(slow.list_metrics([i for i in ranking if some[i]], own, 10))
    for part in fields["parts"]:
        twin = found[part.name]
        assert part.n_users == len(twin)
        for name, column in part.metrics.items():
            assert column[1] == pytest.approx(np.mean([one[name] for one in twin]), abs=1e-7)
    assert fields["metrics"]["ndcg"][1] == pytest.approx(
        np.mean([one["ndcg"] for one in found["all"]]), abs=1e-7
    )


def test_cold_items_by_name(cinema):
    found = {r.recommender: r for r in evaluate(
        cinema, ["default", "ease", "liked-popularity"], task="ranking",
        protocol="cold-items", train=0.5, trials=2, repeats=2,
    ) if r.repeat == 1}  # fmt: skip
    assert {r.key for r in found.values()} == {f"lists-cold-items-0.5-1-{name}" for name in found}
    default, ease, liked = found["default"], found["ease"], found["liked-popularity"]
    assert [part.name for part in default.parts] == ["warm items", "cold items"]
    assert default.seed == 1
    assert default.new_items >= 0.1 * cinema.n_items - 5
    # Who scores cold items equally has the order of the fallback; content knows them.
    cold = [one.parts[1].metrics["ndcg"][0] for one in (default, ease, liked)]
    assert cold[1] == cold[2]
    assert cold[0] > 2 * cold[1]
    assert sum(default.parts[1].groups.n) == default.parts[1].n_users


def test_the_search_for_cold_items_has_cold_items(cinema, monkeypatch):
    """Also where only some of the items take part in it: those that are held out whole are among them."""
    monkeypatch.setattr(tuning, "MAX_ITEMS", 150)
    split = cold_items(cinema.ratings, 0.8, 0)
    e = Experiment(dataset="cinema", protocol="cold-items", task="ranking")
    part = compute.TrainTest(e, 0.8, 0, split, cinema.with_ratings(split.train))
    data, inner, task = part.validations("ranking")[0]
    assert data.n_items == 150
    assert inner.new_items >= 10
    assert task.cold is None
    assert not set(inner.test_pairs()) & set(split.test_pairs())


@pytest.fixture(scope="module")
def people(cinema):
    few = cinema.with_ratings(cinema.ratings.take(users=np.arange(120)))
    split = new_people(few.ratings, 3, 5)
    return split, few.with_ratings(split.train)


def test_guests_are_those_of_a_model_without_them(people):
    """Twin: fit to the others, and ask for one guest after the other."""
    split, data = people
    guests = np.unique(split.users)
    found = AsGuests(Recommender(), guests).fit(data).recommend(data.ratings.users[guests].tolist(), 10)
    others = np.setdiff1d(np.arange(data.n_users), guests)
    model = Recommender().fit(data.with_ratings(data.ratings.take(users=others)))
    for user, items in zip(data.ratings.users[guests].tolist(), found, strict=True):
        guest = model.guest(data.ratings[user])
        assert [one.item for one in model.recommend(guest, 10, reasons=False)] == items


def test_guests_of_implicit_data_keep_their_strengths():
    rng = np.random.default_rng(0)
    users, items = np.nonzero(rng.random((30, 20)) < 0.5)
    counts = rng.integers(1, 9, len(users))
    ratings = Ratings.from_arrays(users, items, counts, feedback="implicit")
    data = Dataset(ratings, ItemGeometry.from_vectors(ratings.items, rng.random((20, 3))))
    found = AsGuests(Recommender(), np.array([4])).fit(data).recommend([4], 5)[0]
    model = Recommender().fit(data.with_ratings(ratings.take(users=np.setdiff1d(np.arange(30), 4))))
    plays = {int(i): int(c) for u, i, c in zip(users, items, counts, strict=True) if u == 4}
    assert [one.item for one in model.recommend(model.guest(plays), 5, reasons=False)] == found


def test_new_people_by_name(cinema):
    few = cinema.with_ratings(cinema.ratings.take(users=np.arange(120)))
    names = ["default", "default:guest", "ease"]
    found = evaluate(few, names, task="ranking", protocol="new-people", given=(1, 4), trials=2)
    assert [r.key for r in found] == [f"lists-new-people-{k}-0-{name}" for k in (1, 4) for name in
                                      ("default", "default.guest", "ease")]  # fmt: skip
    assert {(r.given, r.n_users) for r in found} == {
        (1, found.records[0].n_users),
        (4, found.records[-1].n_users),
    }
    guest = found.records[1]
    assert (guest.label, guest.settings.keys()) == ("default, as a guest", found.records[0].settings.keys())
    assert len({row["share"] for row in found.summary().to_pylist()}) == 2
    with pytest.raises(InputError):
        evaluate(few, "default:guest", task="ranking")
    with pytest.raises(InputError):
        Experiment(dataset="cinema", given=3)


def test_held_out_ratings_change_no_list(people):
    """The lists of guests, and of users with a refit, are the same whatever the test ratings are."""
    split, data = people
    seen = {}
    for flip in (False, True):
        whole = split.train.matrix.copy()
        tests = (
            split.ratings
            if not flip
            else split.train.scale.lowest + split.train.scale.highest - split.ratings
        )
        dense = whole.tolil()
        dense[split.users, split.items] = tests
        ratings = Ratings(dense.tocsr(), split.train.users, split.train.items, split.train.scale)
        again = new_people(ratings, 3, 5)
        assert again.train.digest() == split.train.digest()
        known = data.with_ratings(again.train)
        asked = known.ratings.users[np.unique(again.users)].tolist()
        seen[flip] = AsGuests(Recommender(), np.unique(again.users)).fit(known).recommend(asked, 10)
    assert seen[False] == seen[True]
