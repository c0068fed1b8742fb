"""Pruned search equals exhaustive search, bit for bit; exhaustive search equals POT."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ot
from prefmover import Dataset, ItemGeometry, Ratings, datasets
from prefmover.errors import InputError, UnknownIdError
from prefmover.measures import MEASURES, Measure
from prefmover.search import NeighborIndex, nearest, nearest_raters, within
from prefmover.search.index import Request
from prefmover.search.nearest import exhaustive
from tests.messages import names
from tests.search.strategies import rated

SEARCHED = [name for name, row in MEASURES.items() if row.searches_by_bounds()]
searched = pytest.mark.parametrize("measure", SEARCHED)


def every_pair(data, users=None, **options):
    return exhaustive(Request.from_ids(data, users, **options))


def assert_same(found, expected):
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.neighbors, expected.neighbors)
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.fixture(scope="module")
def viewers():
    """120 users of 60 items, in vectors that leave much to prune."""
    rng = np.random.default_rng(4)
    centers = rng.random((6, 8)) ** 4
    vectors = centers[rng.integers(0, 6, 60)] + 0.1 * rng.random((60, 8))
    lengths = rng.integers(1, 25, 120)
    users = np.repeat(np.arange(120), lengths)
    items = np.concatenate([rng.choice(60, n, replace=False) for n in lengths])
    ratings = Ratings.from_arrays(users, items, rng.integers(1, 6, users.size))
    return Dataset(ratings, ItemGeometry.from_vectors(ratings.items, vectors[ratings.items]))


@searched
@settings(max_examples=70)
@given(data=rated(), k=st.integers(1, 12))
def test_nearest_is_exhaustive(measure, data, k):
    assert_same(nearest(data, k, measure=measure), every_pair(data, measure=measure, k=k))


@searched
@settings(max_examples=35)
@given(data=rated(), radius=st.floats(0, 3))
def test_within_is_exhaustive(measure, data, radius):
    expected = every_pair(data, measure=measure, radius=radius)
    assert_same(within(data, radius, measure=measure), expected)
    if expected.values.size:  # a radius that is exactly somebody's distance includes them
        tie = float(expected.values[0])
        assert_same(within(data, tie, measure=measure), every_pair(data, measure=measure, radius=tie))


@searched
@settings(max_examples=50)
@given(data=rated(), k=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_raters_are_exhaustive(measure, data, k, seed):
    rng = np.random.default_rng(seed)
    users, items = rng.choice(data.ratings.users, 30), rng.choice(data.ratings.items, 30)
    found = nearest_raters(data, users, items, k, measure)
    assert_same(found, every_pair(data, users, measure=measure, items=items, k=k))


@searched
def test_ratings_that_nobody_gave(measure, viewers):
    ratings = Ratings.from_arrays([1, 1, 1, 2, 2], [3, 8, 11, 3, 40], [2.5, 1.25, 4.75, 5, 1])
    new = ratings.with_items(viewers.ratings.items)
    expected = every_pair(viewers, measure=measure, new=new, k=6)
    assert_same(nearest(viewers, 6, measure=measure, new=new), expected)
    assert_same(NeighborIndex(viewers, measure).nearest(new=new, k=6), expected)


@searched
def test_an_index_is_asked_again(measure, viewers):
    index = NeighborIndex(viewers, measure)
    first = index.nearest([3, 4], k=4)
    assert_same(index.nearest([3, 4], k=4, n_threads=1), first)
    radius = float(first.values[3])
    assert_same(index.within(radius, [3]), every_pair(viewers, [3], measure=measure, radius=radius))
    assert_same(index.raters([3], [7], k=2), every_pair(viewers, [3], measure=measure, items=[7], k=2))


@searched
def test_pruning_happens_and_changes_nothing(measure, viewers):
    found = nearest(viewers, 5, measure=measure)
    assert_same(found, every_pair(viewers, measure=measure, k=5))
    stats = found.stats
    assert stats.pairs == 120 * 119
    assert stats.solved < 0.4 * stats.pairs
    assert stats.known > 0
    assert measure != "pmd" or min(stats.rwmd, stats.prices, stats.abandoned) > 0
    assert set(stats.seconds) == {"table", "layout", "bounds", "exact"}


def test_threads_and_table_change_nothing(viewers):
    expected = NeighborIndex(viewers).nearest(k=7, n_threads=1)
    for n_threads in (1, 2, 3):
        for budget in (0, 2**28):
            index = NeighborIndex(viewers, table_budget=budget)
            assert_same(index.nearest(k=7, n_threads=n_threads), expected)


def test_any_smaller_k_is_a_prefix(viewers):
    users, items = viewers.ratings.users[:20].repeat(3), np.tile(viewers.ratings.items[:3], 20)
    index = NeighborIndex(viewers)
    long, short = index.raters(users, items, 60), index.raters(users, items, 4)
    for k in range(60):
        part = slice(long.indptr[k], long.indptr[k + 1])
        np.testing.assert_array_equal(
            long.neighbors[part][:4], short.neighbors[short.indptr[k] : short.indptr[k + 1]]
        )


@pytest.mark.parametrize("factor", [0.5, 0.99, 2.0])
def test_wrong_expectations_of_raters_change_nothing(viewers, monkeypatch, factor):
    monkeypatch.setattr("prefmover.search.cascade.CLOSE", factor)
    popular = np.argsort(-np.bincount(viewers.ratings.matrix.indices), kind="stable")[:6]
    users, items = viewers.ratings.users.repeat(6), np.tile(viewers.ratings.items[popular], 120)
    expected = every_pair(viewers, users, items=items, k=5)
    for n_threads in (1, 2):
        found = nearest_raters(viewers, users, items, 5, n_threads=n_threads)
        assert_same(found, expected)
        assert found.stats.abandoned > 0


def test_exhaustive_is_pot(viewers):
    R, d = viewers.ratings.matrix.toarray(), viewers.geometry.block()
    found = nearest(viewers, 3, users=viewers.ratings.users[:10])
    for u in range(10):
        mine = np.flatnonzero(R[u])
        true = [
            ot.emd2(R[u, mine] / R[u].sum(), R[v, theirs] / R[v].sum(), d[np.ix_(mine, theirs)])
            for v in range(120)
            for theirs in [np.flatnonzero(R[v])]
        ]
        others = np.delete(np.arange(120), u)
        np.testing.assert_allclose(
            found.values_table[u], np.sort(np.array(true)[others])[:3], rtol=0, atol=1e-9
        )


def test_the_query_itself_is_never_a_neighbor(viewers):
    found = nearest(viewers, 500)
    assert (found.counts == 119).all()  # fewer than k, and visible
    assert found.ids.shape == (120, 119)
    for k, user in enumerate(found.users):
        assert user not in found.ids[k]


def test_ties_go_to_the_earlier_user():
    ratings = Ratings.from_arrays(list("dcba"), ["x"] * 4, [1, 2, 3, 4])
    data = Dataset(ratings, ItemGeometry.from_vectors(["x"], [[1.0]]))
    found = nearest(data, 2)
    assert found.ids.tolist() == [["b", "c"], ["a", "c"], ["a", "b"], ["a", "b"]]
    assert (found.values == 0).all()


def test_users_without_a_distribution_are_nobodys_neighbor():
    ratings = Ratings.from_arrays([1, 2, 3], ["x", "x", "x"], [5, 0, 3])
    data = Dataset(ratings, ItemGeometry.from_vectors(["x"], [[1.0]]))
    found = nearest(data, 2)
    assert found.counts.tolist() == [1, 0, 1]
    assert [(near.user, near.distance) for near in found[1]] == [(3, 0.0)]
    assert found.values_table.shape == (3, 1)
    assert np.isnan(found.values_table[1, 0])
    assert found.stats.undefined == 1 + 2 + 1


def test_a_new_user_gets_what_the_same_ratings_get(viewers):
    index, ratings = NeighborIndex(viewers), viewers.ratings
    for position, user in enumerate(ratings.users[:10].tolist()):
        known = index.nearest([user], 30)
        new = index.nearest(k=31, new=ratings.take(users=[position]))
        others = new.neighbors != position
        np.testing.assert_array_equal(new.neighbors[others][:30], known.neighbors)
        np.testing.assert_array_equal(new.values[others][:30], known.values)
        assert new.values[~others].tolist() == [0.0]
    several = ratings.take(users=np.arange(10))
    expected = every_pair(viewers, new=several, k=5)
    assert_same(index.nearest(k=5, new=several), expected)
    assert_same(nearest(viewers, 5, new=several, executor="threads"), expected)
    some = nearest(viewers, 5, users=several.users[[3, 1]], new=several)
    assert some[several.users[3]].users.tolist() == nearest(viewers, 5, new=several).ids[3].tolist()


@pytest.mark.parametrize("measure", list(MEASURES))
def test_new_users_are_compared_with_users_of_the_data_only(viewers, measure):
    several = viewers.ratings.take(users=np.arange(4))
    neighbors = nearest(viewers, 200, measure=measure, new=several)
    assert neighbors.neighbors.max() < 120
    assert neighbors.users.tolist() == [0, 1, 2, 3]
    raters = nearest_raters(viewers, [2, 0], viewers.ratings.items[:2], 200, measure, new=several)
    assert raters.neighbors.max() < 120


def test_new_users_and_unknown_items(viewers):
    new = Ratings.from_arrays(["new", "new"], [viewers.ratings.items[0], 999], [4, 5])
    with pytest.raises(InputError, match=names(999)):
        nearest(viewers, 3, new=new)
    with pytest.raises(InputError, match=names("dict")):
        nearest(viewers, 3, new={1: 5})


def test_items_nobody_rated_have_no_raters(viewers):
    geometry = ItemGeometry.from_vectors(
        [*viewers.ratings.items.tolist(), 1000], np.random.default_rng(0).random((61, 3))
    )
    data = Dataset(viewers.ratings, geometry)
    found = nearest_raters(data, data.ratings.users[:2], [1000, data.ratings.items[0]], 3)
    assert found.counts.tolist() == [0, 3]
    assert nearest_raters(data, [], []).indptr.tolist() == [0]
    with pytest.raises(UnknownIdError, match=names(1001)):
        nearest_raters(data, data.ratings.users[:1], [1001])


@pytest.mark.parametrize("measure", list(MEASURES))
def test_every_measure_goes_through_the_same_door(viewers, measure):
    found = nearest(viewers, 4, measure=measure)
    row = MEASURES[measure]
    assert found.larger_is_closer == row.larger_is_closer
    for k in range(20):
        values = found.values[found.indptr[k] : found.indptr[k + 1]]
        assert (np.diff(values) <= 0).all() if row.larger_is_closer else (np.diff(values) >= 0).all()
    pairs = viewers.ratings.users[:5], viewers.ratings.items[:5]
    assert len(nearest_raters(viewers, *pairs, 3, measure)) == 5
    wrong = "distance" if row.larger_is_closer else "similarity"
    near = found[viewers.ratings.users[0]][0]
    assert getattr(near, row.value_name) == near.value
    with pytest.raises(AttributeError, match=names(wrong)):
        getattr(near, wrong)
    assert found.to_arrow().column_names == ["user", "rank", "neighbor", row.value_name]


def test_a_measure_of_ones_own(viewers):
    common = Measure.from_function("common", lambda u, v: len(u.keys() & v.keys()), symmetric=True)
    found = nearest(viewers, k=3, measure=common)
    assert found.larger_is_closer
    assert within(viewers, 5, measure=common).values.min() >= 5


def test_a_threshold_is_a_radius_for_similarities(viewers):
    assert (within(viewers, 0.2, measure="jaccard").values >= 0.2).all()


def test_progress_reaches_the_end(viewers):
    calls = []
    nearest(viewers, 2, progress=lambda *call: calls.append(call))
    assert calls[-1] == (120, 120)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: nearest(d, 0), names("k", 0)),
        (lambda d: nearest(d, 2.5), names("k", 2.5)),
        (lambda d: nearest(Dataset(d.ratings), 2), names("PMD")),
        (lambda d: within(d, -1), names("radius", -1)),
        (lambda d: within(d, float("nan")), names("radius", "nan")),
        (lambda d: within(d, float("nan"), measure="cos"), names("radius", "nan")),
        (lambda d: nearest(d, 2, users="ann"), names("'ann'")),
        (lambda d: nearest(d, 2, measure="cos", checkpoint="x"), names("checkpoint")),
        (lambda d: nearest(d, 2, measure="cos", executor="ray"), names("executor")),
        (lambda d: nearest_raters(d, [1, 2], [3]), names(2, 1)),
        (lambda d: nearest_raters(d, [1], [3], 0), names("k", 0)),
        (lambda d: nearest(d, 2, n_threads=0), names("n_threads", 0)),
    ],
)
def test_bad_arguments(viewers, call, message):
    with pytest.raises(InputError, match=message):
        call(viewers)


def test_one_users_list(viewers):
    neighbors = nearest(viewers, 4)
    near = neighbors[7]
    assert len(near) == 4
    assert [x.user for x in near] == near.users.tolist() == neighbors.ids[7].tolist()
    assert near[-1] == near[3]
    assert near[1:3].users.tolist() == near.users[1:3].tolist()
    with pytest.raises(IndexError):
        near[4]
    assert near.to_dict()["neighbors"][0] == {"user": near[0].user, "distance": near[0].distance}
    assert near.to_arrow().to_pydict()["rank"] == [1, 2, 3, 4]
    frame = neighbors.to_arrow().to_pydict()
    assert frame["neighbor"][28:32] == near.users.tolist()
    assert frame["user"][28:32] == [7] * 4
    with pytest.raises(UnknownIdError, match=names(7777)):
        neighbors[7777]
    raters = nearest_raters(viewers, [7, 7], viewers.ratings.items[:2], 2)
    assert raters.to_arrow().column_names == ["user", "item", "rank", "neighbor", "distance"]
    item = viewers.ratings.items.tolist()[1]
    assert raters[7, item].users.tolist() == raters.ids[1].tolist()
    with pytest.raises(InputError):
        raters[7]


def test_an_interrupted_query_leaves_nothing_to_the_next(viewers, monkeypatch):
    from prefmover.search import _cascade as kernels

    index = NeighborIndex(viewers)
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
    users, items = viewers.ratings.users[:2], viewers.ratings.items[:2].tolist()
    assert nearest_raters(viewers, iter(users), iter(items), 3).items.tolist() == items


def test_unknown_users_are_named(viewers):
    with pytest.raises(UnknownIdError, match=names(7777)):
        nearest(viewers, 2, users=[7777])


def test_64_bits_where_32_do_not_do(viewers, monkeypatch):
    from prefmover.search import _cascade as kernels

    expected = nearest(viewers, 3, users=viewers.ratings.users[:4])
    visit, failed = kernels.visit, []

    def fails_once(query, *rest):
        if query.itself not in failed:
            failed.append(query.itself)
            return -1 - 50
        return visit(query, *rest)

    monkeypatch.setattr(kernels, "visit", fails_once)
    assert_same(nearest(viewers, 3, users=viewers.ratings.users[:4]), expected)
    assert len(failed) == 4


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "n_queries"), [("ml-100k", 4), ("ml-1m", 2)])
def test_movielens_is_pot(real_data, name, n_queries):
    from prefmover import datasets

    data = datasets.load(name)
    ratings, counts = data.ratings, np.diff(data.ratings.matrix.indptr)
    rng = np.random.default_rng(2)
    queries = rng.choice(np.flatnonzero(counts < 60), n_queries, replace=False)
    few = np.union1d(queries, rng.choice(np.flatnonzero(counts < 150), 150, replace=False))
    some = Dataset(ratings.take(users=few), data.geometry)
    found = nearest(some, 10, users=ratings.users[queries])
    for k, u in enumerate(queries.tolist()):
        items_u, values_u = ratings.row(u)
        true = []
        for v in few[few != u].tolist():
            items_v, values_v = ratings.row(v)
            cost = data.geometry.block(items_u, items_v)
            true.append(ot.emd2(values_u / values_u.sum(), values_v / values_v.sum(), cost))
        np.testing.assert_allclose(found.values_table[k], np.sort(true)[:10], rtol=0, atol=1e-9)


def test_raters_by_pair(viewers):
    users, items = viewers.ratings.users[[3, 3, 5]].tolist(), viewers.ratings.items[[0, 1, 0]].tolist()
    found = nearest_raters(viewers, users, items, 2)
    for one, pair in zip(found, zip(users, items, strict=True), strict=True):
        assert found[pair].users.tolist() == one.users.tolist()
    for unknown in ((3, 10**6), [3, 0]):
        with pytest.raises(InputError, match=names(3)):
            found[unknown]


@pytest.mark.parametrize("k", [None, float("nan"), "a", 2.5])
def test_k_that_is_no_whole_number(viewers, k):
    for measure in ("pmd", "jaccard"):
        with pytest.raises(InputError, match=names("k", repr(k))):
            nearest(viewers, k, measure=measure)


@pytest.mark.parametrize("radius", [None, float("nan"), "a"])
def test_a_radius_that_is_no_number(viewers, radius):
    with pytest.raises(InputError, match=names("radius", repr(radius))):
        within(viewers, radius)


@pytest.mark.parametrize("new", [False, True])
def test_few_pairs_are_solved_one_by_one_with_the_same_result(viewers, new, monkeypatch):
    data = viewers.with_ratings(viewers.ratings.take(users=range(12)))
    guests = viewers.ratings.take(users=[30, 50]) if new else None
    users = None if new else data.ratings.users[:4]
    expected = nearest(data, 5, users=users, new=guests)
    monkeypatch.setattr(importlib.import_module("prefmover.search.nearest"), "FEW_PAIRS", 48)
    found = nearest(data, 5, users=users, new=guests)
    assert_same(found, expected)
    assert found.stats.solved == (24 if new else 44)


def test_many_queries_make_a_matrix_of_item_distances(monkeypatch):
    crowd = datasets.synthetic(40, 60, ratings=(5, 12))
    lazy = ItemGeometry.from_vectors(crowd.geometry.items, crowd.geometry.vectors, budget=0)
    data = Dataset(crowd.ratings, lazy)
    geometry = importlib.import_module("prefmover.items.geometry")
    index = NeighborIndex(data, grid_queries=40)
    assert_same(index.nearest(k=3), every_pair(crowd, k=3))
    assert index.geometry is lazy  # a small one is missing by choice
    monkeypatch.setattr(geometry, "BUDGET", 0)
    index.nearest(range(39), k=3)
    assert index.geometry is lazy  # few queries
    assert_same(index.nearest(k=3), every_pair(crowd, k=3))
    assert np.array_equal(index.geometry.grid, crowd.geometry.grid)
    monkeypatch.setenv("PREFMOVER_MEMORY", "1")
    assert lazy.with_grid() is lazy
