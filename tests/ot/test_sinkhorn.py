"""Sinkhorn: against POT, against its own formula, and on the paper's worked example."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ot
from prefmover.errors import InputError
from prefmover.ot import sinkhorn, transport
from tests.measures.test_pmd import FILMS, SIMILARITY, TABLE_1A
from tests.messages import names
from tests.oracles.transport import normalized

RATINGS = {user: [row.get(film, 0) for film in FILMS] for user, row in TABLE_1A.items()}
COST = 1 - np.array(SIMILARITY)


@pytest.mark.parametrize(
    ("u", "v", "printed"), [("u1", "u2", 0.892), ("u2", "u3", 0.633), ("u4", "u5", 0.3), ("u5", "u6", 0.8)]
)
def test_the_papers_worked_example(u, v, printed):
    """Table 1(c) prints one minus the cost, cut off after three digits."""
    result = sinkhorn(RATINGS[u], RATINGS[v], COST, 0.05, tolerance=1e-4)
    assert result.converged
    assert 0 <= 1 - result.cost - printed + 1e-9 < 1e-3
    # Without entropy it would have been .9 and .65 for the first two.
    exact = 1 - transport(RATINGS[u], RATINGS[v], COST).cost
    assert exact == pytest.approx({"u1": 0.9, "u2": 0.65, "u4": 0.3, "u5": 0.8}[u])


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from([0.05, 0.3, 2.0]), st.integers(0, 99))
@example(2, 2, 0.05, 13)  # two pairs of points, far apart for this ε: tens of thousands of rounds
def test_formula_marginals_and_pot(n, m, epsilon, seed):
    rng = np.random.default_rng(seed)
    p, q, cost = rng.integers(1, 6, n), rng.integers(1, 6, m), rng.random((n, m))
    result = sinkhorn(p, q, cost, epsilon, tolerance=1e-7, max_iterations=1000)
    assert result.converged == (result.marginal_error <= 1e-7)
    assert result.converged or (epsilon == 0.05 and result.iterations == 1000)
    a, b = normalized(p), normalized(q)
    f, g = result.potentials
    assert result.plan == pytest.approx(np.exp((f[:, None] + g - cost) / epsilon) * a[:, None] * b)
    assert result.plan.sum(axis=0) == pytest.approx(b, abs=1e-12)
    assert np.abs(result.plan.sum(axis=1) - a).sum() == pytest.approx(result.marginal_error, abs=1e-12)
    assert result.cost == pytest.approx((result.plan * cost).sum())
    if not result.converged:
        return
    theirs = ot.bregman.sinkhorn_log(a, b, cost, epsilon, numItermax=20_000, stopThr=1e-10)
    assert result.plan == pytest.approx(theirs, abs=1e-6)
    assert result.cost >= transport(p, q, cost).cost - 1e-6


def test_small_epsilon_does_not_underflow():
    """exp(-1 / .001) is zero in floating point; logarithms are not."""
    cost = [[0.0, 1.0], [1.0, 0.1]]
    result = sinkhorn([1, 1], [1, 1], cost, 0.001)
    assert result.converged
    assert result.cost == pytest.approx(0.05, abs=1e-12)


def test_not_converged_is_reported():
    rng = np.random.default_rng(0)
    result = sinkhorn([1, 2, 3], [3, 1, 1], rng.random((3, 3)), 0.01, max_iterations=2)
    assert not result.converged
    assert result.iterations == 2
    assert result.marginal_error > 1e-9


def test_points_without_mass():
    result = sinkhorn([0, 1], [1, 0, 1], [[0, 0, 0], [1, 0, 3]], 0.1)
    assert result.cost == pytest.approx(2)
    assert not result.plan[0].any()
    assert not result.plan[:, 1].any()


@pytest.mark.parametrize("epsilon", [0, -1, np.nan, np.inf])
def test_epsilon_must_be_positive(epsilon):
    with pytest.raises(InputError, match=names("epsilon")):
        sinkhorn([1], [1], [[0]], epsilon)


def test_at_least_one_round():
    with pytest.raises(InputError, match=names("max_iterations", 0)):
        sinkhorn([1], [1], [[0]], 1.0, max_iterations=0)
