"""Transport, slowly and by other means: linear programming, POT, permutations, fractions."""

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog

import ot
from prefmover.ot import TransportProblem


def normalized(mass):
    mass = np.asarray(mass, dtype=float)
    return mass / mass.max() / (mass / mass.max()).sum()


def by_linear_program(p, q, cost):
    """Return the optimal cost from HiGHS, on a variable for each finite cost."""
    cost = np.asarray(cost, dtype=float)
    finite = np.isfinite(cost).ravel()
    scale = cost.ravel()[finite].max() or 1.0
    n, m = cost.shape
    rows, columns = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    answer = linprog(
        cost.ravel()[finite] / scale,
        A_eq=np.vstack((rows, columns))[:, finite],
        b_eq=np.concatenate((normalized(p), normalized(q))),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert answer.status == 0, answer.message
    return answer.fun * scale


def by_pot(p, q, cost):
    """Return the optimal cost from POT's network simplex."""
    cost = np.ascontiguousarray(cost, dtype=float)
    scale = cost.max() or 1.0
    return ot.emd2(normalized(p), normalized(q), cost / scale, numItermax=10_000_000) * scale


def is_feasible(p, q, allowed):
    """Return whether a plan exists on the allowed arcs: by Hall's condition, over all sets of rows."""
    problem = TransportProblem.from_arrays(p, q, np.zeros(allowed.shape))
    p, q = problem.p, problem.q
    sets = (np.array(some, int) for k in range(1, len(p) + 1) for some in combinations(range(len(p)), k))
    return all(p[some].sum() <= q[allowed[some].any(axis=0)].sum() for some in sets)


def by_permutations(cost):
    """Return the optimal cost between n and n equal masses: the best of n! assignments."""
    n = len(cost)
    return min(sum(cost[i][j] for i, j in enumerate(order)) for order in permutations(range(n))) / n


def by_assignment(cost):
    """Return the same from SciPy's assignment solver, for more than a handful."""
    return cost[linear_sum_assignment(cost)].sum() / len(cost)


def check_proof(result):
    """Assert that a result proves its own optimality, in fractions, cell by cell.

    The gap is exactly 0, unless costs are rounded; then it is what rounding takes from the costs of the plan.
    """
    problem, plan = result.problem, result.plan
    cost = [[Fraction(x) if x < np.inf else None for x in row] for row in problem.costs.tolist()]
    left_p, left_q = problem.p.tolist(), problem.q.tolist()
    total, primal = sum(left_p), Fraction(0)
    assert total == sum(left_q)
    for i, j, units in zip(plan.rows.tolist(), plan.columns.tolist(), result.units.tolist(), strict=True):
        assert units > 0
        left_p[i] -= units
        left_q[j] -= units
        primal += units * cost[i][j]
    assert not any(left_p)
    assert not any(left_q)
    f, g = ([Fraction(result.prices.unit) * int(x) for x in price] for price in result.prices[:2])
    for exact, rounded in zip((f, g), result.potentials, strict=True):
        assert [float(x) for x in exact] == rounded.tolist()
    assert all(x is None or f[i] + g[j] <= x for i, row in enumerate(cost) for j, x in enumerate(row))
    dual = sum(x * y for x, y in zip(problem.p.tolist(), f, strict=True))
    dual += sum(x * y for x, y in zip(problem.q.tolist(), g, strict=True))
    assert result.cost == pytest.approx(float(primal / total), rel=1e-15, abs=5e-324)
    assert result.gap == pytest.approx(float((primal - dual) / total), rel=1e-15, abs=5e-324)
    if problem.cost is None:
        assert primal == dual
    assert 0 <= primal - dual <= min(primal / 10**9, total * Fraction(problem.unit))
