r"""The Preference Mover's Distance: the least work that turns one user's preferences into another's.

.. math:: D(u, v) = \min_W \sum_{i \in I_u} \sum_{j \in I_v} W_{ij}\, d(i, j)
          \quad\text{subject to}\quad W \mathbb 1 = p_u,\; W^T \mathbb 1 = p_v,\; W \ge 0

with p_u(i) = r_ui / Σ_j r_uj (Meng et al., ECIR 2020, doi 10.1007/978-3-030-45442-5_34).
A metric whenever d is one; defined for users who have rated no item in common.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from math import nan
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.data.preferences import Preferences, entries_of_rows, undefined_because
from prefmover.dataset import Dataset, check_dataset
from prefmover.errors import NotOptimalError, UndefinedDistanceError
from prefmover.execution.jit import LazyModule, compiled_or_interpreted
from prefmover.execution.memory import require
from prefmover.items.geometry import Words
from prefmover.measures.breakdown import Factor, Flow, PairBreakdown, UserPair, with_ids
from prefmover.measures.pairs import Pairs, Rows
from prefmover.measures.ties import on_grid
from prefmover.ot.problem import TransportProblem
from prefmover.ot.sinkhorn import sinkhorn
from prefmover.ot.solve import Transport, solve

__all__ = [
    "GroundMetric",
    "TransportSpace",
    "UserTransport",
    "item_space",
    "pmd",
    "pmd_breakdown",
    "preference_mover",
]

_pmd = LazyModule("prefmover.measures._pmd")

FEW = 20  # pairs for which a query-major layout does not pay
TABLE_1_EPSILON = 0.05


class GroundMetric(Protocol):
    """Distances between points in whole units; :class:`~prefmover.items.geometry.ItemGeometry` is one.

    PMD's points are the items; those of another measure may be items with their ratings. What solves, bounds
    or searches a transport needs masses on points and distances between them, and nothing else.

    Attributes
    ----------
    unit
        The step of the grid of distances, which are at most 2²⁶ steps.
    is_metric
        Whether the triangle inequality holds; None if it is unknown.
    grid
        (n, n) int32 distances in units, or None if they are computed on demand.
    n_items
        The number of points.
    words
        What messages call them.
    """

    @property
    def unit(self) -> float: ...  # noqa: D102 - an attribute, described above

    @property
    def is_metric(self) -> bool | None: ...  # noqa: D102

    @property
    def grid(self) -> npt.NDArray[np.int32] | None: ...  # noqa: D102

    @property
    def n_items(self) -> int: ...  # noqa: D102

    @property
    def words(self) -> Words: ...  # noqa: D102

    def units(self, rows: Any, columns: Any) -> npt.NDArray[np.int32]:
        """Return distances in units as an int32 array (rows, columns); None means all points."""


class TransportSpace(NamedTuple):
    """The masses of all users on points, and the distances of the points."""

    preferences: Preferences
    ground: GroundMetric


def item_space(data: Dataset) -> TransportSpace:
    """Return the space of PMD: the shares of the ratings on the items."""
    return TransportSpace(data.preferences, data.require_geometry("PMD"))


@dataclass(frozen=True, eq=False, repr=False)
class UserTransport:
    """The distance D(u, v) between two users, by id, and the transport plan that explains it."""

    user: Any
    other: Any
    distance: float
    _data: Dataset
    _u: int
    _v: int

    @cached_property
    def transport(self) -> Transport:
        """The solved problem, with plan, potentials and certificate."""
        return solve_pair(item_space(self._data), self._u, self._v)

    @cached_property
    def flows(self) -> list[Flow]:
        """The flows of the plan, largest share of the distance first; mass that stays put comes last.

        The masses sum to 1 and the shares to 1 (all shares are 0 for users at distance 0).
        """
        sides = (distribution(self._data.preferences, user)[0] for user in (self._u, self._v))
        flows = plan_flows(self._data, (self._u, self._v), self.transport, *sides)
        return list(with_ids(flows, self._data.ratings.items))

    def __repr__(self) -> str:
        return f"UserTransport({self.user!r} → {self.other!r}: distance {self.distance:.6f})"


def solve_pair(space: TransportSpace, u: int, v: int) -> Transport:
    """Return the transport between the users at positions u and v, with its plan and proof."""
    p, ground = space
    (i, mass_u, total_u), (j, mass_v, total_v) = distribution(p, u), distribution(p, v)
    _, at_i, at_j = np.intersect1d(i, j, assume_unique=True, return_indices=True)
    same = (at_i, at_j) if ground.is_metric else None
    costs = ground.units(i, j)
    return solve(TransportProblem(mass_u * total_v, mass_v * total_u, costs, ground.unit, same=same))


def plan_flows(
    data: Dataset, users: tuple[int, int], transport: Transport, sources: Ints, targets: Ints
) -> list[Flow]:
    """Return the flows of a plan, largest share of the distance first; mass that stays put comes last.

    ``sources`` and ``targets`` are the items, by position, of the rows and columns of the problem: items of
    the first and of the second of the two users. The flows are between positions.
    """
    geometry, plan = data.require_geometry("PMD"), transport.plan
    i, j = sources[plan.rows], targets[plan.columns]
    d = transport.problem.costs[plan.rows, plan.columns]
    work = plan.mass * d
    share = work / work.sum() if work.any() else work
    order = np.lexsort((plan.columns, plan.rows, -plan.mass, -work))
    similarity = geometry.similarity(sources, targets)[plan.rows, plan.columns]
    ratings = _ratings_of(data, users[0], i), _ratings_of(data, users[1], j)
    columns = i, j, *ratings, similarity, plan.mass, d, work, share
    return [Flow(*fields) for fields in zip(*(x[order].tolist() for x in columns), strict=True)]


def pmd(data: Dataset, u: Any, v: Any) -> UserTransport:
    """Return the exact distance between two users, by id; its plan and proof are computed when they are read.

    Raises
    ------
    UndefinedDistanceError
        If one of them has no positive rating.

    Examples
    --------
    >>> from prefmover import Dataset, ItemGeometry, Ratings
    >>> data = Dataset(
    ...     Ratings.from_arrays(["ann", "bob"], ["Titanic", "Casablanca"], [5, 4]),
    ...     ItemGeometry.from_similarity(["Casablanca", "Titanic"], [[1, 0.8], [0.8, 1]]),
    ... )
    >>> answer = pmd(data, "ann", "bob")
    >>> answer
    UserTransport('ann' → 'bob': distance 0.643501)
    >>> answer.transport.certificate.valid
    True
    """
    check_dataset(data)
    u, v = data.ratings.user_position(u), data.ratings.user_position(v)
    geometry, p = data.require_geometry("PMD"), data.preferences
    ids = data.ratings.users[[u, v]].tolist()
    for position, user in zip((u, v), ids, strict=True):
        if p.total[position] == 0:
            n = len(data.ratings.row(position)[0])
            raise UndefinedDistanceError(undefined_because(n, user))
    # The distance is symmetric to the last bit, and fewer rows of the grid are read from the longer side.
    long, short = (u, v) if p.indptr[u + 1] - p.indptr[u] >= p.indptr[v + 1] - p.indptr[v] else (v, u)
    distance = float(distances_from(p, geometry, long, np.array([short]))[0])
    return UserTransport(ids[0], ids[1], distance, data, u, v)


def preference_mover(pairs: Pairs, *, transport: str = "exact") -> Rows:
    """PMD: the least cost of moving u's preferences onto v's over the items' distances.

    ``transport="exact"`` is the paper's definition, with the distances of the geometry. ``"entropic"`` is
    Sinkhorn's plan at ε = .05 with costs 1 - s, which the paper's Table 1 turns out to show.
    """
    data, others = pairs.data, pairs.others
    if transport == "exact":
        return rows_by(pairs, partial(distances_from, *item_space(data)))

    def entropic_rows(users: Ints) -> Floats:
        out = [[_entropic_cost(data, u, v) for v in others.tolist()] for u in users.tolist()]
        return on_grid(np.array(out).reshape(len(users), len(others)))

    return entropic_rows


def rows_by(pairs: Pairs, distances: Callable[[int, Ints], Floats]) -> Rows:
    """Return a function from users to their distances to others, given one from a user and others."""
    others = pairs.others
    column = {u: k for k, u in enumerate(others.tolist())} if pairs.upper else {}

    def rows(users: Ints) -> Floats:
        out = np.empty((len(users), len(others)))
        for k, u in enumerate(users.tolist()):
            first = column.get(u, 0)
            out[k, first:] = distances(u, others[first:])
        return out

    return rows


def pmd_breakdown(pair: UserPair, transport: str) -> PairBreakdown:
    """Break PMD down into the flows of its plan."""
    data, users, space = pair.data, (pair.u, pair.v), item_space(pair.data)
    if undefined := undefined_breakdown(pair, space):
        return undefined
    if transport == "entropic":
        value = _entropic_cost(data, *users)
        epsilon = Factor("ε", TABLE_1_EPSILON, "strength of the entropic blur")
        return PairBreakdown(value, [epsilon, Factor("cost", value, "cost of the blurred plan at 1 - s")], [])
    result = solve_pair(space, *users)
    value = rounded_cost(result, result.problem.total)
    flows = plan_flows(data, users, result, *(distribution(space.preferences, user)[0] for user in users))
    stays = sum(flow.mass or 0.0 for flow in flows if flow.source == flow.target)
    factors = [
        pair.n_factor,
        Factor("stays", stays, "share of the preference that stays on its item"),
        Factor("moves", 1 - stays, "share of the preference that moves to another item"),
        Factor("D", value, "cost of all flows: Σ mass · distance"),
    ]
    return PairBreakdown(value, factors, flows, certificate=result.certificate)


def undefined_breakdown(pair: UserPair, space: TransportSpace) -> PairBreakdown | None:
    """Return the breakdown of a pair of users of whom one has no mass; None if both have."""
    for user in (pair.u, pair.v):
        if space.preferences.total[user] == 0:
            (name,) = pair.data.ratings.users[[user]].tolist()
            return PairBreakdown(nan, [], [], f"user {name!r} has no rating above 0")
    return None


def distances_from(everyone: Preferences, geometry: GroundMetric, u: int, others: Ints) -> Floats:
    """Return the distances between the user at position u and those at positions ``others``."""
    out = np.empty(others.size)
    if not others.size:
        return out
    items = distribution(everyone, u)[0]
    longest = int((everyone.indptr[others + 1] - everyone.indptr[others]).max())
    if geometry.grid is not None and others.size < FEW:
        distance, columns = geometry.grid, items
    else:
        theirs = None if others.size >= FEW else everyone.indices[entries_of_rows(everyone.indptr, others)[1]]
        distance, columns = query_major(geometry, items, theirs), np.arange(items.size, dtype=items.dtype)
    users = _pmd.UserMasses(everyone.indptr, everyone.indices, everyone.mass, everyone.total)
    costs = _pmd.ItemCosts(distance, columns, geometry.unit, bool(geometry.is_metric))
    steps = _pmd.STEPS * longest * items.size * others.size
    compare = compiled_or_interpreted(_pmd.distances_from, steps)
    compare(u, others, users, costs, longest, out)
    for k in np.flatnonzero(out < 0).tolist():  # beyond 32 bits: solved again in 64
        out[k] = distance_in_64_bits(everyone, everyone, geometry, u, int(others[k]))
    return out


def query_major(
    geometry: GroundMetric, items: npt.NDArray[Any], needed: npt.NDArray[Any] | None
) -> npt.NDArray[np.int32]:
    """Return the (n_items, len(items)) distances from every item to ``items``, contiguous.

    With ``needed``, only the rows of these items are computed.
    """
    row, entry, point = geometry.words
    what = f"a table of the distances of one {row}'s {len(items):,} {point}s to all {geometry.n_items:,}"
    remedy = f"leave {entry}s of this {row} out, or compare single pairs"
    if needed is None:
        require(8 * len(items) * geometry.n_items, what, remedy)
        return np.ascontiguousarray(geometry.units(items, None).T)
    rows = np.unique(needed)
    require(8 * len(items) * len(rows), what, remedy)
    out = np.zeros((geometry.n_items, len(items)), np.int32)  # only rows that are set take memory
    out[rows] = geometry.units(rows, items)
    return out


def distance_in_64_bits(
    preferences_u: Preferences, preferences_v: Preferences, geometry: GroundMetric, u: int, v: int
) -> float:
    """Return the distance of one pair with 64-bit prices: for the rare pair that 32 bits do not hold."""
    (i, p, total_p), (j, q, total_q) = distribution(preferences_u, u), distribution(preferences_v, v)
    p, q = p * total_q, q * total_p
    if geometry.is_metric:  # mass that both have stays; what is left takes a fraction of the memory
        _, at_i, at_j = np.intersect1d(i, j, assume_unique=True, return_indices=True)
        stays = np.minimum(p[at_i], q[at_j])
        p[at_i] -= stays
        q[at_j] -= stays
    rows, columns = np.flatnonzero(p), np.flatnonzero(q)
    if not rows.size:
        return 0.0
    whole = geometry.units(i[rows], j[columns]).astype(np.int64)
    result = solve(TransportProblem(p[rows], q[columns], whole, geometry.unit))
    return rounded_cost(result, int(total_p) * int(total_q))


def rounded_cost(result: Transport, total: int) -> float:
    """Return the cost of a plan for this total mass, rounded as in the kernels: once, then times the unit."""
    problem, plan = result.problem, result.plan
    costs = problem.whole[plan.rows, plan.columns]
    exact = sum(int(units) * int(cost) for units, cost in zip(result.units, costs, strict=True))
    return exact / total * problem.unit


def distribution(p: Preferences, user: int) -> tuple[npt.NDArray[Any], Ints, int]:
    """Return a user's items, masses and total mass."""
    row = slice(p.indptr[user], p.indptr[user + 1])
    return p.indices[row], p.mass[row], p.total[user]


def _ratings_of(data: Dataset, user: int, items: npt.NDArray[Any]) -> Floats:
    rated, values = data.ratings.row(user)
    return values[np.searchsorted(rated, items)]


def _entropic_cost(data: Dataset, u: int, v: int) -> float:
    # In an order that the ratings decide, so that the value is symmetric and does not depend on positions.
    rows = [data.ratings.row(user) for user in (u, v)]
    sides = [(items[values > 0].astype(np.int64), values[values > 0]) for items, values in rows]
    (i, p), (j, q) = sorted(sides, key=lambda side: (side[0].tolist(), side[1].tolist()))
    if not len(i) or not len(j):
        return nan
    # Groups of items that are far apart in terms of ε exchange mass slowly: marginals to the default 1e-9
    # would take very long, and the cost no longer changes.
    cost = 1.0 - data.require_geometry("PMD").similarity(i, j)
    plan = sinkhorn(p, q, cost, TABLE_1_EPSILON, tolerance=1e-5)
    if not plan.converged:
        first, second = data.ratings.users[[u, v]].tolist()
        raise NotOptimalError(
            f"Sinkhorn did not converge for users {first!r} and {second!r} "
            f"(marginal error {plan.marginal_error:.2g} after {plan.iterations:,} rounds)"
        )
    return float(plan.cost)
