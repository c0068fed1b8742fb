"""The index of histograms: POT's distances, pruned = exhaustive, proofs, scikit-learn's conventions."""

import inspect
import pickle
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_matrix, csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline

import prefmover.ot
from prefmover.errors import InputError, RecallWarning
from prefmover.items.geometry import obeys_triangle
from prefmover.items.points import Points
from prefmover.ot import Nearest, NeighborIndex, NeighborsTransformer
from tests.messages import names
from tests.oracles.transport import by_pot

MOST_UNITS = 1.0 + 2.0**-8  # by which a ground distance is rounded up


def angles(X, Y):
    X, Y = (Z / np.linalg.norm(Z, axis=1)[:, None] for Z in (X, Y))
    return 2 * np.arctan2(cdist(X, Y), cdist(X, -Y))  # Kahan


def city_blocks(X, Y):
    return cdist(X, Y, "cityblock")


METRICS = {  # the argument, whether points go with it, and the ground distances
    "euclidean": ("euclidean", True, cdist),
    "angle": ("angle", True, angles),
    "function": (city_blocks, True, city_blocks),
    "matrix": (None, False, lambda X, Y: cdist(X, Y, "sqeuclidean")),  # not a metric
}
by_metric = pytest.mark.parametrize("metric", METRICS)


def made(metric, weights, X):
    """Return the index by a metric, and the matrix of the ground distances."""
    argument, with_points, distances = METRICS[metric]
    D = distances(X, X)
    np.fill_diagonal(D, 0.0)
    return NeighborIndex(weights, X if with_points else None, argument or D), D


@st.composite
def histograms(draw, most_rows=30):
    """Weights with ties, equal rows, points in rows of their own; and points, of which some coincide."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.integers(2, most_rows)), draw(st.integers(2, 15))
    weights = rng.integers(0, 4, (n, m)) * (rng.random((n, m)) < draw(st.floats(0.1, 1)))
    weights = weights / draw(st.sampled_from([1, 3, 8]))
    weights[np.arange(n), rng.integers(0, m, n)] += 1
    X = rng.normal(size=(m, 3)) if draw(st.booleans()) else rng.integers(1, 4, (m, 3)).astype(float)
    return weights, X, rng


def first_k(P, k):
    """Return the k least of each row and where they are, ties in order; not on the diagonal."""
    P = P.copy()
    np.fill_diagonal(P, np.inf)
    order = np.argsort(P, axis=1, kind="stable")[:, : min(k, len(P) - 1)]
    return order, np.take_along_axis(P, order, axis=1)


@by_metric
@settings(max_examples=12)
@given(case=histograms(most_rows=7))
def test_distances_are_those_of_pot(metric, case):
    weights, X, _ = case
    index, D = made(metric, weights, X)
    found = index.pairwise()
    expected = np.array([[by_pot(p, q, D) for q in weights] for p in weights])
    slack = 3e-9 * D.max()  # shares of thirds are rounded, and POT has a tolerance
    assert (found >= expected - slack).all()
    assert (found <= expected + MOST_UNITS * index.unit + slack).all()
    np.testing.assert_array_equal(found, found.T)


@by_metric
@settings(max_examples=40)
@given(case=histograms(), k=st.integers(1, 12))
def test_nearest_and_within_are_exhaustive(metric, case, k):
    weights, X, rng = case
    index, _ = made(metric, weights, X)
    P = index.pairwise()
    rows, values = first_k(P, k)
    near = index.nearest(k)
    np.testing.assert_array_equal(near.indices, rows)
    np.testing.assert_array_equal(near.distances, values)
    radius = float(rng.choice(P.ravel()))  # exactly somebody's distance
    inside = index.within(radius)
    np.testing.assert_array_equal(np.diff(inside.indptr), (radius >= P).sum(axis=1) - 1)
    graph = inside.to_graph().toarray()
    np.testing.assert_array_equal(graph, np.where(radius >= P, P, 0.0))


@by_metric
@settings(max_examples=15)
@given(case=histograms())
def test_new_queries_find_the_same_rows(metric, case):
    weights, X, _ = case
    index, _ = made(metric, weights, X)
    half = len(weights) // 2 or 1
    known, _ = made(metric, weights[half:], X)
    P = index.pairwise()[:half, half:]
    near = known.nearest(4, weights[:half])
    order = np.argsort(P, axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(near.indices, order)
    np.testing.assert_array_equal(near.distances, np.take_along_axis(P, order, axis=1))
    np.testing.assert_array_equal(known.pairwise(weights[:half]), P)
    np.testing.assert_array_equal(index.pairwise(rows=[1, 0]), index.pairwise()[[1, 0]])


@by_metric
@settings(max_examples=15)
@given(case=histograms())
def test_transports_carry_their_proof(metric, case):
    weights, X, rng = case
    index, _ = made(metric, weights, X)
    i, j = rng.integers(0, len(weights), 2).tolist()
    for result in (index.transport(i, j), index.transport(0, j, weights[[i]])):
        assert result.certificate.valid
        assert result.cost == pytest.approx(index.pairwise()[i, j], rel=1e-12, abs=1e-15)
    np.testing.assert_array_equal(index.points_of(i), np.flatnonzero(weights[i]))
    moved = np.zeros(weights.shape[1])
    np.add.at(moved, index.points_of(j)[result.plan.columns], result.plan.mass)
    np.testing.assert_allclose(moved, weights[j] / weights[j].sum(), atol=1e-9)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), metric=st.sampled_from(["euclidean", "angle"]), spread=st.booleans())
def test_rounded_distances_obey_the_triangle_inequality(seed, metric, spread):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2)) * 10.0 ** rng.integers(-6, 7)
    X[4:8] = X[:4] + rng.random() * (X[1:5] - X[:4])  # on a line between two others
    X[8:] = -X[:4] * (1 + (1e-7 * rng.random() if spread else 0))  # opposite, or nearly
    dense = Points.from_metric(X, metric, 12)
    assert dense.is_metric
    assert obeys_triangle(dense.grid)
    lazy = dense._with(grid=None)
    np.testing.assert_array_equal(lazy.units(None, None), dense.grid)
    np.testing.assert_array_equal(lazy.units([7, 2], [1, 11, 7]), dense.grid[np.ix_([7, 2], [1, 11, 7])])
    true = cdist(X, X) if metric == "euclidean" else angles(X, X)
    steps = dense.grid - true / dense.unit
    assert steps.min() > -1e-3
    assert steps.max() < MOST_UNITS + 1e-3


@pytest.fixture(scope="module")
def documents():
    """300 histograms in a few groups of 400 points in the plane."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2)) + 4 * rng.integers(0, 3, (400, 1))
    groups = rng.integers(0, 10, 300)
    rows = np.repeat(np.arange(300), rng.integers(3, 25, 300))
    columns = (40 * groups[rows] + rng.integers(0, 80, rows.size)) % 400
    return csr_array((rng.random(rows.size), (rows, columns)), shape=(300, 400)), X, groups


@by_metric
def test_the_search_prunes_and_threads_change_nothing(metric, documents):
    weights, X, _ = documents
    index, _ = made(metric, weights, X)
    rows, values = first_k(index.pairwise(), 5)
    for n_threads in (1, 3):
        near = index.nearest(5, n_threads=n_threads)
        np.testing.assert_array_equal(near.indices, rows)
        np.testing.assert_array_equal(near.distances, values)
    assert near.stats.solved < near.stats.pairs / 4
    some = pickle.loads(pickle.dumps(index)).nearest(5, rows=[9, 2])
    np.testing.assert_array_equal(some.indices, rows[[9, 2]])
    by_tasks = index.nearest(5, rows=[9, 2], executor="threads")
    np.testing.assert_array_equal(by_tasks.distances, values[[9, 2]])


@pytest.mark.parametrize("metric", ["euclidean", "angle"])
def test_without_a_matrix_everything_is_the_same(metric, documents, monkeypatch):
    weights, X, _ = documents
    dense = NeighborIndex(weights, X, metric)
    monkeypatch.setattr("prefmover.items.points.BUDGET", 0)
    lazy = NeighborIndex(weights, X, metric)
    assert lazy._engine.ground.grid is None
    for near in (lambda one: one.nearest(4), lambda one: one.nearest(3, method="candidates", recall=0.9)):
        found, expected = near(lazy), near(dense)
        np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(lazy.pairwise(rows=[3]), dense.pairwise(rows=[3]))


@by_metric
def test_candidates_measure_their_recall(metric, documents):
    weights, X, _ = documents
    index, _ = made(metric, weights, 1e5 * X)
    exact = index.nearest(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecallWarning)
        near = index.nearest(5, method="candidates", recall=0.9, n_threads=2)
    share = np.mean([np.isin(a, b).mean() for a, b in zip(exact.indices, near.indices, strict=True)])
    assert share > 0.9
    assert near.recall.estimate == pytest.approx(share, abs=0.04)
    both = near.indices == exact.indices
    np.testing.assert_array_equal(near.distances[both], exact.distances[both])


def test_weights_come_in_any_form():
    dense = np.array([[2.0, 1, 0], [0, 1, 1], [0, 0, 3]])
    X = [[0.0], [1.0], [3.0]]
    expected = NeighborIndex(dense, X).pairwise()
    np.testing.assert_allclose(expected[0], [0, 5 / 3, 8 / 3], rtol=1e-6)
    twice = coo_array(([1, 1, 1, 1, 1, 3], ([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 2, 2])), shape=(3, 3))
    for weights in (dense.tolist(), csr_array(dense), csc_matrix(dense), twice, dense.astype(np.float32)):
        np.testing.assert_array_equal(NeighborIndex(weights, X).pairwise(), expected)
    words = np.array(["a", "abc", "abcdef"])
    lengths = NeighborIndex(
        dense, words, lambda a, b: np.abs(np.char.str_len(a)[:, None] - np.char.str_len(b))
    )
    assert lengths.is_metric
    assert lengths.pairwise()[0, 2] == 2 / 3 * 5 + 1 / 3 * 3
    with_rounding = NeighborIndex(
        dense, X, lambda a, b: cdist(a, b) + 1e-9 * np.random.default_rng(1).random(3)
    )
    np.testing.assert_allclose(with_rounding.pairwise(), expected, atol=1e-6)


ROWS, LINE = [[1, 0], [0, 1]], [[0.0], [1.0]]
BAD = {
    "a row without weight": (lambda: NeighborIndex([[1, 0], [0, 0]], LINE), "row 1"),
    "a negative weight": (lambda: NeighborIndex([[1, 0], [0, -2.0]], LINE), "weights[1, 1] is -2.0"),
    "a missing weight": (lambda: NeighborIndex([[np.nan, 1], [0, 1]], LINE), "weights[0, 0] is nan"),
    "words as weights": (lambda: NeighborIndex([["a"]], LINE), "weights"),
    "too few points": (lambda: NeighborIndex(ROWS, [[0.0]]), "2 points"),
    "no points": (lambda: NeighborIndex(ROWS), "'euclidean'"),
    "a missing coordinate": (lambda: NeighborIndex(ROWS, [[0.0], [np.nan]]), "point 1"),
    "an unknown metric": (lambda: NeighborIndex(ROWS, LINE, "cosine"), "'cosine'"),
    "a point without an angle": (lambda: NeighborIndex(ROWS, LINE, "angle"), "point 0"),
    "points too far out": (lambda: NeighborIndex(ROWS, [[0.0], [1e200]]), "1e+200"),
    "points and a matrix": (lambda: NeighborIndex(ROWS, LINE, [[0, 1], [1, 0]]), "points"),
    "a negative distance": (lambda: NeighborIndex(ROWS, None, [[0, -1], [-1, 0]]), "points 0 and 1"),
    "a missing distance": (lambda: NeighborIndex(ROWS, None, [[0, np.nan], [1, 0]]), "point 0"),
    "an asymmetric matrix": (lambda: NeighborIndex(ROWS, None, [[0, 1], [2, 0]]), "points 0 and 1"),
    "a diagonal": (lambda: NeighborIndex(ROWS, None, [[1, 1], [1, 0]]), "points 0 and 0"),
    "a matrix of another size": (lambda: NeighborIndex(ROWS, None, np.zeros((3, 3))), "2 points"),
    "an asymmetric function": (
        lambda: NeighborIndex(ROWS, LINE, lambda a, b: np.maximum(a - b.T, 0)), "points 0 and 1",
    ),
    "a function of pairs": (lambda: NeighborIndex(ROWS, LINE, lambda a, b: 1.0), "2 points"),
    "a function without points": (lambda: NeighborIndex(ROWS, None, cdist), "2 points"),
    "no neighbors": (lambda: NeighborIndex(ROWS, LINE).nearest(0), "k is 0"),
    "a negative radius": (lambda: NeighborIndex(ROWS, LINE).within(-1), "radius is -1"),
    "no radius": (lambda: NeighborIndex(ROWS, LINE).within(None), "radius is None"),
    "rows and queries": (lambda: NeighborIndex(ROWS, LINE).nearest(1, ROWS, rows=[0]), "rows"),
    "an unknown row": (lambda: NeighborIndex(ROWS, LINE).nearest(1, rows=[2]), "2 rows"),
    "queries on other points": (lambda: NeighborIndex(ROWS, LINE).nearest(1, [[1.0]]), "2 points"),
    "new candidates": (lambda: NeighborIndex(ROWS, LINE).nearest(1, ROWS, method="candidates"), "candidates"),
    "an unknown method": (lambda: NeighborIndex(ROWS, LINE).nearest(1, method="fast"), "'fast'"),
    "a recall of 1": (
        lambda: NeighborIndex(ROWS, LINE).nearest(1, method="candidates", recall=1), "recall is 1",
    ),
    "an unknown mode": (lambda: NeighborIndex(ROWS, LINE).nearest(1).to_graph("both"), "'both'"),
    "a mode to fit": (lambda: NeighborsTransformer(LINE, mode="both").fit(ROWS), "'both'"),
    "a graph of itself": (lambda: NeighborsTransformer(LINE, n_neighbors=0).fit(ROWS), "n_neighbors is 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_what_is_wrong(case):
    make, named = BAD[case]
    with pytest.raises(InputError, match=names(named)) as error:
        make()
    assert not re.search(r"\b(user|rating|item)s?\b", str(error.value))


def test_nothing_speaks_of_users_or_ratings():
    for one in (NeighborIndex, Nearest, NeighborsTransformer):
        members = [value for name, value in vars(one).items() if not name.startswith("_") and callable(value)]
        for part in (one, one.__init__, *members):
            text = f"{inspect.getdoc(part)} {inspect.signature(part)}"
            assert not re.search(r"(?i)\b(user|rating|item)s?\b", text), part
    assert {"Nearest", "NeighborIndex"} <= set(prefmover.ot.__all__)
    with pytest.raises(AttributeError):
        _ = prefmover.ot.Neighbor


def test_the_transformer_is_scikit_learns(documents):
    weights, X, groups = documents
    D = NeighborIndex(weights, X).pairwise()
    for mode in ("distance", "connectivity"):
        ours = NeighborsTransformer(X, mode=mode, n_neighbors=6, n_jobs=2)
        assert clone(ours).get_params()["mode"] == mode
        theirs = KNeighborsTransformer(mode=mode, n_neighbors=6, metric="precomputed")
        expected = theirs.fit_transform(D)
        graph = clone(ours).fit_transform(weights)
        assert graph.format == "csr"
        np.testing.assert_array_equal(graph.toarray(), expected.toarray())
        assert ours.fit(weights).get_feature_names_out().shape == (300,)
        np.testing.assert_array_equal(ours.transform(weights[:9]).toarray(), expected.toarray()[:9])
    graph = NeighborIndex(weights, X).within(0.4).to_graph()
    found = DBSCAN(eps=0.4, min_samples=3, metric="precomputed").fit_predict(graph)
    np.testing.assert_array_equal(found, DBSCAN(eps=0.4, min_samples=3, metric="precomputed").fit_predict(D))
    model = make_pipeline(
        NeighborsTransformer(X, n_neighbors=4), KNeighborsClassifier(3, metric="precomputed")
    )
    direct = KNeighborsClassifier(3, metric="precomputed").fit(D[:200, :200], groups[:200])
    model.fit(weights[:200], groups[:200])
    np.testing.assert_array_equal(model.predict(weights[200:]), direct.predict(D[200:, :200]))
    assert repr(model).startswith("Pipeline")
