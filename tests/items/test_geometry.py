"""Item geometries: angles on their grid, where a metric is promised, and what is refused."""

import logging
import math
from dataclasses import replace
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prefmover.errors import CoarseGeometryWarning, InputError, UnknownIdError
from prefmover.items.geometry import ANGLE_UNIT, ItemGeometry
from tests.messages import names, unnamed

UNIT = ANGLE_UNIT


def geometry_of(vectors, **options):
    return ItemGeometry.from_vectors(np.arange(len(vectors)), vectors, **options)


def angles(X):
    """The obvious twin: arccos of the cosines, in extended precision where it loses digits."""
    X = np.asarray(X, dtype=np.longdouble)
    X = X / np.abs(X).max(axis=1, keepdims=True)
    X = X / np.sqrt((X**2).sum(axis=1, keepdims=True))
    chords = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    D = np.where((X @ X.T) > 0, 2 * np.arcsin(np.minimum(chords / 2, 1)), np.pi / 2)
    return np.minimum(D, np.longdouble(np.pi) / 2).astype(np.float64)


def broken_triangles(grid):
    """Every (i, k, j) with d(i, j) > d(i, k) + d(k, j), by the definition."""
    grid = grid.astype(np.int64)
    return np.argwhere(grid[:, None, :] > grid[:, :, None] + grid[None, :, :])


entries = st.one_of(
    st.integers(-3, 5).map(float),
    st.floats(-1, 1),
    st.floats(1, 1 + 1e-9),
    st.sampled_from([1e-9, 1e-150, 1e200, 5e-324, 1e-7]),
)
vectors = st.tuples(st.integers(1, 7), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=entries).filter(
        lambda X: (np.abs(X).max(axis=1) > 0).all()
    )
)


@st.composite
def nearly_collinear(draw):
    """Directions in a plane at round angles, duplicated, rescaled, and disturbed by next to nothing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(3, 9)), draw(st.integers(2, 6))
    # Whole numbers of units are where rounding could lift one side of a flat triangle above the others.
    steps = [UNIT, 2**20 * UNIT, 2**21 * UNIT, 2**22 * UNIT, 0.1, math.pi / 180, 1e-9, 1e-12]
    step = draw(st.sampled_from(steps))
    turns = step * rng.integers(0, 8, n)
    plane = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    X = np.stack((np.cos(turns), np.sin(turns)), axis=1) @ plane.T
    X *= rng.choice([1.0, 3.0, 0.1], n)[:, None]
    return X + draw(st.sampled_from([0.0, 1e-16, 1e-13, 1e-11, 1e-9])) * rng.standard_normal((n, d))


@settings(max_examples=200)
@given(st.one_of(vectors, nearly_collinear()))
@example(np.array([[1.0, 0.0], [1.0, 1e-11], [0.0, 1.0]]))
def test_angles(X):
    geometry = geometry_of(X)
    grid, D = geometry.grid, geometry.block()
    exact = angles(X)
    assert (grid == grid.T).all()
    assert not np.diagonal(grid).any()
    apart = ~(X[:, None] == X[None]).all(axis=2)
    # Rounded up, by a unit and the slack at most; equal directions may have distance 0.
    assert (D[apart] >= exact[apart] - 1e-12).all()
    assert (exact + UNIT * (1 + 2.0**-7) >= D).all()
    assert not D[~apart].any()
    assert not len(broken_triangles(grid)), "the grid of a geometry that claims to be a metric is none"
    lazy = geometry_of(X, budget=0)
    assert lazy.grid is None
    assert (lazy.units(None, None) == grid).all()
    assert (lazy.units([len(X) - 1], [0]) == grid[-1, 0]).all()


def test_angles_to_fifty_digits():
    """Two vectors a hair apart: arccos of the rounded cosine would be off by 1e-8."""
    getcontext().prec = 50
    geometry = geometry_of([[1.0, 0.0], [1.0, 1e-6], [1.0, 1e-8], [1.0, 1e-10]])
    for j, tangent in ((1, "1e-6"), (2, "1e-8"), (3, "1e-10")):
        t = Decimal(tangent)
        exact = float(t - t**3 / 3)
        assert exact <= geometry.block([0], [j]) <= exact + 1.01 * UNIT


@pytest.mark.parametrize("d", [2, 3, 7, 50, 300])
def test_angles_of_many_items(d):
    """More than a strip, more than a block of rows; zeros among the features."""
    rng = np.random.default_rng(d)
    X = rng.random((600, d)) * (rng.random((600, d)) < 0.5)
    X[:, 0] += 0.01
    dense, lazy = geometry_of(X, n_threads=2), geometry_of(X, budget=0)
    unit_vectors = X / np.linalg.norm(X, axis=1)[:, None]
    D = dense.block()
    exact = np.arccos(np.clip(unit_vectors @ unit_vectors.T, 0, 1))
    away = exact > 1e-4  # arccos near 1 loses digits
    assert (D - exact)[away].min() > 0
    assert (D - exact)[away].max() < UNIT * (1 + 2.0**-7)
    assert (dense.grid == dense.grid.T).all()
    assert (dense.grid == geometry_of(X, n_threads=1).grid).all()
    assert (lazy.units(None, None) == dense.grid).all()
    rows, columns = rng.permutation(600)[:70], rng.permutation(600)[:13]
    assert (lazy.units(rows, columns) == dense.grid[np.ix_(rows, columns)]).all()
    assert (dense.units(rows, columns) == dense.grid[np.ix_(rows, columns)]).all()
    assert (lazy.units(rows, None) == dense.units(rows, None)).all()
    assert lazy.take(rows).take([3]).units(None, None) == 0
    assert (lazy.take(rows).units(None, None) == dense.take(rows).grid).all()


def test_a_metric_by_construction_is_one():
    turns = np.random.default_rng(0).random(300) * math.pi / 2
    X = np.stack((np.cos(turns), np.sin(turns)), axis=1)
    geometry = geometry_of(np.vstack((X, X[:50] * 3, X[:50] * 0.1)))
    assert (geometry.is_metric, geometry.metric_by) == (True, "construction")
    assert not len(broken_triangles(geometry.grid))


def test_equal_directions():
    geometry = geometry_of(
        [[1, 2, 3], [2, 4, 6], [1 / 3, 2 / 3, 1], [0.1, 0.2, 0.3], [0.3, 0.6, 0.9], [3, 2, 1]]
    )
    assert not geometry.grid[:2, :2].any()
    # What rounding makes of equal directions is one unit apart at most, and no nearer to anything else.
    assert geometry.grid[:5, :5].max() <= 1
    assert np.ptp(geometry.grid[:5, 5]) <= 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint64, bool])
def test_any_real_type(dtype):
    X = np.array([[1, 0], [1, 1]], dtype=dtype)
    assert geometry_of(X).block([0], [1]) == pytest.approx(math.pi / 4, abs=UNIT * 1.01)


def test_huge_tiny_and_denormal_vectors():
    for scale in (1e300, 1e-300, 5e-324):
        geometry = geometry_of([[scale, scale], [0, scale], [1, 1]])
        assert geometry.grid[0].tolist() == geometry_of([[1, 1], [0, 1], [1, 1]]).grid[0].tolist()


def test_obtuse_angles_are_cut_off():
    geometry = geometry_of([[1, 0], [-1, 0], [0, 1], [-1, 1e-9]])
    right = math.ceil(math.pi / 2 / UNIT)
    assert geometry.grid[0].tolist() == [0, right, right, right]
    assert geometry.block([0], [1]) == pytest.approx(math.pi / 2, abs=UNIT)


def test_zero_vectors():
    X = [[1, 0], [0, 0], [0, 0]]
    with pytest.raises(InputError, match=names(1, 2, "zero=", "far")):
        geometry_of(X)
    far = geometry_of(X, zero="far")
    right = math.ceil(math.pi / 2 / UNIT)
    assert (far.grid == right * (1 - np.eye(3, dtype=int))).all()
    assert (geometry_of(X, zero="far", budget=0).units(None, None) == far.grid).all()
    with pytest.raises(InputError, match=names("zero", "'near'", "error", "far")):
        geometry_of(X, zero="near")


def test_no_items_and_no_features():
    assert geometry_of(np.zeros((0, 3))).block().shape == (0, 0)
    with pytest.raises(InputError):
        geometry_of(np.zeros((2, 0)))
    assert geometry_of([[2.0]]).block().tolist() == [[0.0]]


def test_100_000_items_on_demand():
    X = np.random.default_rng(1).standard_normal((100_000, 3))
    geometry = geometry_of(X)
    assert geometry.grid is None
    assert geometry.is_metric
    assert not unnamed(repr(geometry), "100,000", "vectors")
    rows, columns = np.array([99_999, 5, 40_000]), np.array([40_000, 7, 99_999, 12])
    assert (geometry.units(rows, columns) == geometry_of(X[np.r_[rows, columns]]).grid[:3, 3:]).all()
    assert geometry.units([5], None).shape == (1, 100_000)
    near = geometry.near(5, 3)
    assert [d for _, d in near] == sorted(np.partition(geometry.block([5], None)[0], 3)[1:4])


BAD_VECTORS = {
    "missing": ([[1, 0], [np.nan, 1]], names("'b'")),
    "infinite": ([[1, np.inf], [0, 1]], names("'a'")),
    "flat": ([1, 2], names("(2,)", 2)),
    "too few": ([[1, 2]], names("(1, 2)", 2)),
    "text": ([["x"], ["y"]], names("<U1")),
    "complex": ([[1j], [1]], names("complex128")),
    "of different lengths": ([[1.0, 2.0], [1.0]], names("'b'", "1", "2")),
}


@pytest.mark.parametrize(("X", "message"), BAD_VECTORS.values(), ids=BAD_VECTORS)
def test_bad_vectors(X, message):
    with pytest.raises(InputError, match=message):
        ItemGeometry.from_vectors(["a", "b"], X)


def test_ids():
    with pytest.raises(InputError, match=names("item", "'a'")):
        ItemGeometry.from_vectors(["a", "b", "a"], np.eye(3))
    with pytest.raises(InputError, match=names("item")):
        ItemGeometry.from_vectors([1.5, 2.5], np.eye(2))
    with pytest.raises(InputError, match=names("item")):
        ItemGeometry.from_distance([1, "a"], np.zeros((2, 2)))
    geometry = ItemGeometry.from_vectors(["heat", "alien"], np.eye(2))
    assert geometry.items.tolist() == ["heat", "alien"]  # in the order of the input
    assert geometry.item_position("alien") == 1
    with pytest.raises(UnknownIdError, match=names("'alient'", "'alien'")):
        geometry.item_position("alient")
    numbers = ItemGeometry.from_vectors(np.array([30, 4], np.int16), np.eye(2))
    assert numbers.item_position(4) == 1
    with pytest.raises(UnknownIdError, match=names("item", 4)):
        numbers.item_position("4")
    assert numbers.near(4) == [(30, pytest.approx(math.pi / 2))]


def test_positions():
    geometry = geometry_of(np.eye(3))
    for wrong, message in [
        ([3], names(3)),
        ([-1], names(-1)),
        ([True, False, True], names("bool")),
        ([0.5], names("float64")),
    ]:
        for which in (geometry, geometry_of(np.eye(3), budget=0)):
            with pytest.raises(InputError, match=message):
                which.units(wrong, None)
            with pytest.raises(InputError, match=message):
                which.units(None, wrong)
    assert geometry.block([], None).shape == (0, 3)
    with pytest.raises(InputError):
        geometry.take([0, 0])


def test_frozen():
    geometry = geometry_of(np.eye(3))
    for array in (geometry.grid, geometry.items, geometry_of(np.eye(3), budget=0).vectors):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    X = 3 * np.eye(3)
    lazy = geometry_of(X, budget=0)
    assert (3 * np.eye(3) == X).all()  # the caller's array is the caller's
    X[:] = 1
    assert lazy.units([0], [1])[0, 0] > 1


def test_from_similarity():
    S = [[1, 0.8, 0.3], [0.8, 1, 0.3], [0.3, 0.3, 1]]
    arccos = ItemGeometry.from_similarity(["a", "b", "c"], S)
    assert arccos.block() == pytest.approx(np.arccos(S), abs=UNIT)
    assert (arccos.block() >= np.arccos(S)).all()
    assert arccos.similarity() == pytest.approx(np.array(S), abs=UNIT)
    assert (arccos.is_metric, arccos.metric_by, arccos.to_distance) == (True, "check", "arccos")
    one_minus = ItemGeometry.from_similarity(["a", "b", "c"], S, "one-minus")
    assert one_minus.block() == pytest.approx(1 - np.array(S), abs=UNIT)
    assert one_minus.similarity() == pytest.approx(np.array(S), abs=UNIT)
    assert one_minus.to_distance == "one-minus"


def test_cosines_a_hair_above_one():
    """What float32 cosines of equal vectors come to."""
    X = np.random.default_rng(0).random((50, 20)).astype(np.float32)
    X = np.vstack((X, X[:5]))
    X /= np.linalg.norm(X, axis=1)[:, None]
    S = X @ X.T
    S = (S + S.T) / 2
    assert (np.diagonal(S) != 1).any()
    assert np.isfinite(ItemGeometry.from_similarity(np.arange(55), S).block()).all()
    one_minus = ItemGeometry.from_similarity(np.arange(2), [[1, 1 - 1e-16], [1 - 1e-16, 1]], "one-minus")
    assert not one_minus.grid.any()


def test_metric_by_check():
    one_minus = ItemGeometry.from_similarity(
        [1, 2, 3], [[1, 0.9, 0.5], [0.9, 1, 0.9], [0.5, 0.9, 1]], "one-minus"
    )
    assert (one_minus.is_metric, one_minus.metric_by) == (False, "check")  # .5 > .1 + .1
    flat = ItemGeometry.from_distance([1, 2, 3], [[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    assert (flat.is_metric, flat.metric_by) == (True, "check")
    assert flat.block().tolist() == [[0, 1, 3], [1, 0, 2], [3, 2, 0]]  # exact, no rounding up of 3
    places = np.arange(401.0)
    many = ItemGeometry.from_distance(np.arange(401), np.abs(np.subtract.outer(places, places)))
    assert (many.is_metric, many.metric_by) == (None, "unknown")
    checked = many.check_metric()
    assert (checked.is_metric, checked.metric_by) == (True, "check")
    assert geometry_of(np.eye(2)).check_metric().metric_by == "construction"


@given(st.integers(2, 6).flatmap(lambda n: arrays(np.int64, (n, n), elements=st.integers(0, 4))))
def test_the_check_is_the_definition(M):
    D = np.triu(M, 1) + np.triu(M, 1).T
    geometry = ItemGeometry.from_distance(np.arange(len(D)), D)
    assert geometry.is_metric == (not len(broken_triangles(D)))
    assert (geometry.block() == D).all()


@given(st.floats(1e-290, 1e290), st.integers(0, 99))
def test_distances_of_any_size(scale, seed):
    D = np.random.default_rng(seed).random((4, 4)) * scale
    D = np.triu(D, 1) + np.triu(D, 1).T
    block = ItemGeometry.from_distance(np.arange(4), D).block()
    assert (block >= D).all()
    assert (block - D).max() <= D.max() * 2.0**-25
    assert (block == block.T).all()


def test_all_distances_zero():
    geometry = ItemGeometry.from_distance([1, 2], np.zeros((2, 2)))
    assert geometry.is_metric
    assert not geometry.block().any()


BAD_DISTANCES = {
    "not square": (np.zeros((2, 3)), names("(2, 3)", 2)),
    "not symmetric": ([[0, 1], [2, 0]], names("'a'", "'b'", "1.0", "2.0")),
    "negative": ([[0, -1], [-1, 0]], names("'a'", "'b'", -1)),
    "diagonal": ([[0, 1], [1, 0.5]], names("'b'", 0.5)),
    "missing": ([[0, np.nan], [1, 0]], names("'a'")),
    "infinite": ([[0, 1], [np.inf, 0]], names("'b'")),
    "huge": ([[0, 1e305], [1e305, 0]], names("1e+305")),
    "denormal": ([[0, 1e-310], [1e-310, 0]], names("1e-310")),
}
BAD_SIMILARITIES = {
    "above one": ([[1, 1.1], [1.1, 1]], names("'a'", "'b'", 1.1)),
    "negative": ([[1, -0.1], [-0.1, 1]], names("'a'", "'b'", -0.1)),
    "diagonal": ([[1, 0], [0, 0.9]], names("'b'", 0.9)),
    "not symmetric": ([[1, 0.2], [0.3, 1]], names("'a'", "'b'", 0.2, 0.3)),
    "missing": ([[1, np.nan], [np.nan, 1]], names("'a'")),
}
BAD_MATRICES = [(ItemGeometry.from_distance, *row) for row in BAD_DISTANCES.values()]
BAD_MATRICES += [(ItemGeometry.from_similarity, *row) for row in BAD_SIMILARITIES.values()]


@pytest.mark.parametrize(("make", "M", "message"), BAD_MATRICES, ids=[*BAD_DISTANCES, *BAD_SIMILARITIES])
def test_bad_matrices(make, M, message):
    with pytest.raises(InputError, match=message):
        make(["a", "b"], M)


def test_bad_way_to_a_distance():
    with pytest.raises(InputError, match=names("to_distance", "'cosine'")):
        ItemGeometry.from_similarity(["a"], [[1]], "cosine")


def test_summary():
    with pytest.raises(InputError):
        ItemGeometry.from_vectors([1], [[1, 0]]).summary()
    figures = geometry_of([[1, 0], [2, 1], [1, 2], [0, 1]]).summary()
    assert figures["items"] == 4
    assert figures["smallest"] <= figures["median"] <= figures["largest"] <= np.pi / 2 + 1e-7


def test_quiet(caplog):
    with caplog.at_level(logging.INFO):
        geometry_of(np.eye(3)).near(0)
    assert not [r for r in caplog.records if "compil" not in r.message]


def test_an_outlier_that_makes_all_others_coarse_warns():
    places = np.arange(20.0)
    D = np.abs(np.subtract.outer(places, places))
    assert ItemGeometry.from_distance(np.arange(20), D).block()[0, 3] == 3
    D[4, 7] = D[7, 4] = 1e12
    with pytest.warns(CoarseGeometryWarning, match=names("items 4 and 7", "99%")):
        ItemGeometry.from_distance(np.arange(20), D)


def test_blocks_of_many_rows_are_taken_some_at_a_time(monkeypatch):
    monkeypatch.setattr("prefmover.items.geometry.ROWS", 3)
    geometry = geometry_of(np.random.default_rng(1).normal(size=(11, 4)))
    rows, columns = [10, 0, 3, 4, 9, 2, 1, 5], [7, 1, 10]
    assert np.array_equal(geometry.units(rows, columns), geometry.grid[np.ix_(rows, columns)])
    assert np.array_equal(geometry.take(rows).grid, geometry.grid[np.ix_(rows, rows)])


def test_a_copy_does_not_read_the_numbers_again():
    geometry = geometry_of(np.eye(3))
    unread = np.full((3, 3), -1, np.int32)  # a check of the numbers would find it
    assert geometry._with(grid=unread).with_grid().grid is unread
    with pytest.raises(InputError):
        replace(geometry, grid=unread)


@pytest.mark.parametrize("rows", [1, 7, 40])
def test_vectors_in_blocks_are_the_same(monkeypatch, rows):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 5))
    X[3] = 0.0
    X[4] *= 1e200
    ids = np.arange(40)
    whole = ItemGeometry.from_vectors(ids, X, zero="far")
    monkeypatch.setattr("prefmover.items.geometry.BLOCK_ROWS", rows)
    lazy = ItemGeometry.from_vectors(ids, X, zero="far", budget=0)
    assert (lazy.vectors == whole.vectors).all()
    assert (lazy.units(None, None) == whole.grid).all()
    some = np.array([5, 3, 39, 3])
    assert (lazy.units([2, 3], some) == whole.grid[[2, 3]][:, some]).all()
    for found, expected in zip(lazy.nearest(ids, ids[::2], 4), whole.nearest(ids, ids[::2], 4), strict=True):
        assert (found == expected).all()
