"""From a problem to its optimal plan: validate → reduce → kernel → result."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.errors import InputError, NotOptimalError
from prefmover.execution.jit import LazyModule, compiled_or_interpreted
from prefmover.ot.certificate import Certificate, Prices, certificate_of_prices
from prefmover.ot.problem import TransportProblem

__all__ = ["Plan", "Transport", "solve", "transport"]

_simplex = LazyModule("prefmover.ot._simplex")


class Plan(NamedTuple):
    """A sparse coupling: ``mass[k]`` goes from ``rows[k]`` to ``columns[k]``; the masses sum to 1."""

    rows: Ints
    columns: Ints
    mass: Floats

    def toarray(self, shape: tuple[int, int]) -> Floats:
        """Return the plan as a dense matrix."""
        W = np.zeros(shape)
        W[self.rows, self.columns] = self.mass
        return W


@dataclass(frozen=True, slots=True, eq=False)
class Transport:
    """An optimal plan, with the proof of its optimality.

    Attributes
    ----------
    cost
        Σ W_ij c_ij, the minimum, for masses normalized to 1.
    plan
        The optimal W, sparse: at most n + m - 1 entries besides mass that stays in place.
    potentials
        Prices f (n) and g (m) with f_i + g_j ≤ c_ij, and Σ p f + Σ q g = cost; as floats, so rounded where
        53 bits do not hold them.
    prices
        The potentials in whole numbers (f, g, and their unit), exactly.
    gap
        Cost minus the value of the prices: 0 if the costs are whole numbers of ``problem.unit``, otherwise
        what rounding them may matter, at most 10⁻⁹ of the cost.
    status
        ``"optimal"``; otherwise an exception was raised.
    pivots
        Number of simplex steps.
    units
        The plan's masses as integers, of ``problem.total``.
    problem
        The problem.
    """

    cost: float
    plan: Plan
    potentials: tuple[Floats, Floats]
    prices: Prices
    gap: float
    status: str
    pivots: int
    units: Ints
    problem: TransportProblem

    @property
    def certificate(self) -> Certificate:
        """The proof of optimality, checked from the plan and the prices."""
        plan = self.plan
        return certificate_of_prices(self.problem, plan.rows, plan.columns, self.units, self.prices)


def transport(p: npt.ArrayLike, q: npt.ArrayLike, cost: npt.ArrayLike) -> Transport:
    r"""Return the cheapest way to turn masses p into masses q.

    .. math:: \min_W \sum_{ij} W_{ij} c_{ij} \quad W \mathbb 1 = p,\; W^T \mathbb 1 = q,\; W \ge 0

    Parameters
    ----------
    p, q
        (n,) and (m,) masses, normalized to 1 each; integers are exact.
    cost
        (n, m) costs, not negative; they need not be a metric. Nothing moves where the cost is infinite.

    Notes
    -----
    Costs are rounded down to multiples of 2⁻⁵⁰ of the largest finite cost (more precisely, of the power of
    two above it), which changes whole numbers below 2⁵⁰ and item distances not at all. Large problems have
    fewer bits: 59 minus those of n + m, and with infinite costs minus those of min(n, m). The plan is optimal
    for the rounded costs, exactly. For the costs as given, ``gap`` bounds what a better plan could save.

    Raises
    ------
    InputError
        If every plan moves mass at infinite cost, or if the largest cost is so far above the costs of the
        plan that rounding may matter for more than 10⁻⁹ of them. Use ``inf`` for what is forbidden, and
        not a large number.
    NotOptimalError
        If optimality could not be proved.

    Examples
    --------
    >>> result = transport([1, 1], [1, 3], [[0.0, 1.0], [1.0, 0.0]])
    >>> result.cost, result.gap, result.status
    (0.25, 0.0, 'optimal')
    >>> result.plan.toarray((2, 2))
    array([[0.25, 0.25],
           [0.  , 0.5 ]])
    >>> transport([1, 1], [1, 1], [[0.5, float("inf")], [0.25, 1.0]]).cost
    0.75
    """
    return solve(TransportProblem.from_arrays(p, q, cost))


def solve(problem: TransportProblem) -> Transport:
    """Solve a problem in integers; see :func:`transport`."""
    p, q, stays = _cancel(problem)
    rows, columns = np.flatnonzero(p), np.flatnonzero(q)
    if rows.size:
        everything = rows.size == p.size and columns.size == q.size
        block = np.s_[:, :] if everything else np.ix_(rows, columns)
        w, pivots = _run_kernel(np.ascontiguousarray(problem.whole[block]), p[rows], q[columns])
        f, g = np.split(w.price[: rows.size + columns.size].astype(np.int64), [rows.size])
        prices = Prices(*_extend(problem, rows, columns, f, g), problem.unit)
        i, j, units = _moved(w, rows.size, columns.size)
        from_row, to_column = rows[i], columns[j]
    else:
        from_row = to_column = units = np.empty(0, np.int64)
        prices, pivots = Prices(np.zeros_like(p), np.zeros_like(q), problem.unit), 0
    from_row = np.concatenate((stays[0], from_row))
    to_column = np.concatenate((stays[1], to_column))
    units = np.concatenate((stays[2], units))
    if problem.cost is not None and np.isinf(problem.cost[from_row, to_column]).any():
        raise InputError(_blocked(problem, from_row, to_column, problem.cost))
    proof = certificate_of_prices(problem, from_row, to_column, units, prices)
    only_rounding = proof.marginal_error == proof.violation == 0 and proof.gap <= problem.unit
    if problem.cost is not None and only_rounding and not proof.valid:
        largest = problem.cost.max(where=np.isfinite(problem.cost), initial=0.0)
        raise InputError(
            f"the largest cost, {largest:g}, is too far above the cost of the best plan, {proof.primal:g}: "
            f"costs are rounded to multiples of {problem.unit:g}; use inf for moves that are forbidden"
        )
    proof.check()
    plan = Plan(from_row, to_column, units / problem.total)
    return Transport(
        proof.primal, plan, prices.floats(), prices, proof.gap, "optimal", pivots, units, problem
    )


def _cancel(problem: TransportProblem) -> tuple[Ints, Ints, tuple[Ints, Ints, Ints]]:
    """Return the masses without what both sides have at the same point, and that: rows, columns, units."""
    i, j = problem.same or (np.empty(0, np.int64), np.empty(0, np.int64))
    common = np.minimum(problem.p[i], problem.q[j])
    p, q = problem.p.copy(), problem.q.copy()
    p[i] -= common
    q[j] -= common
    positive = common > 0
    return p, q, (i[positive], j[positive], common[positive])


def _run_kernel(c: npt.NDArray[Any], p: Ints, q: Ints) -> tuple[Any, int]:
    """Return the workspace with the optimal tree of integer costs and positive masses, and the pivots."""
    n, m = c.shape
    w = _simplex.workspace(n, m, c.dtype)
    w.g[:m] = 0
    run = compiled_or_interpreted(_simplex.solve, _simplex.STEPS * n * m)
    status, pivots, _, _ = run(c, p, q, n, m, w)
    if status == _simplex.OVERFLOW and c.dtype != np.int64:
        return _run_kernel(c.astype(np.int64), p, q)
    if status != _simplex.OPTIMAL:
        raise NotOptimalError(
            f"a transport problem of {n} x {m} was not solved to optimality after {pivots} pivots; "
            "please report it with the masses and costs"
        )
    return w, int(pivots)


def _blocked(problem: TransportProblem, rows: Ints, columns: Ints, cost: Floats) -> str:
    """Return why no plan avoids infinite costs: rows with more mass than all columns that they can reach.

    From the rows of a plan that pay an infinite cost, follow finite costs to columns, and the plan back to
    rows. The plan uses infinite costs as little as possible, so these columns get mass from these rows only.
    """
    allowed = np.isfinite(cost)
    stuck, reached = np.zeros(len(problem.p), bool), np.zeros(len(problem.q), bool)
    more = rows[~allowed[rows, columns]]
    while more.size:
        stuck[more] = True
        reached |= allowed[more].any(axis=0)
        more = rows[reached[columns] & allowed[rows, columns] & ~stuck[rows]]
    named = ", ".join(map(str, np.flatnonzero(stuck)[:5].tolist())) + (", ..." if stuck.sum() > 5 else "")
    needed, room = problem.p[stuck].sum() / problem.total, problem.q[reached].sum() / problem.total
    return (
        f"no plan avoids the infinite costs: rows [{named}] have {needed:.3g} of the mass, and finite costs "
        f"only to columns with {room:.3g} of it"
    )


def _moved(w: Any, n: int, m: int) -> tuple[Ints, Ints, Ints]:
    """Return the plan of a tree: rows, columns, and units of mass."""
    parent, flow = w.parent[: n + m], w.flow[: n + m]
    nodes = np.flatnonzero((parent != _simplex.NO_PARENT) & (flow > 0))
    above, is_row = parent[nodes].astype(np.int64), nodes < n
    i, j = np.where(is_row, nodes, above), np.where(is_row, above, nodes) - n
    order = np.lexsort((j, i))
    return i[order], j[order], flow[nodes][order]


def _extend(problem: TransportProblem, rows: Ints, columns: Ints, f: Ints, g: Ints) -> tuple[Ints, Ints]:
    """Extend prices of the reduced problem to all points.

    g_j = min_i (c_ij - f_i) over the rows with a price, f_i likewise over all columns. A row that lost all
    its mass to its twin column k gets f = -g_k, which the triangle inequality makes feasible.
    """
    n, m = problem.whole.shape
    full_f, full_g = np.zeros(n, np.int64), np.zeros(m, np.int64)
    if rows.size == n and columns.size == m:
        return f, g
    full_f[rows] = f
    for start in range(0, m, 4096):  # bounded memory for large problems
        part = slice(start, start + 4096)
        full_g[part] = (problem.whole[rows, part].astype(np.int64) - f[:, None]).min(axis=0)
    full_g[columns] = g
    same = problem.same or (rows[:0], rows[:0])
    twin = dict(zip(same[0].tolist(), same[1].tolist(), strict=True))
    for i in np.setdiff1d(np.arange(n), rows).tolist():
        full_f[i] = -full_g[twin[i]] if i in twin else (problem.whole[i].astype(np.int64) - full_g).min()
    return full_f, full_g
