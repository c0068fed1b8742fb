"""From a problem to its optimal plan: validate → reduce → kernel → refine → result."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.errors import NotOptimalError
from prefmover.ot.certificate import LEAST, ROUNDING, Certificate, Prices, certificate_of_prices
from prefmover.ot.problem import TransportProblem, common_unit, multiples, units_in
from prefmover.ot.refine import Basis, refine

__all__ = ["Plan", "Transport", "solve", "transport"]


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
        Cost minus the value of the prices: 0.
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
        (n, m) costs, finite and not negative; they need not be a metric.

    Raises
    ------
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
    """
    return solve(TransportProblem.from_arrays(p, q, cost))


def solve(problem: TransportProblem) -> Transport:
    """Solve a problem in integers; see :func:`transport`."""
    p, q, stays = _cancel(problem)
    rows, columns = np.flatnonzero(p), np.flatnonzero(q)
    if rows.size:
        everything = rows.size == p.size and columns.size == q.size
        block = np.s_[:, :] if everything else np.ix_(rows, columns)
        c = np.ascontiguousarray(problem.whole[block])
        kernel = partial(_run_kernel, p=p[rows], q=q[columns])
        basis = kernel(c)
        if problem.cost is None:
            prices = Prices(*_extend(problem, rows, columns, basis.f, basis.g), problem.unit)
        else:
            basis, prices = refine(basis, c, problem.unit, problem.cost[block], kernel)
            prices = _extend_prices(problem.cost, rows, columns, prices)
        moved, pivots = _moved(basis), basis.pivots
        from_row, to_column, units = rows[moved[0]], columns[moved[1]], moved[2]
    else:
        from_row = to_column = units = np.empty(0, np.int64)
        prices, pivots = Prices(np.zeros_like(p), np.zeros_like(q), problem.unit), 0
    if stays is not None:
        from_row = np.concatenate((stays[0], from_row))
        to_column = np.concatenate((stays[1], to_column))
        units = np.concatenate((stays[2], units))
    proof = certificate_of_prices(problem, from_row, to_column, units, prices)
    proof.check()
    plan = Plan(from_row, to_column, units / problem.total)
    return Transport(
        proof.primal, plan, prices.floats(), prices, proof.gap, "optimal", pivots, units, problem
    )


def _cancel(problem: TransportProblem) -> tuple[Ints, Ints, tuple[Ints, Ints, Ints] | None]:
    """Remove mass that both sides have at the same point."""
    if problem.same is None:
        return problem.p, problem.q, None
    i, j = problem.same
    common = np.minimum(problem.p[i], problem.q[j])
    p, q = problem.p.copy(), problem.q.copy()
    p[i] -= common
    q[j] -= common
    positive = common > 0
    return p, q, (i[positive], j[positive], common[positive])


def _run_kernel(c: npt.NDArray[Any], p: Ints, q: Ints) -> Basis:
    """Return the optimal tree of integer costs and positive masses."""
    from prefmover.execution.jit import compiled_or_interpreted
    from prefmover.ot import _simplex as kernels

    n, m = c.shape
    w = kernels.workspace(n, m, c.dtype)
    w.g[:m] = 0
    status, pivots, _, _ = compiled_or_interpreted(kernels.solve, kernels.STEPS * n * m)(c, p, q, n, m, w)
    if status == kernels.OVERFLOW and c.dtype != np.int64:
        return _run_kernel(c.astype(np.int64), p, q)
    if status != kernels.OPTIMAL:
        raise NotOptimalError(
            f"a transport problem of {n} x {m} was not solved to optimality after {pivots} pivots; "
            "please report it with the masses and costs"
        )
    parent = w.parent[: n + m].astype(np.int64)
    parent[w.parent[: n + m] == kernels.NO_PARENT] = -1
    price = w.price[: n + m].astype(np.int64)
    return Basis(
        parent, w.after[: n + m].astype(np.int64), w.flow[: n + m], price[:n], price[n:], int(pivots)
    )


def _moved(basis: Basis) -> tuple[Ints, Ints, Ints]:
    """Return the plan of a tree: rows, columns, and units of mass."""
    n = basis.f.size
    nodes = np.flatnonzero(basis.parent >= 0)
    above, is_row = basis.parent[nodes], nodes < n
    i, j = np.where(is_row, nodes, above), np.where(is_row, above, nodes) - n
    carried = basis.flow[nodes]
    used = carried > 0
    order = np.lexsort((j[used], i[used]))
    return i[used][order], j[used][order], carried[used][order]


def _extend(problem: TransportProblem, rows: Ints, columns: Ints, f: Ints, g: Ints) -> tuple[Ints, Ints]:
    """Extend prices of the reduced problem to all points.

    g_j = min_i (c_ij - f_i) over the rows with a price, f_i likewise over all columns. A row that lost all
    its mass to its twin column k gets f = -g_k, which the triangle inequality makes feasible.
    """
    n, m = problem.whole.shape
    full_f, full_g = np.zeros(n, np.int64), np.zeros(m, np.int64)
    if not rows.size:
        return full_f, full_g
    if rows.size == n and columns.size == m:
        return f, g
    full_f[rows] = f
    for start in range(0, m, 4096):  # bounded memory for large problems
        part = slice(start, start + 4096)
        full_g[part] = (problem.whole[rows, part].astype(np.int64) - f[:, None]).min(axis=0)
    full_g[columns] = g
    unpriced = np.setdiff1d(np.arange(n), rows)
    if problem.same is not None:
        twin = dict(zip(problem.same[0].tolist(), problem.same[1].tolist(), strict=True))
    else:
        twin = {}
    for i in unpriced.tolist():
        full_f[i] = -full_g[twin[i]] if i in twin else (problem.whole[i].astype(np.int64) - full_g).min()
    return full_f, full_g


def _extend_prices(cost: Floats, rows: Ints, columns: Ints, prices: Prices) -> Prices:
    """Extend exact prices to points without mass.

    Their prices do not enter the dual. They may be lower than necessary, so floats are good enough.
    """
    n, m = cost.shape
    if rows.size == n and columns.size == m:
        return prices
    f, g = np.zeros(n), np.zeros(m)
    f[rows], g[columns] = prices.floats()
    no_columns, no_rows = np.setdiff1d(np.arange(m), columns), np.setdiff1d(np.arange(n), rows)
    for j in no_columns:
        g[j] = _least_room(cost[rows, j], f[rows])
    for i in no_rows:
        f[i] = _least_room(cost[i], g)
    unit = min(prices.unit, common_unit(f[no_rows], g[no_columns], cost))
    steps = units_in(prices.unit, unit)
    whole_f, whole_g = multiples(f, unit), multiples(g, unit)
    for full, at, known in ((whole_f, rows, prices.f), (whole_g, columns, prices.g)):
        for k, price in zip(at.tolist(), known, strict=True):
            full[k] = price * steps
    return Prices(whole_f, whole_g, unit)


def _least_room(cost: Floats, price: Floats) -> float:
    """Return a number just below all cost - price."""
    slack = ROUNDING * (cost + np.abs(price)) + LEAST
    return float((cost - price - slack).min())
