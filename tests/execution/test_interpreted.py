"""Kernels that are interpreted: the same bits as compiled, and only for small jobs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefmover import ItemGeometry, Ratings
from prefmover.data.preferences import preferences
from prefmover.data.scale import Scale
from prefmover.execution import jit
from prefmover.items import _angles
from prefmover.measures import _pmd
from prefmover.ot import _simplex
from prefmover.predict import _knn, _sparse_sums, solver


def both(kernel, args, *outputs):
    """Run a kernel both ways on zeroed outputs; return (result, outputs) of each."""
    results = []
    for run in (kernel, jit.interpreted(kernel)):
        out = [np.zeros_like(x) for x in outputs]
        result = run(*args, *out)
        results.append((result, [x.tolist() for x in out]))
    return results


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 8, 25]))
def test_the_simplex_takes_the_same_steps(seed, n, m, bits):
    rng = np.random.default_rng(seed)
    c = rng.integers(0, 2**bits, (n, m)).astype(np.int32 if seed % 2 else np.int64)
    p, q = rng.integers(1, 60, n), rng.integers(1, 60, m)
    p, q = p * q.sum(), q * p.sum()
    outcomes = []
    for solve in (_simplex.solve, jit.interpreted(_simplex.solve)):
        w = _simplex.workspace(n, m, c.dtype)
        for x in w:
            x.fill(0)
        outcomes.append((tuple(map(int, solve(c, p, q, n, m, w))), [x.tolist() for x in w]))
    assert outcomes[0] == outcomes[1]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_distances_have_the_same_bits(seed):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((5, 8)) < 0.5)
    values = rng.integers(0, 11, users.size) / 2
    p = preferences(Ratings.from_arrays([*users, 9], [*items, 0], [*values, 5.0], scale=Scale(0, 5, 0.5)))
    geometry = ItemGeometry.from_vectors(np.arange(8), rng.random((8, 3)))
    everyone = _pmd.UserMasses(p.indptr, p.indices, p.mass, p.total)
    n = p.total.size
    u = n - 1
    row = p.indices[p.indptr[u] : p.indptr[u + 1]]
    costs = _pmd.ItemCosts(geometry.grid, row, geometry.unit, True)
    compiled, plain = both(_pmd.distances_from, (u, np.arange(n), everyone, costs, 8), np.empty(n))
    np.testing.assert_array_equal(compiled[1][0], plain[1][0])


def test_angles_have_the_same_bits():
    rng = np.random.default_rng(0)
    X = rng.random((12, 5)) * (rng.random((12, 5)) < 0.6)
    X[3], X[4] = X[2], X[2] * (1 + 1e-9)
    geometry = ItemGeometry.from_vectors(np.arange(12), X, zero="far", budget=0)
    vectors, all_items = geometry.vectors, np.arange(12)
    args = (all_items, all_items, vectors, np.ascontiguousarray(vectors.T), geometry.unit, 52707179)
    compiled, plain = both(_angles.angle_grid, args, np.empty((12, 12), np.int32))
    assert compiled == plain
    grid = np.array(compiled[1][0], np.int32)
    assert both(_angles.broken_triangle, (grid,))[0] == both(_angles.broken_triangle, (grid,))[1]


def test_sums_and_means_have_the_same_bits():
    rng = np.random.default_rng(1)
    indptr, indices = np.array([0, 2, 2, 5], np.int32), np.array([0, 3, 1, 2, 3], np.int32)
    values, rows = rng.random(5, np.float32), rng.random((4, 7), np.float32)
    begin, end = indptr[:-1].astype(np.int64), indptr[1:].astype(np.int64)
    args = begin, end, indices, values, rows, 0, 3
    compiled, plain = both(_sparse_sums.add_rows, args, np.zeros((3, 7), np.float32))
    assert compiled == plain
    numbers, more = rng.random(4), rng.random(3)
    for kernel, args, n in (
        (_sparse_sums.sum_entries, (begin, end, values, 0, 3), 3),
        (_sparse_sums.sum_numbers, (begin, end, indices, numbers, 0, 3), 3),
        (_sparse_sums.subtract, (begin, end, indices, values, more, numbers, 0.5, 0, 3), 5),
    ):
        compiled, plain = both(kernel, args, np.empty(n))
        assert compiled == plain
    left = rng.random((3, 7), np.float32)
    args = begin, end, indices, values, more, more, more, numbers, numbers, left, rows, 0, 3
    compiled, plain = both(_sparse_sums.products, args, np.empty(5))
    assert compiled == plain
    many = np.empty(5)
    _sparse_sums.many_products(*args, many)  # never interpreted
    assert compiled[1][0] == pytest.approx(many, rel=1e-6)  # inner products may be added in any order
    assert 10 * solver.MANY > jit.STEPS_BEFORE_COMPILING
    lists, entries = np.array([0, 3, 3, 6]), np.array([2, -1, 0, 1, 3, 4])
    args = lists, entries, rng.random(6), rng.normal(size=5), 0.5, np.array([1, 2, 5])
    outputs = np.empty((3, 3)), np.empty((3, 3), np.int32), np.empty((3, 3), np.int32)
    compiled, plain = both(_knn.average, args, *outputs)
    assert compiled == plain


@pytest.fixture
def budget(monkeypatch, tmp_path):
    """A fresh budget, on a machine that has compiled nothing."""
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(jit, "_BUDGET", jit._Budget())
    return tmp_path


@jit.kernel
def _twice(x):
    return 2 * x


def test_small_jobs_are_interpreted_until_the_budget_is_spent(budget):
    most = jit.STEPS_BEFORE_COMPILING
    assert jit.compiled_or_interpreted(_twice, most + 1) is _twice
    first = jit.compiled_or_interpreted(_twice, 0.6 * most)
    assert first is jit.interpreted(_twice)
    assert first(21) == 42
    assert not _twice.signatures
    assert jit.compiled_or_interpreted(_twice, 0.6 * most) is _twice
    assert jit.compiled_or_interpreted(_twice, 0.3 * most) is first


def test_fewer_are_where_compiled_code_only_has_to_be_loaded(budget):
    (budget / "part").mkdir()
    (budget / "part" / "_kernel.nbi").write_text("")
    assert jit.compiled_or_interpreted(_twice, jit.STEPS_BEFORE_LOADING + 1) is _twice
    assert jit.compiled_or_interpreted(_twice, jit.STEPS_BEFORE_LOADING) is jit.interpreted(_twice)


def test_a_kernel_that_is_compiled_stays_so(budget):
    @jit.kernel
    def thrice(x):
        return 3 * x

    assert thrice(2) == 6
    assert jit.compiled_or_interpreted(thrice, 1) is thrice


def test_integers_wrap_around_without_a_warning():
    """As in compiled code; warnings are errors here."""

    @jit.kernel
    def wrap(x):
        return x + x

    largest = np.full(1, 2**63 - 1)[0]
    assert int(jit.interpreted(wrap)(largest)) == int(wrap(largest)) == -2
