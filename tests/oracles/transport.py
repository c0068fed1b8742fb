"""Transport, slowly and by other means: linear programming, POT, permutations, fractions."""

from fractions import Fraction
from itertools import permutations

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog

import ot


def normalized(mass):
    mass = np.asarray(mass, dtype=float)
    return mass / mass.max() / (mass / mass.max()).sum()


def by_linear_program(p, q, cost):
    """Return the optimal cost from HiGHS, on all n·m variables."""
    cost = np.asarray(cost, dtype=float)
    scale = cost.max() or 1.0
    n, m = cost.shape
    rows, columns = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    answer = linprog(
        (cost / scale).ravel(),
        A_eq=np.vstack((rows, columns)),
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


def by_permutations(cost):
    """Return the optimal cost between n and n equal masses: the best of n! assignments."""
    n = len(cost)
    return min(sum(cost[i][j] for i, j in enumerate(order)) for order in permutations(range(n))) / n


def by_assignment(cost):
    """Return the same from SciPy's assignment solver, for more than a handful."""
    return cost[linear_sum_assignment(cost)].sum() / len(cost)


def check_proof(result):
    """Assert that a result proves its own optimality, in fractions, cell by cell, without a tolerance."""
    problem, plan = result.problem, result.plan
    n, m = problem.whole.shape
    cost = [[Fraction(x) for x in row] for row in problem.costs.tolist()]
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
    assert all(f[i] + g[j] <= cost[i][j] for i in range(n) for j in range(m))
    dual = sum(x * y for x, y in zip(problem.p.tolist(), f, strict=True))
    dual += sum(x * y for x, y in zip(problem.q.tolist(), g, strict=True))
    assert primal == dual
    assert result.cost == float(primal / total)
    assert result.gap == 0
