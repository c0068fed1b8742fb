"""The proof that a transport plan is optimal.

A plan W with marginals p and q, and potentials f, g with f_i + g_j ≤ c_ij, prove each other optimal if
Σ W c = Σ p f + Σ q g, by weak duality. All three conditions are checked from the numbers in the result,
independently of the solver, and in whole numbers of the problem's unit. Costs that are not whole are rounded
down for the prices, so the prices bound every plan of the costs as given, and the gap is what was rounded
away. An arc of infinite cost has no condition, and a plan that uses it is not valid.
"""

import math
from dataclasses import dataclass, replace
from operator import mul
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.errors import InputError, NotOptimalError
from prefmover.ot.problem import TransportProblem

__all__ = ["Certificate", "Prices", "certificate"]

TOLERANCE = 1e-9
LARGEST_PRICE = 2.0**61  # in units: sums of two fit 64 bits


class Prices(NamedTuple):
    """Potentials as whole multiples of the unit of the costs: exact where floats are not."""

    f: Ints
    g: Ints
    unit: float

    def floats(self) -> tuple[Floats, Floats]:
        """Return f and g as floats, rounded."""
        return self.f * np.float64(self.unit), self.g * np.float64(self.unit)


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
        Largest excess of f_i + g_j over c_ij, rounded up to the problem's unit: 0.
    """

    primal: float
    dual: float
    gap: float
    marginal_error: int
    violation: float

    @property
    def valid(self) -> bool:
        """Whether optimality is proved: no plan costs less than this one by more than 10⁻⁹ of its cost.

        No plan costs less than dual - violation. The tolerance is for potentials from elsewhere. It is
        relative to the cost of the plan, not to the largest cost: a problem may have costs of 10¹² that its
        plan avoids.
        """
        slack = TOLERANCE * self.primal if self.primal < math.inf else 0.0
        return self.marginal_error == 0 and self.violation <= slack and self.gap + self.violation <= slack

    def check(self) -> None:
        """Raise :class:`~prefmover.errors.NotOptimalError` unless optimality is proved."""
        if not self.valid:
            raise NotOptimalError(f"the plan is not proved optimal: {self}")


def certificate(
    problem: TransportProblem,
    rows: npt.ArrayLike,
    columns: npt.ArrayLike,
    units: npt.ArrayLike,
    f: npt.ArrayLike,
    g: npt.ArrayLike,
) -> Certificate:
    """Check a plan (integer masses ``units`` from ``rows`` to ``columns``) and potentials f (n) and g (m).

    Potentials may come from anywhere; they are rounded down to the problem's unit. One that is missing,
    infinite, or 2⁶¹ units large proves nothing.

    Examples
    --------
    >>> problem = TransportProblem.from_arrays([1, 1], [1, 1], [[1, 1], [0, 1]])
    >>> certificate(problem, [0, 1], [0, 1], [1, 1], [1, 1], [0, 0])  # from 0 to 0, from 1 to 1
    Certificate(primal=1.0, dual=1.0, gap=0.0, marginal_error=0, violation=1.0)
    >>> certificate(problem, [0, 1], [1, 0], [1, 1], [1, 0], [0, 0]).valid
    True
    """
    n, m = problem.whole.shape
    i, j, moved = (np.asarray(array) for array in (rows, columns, units))
    if not i.shape == j.shape == moved.shape == (i.size,):
        shapes = f"{i.shape}, {j.shape} and {moved.shape}"
        raise InputError(f"rows, columns and units have shapes {shapes}; expected three lists of one length")
    for name, array, limit in (("rows", i, n), ("columns", j, m), ("units", moved, 2**62)):
        if array.size and array.dtype.kind not in "iu":
            raise InputError(f"{name} must be whole numbers, not {array.dtype}")
        outside = np.flatnonzero((array < (-limit if name == "units" else 0)) | (array >= limit))
        if outside.size:
            raise InputError(f"{name}[{outside[0]}] is {array[outside[0]]}; expected less than {limit}")
    i, j, moved = (array.astype(np.int64) for array in (i, j, moved))
    with np.errstate(over="ignore"):
        potentials = [
            np.floor(_potentials(name, values, size) / problem.unit)
            for name, values, size in (("f", f, n), ("g", g, m))
        ]
    sound = all((np.abs(prices) <= LARGEST_PRICE).all() for prices in potentials)
    whole_f, whole_g = (np.where(sound, prices, 0).astype(np.int64) for prices in potentials)
    found = certificate_of_prices(problem, i, j, moved, Prices(whole_f, whole_g, problem.unit))
    return found if sound else replace(found, dual=-math.inf, gap=math.inf, violation=math.inf)


def certificate_of_prices(
    problem: TransportProblem, rows: Ints, columns: Ints, units: Ints, prices: Prices
) -> Certificate:
    """Return :func:`certificate` of potentials in whole numbers."""
    marginal_error = _marginal_error(problem.p, rows, units) + _marginal_error(problem.q, columns, units)
    marginal_error -= sum(mass for mass in units.tolist() if mass < 0)
    excess, whole = prices.f[:, None] + prices.g - problem.whole, problem.whole[rows, columns]
    rest = 0.0
    if problem.cost is not None:
        excess[np.isinf(problem.cost)] = 0
        rests = problem.cost[rows, columns] - whole * problem.unit
        rest = math.fsum((rests * (units / problem.total)).tolist()) if np.isfinite(rests).all() else math.inf
    primal = sum(map(mul, units.tolist(), whole.tolist()))
    dual = sum(map(mul, problem.p.tolist(), prices.f.tolist()))
    dual += sum(map(mul, problem.q.tolist(), prices.g.tolist()))
    above, below = prices.unit.as_integer_ratio()
    least, most, gap = (_ratio(n * above, below * problem.total) for n in (dual, primal, primal - dual))
    violation = _ratio(max(0, int(excess.max())) * above, below)
    return Certificate(most + rest, least, gap + rest, marginal_error, violation)


def _potentials(name: str, values: npt.ArrayLike, length: int) -> Floats:
    prices = np.asarray(values)
    if prices.dtype.kind not in "fiu":
        raise InputError(f"{name} must be real numbers, not {prices.dtype}")
    if prices.shape != (length,):
        raise InputError(f"{name} has shape {prices.shape}; expected {length} potentials, one for each mass")
    return prices.astype(np.float64)


def _marginal_error(mass: Ints, at: Ints, units: Ints) -> int:
    """Return by how much the units at each place differ from its mass, added up."""
    left = mass if np.abs(units).sum(dtype=np.float64) < 2.0**61 else mass.astype(object)
    left = left.copy()
    np.subtract.at(left, at, units)
    return int(np.abs(left).sum())


def _ratio(above: int, below: int) -> float:
    try:
        return above / below  # correctly rounded, for integers of any length
    except OverflowError:
        return math.inf if above > 0 else -math.inf
