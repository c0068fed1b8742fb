"""The proof that a transport plan is optimal.

A plan W with marginals p and q, and potentials f, g with f_i + g_j ≤ c_ij, prove each other optimal if
Σ W c = Σ p f + Σ q g, by weak duality. All three conditions are checked from the numbers in the result,
independently of the solver, and in whole numbers: nothing is rounded before it is compared.
"""

import math
from dataclasses import dataclass
from operator import mul
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints
from prefmover.errors import InputError, NotOptimalError
from prefmover.ot.problem import TransportProblem, common_unit, multiples

__all__ = ["Certificate", "Prices", "certificate"]

TOLERANCE = 1e-9
LARGEST_WHOLE = 2.0**52  # floats up to this have all their whole numbers
ROUNDING = 2.0**-49  # error of a difference of three rounded floats, relative to their sizes; LEAST is added
LEAST = 2.0**-1070
AT_A_TIME = 2**16  # costs that are compared at once


class Prices(NamedTuple):
    """Potentials as whole multiples of a unit that divides the costs too: exact where floats are not."""

    f: Ints | list[int]
    g: Ints | list[int]
    unit: float

    def floats(self) -> tuple[Floats, Floats]:
        """Return f and g as floats, rounded."""
        if isinstance(self.f, np.ndarray) and isinstance(self.g, np.ndarray):
            unit = np.float64(self.unit)
            return self.f * unit, self.g * unit
        above, below = self.unit.as_integer_ratio()
        f, g = (np.array([_ratio(price * above, below) for price in prices]) for prices in self[:2])
        return f, g


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
        Largest excess of f_i + g_j over c_ij: 0.
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
        slack = TOLERANCE * self.primal
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

    Potentials may come from anywhere. One that is missing or infinite proves nothing.

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
    potentials = _potentials("f", f, n), _potentials("g", g, m)
    if not all(np.isfinite(prices).all() for prices in potentials):
        nothing = _whole_prices(problem, np.zeros(n), np.zeros(m))
        found = certificate_of_prices(problem, i, j, moved, nothing)
        return Certificate(found.primal, -math.inf, math.inf, found.marginal_error, math.inf)
    return certificate_of_prices(problem, i, j, moved, _whole_prices(problem, *potentials))


def certificate_of_prices(
    problem: TransportProblem, rows: Ints, columns: Ints, units: Ints, prices: Prices
) -> Certificate:
    """Return :func:`certificate` of potentials in whole numbers."""
    marginal_error = _marginal_error(problem.p, rows, units) + _marginal_error(problem.q, columns, units)
    marginal_error -= sum(mass for mass in units.tolist() if mass < 0)
    if problem.cost is None and isinstance(prices.f, np.ndarray) and isinstance(prices.g, np.ndarray):
        costs = problem.whole[rows, columns].tolist()
        f, g = prices.f.tolist(), prices.g.tolist()
        excess = int((prices.f[:, None] + prices.g - problem.whole).max())
    else:
        f, g = list(prices.f), list(prices.g)
        near = np.nonzero(may_exceed(problem.costs, *prices.floats()))
        costs, limits = (multiples(problem.costs[at], prices.unit) for at in ((rows, columns), near))
        pairs = zip(near[0].tolist(), near[1].tolist(), limits, strict=True)
        excess = max((f[a] + g[b] - limit for a, b, limit in pairs), default=0)
    primal = sum(map(mul, units.tolist(), costs))
    dual = sum(map(mul, problem.p.tolist(), f)) + sum(map(mul, problem.q.tolist(), g))
    above, below = prices.unit.as_integer_ratio()
    least, most, gap = (_ratio(n * above, below * problem.total) for n in (dual, primal, primal - dual))
    return Certificate(most, least, gap, marginal_error, _ratio(max(0, excess) * above, below))


def _potentials(name: str, values: npt.ArrayLike, length: int) -> Floats:
    prices = np.asarray(values)
    if prices.dtype.kind not in "fiu":
        raise InputError(f"{name} must be real numbers, not {prices.dtype}")
    if prices.shape != (length,):
        raise InputError(f"{name} has shape {prices.shape}; expected {length} potentials, one for each mass")
    return prices.astype(np.float64)


def _whole_prices(problem: TransportProblem, f: Floats, g: Floats) -> Prices:
    """Return floats as whole numbers, in units of the problem if that is possible."""
    if problem.cost is None:
        with np.errstate(over="ignore"):
            x, y = np.rint(f / problem.unit), np.rint(g / problem.unit)
            fits = np.array_equal(x * problem.unit, f) and np.array_equal(y * problem.unit, g)
        if fits and max(np.abs(x).max(), np.abs(y).max()) <= LARGEST_WHOLE:
            return Prices(x.astype(np.int64), y.astype(np.int64), problem.unit)
    unit = common_unit(f, g, problem.costs)
    return Prices(multiples(f, unit), multiples(g, unit), unit)


def _marginal_error(mass: Ints, at: Ints, units: Ints) -> int:
    """Return by how much the units at each place differ from its mass, added up."""
    left = mass if np.abs(units).sum(dtype=np.float64) < 2.0**61 else mass.astype(object)
    left = left.copy()
    np.subtract.at(left, at, units)
    return int(np.abs(left).sum())


def may_exceed(cost: Floats, f: Floats, g: Floats) -> Bools:
    """Return where f_i + g_j may exceed c_ij, as far as floats can tell."""
    near, rows = np.empty(cost.shape, bool), max(1, AT_A_TIME // cost.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(cost), rows):
            some = slice(first, first + rows)
            part, price = cost[some], f[some, None]
            slack = ROUNDING * (part + np.abs(price) + np.abs(g)) + LEAST
            near[some] = ~(part - price - g > slack)
    return near


def _ratio(above: int, below: int) -> float:
    try:
        return above / below  # correctly rounded, for integers of any length
    except OverflowError:
        return math.inf if above > 0 else -math.inf
