"""The proof that a transport plan is optimal.

A plan W with marginals p and q, and prices f, g with f_i + g_j ≤ c_ij, prove each other optimal when
Σ W c = Σ p f + Σ q g (weak duality leaves no room between). All three are checked from the numbers in
the result, without trust in the solver.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prefmover.errors import NotOptimalError
from prefmover.ot.problem import Ints, TransportProblem

__all__ = ["Certificate", "certificate"]

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was found when a result was checked.

    Attributes
    ----------
    primal, dual
        The cost of the plan and the value of the prices.
    gap
        primal - dual.
    marginal_error
        Units of mass by which rows and columns of the plan miss p and q: 0.
    violation
        The most by which f_i + g_j exceeds c_ij: 0, or the rounding of the costs.
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
        """Whether optimality is proved: exact marginals, feasible prices, no gap (1e-9)."""
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
    f: npt.NDArray[np.float64],
    g: npt.NDArray[np.float64],
) -> Certificate:
    """Check a plan (whole masses ``units`` from ``rows`` to ``columns``) and prices f, g."""
    cost = problem.costs
    left_p, left_q = problem.p.copy(), problem.q.copy()
    np.subtract.at(left_p, rows, units)
    np.subtract.at(left_q, columns, units)
    negative = int(-np.minimum(units, 0).sum())
    marginal_error = int(np.abs(left_p).sum() + np.abs(left_q).sum()) + negative
    total = problem.total
    # In units: the product of a mass and a huge cost would not be finite.
    u = problem.unit
    primal = math.fsum(units * (cost[rows, columns] / u)) / total * u
    priced = np.concatenate((problem.p * (f / u), problem.q * (g / u)))
    dual = math.fsum(priced) / total * u if np.isfinite(priced).all() else -math.inf
    violation = max(0.0, *((f[i] + g - cost[i]).max() for i in range(len(f))))
    return Certificate(primal, dual, primal - dual, marginal_error, float(violation), float(cost.max()))
