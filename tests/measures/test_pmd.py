"""The Preference Mover's Distance of users: against POT, as a metric, bit for bit, and what explains it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from prefmover import Dataset, ItemGeometry, Ratings
from prefmover.errors import InputError, MissingItemsWarning, UndefinedDistanceError, UnknownIdError
from prefmover.measures import _pmd, pairwise
from prefmover.measures.pmd import FEW, distance_in_64_bits, pmd
from prefmover.ot import _simplex
from tests.messages import names, unnamed
from tests.oracles.transport import by_pot, check_proof

FILMS = ["Iron Man", "Bat Man", "Spider Man", "Titanic", "Casablanca"]
SIMILARITY = [
    [1.0, 0.8, 0.8, 0.3, 0.3],
    [0.8, 1.0, 0.8, 0.3, 0.3],
    [0.8, 0.8, 1.0, 0.3, 0.3],
    [0.3, 0.3, 0.3, 1.0, 0.8],
    [0.3, 0.3, 0.3, 0.8, 1.0],
]
TABLE_1A = {
    "u1": {"Iron Man": 5, "Spider Man": 2, "Titanic": 3},
    "u2": {"Bat Man": 5, "Spider Man": 2, "Titanic": 3},
    "u3": {"Spider Man": 2, "Titanic": 3, "Casablanca": 5},
    "u4": {"Iron Man": 5, "Bat Man": 5, "Spider Man": 5},
    "u5": {"Titanic": 5},
    "u6": {"Casablanca": 5},
}


def ratings_of(table):
    rows = [(u, i, r) for u, row in table.items() for i, r in row.items()]
    return Ratings.from_arrays(*map(list, zip(*rows, strict=True)))


def matrix(rows):
    """Ratings of dense rows, in which nan is no rating and 0 is a rating of 0."""
    rows = np.array(rows, dtype=float)
    rated = ~np.isnan(rows)
    indptr = np.concatenate(([0], np.cumsum(rated.sum(axis=1))))
    return Ratings.from_csr(csr_array((rows[rated], np.nonzero(rated)[1], indptr), shape=rows.shape))


def direct(data, u, v):
    """The definition, handed to POT: all items, common ones too."""
    ratings, geometry = data.ratings, data.geometry
    p, q = (np.array([ratings[x].get(i, 0.0) for i in ratings.items.tolist()]) for x in (u, v))
    at = [geometry.item_position(i) for i in ratings.items.tolist()]
    return by_pot(p, q, geometry.block(at, at))


SCALES = {
    "stars": st.integers(1, 5).map(float),
    "half stars": st.integers(1, 10).map(lambda k: k / 2),
    "from zero": st.integers(0, 3).map(float),
    "continuous": st.floats(0.001, 1),
    "equal": st.just(1.0),
}


@st.composite
def worlds(draw, n_users=4):
    n_items = draw(st.integers(1, 8))
    level = SCALES[draw(st.sampled_from(list(SCALES)))]
    cell = st.one_of(level, st.just(np.nan))
    rows = [draw(st.lists(cell, min_size=n_items, max_size=n_items)) for _ in range(n_users)]
    for row in rows:
        if not np.nansum(row) > 0:
            row[0] = 1.0
    kind = draw(st.sampled_from(["random", "few directions", "a line"]))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    if kind == "a line":
        points = rng.integers(0, 6, n_items)
        D = np.abs(np.subtract.outer(points, points)).astype(float)
        return Dataset(matrix(rows), ItemGeometry.from_distance(np.arange(n_items), D))
    X = rng.random((n_items, 3)) if kind == "random" else rng.integers(0, 2, (n_items, 3)) + 0.5
    return Dataset(matrix(rows), ItemGeometry.from_vectors(np.arange(n_items), X))


@pytest.mark.parametrize(
    ("u", "v", "distance"),
    [("u1", "u2", 0.321751), ("u2", "u3", 0.633052), ("u4", "u5", 1.266104), ("u5", "u6", 0.643501)],
)
def test_the_papers_worked_example(u, v, distance):
    """Table 1(a, b): what two users share stays, all else moves by arccos .8 or arccos .3."""
    data = Dataset(ratings_of(TABLE_1A), ItemGeometry.from_similarity(FILMS, SIMILARITY))
    answer = pmd(data, u, v)
    assert answer.distance == pytest.approx(distance, abs=5e-7)
    near, far = np.arccos(0.8), np.arccos(0.3)
    by_hand = {"u1": near / 2, "u2": far / 2, "u4": far, "u5": near}
    assert answer.distance == pytest.approx(by_hand[u], abs=1e-7)
    assert answer.distance == pytest.approx(direct(data, u, v), abs=1e-9)
    assert answer.transport.certificate.valid


@settings(max_examples=60)
@given(worlds())
def test_against_pot_and_proved(world):
    data = world
    D = pairwise(data)
    for u in range(4):
        for v in range(u, 4):
            answer = pmd(data, u, v)
            check_proof(answer.transport)
            assert answer.distance == D[u, v] == D[v, u]
            assert answer.distance == pytest.approx(answer.transport.cost, rel=1e-12)
            assert D[u, v] == pytest.approx(direct(data, u, v), abs=1e-9 * 8)


@settings(max_examples=80)
@given(worlds())
def test_a_metric(world):
    assert world.geometry.is_metric
    D = pairwise(world)
    assert (np.diagonal(D) == 0).all()
    assert (D == D.T).all()
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-14).all()


@settings(max_examples=60)
@given(worlds())
def test_canceling_shared_mass_changes_nothing(world):
    """Bit for bit: the optimum is one exact integer, with shared items or without."""
    data = world
    D = pairwise(data)
    for knowledge in (None, False):
        unaware = data.with_geometry(replace(data.geometry, is_metric=knowledge))
        assert (pairwise(unaware) == D).all()
        assert pmd(unaware, 0, 1).distance == D[0, 1]


@settings(max_examples=60)
@given(worlds())
def test_wide_prices_give_the_same_bits(world):
    D, p = pairwise(world), world.preferences
    for knowledge in (True, False):
        geometry = replace(world.geometry, is_metric=knowledge)
        assert all(distance_in_64_bits(p, p, geometry, u, v) == D[u, v] for u in range(4) for v in range(4))


@settings(max_examples=60)
@given(worlds(), st.integers(0, 999))
def test_a_ground_distance_that_is_no_metric(world, seed):
    ratings = world.ratings
    M = np.random.default_rng(seed).integers(0, 20, (ratings.n_items,) * 2).astype(float)
    M = np.triu(M, 1) + np.triu(M, 1).T
    geometry = ItemGeometry.from_distance(ratings.items, M)
    assume(not geometry.is_metric)
    data = Dataset(ratings, geometry)
    D = pairwise(data)
    for u in range(4):
        for v in range(4):
            assert D[u, v] == pytest.approx(direct(data, u, v), abs=1e-9 * 20)
            assert D[u, v] == D[v, u] == pmd(data, u, v).distance


@pytest.fixture(scope="module")
def crowd():
    """60 users with 1 to 40 of 90 items, one without ratings and one without a positive one."""
    rng = np.random.default_rng(7)
    rows = np.full((60, 90), np.nan)
    for u, row in enumerate(rows):
        row[rng.choice(90, rng.integers(1, 41), replace=False)] = 1
        row[~np.isnan(row)] = rng.integers(1, 6, int(np.nansum(row)))
        if u == 11:
            row[:] = np.nan
        if u == 12:
            row[~np.isnan(row)] = 0
    rows[21] = rows[20]
    rows[22] = 2 * rows[20]
    return Dataset(matrix(rows), ItemGeometry.from_vectors(np.arange(90), rng.random((90, 5))))


def test_one_thread_and_many(crowd):
    D = pairwise(crowd, n_threads=1)
    for n_threads in (2, 5, None):
        np.testing.assert_array_equal(pairwise(crowd, n_threads=n_threads), D)


def test_blocks_and_pairs_one_by_one(crowd):
    data = crowd
    D = pairwise(data)
    users, others = [50, 3, 21, 3], list(range(59, 20, -2))
    assert len(others) >= FEW
    np.testing.assert_array_equal(pairwise(data, "pmd", users, others), D[np.ix_(users, others)])
    np.testing.assert_array_equal(pairwise(data, "pmd", users, others[:4]), D[np.ix_(users, others[:4])])
    np.testing.assert_array_equal(pairwise(data, "pmd", users), D[users])
    np.testing.assert_array_equal(pairwise(data, others=users), D[:, users])
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_array_equal(pairwise(data, "pmd", order, order), D[np.ix_(order, order)])
    for u, v in [(0, 1), (50, 3), (20, 22), (59, 20)]:
        assert pmd(data, u, v).distance == D[u, v]


def test_distances_computed_on_demand(crowd):
    ratings = crowd.ratings
    vectors = np.random.default_rng(3).random((90, 5))
    dense, lazy = (
        Dataset(ratings, ItemGeometry.from_vectors(np.arange(90), vectors, budget=budget))
        for budget in (2**20, 0)
    )
    assert lazy.geometry.grid is None
    D = pairwise(dense)
    np.testing.assert_array_equal(pairwise(lazy), D)
    assert pairwise(lazy, "pmd", [1], [2]) == D[1, 2] == pmd(lazy, 1, 2).distance


def test_float32(crowd):
    D = pairwise(crowd, dtype=np.float32)
    assert D.dtype == np.float32
    np.testing.assert_array_equal(D, pairwise(crowd).astype(np.float32))
    for dtype in (np.float16, int):
        with pytest.raises(InputError, match=names("float64", "float32")):
            pairwise(crowd, dtype=dtype)


def test_progress(crowd):
    for users, others, n in [(None, None, 60), ([1, 2, 3], None, 3), ([1], [2], 1)]:
        seen = []
        pairwise(
            crowd,
            "pmd",
            users,
            others,
            n_threads=2,
            progress=lambda done, total, seen=seen: seen.append((done, total)),
        )
        assert seen[-1] == (n, n)
        assert seen == sorted(seen)


def test_users_without_a_distribution(crowd):
    data = crowd
    D = pairwise(data)
    assert np.isnan(D[11]).all()
    assert np.isnan(D[:, 12]).all()
    assert np.isnan(D).sum() == 60**2 - 58**2
    with pytest.raises(UndefinedDistanceError, match=names(11)):
        pmd(data, 11, 0)
    with pytest.raises(UndefinedDistanceError, match=names(12)):
        pmd(data, 0, 12)
    assert np.isnan(pairwise(data, "pmd", [11], [12]))
    assert pairwise(data, "pmd", [], [1]).shape == (0, 1)
    assert pairwise(data, "pmd", [1], []).shape == (1, 0)


def test_users_with_equal_preferences(crowd):
    data = crowd
    assert pairwise(data, "pmd", [20], [20, 21, 22]).tolist() == [[0, 0, 0]]
    for v in (20, 21, 22):
        answer = pmd(data, 20, v)
        assert answer.distance == 0
        assert answer.transport.certificate.valid
        assert all(flow.source == flow.target and flow.share == 0 for flow in answer.flows)
        assert sum(flow.mass for flow in answer.flows) == pytest.approx(1)


def test_single_items():
    geometry = ItemGeometry.from_vectors(["a", "b"], [[1, 0], [1, 1]])
    data = Dataset(ratings_of({"x": {"a": 5}, "y": {"b": 1}, "z": {"a": 0.5, "b": 1.5}}), geometry)
    a_to_b = geometry.block([0], [1]).item()
    assert pmd(data, "x", "y").distance == a_to_b
    assert pairwise(data, "pmd", ["x", "y"], ["z"]).tolist() == [[0.75 * a_to_b], [0.25 * a_to_b]]
    one = ItemGeometry.from_vectors(["a"], [[1]])
    data = Dataset(ratings_of({"x": {"a": 5}, "y": {"a": 1}}), one)
    assert pairwise(data).tolist() == [[0, 0], [0, 0]]


def test_totals_near_the_limit():
    """Masses with totals of 2^31 - 1: their product just fits, and nothing wraps around."""
    most = 2**31 - 1
    table = {"x": {"a": 1, "b": most - 1}, "y": {"a": most - 2, "c": 2}, "z": {"b": 12345, "c": most - 12345}}
    geometry = ItemGeometry.from_distance(["a", "b", "c"], [[0, 2, 3], [2, 0, 1.5], [3, 1.5, 0]])
    data = Dataset(ratings_of(table), geometry)
    D = pairwise(data)
    for u in table:
        for v in table:
            if u != v:
                answer = pmd(data, u, v)
                check_proof(answer.transport)
                assert answer.transport.problem.total == most**2
                at = data.user_position(u), data.user_position(v)
                assert D[at] == answer.distance == pytest.approx(direct(data, u, v), rel=1e-9)
                unaware = data.with_geometry(replace(geometry, is_metric=None))
                assert pairwise(unaware, "pmd", [u], [v]) == D[at]


def test_64_bits_give_the_same_bits(crowd, monkeypatch):
    """What the 32-bit kernel gives up on is solved again."""
    data = crowd
    users = [0, 1, 11, 20, 21]
    D = pairwise(data, "pmd", users, users)
    original = _pmd.distances_from

    def give_up(*arguments):
        original(*arguments)
        out = arguments[-1]
        out[out > 0] = -1

    monkeypatch.setattr(_pmd, "distances_from", give_up)
    np.testing.assert_array_equal(pairwise(data, "pmd", users, users), D)


def test_a_stalled_kernel_gives_no_number(crowd, monkeypatch):
    from prefmover.errors import NotOptimalError

    monkeypatch.setattr(_simplex, "solve", lambda *_: (_simplex.STALLED, 1, 0, 0))
    with pytest.raises(NotOptimalError):
        _ = pmd(crowd, 0, 1).transport
    monkeypatch.setattr(_pmd, "distances_from", lambda *arguments: arguments[-1].fill(-1))
    with pytest.raises(NotOptimalError):
        pmd(crowd, 0, 1)
    with pytest.raises(NotOptimalError):
        pairwise(crowd, "pmd", [0], [1])


def test_items_that_the_geometry_lacks():
    geometry = ItemGeometry.from_similarity(FILMS[:4], np.array(SIMILARITY)[:4, :4])
    with pytest.warns(MissingItemsWarning):
        data = Dataset(ratings_of(TABLE_1A), geometry, missing="drop")
    D = pairwise(data)
    assert np.isnan(D[5]).all()  # u6 had rated nothing else
    with pytest.raises(UndefinedDistanceError, match=names("'u6'")):
        pmd(data, "u6", "u1")
    rest = {u: {i: r for i, r in row.items() if i in FILMS[:4]} for u, row in TABLE_1A.items()}
    assert D[0, 2] == pmd(Dataset(ratings_of(rest), geometry), "u1", "u3").distance


def test_a_data_set_without_distances():
    data = Dataset(ratings_of(TABLE_1A))
    for function in (lambda: pmd(data, "u1", "u2"), lambda: pairwise(data)):
        with pytest.raises(InputError, match=names("PMD")):
            function()


def test_the_order_of_the_geometry_does_not_matter():
    ratings = ratings_of(TABLE_1A)
    D = pairwise(Dataset(ratings, ItemGeometry.from_similarity(FILMS, SIMILARITY)))
    order = [3, 0, 4, 2, 1]
    turned = ItemGeometry.from_similarity(
        [FILMS[k] for k in order], np.array(SIMILARITY)[np.ix_(order, order)]
    )
    np.testing.assert_array_equal(pairwise(Dataset(ratings, turned)), D)


@given(worlds())
def test_flows_explain_the_distance(world):
    data = world
    answer = pmd(data, 0, 1)
    flows = answer.flows
    assert sum(flow.mass for flow in flows) == pytest.approx(1, abs=1e-12)
    assert sum(flow.mass * flow.distance for flow in flows) == pytest.approx(answer.distance, rel=1e-12)
    assert sum(flow.share for flow in flows) == pytest.approx(1 if answer.distance else 0, abs=1e-12)
    shares = [flow.share for flow in flows]
    assert shares == sorted(shares, reverse=True)
    for end, user in (("source", 0), ("target", 1)):
        rated = data.ratings[user]
        for item, rating in rated.items():
            moved = sum(flow.mass for flow in flows if getattr(flow, end) == item)
            assert moved == pytest.approx(rating / sum(rated.values()), abs=2e-9)
    for flow in flows:
        at = [data.item_position(flow.source)], [data.item_position(flow.target)]
        assert flow.distance == data.geometry.block(*at)
        assert flow.similarity == data.geometry.similarity(*at)
        assert flow.value == flow.mass * flow.distance
        assert flow.source_rating == data.ratings[0][flow.source]
        assert flow.target_rating == data.ratings[1][flow.target]


def test_flows_by_hand():
    data = Dataset(ratings_of(TABLE_1A), ItemGeometry.from_similarity(FILMS, SIMILARITY))
    answer = pmd(data, "u1", "u2")
    assert [(f.source, f.target, f.mass, f.share) for f in answer.flows] == [
        ("Iron Man", "Bat Man", 0.5, 1.0),
        ("Titanic", "Titanic", 0.3, 0.0),
        ("Spider Man", "Spider Man", 0.2, 0.0),
    ]
    assert not unnamed(repr(answer), "UserTransport", "'u1'", "'u2'", 0.321751)


def test_unknown_users(crowd):
    with pytest.raises(UnknownIdError, match=names(60)):
        pmd(crowd, 0, 60)
    with pytest.raises(UnknownIdError, match=names(77)):
        pairwise(crowd, "pmd", [0, 77])


def test_reduce_pair_and_gather():
    items_v, mass_v = np.array([1, 3, 5], np.int32), np.array([2, 1, 1])
    items_u, mass_u = np.array([1, 2, 5], np.int32), np.array([1, 1, 2])
    at_u = np.array([10, 20, 30], np.int32)

    def reduce(cancel):
        rows, columns, p, q = (np.zeros(4, t) for t in (np.int32, np.int32, np.int64, np.int64))
        n, m = _pmd.reduce_pair(items_v, mass_v, 4, items_u, at_u, mass_u, 4, cancel, rows, columns, p, q)
        return rows[:n].tolist(), p[:n].tolist(), columns[:m].tolist(), q[:m].tolist()

    assert reduce(True) == ([1, 3], [4, 4], [20, 30], [4, 4])
    assert reduce(False) == ([1, 3, 5], [8, 4, 4], [10, 20, 30], [4, 4, 8])
    grid = np.arange(20, dtype=np.int32).reshape(5, 4)
    rows, columns = np.array([4, 0], np.int32), np.array([3, 1], np.int32)
    everything, many = np.arange(4, dtype=np.int32), np.arange(40, dtype=np.int32) % 5

    def block(gather, lines, of, n, m):
        c = np.empty((n, m), np.int32)
        gather(grid, lines, of, c)
        return c.tolist()

    assert block(_pmd.gather, rows, columns, 2, 2) == [[19, 17], [3, 1]]
    assert block(_pmd.gather, rows, everything, 2, 4) == grid[[4, 0]].tolist()
    assert block(_pmd.gather_turned, rows, columns, 2, 2) == [[19, 3], [17, 1]]
    turned = block(_pmd.gather_turned, many, columns, 2, 40)  # more than are turned at a time
    assert turned == grid[np.ix_(many, columns)].T.tolist()
    assert _pmd.as_distance(3, 2**27, 7, 0.5) == (3 * 2**28 + 2**27) / 7 * 0.5


@pytest.mark.real_data
def test_real_users(real_data):
    from prefmover.datasets import load

    ratings = load("ml-100k").ratings
    rng = np.random.default_rng(0)
    geometry = ItemGeometry.from_vectors(ratings.items, rng.random((ratings.n_items, 10)))
    data = Dataset(ratings, geometry)
    users = rng.choice(ratings.users, 12, replace=False)
    D = pairwise(data, "pmd", users, users)
    assert (D == D.T).all()
    for a, b in [(0, 1), (2, 3), (4, 5)]:
        u, v = users[a].item(), users[b].item()
        answer = pmd(data, u, v)
        assert answer.transport.certificate.valid
        assert answer.distance == D[a, b] == pytest.approx(direct(data, u, v), abs=1e-9)
