"""The proof that a transport plan is optimal.

A plan W with marginals p and q, and potentials f, g with f_i + g_j ≤ c_ij, prove each other optimal if
Σ W c = Σ p f + Σ q g, by weak duality. All three conditions are checked from the numbers in the result,
independently of the solver.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.errors import NotOptimalError
from prefmover.ot.problem import TransportProblem

__all__ = ["Certificate", "certificate"]

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Certificate:
    """The result of a check.

    Attributes
    ----------
    primal, dual
        Cost of the plan, and value of the potentials.
    gap
        primal - dual.
    marginal_error
        Units of mass by which the rows and columns of the plan differ from p and q: 0.
    violation
        Largest excess of f_i + g_j over c_ij: 0, or the rounding of the costs.
    scale
        The largest cost; tolerances are relative to it.
    """

    primal: float
    dual: float
    gap: float
    marginal_error: int
    violation: float
    scale: float

    @property
    def valid(self) -> bool:
        """Whether optimality is proved: exact marginals, feasible potentials, no gap (1e-9)."""
        slack = TOLERANCE * max(self.scale, sys.float_info.min)
        return self.marginal_error == 0 and self.violation <= slack and abs(self.gap) <= slack

    def check(self) -> None:
        """Raise :class:`~prefmover.errors.NotOptimalError` unless optimality is proved."""
        if not self.valid:
            raise NotOptimalError(f"the plan is not proved optimal: {self}")


def certificate(
    problem: TransportProblem,
    rows: Ints,
    columns: Ints,
    units: Ints,
    f: Floats,
    g: Floats,
) -> Certificate:
    """Check a plan (integer masses ``units`` from ``rows`` to ``columns``) and potentials f, g."""
    cost = problem.costs
    left_p, left_q = problem.p.copy(), problem.q.copy()
    np.subtract.at(left_p, rows, units)
    np.subtract.at(left_q, columns, units)
    negative = int(-np.minimum(units, 0).sum())
    marginal_error = int(np.abs(left_p).sum() + np.abs(left_q).sum()) + negative
    total = problem.total
    # Computed in units, since the product of a mass and a huge cost could overflow.
    u = problem.unit
    primal = math.fsum(units * (cost[rows, columns] / u)) / total * u
    priced = np.concatenate((problem.p * (f / u), problem.q * (g / u)))
    dual = math.fsum(priced) / total * u if np.isfinite(priced).all() else -math.inf
    violation = max(0.0, *((f[i] + g - cost[i]).max() for i in range(len(f))))
    return Certificate(primal, dual, primal - dual, marginal_error, float(violation), float(cost.max()))
