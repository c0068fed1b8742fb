"""Neighbors from candidates: exact distances, honest recall, the same lists however they are computed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefmover import Dataset, ItemGeometry, NeighborIndex, Ratings, nearest
from prefmover.datasets.synthesis import synthetic
from prefmover.errors import InputError, RecallWarning
from prefmover.execution import LocalExecutor, atomic
from prefmover.measures import pairwise
from prefmover.measures.pmd import distances_from
from prefmover.search import _candidates as kernels
from prefmover.search import candidates, shortlist
from prefmover.search.candidates import CandidateSearch
from prefmover.search.distributed import NeighborCheckpoint
from prefmover.search.index import Request
from prefmover.search.result import NeighborPositions, Recall, recall_of_lists, wilson
from prefmover.search.shortlist import Comparison, Embedding, Population, nearest_vectors
from tests.messages import names
from tests.oracles import recall as twin
from tests.search.test_nearest import assert_same

K = 5


@pytest.fixture(scope="module")
def crowd():
    return synthetic(500, 160, ratings=(4, 40), mean=12, tastes=6, features=9, seed=7)


@pytest.fixture(scope="module")
def exact(crowd):
    return nearest(crowd, K)


@pytest.fixture(scope="module")
def found(crowd):
    return nearest(crowd, K, method="candidates", recall=0.9, n_threads=2)


@pytest.fixture(scope="module")
def lazy(crowd):
    """The same data without a matrix of distances, and some items without a vector."""
    vectors = crowd.geometry.vectors.copy()
    vectors[::5] = 0
    geometry = ItemGeometry.from_vectors(crowd.geometry.items, vectors, zero="far", budget=0)
    return Dataset(crowd.ratings, geometry)


def recall_of(found, exact):
    """Return the recall of every query."""
    return np.array([recall_of_lists(a.values, b.values) for a, b in zip(found, exact, strict=True)])


def test_every_distance_is_exact(crowd, found):
    some = pairwise(crowd, "pmd", range(100))
    rows = np.repeat(np.arange(500), found.counts)
    assert (found.counts == K).all()
    assert np.array_equal(found.values[: 100 * K], some[rows[: 100 * K], found.neighbors[: 100 * K]])  # bits
    assert (rows != found.neighbors).all()


def test_recall_is_what_was_asked_for_and_said(found, exact):
    true = recall_of(found, exact)
    said = found.recall
    assert said.queries == candidates.MEASURED
    assert said.asked == 0.9 <= said.estimate
    assert said.reached
    assert 0.85 < true.mean() < 1  # not everything: this is a test of an approximation
    assert said.low < said.estimate < said.high
    assert true.mean() == pytest.approx(said.estimate, abs=0.02)
    assert found.stats.solved < exact.stats.pairs / 10
    assert exact.recall is None


def limited(data, users, executor=None, recall=0.9, folder=None, **limits):
    """Return a search with other limits: lists by position, and the recall."""
    request = Request.from_ids(data, users, k=K, checkpoint=folder)
    runs = executor or LocalExecutor(2)
    return CandidateSearch(NeighborIndex(data), request, request.users, recall, 0, runs, **limits).run()


def test_threads_blocks_and_shards_change_nothing(crowd, found):
    again, recall = limited(crowd, np.arange(500), LocalExecutor(1, shard_bytes=30_000), users_per_block=60)
    assert_same(again, found)
    assert recall == found.recall


def test_large_users_are_laid_out_in_parts(lazy, monkeypatch):
    whole = nearest(lazy, K, range(80), method="candidates", recall=0.9)
    monkeypatch.setattr(shortlist, "LAYOUT_BYTES", 6000)
    assert_same(limited(lazy, np.arange(80))[0], whole)


def test_a_shortlist_of_nobody_is_one_empty_part(lazy, monkeypatch):
    """Few queries may have no neighbors of neighbors."""
    monkeypatch.setattr(shortlist, "LAYOUT_BYTES", 6000)
    everyone = Population.from_preferences(lazy.preferences, lazy.geometry, 0)
    comparison = Comparison(everyone, 0)
    assert list(comparison.parts(np.empty(0, np.int64), 2)) == [slice(0, 0)]


def test_items_without_vectors_and_distances_on_demand(lazy):
    some = nearest(lazy, K, range(150), method="candidates", recall=0.9)
    assert some.recall.reached
    assert some.recall.queries == 150
    assert some.recall.estimate == recall_of(some, nearest(lazy, K, range(150))).mean()


def test_a_geometry_without_vectors_that_is_no_metric(crowd):
    rng = np.random.default_rng(1)
    D = rng.random((160, 160))
    D = np.triu(D, 1) + np.triu(D, 1).T
    data = Dataset(crowd.ratings, ItemGeometry.from_distance(crowd.geometry.items, D))
    assert data.geometry.is_metric is False
    some = nearest(data, K, method="candidates", recall=0.8, users=range(60))
    everyone = pairwise(data, "pmd", range(60))
    rows = np.repeat(np.arange(60), some.counts)
    assert np.array_equal(some.values, everyone[rows, some.neighbors])
    assert some.recall.estimate > 0.8


def test_some_queries_in_any_order(crowd, exact):
    some = [7, 3, 7, 499]
    few = nearest(crowd, K, some, method="candidates", recall=0.9)
    assert few.users.tolist() == some
    assert few[3].users.tolist() == exact[3].users.tolist()
    assert np.array_equal(few.ids[0], few.ids[2])
    assert few.recall.queries == 3  # all of them, so that there is no interval
    assert few.recall.low == few.recall.estimate == few.recall.high


def test_three_users_one_without_mass():
    ratings = Ratings.from_arrays(["a", "a", "b", "c", "d"], ["x", "y", "y", "x", "y"], [5, 1, 3, 0, 2])
    data = Dataset(ratings, ItemGeometry.from_vectors(["x", "y"], [[1, 0], [1, 1]]))
    found = nearest(data, 2, method="candidates")
    assert_same(found, nearest(data, 2))
    assert found.counts.tolist() == [2, 2, 0, 2]
    assert found.recall.estimate == 1


def test_one_user_and_equal_users():
    geometry = ItemGeometry.from_vectors(["x"], [[1]])
    for n in (1, 30):
        data = Dataset(Ratings.from_arrays(np.arange(n), ["x"] * n, [3] * n), geometry)
        assert_same(nearest(data, 4, method="candidates"), nearest(data, 4))  # ties go to earlier users


def test_neighbors_of_neighbors_find_more(crowd, exact):
    shares = []
    for rounds in (0, 4):
        with pytest.warns(RecallWarning, match=names(0.999)):
            found, recall = limited(crowd, np.arange(500), recall=0.999, most_screened=14, most_rounds=rounds)
        assert not recall.reached
        lists = [recall_of_lists(found.row(u)[1], one.values) for u, one in enumerate(exact)]
        shares.append(np.mean(lists))
    assert shares[1] > shares[0] + 0.1


def test_the_warning_points_at_the_caller(crowd, monkeypatch):
    monkeypatch.setattr(Recall, "reached", False)
    with pytest.warns(RecallWarning) as warned:
        nearest(crowd, K, range(9), method="candidates", recall=0.9)
    assert warned[0].filename == __file__


def test_a_killed_run_resumes(crowd, found, tmp_path, monkeypatch):
    save, saved = NeighborCheckpoint.save, []

    def failing(self, *part):
        if len(saved) % 4 == 3:
            saved.append(None)
            raise KeyboardInterrupt
        save(self, *part)
        saved.append(part[0])

    monkeypatch.setattr(NeighborCheckpoint, "save", failing)
    runs, options = 0, {"method": "candidates", "recall": 0.9, "checkpoint": tmp_path}
    while True:
        runs += 1
        try:
            again, recall = limited(
                crowd, np.arange(500), LocalExecutor(1 + runs % 2), folder=tmp_path, users_per_block=100
            )
            break
        except KeyboardInterrupt:
            pass
    assert 3 < runs < 20
    assert_same(again, found)
    assert recall == found.recall
    n = len(saved)
    assert_same(nearest(crowd, K, **options), found)
    assert len(saved) == n  # everything was there
    for other in ({"recall": 0.8}, {"seed": 1}, {"k": 4}):
        with pytest.raises(InputError, match=names(str(tmp_path))):
            nearest(crowd, **{"k": K, **options, **other})
    with pytest.raises(InputError, match=names(str(tmp_path))):
        nearest(crowd, K, checkpoint=tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recall": 0.9}, names("recall", "candidates")),
        ({"seed": 3}, names("seed", "candidates")),
        ({"method": "approximate"}, names("approximate", "exact", "candidates")),
        ({"method": "candidates", "measure": "jmsd"}, names("JMSD", "PMD")),
        ({"method": "candidates", "convention": "table-1"}, names("candidates", "exact")),
        ({"method": "candidates", "seed": -1}, names("seed", -1)),
        *(({"method": "candidates", "recall": value}, names("recall", value))
          for value in (0, 1, 1.5, -0.1, float("nan"), True, "high")),
    ],
)  # fmt: skip
def test_bad_input(crowd, options, message):
    with pytest.raises(InputError, match=message):
        nearest(crowd, K, **options)


def test_new_users_are_searched_exactly(crowd):
    new = Ratings.from_arrays(["me"], crowd.ratings.items[:1], [4])
    with pytest.raises(InputError, match=names("new", "exact")):
        nearest(crowd, K, new=new, method="candidates")


def test_memory_and_disk_are_checked_first(crowd, monkeypatch, tmp_path):
    monkeypatch.setattr(candidates, "search_blocks", None)  # nothing starts
    monkeypatch.setenv("PREFMOVER_MEMORY", "1k")
    with pytest.raises(InputError, match=names(500, "memory")):
        nearest(crowd, K, method="candidates")
    monkeypatch.setenv("PREFMOVER_MEMORY", "off")
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(atomic.shutil, "disk_usage", lambda place: usage)
    with pytest.raises(InputError, match=names("disk", str(tmp_path))):
        nearest(crowd, K, method="candidates", checkpoint=tmp_path / "deep" / "folder")
    assert not list(tmp_path.iterdir())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-(2**23), 2**24), min_size=1, max_size=60), st.integers(1, 70), st.data())
def test_selection_is_that_of_sorting(values, m, data):
    scores = np.array(values, np.int32)
    gone = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=5))
    scores[gone] = kernels.NOBODY
    order = np.lexsort((np.arange(len(values)), scores))
    expected = np.sort(order[scores[order] < kernels.NOBODY][:m])
    assert nearest_vectors(scores, m).tolist() == expected.tolist()


def test_scores_are_exact_and_bounded():
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((1300, 7)).astype(np.float32) ** 3  # a few are long
    exists = rng.random(1300) > 0.1
    embedding = Embedding.from_vectors(vectors, exists)
    y = embedding.tiles.transpose(0, 2, 1).reshape(-1, 8).astype(np.int64)[:1300]
    for u in (0, 700, 1299):
        expected = (y**2).sum(axis=1) - 2 * y @ y[u]
        assert np.abs(expected).max() < kernels.OFFSET
        expected[~exists] = kernels.NOBODY
        expected[u] = kernels.NOBODY
        scores = embedding.scores(u)
        assert np.array_equal(scores[:1300], expected)
        assert (scores[1300:] == kernels.NOBODY).all()
        ranks = np.empty(1300, np.int64)
        kernels.ranks_of(np.arange(1300), scores, ranks)
        assert np.array_equal(np.argsort(ranks), np.lexsort((np.arange(scores.size), scores))[:1300])
        some = np.flatnonzero(exists)[:9]
        gap = np.linalg.norm((y[some] - y[u]) * embedding.step, axis=1)
        got = embedding.gaps(u, scores[some])
        assert got[some != u] == pytest.approx(gap[some != u])


def test_laid_out_angles_are_the_distances_a_little_rounded_down(lazy):
    dense = replace(lazy.geometry, grid=lazy.geometry.units(None, None))
    both = [Population.from_preferences(lazy.preferences, one, 0) for one in (lazy.geometry, dense)]
    for u in (0, 17, 300):
        chosen = np.array([1, 40, 41, 499])
        chosen = chosen[chosen != u]
        (a, *_), (b, *_) = (Comparison(crowd, u).local(chosen, exact=False) for crowd in both)
        assert a.items.tolist() == b.items.tolist()
        off = b.coarse.astype(int) - a.coarse
        assert off.min() >= 0
        assert off.max() <= 3


def test_bounds_are_below_and_near(crowd):
    everyone = Population.from_preferences(crowd.preferences, crowd.geometry, 0)
    ratios = []
    for u in (0, 3, 80):
        others = np.setdiff1d(np.arange(0, 500, 5), [u])
        comparison = Comparison(everyone, u)
        bounds, true = comparison.bounds(others), distances_from(crowd.preferences, crowd.geometry, u, others)
        assert (bounds <= true * (1 + 1e-9)).all()
        ratios.append(bounds[true > 0] / true[true > 0])
        solved, values, _ = comparison.solve(others, np.full(others.size, np.inf))
        assert np.array_equal(values, true[np.searchsorted(others, solved)])
    assert np.concatenate(ratios).mean() > 0.95


def test_pairs_are_joined_to_both_sides(crowd):
    rng = np.random.default_rng(4)
    n, most = 30, 6
    row_of = np.full(n, -1)
    row_of[5:] = np.arange(n - 5)
    lists = candidates._Lists(row_of, n - 5, most)
    best = {u: {} for u in range(5, n)}
    for _ in range(4):
        users = rng.permutation(n)[:20]
        rows = [np.setdiff1d(rng.choice(n, 7, replace=False), [u]) for u in users]
        part = [(row, rng.integers(0, 9, row.size) / 8) for row in rows]
        lists.join(users, NeighborPositions.from_lists(part, candidates.SearchStats()))
        for u, (others, values) in zip(users.tolist(), part, strict=True):
            for v, value in zip(others.tolist(), values.tolist(), strict=True):
                for a, b in ((u, v), (v, u)):
                    if a in best:
                        known = {**best[a], b: max(value, best[a].get(b, 0.0))}
                        best[a] = dict(sorted(known.items(), key=lambda pair: (pair[1], pair[0]))[:most])
    got = NeighborPositions.from_table(lists.users, lists.values, lists.counts)
    for u, expected in best.items():
        others, values = got.row(row_of[u])
        assert dict(zip(others.tolist(), values.tolist(), strict=True)) == expected


@pytest.mark.parametrize("p", [0.0, 0.2, 0.95, 1.0])
@pytest.mark.parametrize("n", [4.0, 150.5, 3000.0])
def test_the_interval_is_that_of_the_slow_twin(p, n):
    assert wilson(p, n) == pytest.approx(twin.interval(p, n), abs=1e-9)


def test_the_interval_covers_the_truth():
    """Neighbors of a query are missed together; some 95 of 100 intervals hold the recall of all queries."""
    rng = np.random.default_rng(3)
    each = rng.beta(8, 0.5, 20_000)
    everyone = rng.binomial(10, each) / 10
    covered = 0
    for _ in range(400):
        said = Recall.from_sample(rng.choice(everyone, 200, replace=False), 10, everyone.size, 0.9)
        covered += said.low <= everyone.mean() <= said.high
    assert 0.92 <= covered / 400 <= 0.99


def test_recall_of_ties_and_of_everyone():
    exact, none = np.array([0.1, 0.2]), np.empty(0)
    assert [recall_of_lists(*pair) for pair in ((exact, exact), (none, exact), (none, none))] == [1, 0, 1]
    assert recall_of_lists(np.array([0.2, 0.2, 0.2]), exact) == 1  # equally far
    everyone = Recall.from_sample(np.array([1.0, 0.5]), 2, 2, 0.5)
    assert (everyone.low, everyone.high) == (0.75, 0.75)
    assert everyone.to_dict() == {
        "recall": 0.75, "low": 0.75, "high": 0.75, "queries": 2, "asked": 0.5, "reached": True,
    }  # fmt: skip
