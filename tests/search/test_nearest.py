"""Pruned search equals exhaustive search, bit for bit; exhaustive search equals POT."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ot
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError, MissingItemsWarning, UnknownIdError
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import MEASURES, Measure
from prefmover.search import (
    NeighborIndex,
    exhaustive,
    exhaustive_raters,
    nearest,
    nearest_raters,
    within,
)
from tests.messages import names
from tests.search.strategies import rated


def assert_same(found, expected):
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.neighbors, expected.neighbors)
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.fixture(scope="module")
def viewers():
    """120 users of 60 items, in vectors that leave much to prune."""
    rng = np.random.default_rng(4)
    centres = rng.random((6, 8)) ** 4
    vectors = centres[rng.integers(0, 6, 60)] + 0.1 * rng.random((60, 8))
    lengths = rng.integers(1, 25, 120)
    users = np.repeat(np.arange(120), lengths)
    items = np.concatenate([rng.choice(60, n, replace=False) for n in lengths])
    ratings = Ratings.from_arrays(users, items, rng.integers(1, 6, users.size))
    return ratings, ItemGeometry.from_vectors(ratings.items, vectors[ratings.items])


@settings(max_examples=80)
@given(rated(), st.integers(1, 12))
def test_nearest_is_exhaustive(data, k):
    ratings, geometry = data
    assert_same(nearest(ratings, geometry, k), exhaustive(ratings, geometry=geometry, k=k))


@settings(max_examples=40)
@given(rated(), st.floats(0, 3))
def test_within_is_exhaustive(data, radius):
    ratings, geometry = data
    expected = exhaustive(ratings, geometry=geometry, radius=radius)
    assert_same(within(ratings, geometry, radius), expected)
    if expected.values.size:  # a radius that is exactly somebody's distance includes them
        tie = float(expected.values[0])
        assert_same(within(ratings, geometry, tie), exhaustive(ratings, geometry=geometry, radius=tie))


@settings(max_examples=60)
@given(rated(), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_raters_are_exhaustive(data, k, seed):
    ratings, geometry = data
    rng = np.random.default_rng(seed)
    users, items = rng.choice(ratings.users, 30), rng.choice(ratings.items, 30)
    found = nearest_raters(ratings, geometry, users, items, k)
    assert_same(found, exhaustive_raters(ratings, users, items, k, geometry=geometry))


def test_pruning_happens_and_changes_nothing(viewers):
    ratings, geometry = viewers
    found = nearest(ratings, geometry, 5)
    assert_same(found, exhaustive(ratings, geometry=geometry, k=5))
    stats = found.stats
    assert stats.pairs == 120 * 119
    assert stats.solved < 0.4 * stats.pairs
    assert stats.rwmd > 0
    assert stats.prices > 0
    assert stats.abandoned > 0
    assert stats.known > 0
    assert set(stats.seconds) == {"table", "layout", "bounds", "exact"}


def test_threads_and_table_change_nothing(viewers):
    ratings, geometry = viewers
    expected = NeighborIndex(ratings, geometry).nearest(k=7, n_threads=1)
    for n_threads in (1, 2, 3):
        for budget in (0, 2**28):
            index = NeighborIndex(ratings, geometry, table_budget=budget)
            assert_same(index.nearest(k=7, n_threads=n_threads), expected)


def test_any_smaller_k_is_a_prefix(viewers):
    ratings, geometry = viewers
    users, items = ratings.users[:20].repeat(3), np.tile(ratings.items[:3], 20)
    index = NeighborIndex(ratings, geometry)
    long, short = index.raters(users, items, 60), index.raters(users, items, 4)
    for k in range(60):
        part = slice(long.indptr[k], long.indptr[k + 1])
        np.testing.assert_array_equal(
            long.neighbors[part][:4], short.neighbors[short.indptr[k] : short.indptr[k + 1]]
        )


def test_exhaustive_is_pot(viewers):
    ratings, geometry = viewers
    R, d = ratings.matrix.toarray(), geometry.block()
    found = nearest(ratings, geometry, 3, users=ratings.users[:10])
    for u in range(10):
        mine = np.flatnonzero(R[u])
        true = [
            ot.emd2(R[u, mine] / R[u].sum(), R[v, theirs] / R[v].sum(), d[np.ix_(mine, theirs)])
            for v in range(120)
            for theirs in [np.flatnonzero(R[v])]
        ]
        others = np.delete(np.arange(120), u)
        np.testing.assert_allclose(found.distances[u], np.sort(np.array(true)[others])[:3], rtol=0, atol=1e-9)


def test_the_query_itself_is_never_a_neighbor(viewers):
    ratings, geometry = viewers
    found = nearest(ratings, geometry, 500)
    assert (found.counts == 119).all()  # fewer than k, and visible
    assert found.ids.shape == (120, 119)
    for k, user in enumerate(found.users):
        assert user not in found.ids[k]


def test_ties_go_to_the_earlier_user():
    ratings = Ratings.from_arrays(list("dcba"), ["x"] * 4, [1, 2, 3, 4])
    geometry = ItemGeometry.from_vectors(["x"], [[1.0]])
    found = nearest(ratings, geometry, 2)
    assert found.ids.tolist() == [["b", "c"], ["a", "c"], ["a", "b"], ["a", "b"]]
    assert (found.values == 0).all()


def test_users_without_a_distribution_are_nobodys_neighbor():
    ratings = Ratings.from_arrays([1, 2, 3], ["x", "x", "x"], [5, 0, 3])
    geometry = ItemGeometry.from_vectors(["x"], [[1.0]])
    found = nearest(ratings, geometry, 2)
    assert found.counts.tolist() == [1, 0, 1]
    assert found.of(1) == [(3, 0.0)]
    assert found.distances.shape == (3, 1)
    assert np.isnan(found.distances[1, 0])
    assert found.stats.undefined == 1 + 2 + 1


def test_a_new_user_gets_what_the_same_ratings_get(viewers):
    ratings, geometry = viewers
    index = NeighborIndex(ratings, geometry)
    for user in ratings.users[:10]:
        known = index.nearest([user], 30)
        new = index.nearest(ratings[user], 31)
        at = ratings.user_position(user)
        others = new.neighbors != at
        np.testing.assert_array_equal(new.neighbors[others][:30], known.neighbors)
        np.testing.assert_array_equal(new.values[others][:30], known.values)
        assert new.values[~others].tolist() == [0.0]
    mine = ratings[user]
    for library in (pd.DataFrame, pl.DataFrame, pa.table):
        frame = library({"item": list(mine), "rating": list(mine.values())})
        assert_same(index.nearest(frame, 31), new)
    several = ratings.take(users=np.arange(10))
    assert_same(index.nearest(several.to_frame(), 5), exhaustive_new(ratings, geometry, several, 5))
    assert_same(index.nearest(several, 5), exhaustive_new(ratings, geometry, several, 5))


def exhaustive_new(ratings, geometry, new, k):
    """All pairs, by putting the new users' ratings beside the others."""
    from prefmover.measures.pmd import distances

    n = ratings.n_users
    both = Ratings.from_arrays(
        np.concatenate((ratings.to_frame()["user"], new.to_frame()["user"].to_numpy() + 10_000)),
        np.concatenate((ratings.to_frame()["item"], new.to_frame()["item"])),
        np.concatenate((ratings.to_frame()["rating"], new.to_frame()["rating"])),
    )
    D = distances(both, geometry, both.users[n:], both.users[:n])
    order = np.argsort(D, axis=1, kind="stable")[:, :k]

    class Expected:
        indptr = np.arange(0, k * len(D) + 1, k)
        neighbors = order.ravel()
        values = np.take_along_axis(D, order, axis=1).ravel()

    return Expected


def test_new_users_and_unknown_items(viewers):
    ratings, geometry = viewers
    item = ratings.items[0]
    with pytest.raises(InputError, match=names(999, "missing", "drop")):
        nearest(ratings, geometry, 3, users={item: 4, 999: 5})
    index = NeighborIndex(ratings, geometry, missing="drop")
    with pytest.warns(MissingItemsWarning, match="999"):
        found = index.nearest({item: 4, 999: 5}, 3)
    assert_same(found, index.nearest({item: 4}, 3))


def test_items_nobody_rated_have_no_raters(viewers):
    ratings, geometry = viewers
    found = nearest_raters(ratings, geometry, ratings.users[:2], ["no such item", ratings.items[0]], 3)
    assert np.diff(found.indptr).tolist() == [0, 3]
    assert nearest_raters(ratings, geometry, [], []).indptr.tolist() == [0]


@pytest.mark.parametrize("measure", list(MEASURES))
def test_every_measure_goes_through_the_same_door(viewers, measure):
    ratings, geometry = viewers
    found = nearest(ratings, geometry, 4, measure)
    row = MEASURES[measure]
    assert found.larger_is_closer == row.larger_is_closer
    for k in range(20):
        values = found.values[found.indptr[k] : found.indptr[k + 1]]
        assert (np.diff(values) <= 0).all() if row.larger_is_closer else (np.diff(values) >= 0).all()
    pairs = ratings.users[:5], ratings.items[:5]
    assert len(nearest_raters(ratings, geometry, *pairs, 3, measure).indptr) == 6


def test_a_measure_of_ones_own(viewers):
    ratings, _ = viewers
    shared = Measure.from_function("shared", lambda u, v: len(u.keys() & v.keys()), symmetric=True)
    found = nearest(ratings, k=3, measure=shared)
    assert found.larger_is_closer
    assert within(ratings, None, 5, shared).values.min() >= 5


def test_a_threshold_is_a_radius_for_similarities(viewers):
    ratings, _ = viewers
    assert (within(ratings, None, 0.2, "jaccard").values >= 0.2).all()


def test_progress_reaches_the_end(viewers):
    ratings, geometry = viewers
    calls = []
    nearest(ratings, geometry, 2, progress=lambda *call: calls.append(call))
    assert calls[-1] == (120, 120)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r, g: nearest(r, g, 0), names("k", 0)),
        (lambda r, g: nearest(r, g, 2.5), names("k", 2.5)),
        (lambda r, g: nearest(r, None, 2), names("PMD")),
        (lambda r, g: within(r, g, -1), names("radius", -1)),
        (lambda r, g: within(r, g, float("nan")), names("radius", "nan")),
        (lambda r, g: nearest(r, g, 2, users="ann"), names("'ann'")),
        (lambda r, g: nearest(r, g, 2, "cos", users={1: 5}), names("COS")),
        (lambda r, g: nearest(r, g, 2, "cos", checkpoint="x"), names("checkpoint")),
        (lambda r, g: nearest_raters(r, g, [1, 2], [3]), names(2, 1)),
        (lambda r, g: nearest_raters(r, g, [1], [3], 0), names("k", 0)),
        (lambda r, g: nearest(r, g, 2, n_threads=0), names("n_threads", 0)),
    ],
)
def test_bad_questions(viewers, ask, message):
    with pytest.raises(InputError, match=message):
        ask(*viewers)


def test_an_interrupted_query_leaves_nothing_to_the_next(viewers, monkeypatch):
    from prefmover.search import _cascade as kernels

    ratings, geometry = viewers
    index = NeighborIndex(ratings, geometry)
    expected = index.nearest(k=3, n_threads=1)
    visit, calls = kernels.visit, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 100:
            raise KeyboardInterrupt
        return visit(*arguments)

    monkeypatch.setattr(kernels, "visit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        index.nearest(k=3, n_threads=1)
    assert_same(index.nearest(k=3, n_threads=1), expected)


def test_items_may_come_one_by_one(viewers):
    ratings, geometry = viewers
    found = nearest_raters(ratings, geometry, iter(ratings.users[:2]), iter(ratings.items[:2].tolist()), 3)
    assert found.items.tolist() == ratings.items[:2].tolist()


def test_unknown_users_are_named(viewers):
    with pytest.raises(UnknownIdError, match=names(7777)):
        nearest(*viewers, 2, users=[7777])


def test_64_bits_where_32_do_not_do(viewers, monkeypatch):
    """A pair whose prices outgrow 32 bits is solved apart, to the same distance."""
    from prefmover.search import _cascade as kernels

    ratings, geometry = viewers
    expected = nearest(ratings, geometry, 3, users=ratings.users[:4])
    visit, asked = kernels.visit, []

    def fails_once(query, *rest):
        if query.itself not in asked:
            asked.append(query.itself)
            return -1 - 50
        return visit(query, *rest)

    monkeypatch.setattr(kernels, "visit", fails_once)
    assert_same(nearest(ratings, geometry, 3, users=ratings.users[:4]), expected)
    assert asked == sorted(asked, key=asked.index)
    assert len(asked) == 4


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "queries"), [("ml-100k", 4), ("ml-1m", 2)])
def test_movielens_is_pot(real_data, name, queries):
    from prefmover import datasets
    from prefmover.items.geometry import align

    data = datasets.load(name)
    ratings, geometry = align(data.ratings, data.geometry, "drop")
    counts = np.diff(ratings.matrix.indptr)
    rng = np.random.default_rng(2)
    asked = rng.choice(np.flatnonzero(counts < 60), queries, replace=False)
    few = np.union1d(asked, rng.choice(np.flatnonzero(counts < 150), 150, replace=False))
    some = ratings.take(users=few)
    found = nearest(some, geometry, 10, users=ratings.users[asked])
    for k, u in enumerate(ratings.user_positions(ratings.users[asked])):
        a = ratings.matrix[[u]]
        true = []
        for v in few[few != u]:
            b = ratings.matrix[[v]]
            cost = geometry.block(a.indices, b.indices)
            true.append(ot.emd2(a.data / a.data.sum(), b.data / b.data.sum(), cost))
        np.testing.assert_allclose(found.distances[k], np.sort(true)[:10], rtol=0, atol=1e-9)
