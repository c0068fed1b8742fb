"""What the kernels leave behind: a spanning tree in preorder, exact prices, certified bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.ot import _dual, _simplex, transport
from tests.ot.problems import chain


def random_problem(n, m, levels, seed, cost_type=np.int32):
    rng = np.random.default_rng(seed)
    p, q = rng.integers(1, 6, n), rng.integers(1, 6, m)
    return p * q.sum(), q * p.sum(), rng.integers(0, levels, (n, m)).astype(cost_type)


def check_tree(c, p, q, n, m, w):
    """Walk the tree from its parents alone, and compare everything else with that."""
    parent = w.parent[: n + m].astype(np.int64)
    (root,) = np.flatnonzero(parent == int(_simplex.NO_PARENT))
    children = [[] for _ in range(n + m)]
    for x in range(n + m):
        if x != root:
            children[parent[x]].append(x)

    def below(x):
        return [x] + [z for y in children[x] for z in below(y)]

    assert len(below(root)) == n + m  # spanning
    thread = [root]
    while w.after[thread[-1]] != root:
        assert w.before[w.after[thread[-1]]] == thread[-1]
        thread.append(int(w.after[thread[-1]]))
        assert len(thread) <= n + m
    for k, x in enumerate(thread):
        subtree = below(x)
        assert w.size[x] == len(subtree)
        assert set(thread[k : k + len(subtree)]) == set(subtree)  # a run
        assert w.last[x] == thread[k + len(subtree) - 1]
    left = np.concatenate((p, q))
    for x in range(n + m):
        if x == root:
            continue
        y = int(parent[x])
        i, j = (x, y - n) if x < n else (y, x - n)
        assert 0 <= i < n
        assert 0 <= j < m
        assert w.price[i] + w.price[n + j] == c[i, j]
        assert w.flow[x] >= 0
        assert x < n or w.flow[x] > 0  # strongly feasible
        left[[i, n + j]] -= w.flow[x]
    assert not left.any()


@given(
    st.integers(1, 14),
    st.integers(1, 14),
    st.sampled_from([1, 2, 5, 2**26]),
    st.integers(0, 999),
    st.sampled_from([np.int32, np.int64]),
)
def test_tree_at_the_start_and_at_the_end(n, m, levels, seed, cost_type):
    p, q, c = random_problem(n, m, levels, seed, cost_type)
    w = _simplex.workspace(n, m, cost_type)
    w.g[:m] = 0
    w.f[:n] = c.min(axis=1)
    root = _simplex.start_greedily(c, p, q, n, m, w)
    _simplex.hang_tree(c, n, m, root, w)
    check_tree(c, p, q, n, m, w)
    status, _ = _simplex.improve(c, n, m, root, w)
    assert status == _simplex.OPTIMAL
    check_tree(c, p, q, n, m, w)
    assert (w.price[:n, None] + w.price[n : n + m] <= c).all()
    assert _simplex.duality_gap(c, p, q, n, m, w) == 0
    high, low = _simplex.plan_total(c, n, m, w)
    assert high * 2**_simplex.LIMB_BITS + low == round(transport(p, q, c).cost * p.sum())


def test_tree_of_equal_masses():
    """A basis in which nearly every arc is without flow."""
    c = np.random.default_rng(2).integers(0, 3, (30, 30)).astype(np.int32)
    one = np.ones(30, np.int64)
    w = _simplex.workspace(30, 30)
    w.g[:] = 0
    assert _simplex.solve(c, one, one, 30, 30, w)[0] == _simplex.OPTIMAL
    check_tree(c, one, one, 30, 30, w)


def test_a_workspace_serves_problem_after_problem():
    w = _simplex.workspace(40, 40)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(1, 41, 2)
        p, q, c = random_problem(n, m, 2**20, seed)
        w.g[:m] = 0
        status, _, high, low = _simplex.solve(c, p, q, n, m, w)
        fresh = _simplex.workspace(n, m)
        fresh.g[:] = 0
        assert (status, high, low) == (_simplex.OPTIMAL, *_simplex.solve(c, p, q, n, m, fresh)[2:])


def test_totals_beyond_63_bits():
    """Masses near 2^62 in all, times costs near 2^26: exact in two limbs."""
    p = q = np.array([2**61 - 1, 2**61 - 3], np.int64)
    c = np.array([[2**26, 2**26 - 1], [2**26 - 3, 2**26]], np.int32)
    w = _simplex.workspace(2, 2)
    w.g[:] = 0
    status, _, high, low = _simplex.solve(c, p, q, 2, 2, w)
    assert status == _simplex.OPTIMAL
    assert 0 <= low < 2**28
    swapped = min(p.tolist())
    stays = [x - swapped for x in p.tolist()]
    best = swapped * (2**26 - 1 + 2**26 - 3) + sum(stays) * 2**26
    assert int(high) * 2**28 + int(low) == best


def test_the_kernels_own_proof():
    p, q, c = random_problem(6, 5, 100, 1)
    w = _simplex.workspace(6, 5)
    w.g[:] = 0
    assert _simplex.solve(c, p, q, 6, 5, w)[0] == _simplex.OPTIMAL
    assert _simplex.duality_gap(c, p, q, 6, 5, w) == 0
    w.price[3] += 1
    assert _simplex.duality_gap(c, p, q, 6, 5, w) == -p[3]
    w.price[3] -= 1
    arc = next(x for x in range(11) if w.parent[x] != _simplex.NO_PARENT)
    w.flow[arc] += 1
    y = int(w.parent[arc])
    assert _simplex.duality_gap(c, p, q, 6, 5, w) == (c[arc, y - 6] if arc < 6 else c[y, arc - 6]) > 0


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from([1, 2, 50, 2**26]),
    st.integers(0, 999),
    st.integers(0, 20),
)
def test_dual_ascent_bounds_from_below(n, m, levels, seed, steps):
    p, q, c = random_problem(n, m, levels, seed)
    exact = transport(p, q, c).cost * p.sum()
    w = _simplex.workspace(n, m)

    def ascend(steps, enough=np.inf):
        w.g[:m] = 0
        value = _dual.ascend(c, p, q, n, m, steps, 0.3, enough, w.f, w.g, w.best_f, w.nearest, w.p_left)
        assert (w.f[:n, None].astype(int) + w.g[:m] <= c).all()  # feasible, hence a bound
        assert value == pytest.approx(float(p @ w.f[:n] + q @ w.g[:m]), rel=1e-12)
        assert value <= exact * (1 + 1e-12)
        return value

    assert ascend(steps) <= ascend(steps + 1)
    assert ascend(0) == pytest.approx(both_sided_bound(p, q, c), rel=1e-12)
    early = ascend(20, enough=0.5 * exact)
    assert early > 0.5 * exact or early == ascend(20)


def both_sided_bound(p, q, c):
    """Rows first, then what is left of the columns."""
    f = c.min(axis=1)
    return float(p @ f + q @ (c - f[:, None]).min(axis=0))


def test_dual_ascent_is_worth_its_steps():
    p, q, c = random_problem(60, 50, 2**26, 3)
    w = _simplex.workspace(60, 50)

    def bound(steps):
        w.g[:] = 0
        return _dual.ascend(c, p, q, 60, 50, steps, 0.3, np.inf, w.f, w.g, w.best_f, w.nearest, w.p_left)

    exact = transport(p, q, c).cost * p.sum()
    assert bound(0) < bound(12) <= exact
    assert exact - bound(12) < 0.7 * (exact - bound(0))


def test_rows_and_columns():
    c = np.array([[5, 3, 3, 9], [1, 8, 2, 1]], np.int32)
    g = np.array([0, 0, 0, 2], np.int32)
    assert _dual.row_minimum(c, g, 0, 4) == 3
    assert _dual.row_argminimum(c, g, 0, 4, 3) == 2  # the last of two
    assert _dual.row_minimum(c, g, 1, 4) == -1
    f, nearest = np.array([2, 0], np.int32), np.empty(4, np.int32)
    _dual.transform_columns(c, f, 2, 4, g, nearest)
    assert g.tolist() == [1, 1, 1, 1]
    assert nearest.tolist() == [1, 0, 0, 1]


def test_overflow_is_noticed_without_a_pivot():
    p, q, c = chain(40)
    w = _simplex.workspace(40, 40)
    w.g[:] = w.f[:] = 0
    root = _simplex.start_greedily(c, p, q, 40, 40, w)
    _simplex.hang_tree(c, 40, 40, root, w)
    assert _simplex.improve(c, 40, 40, root, w) == (_simplex.OVERFLOW, 0)
    # Optimal, so that no arc would enter; but prices so large that pricing cannot be trusted.
    p, q, c = random_problem(5, 5, 9, 0)
    w.g[:5] = 0
    assert _simplex.solve(c, p, q, 5, 5, w)[0] == _simplex.OPTIMAL
    w.price[:5] += 2**29
    w.price[5:10] -= 2**29
    assert _simplex.improve(c, 5, 5, 0, w) == (_simplex.OVERFLOW, 0)
