"""Second opinions: what POT says, and what a proof says when it is read cell by cell in whole numbers."""

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

    Written without a look at :mod:`prefmover.ot.certificate`. Masses, costs (in units) and prices (in
    units) are whole numbers, so nothing here has a tolerance: the plan moves p to q to the last unit, no two
    prices exceed their cost, prices meet the cost wherever something is moved, and both sides cost the same.
    """
    problem, plan = result.problem, result.plan
    p, q, c = problem.p, problem.q, problem.whole.astype(np.int64)
    f, g = ((price / problem.unit).astype(np.int64) for price in result.potentials)
    if not all(np.array_equal(w * problem.unit, x) for w, x in zip((f, g), result.potentials, strict=True)):
        return "a price is not a whole number of units"
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
    moved_at = c[rows, columns].tolist()
    primal = sum(a * b for a, b in zip(units.tolist(), moved_at, strict=True))
    dual = sum(a * b for a, b in zip(p.tolist() + q.tolist(), f.tolist() + g.tolist(), strict=True))
    return None if primal == dual else f"primal {primal} and dual {dual} differ"


def gap(result):
    """Return the primal less the dual in the costs as given, of the largest of these."""
    problem, plan = result.problem, result.plan
    cost = problem.costs
    largest = float(cost.max())
    if largest == 0:
        return 0.0
    primal = float(plan.mass @ (cost[plan.rows, plan.columns] / largest))
    f, g = (price / largest for price in result.potentials)
    return primal - float(problem.p @ f + problem.q @ g) / problem.total
