"""Second opinions: what POT says, and what a proof says when it is read cell by cell in whole numbers."""

from fractions import Fraction

import numpy as np
from ot.lp.emd_wrap import emd_c

ITERATIONS = 10_000_000
OPTIMAL = 1


def by_pot(p, q, cost):
    """Return the least cost from POT's network simplex, or None where it gives up.

    Parameters
    ----------
    p, q
        Float masses that sum to 1.
    cost
        Contiguous float costs, the largest near 1.
    """
    _, value, _, _, status = emd_c(p, q, cost, ITERATIONS, 1)
    return value if status == OPTIMAL else None


def normalized(mass):
    """Return masses as floats that sum to 1, whatever their size."""
    mass = np.asarray(mass, dtype=np.float64)
    mass = mass / mass.max()
    return mass / mass.sum()


def flaw(result):
    """Return what is wrong with the proof of a Transport, in words; None if it holds.

    Written without a look at :mod:`prefmover.ot.certificate`. Masses are whole numbers. So are prices, and
    costs rounded down, as multiples of a unit. Nothing here has a tolerance, but for the last bit of the cost
    as given: the plan moves p to q to the last unit, no two prices exceed their cost, prices meet the cost
    wherever something is moved, and both sides cost the same.
    """
    problem, plan, prices = result.problem, result.plan, result.prices
    p, q = problem.p, problem.q
    f, g = (np.array([int(x) for x in side], dtype=object) for side in (prices.f, prices.g))
    if prices.unit != problem.unit:
        return "prices are not in the unit of the costs"
    c = _in_units(problem.costs, prices.unit)
    for exact, price in zip((f, g), result.potentials, strict=True):
        if [float(Fraction(prices.unit) * x) for x in exact.tolist()] != price.tolist():
            return "a potential is not the price, rounded"
    rows, columns, units = plan.rows, plan.columns, result.units
    if (units <= 0).any():
        return "the plan moves nothing, or less than nothing"
    for kept, at, name in ((p, rows, "row"), (q, columns, "column")):
        moved = np.zeros_like(kept)
        np.add.at(moved, at, units)
        if not np.array_equal(moved, kept):
            return f"a {name} of the plan does not add up to its mass"
    room = c - f[:, None] - g[None, :]
    if room.min() < 0:
        return f"two prices exceed their cost by {-room.min()} units"
    if room[rows, columns].any():
        return "the plan moves mass where prices do not meet the cost"
    primal = sum(a * b for a, b in zip(units.tolist(), c[rows, columns].tolist(), strict=True))
    dual = sum(a * b for a, b in zip(p.tolist() + q.tolist(), f.tolist() + g.tolist(), strict=True))
    if primal != dual:
        return f"primal {primal} and dual {dual} differ"
    paid = zip(units.tolist(), problem.costs[rows, columns].tolist(), strict=True)
    exact = float(sum(a * Fraction(b) for a, b in paid) / problem.total)
    if abs(result.cost - exact) > 1e-15 * exact:
        return f"the cost {result.cost!r} is not that of the plan"
    return None


def _in_units(numbers, unit):
    """Return an array of floats as whole numbers of units, rounded down."""
    above, below = unit.as_integer_ratio()
    ratios = (x.as_integer_ratio() for x in numbers.ravel().tolist())
    return np.array([a * below // (b * above) for a, b in ratios], dtype=object).reshape(numbers.shape)
