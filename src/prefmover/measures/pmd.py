r"""The Preference Mover's Distance: the least work that turns one user's preferences into another's.

.. math:: D(u, v) = \min_W \sum_{i \in I_u} \sum_{j \in I_v} W_{ij}\, d(i, j)
          \quad\text{subject to}\quad W \mathbb 1 = p_u,\; W^T \mathbb 1 = p_v,\; W \ge 0

with p_u(i) = r_ui / Σ_j r_uj (Meng et al., "PMD: A New User Distance for Recommender Systems", eq. 3).
A metric whenever d is one; defined for users who have rated nothing in common.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover.data.preferences import Preferences, preferences, undefined_because
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError, NotOptimalError, UndefinedDistanceError
from prefmover.execution.memory import require
from prefmover.execution.threads import Progress, resolve_jobs, run
from prefmover.items.geometry import ItemGeometry, align
from prefmover.ot import Transport, TransportProblem, solve

__all__ = ["Flow", "UserTransport", "distances", "pmd"]

Index = npt.NDArray[np.int64]

FEW = 20  # pairs for which laying the distances out anew does not pay


class Flow(NamedTuple):
    """Mass that moves from an item of u to an item of v, and its share of the whole distance."""

    source: Any
    target: Any
    mass: float
    distance: float
    share: float


@dataclass(frozen=True, eq=False)
class UserTransport:
    """The distance of two users, and the plan that explains it.

    Attributes
    ----------
    u, v
        The users' ids.
    distance
        D(u, v).
    transport
        The solved problem, with plan, potentials and certificate.
    items_u, items_v
        Item ids of the plan's rows and columns.
    """

    u: Any
    v: Any
    distance: float
    transport: Transport
    items_u: npt.NDArray[Any]
    items_v: npt.NDArray[Any]

    @cached_property
    def flows(self) -> list[Flow]:
        """What moves where, largest share of the distance first; mass that stays comes last.

        The masses sum to 1 and the shares to 1 (all shares are 0 for users at distance 0).
        """
        plan, cost = self.transport.plan, self.transport.problem.costs
        d = cost[plan.rows, plan.columns]
        work = plan.mass * d
        share = work / work.sum() if work.any() else work
        order = np.lexsort((plan.columns, plan.rows, -plan.mass, -work))
        columns = (self.items_u[plan.rows], self.items_v[plan.columns], plan.mass, d, share)
        return [Flow(*parts) for parts in zip(*(x[order].tolist() for x in columns), strict=True)]

    def __repr__(self) -> str:
        """Users, distance, number of flows."""
        return (
            f"UserTransport({self.u!r} → {self.v!r}: distance {self.distance:.6f}, {len(self.flows)} flows)"
        )


def pmd(
    ratings: Ratings,
    geometry: ItemGeometry,
    u: Any,
    v: Any,
    *,
    missing: Literal["error", "drop"] = "error",
) -> UserTransport:
    """Return the exact distance between users u and v, with its plan and its proof.

    Parameters
    ----------
    u, v
        User ids.
    missing
        Rated items that the geometry does not know: ``"error"``, or ``"drop"`` their ratings.

    Raises
    ------
    UndefinedDistanceError
        If one of them has no positive rating.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(["ann", "bob"], ["Titanic", "Casablanca"], [5, 4])
    >>> geometry = ItemGeometry.from_similarity(["Casablanca", "Titanic"], [[1, 0.8], [0.8, 1]])
    >>> answer = pmd(ratings, geometry, "ann", "bob")
    >>> answer
    UserTransport('ann' → 'bob': distance 0.643501, 1 flows)
    >>> answer.transport.certificate.valid
    True
    """
    ratings, geometry = align(ratings, geometry, missing)
    of_u, of_v = (preferences(ratings.take(users=[ratings.user_position(x)])) for x in (u, v))
    for one, user in ((of_u, u), (of_v, v)):
        if one.total[0] == 0:
            raise UndefinedDistanceError(undefined_because(len(ratings[user]), user))
    i, j = of_u.indices, of_v.indices
    _, at_i, at_j = np.intersect1d(i, j, assume_unique=True, return_indices=True)
    problem = TransportProblem(
        of_u.mass * of_v.total[0],
        of_v.mass * of_u.total[0],
        geometry.grid_block(i, j),
        geometry.unit,
        same=(at_i, at_j) if geometry.is_metric else None,
    )
    result = solve(problem)
    return UserTransport(u, v, _distance(result), result, ratings.items[i], ratings.items[j])


def distances(
    ratings: Ratings,
    geometry: ItemGeometry,
    users: Iterable[Any] | None = None,
    others: Iterable[Any] | None = None,
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
    dtype: npt.DTypeLike = np.float64,
    missing: Literal["error", "drop"] = "error",
) -> npt.NDArray[Any]:
    """Return the exact distances of ``users`` x ``others``, NaN where one of them has no distribution.

    Each is a function of exact whole numbers, so that the result does not depend on the number of threads,
    the order of the users, or which of the two comes first.

    Parameters
    ----------
    users, others
        User ids; None means all. When ``others`` is None too, each pair is solved once.
    n_threads
        Threads; None means all cores.
    progress
        Called with (done, total) pairs.
    dtype
        float64, or float32 to halve the memory.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(["ann", "bob"], ["Titanic", "Casablanca"], [5, 4])
    >>> geometry = ItemGeometry.from_similarity(["Casablanca", "Titanic"], [[1, 0.8], [0.8, 1]])
    >>> distances(ratings, geometry).round(4)
    array([[0.    , 0.6435],
           [0.6435, 0.    ]])
    """
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise InputError(f"dtype is {dtype!r}; choose float64 or float32")
    rows, columns = ratings.user_positions(users), ratings.user_positions(others)
    ratings, geometry = align(ratings, geometry, missing)
    everyone = preferences(ratings)
    once = np.array_equal(rows, columns) and np.unique(rows).size == rows.size
    longest = int(np.diff(everyone.indptr).max(initial=0))
    require(
        rows.size * columns.size * np.dtype(dtype).itemsize
        + min(resolve_jobs(n_threads), max(rows.size, 1)) * 4 * longest * (2 * ratings.n_items + longest),
        f"all distances of {rows.size:,} x {columns.size:,} users",
        "ask for fewer users at a time, or for the nearest of each (prefmover.nearest)",
    )
    out = np.empty((rows.size, columns.size), dtype)

    def work(k: int) -> None:
        part = slice(k + 1, None) if once else slice(None)
        out[k, part] = distances_of(everyone, geometry, int(rows[k]), columns[part])
        if once:
            out[part, k] = out[k, part]
            out[k, k] = np.nan if everyone.total[rows[k]] == 0 else 0.0

    # Heavy users first, so that no thread is left alone with one at the end.
    order = np.argsort(-np.diff(everyone.indptr)[rows], kind="stable")
    sizes = [columns.size - k if once else columns.size for k in order.tolist()]
    run(work, order.tolist(), n_threads=n_threads, sizes=sizes, progress=progress)
    return out


def distances_of(
    everyone: Preferences, geometry: ItemGeometry, u: int, others: Index
) -> npt.NDArray[np.float64]:
    """Return the distances between the user at position u and those at positions ``others``."""
    from prefmover.measures import _pmd as kernels
    from prefmover.ot._simplex import workspace

    out = np.empty(others.size)
    if not others.size:
        return out
    mine = everyone.indices[everyone.indptr[u] : everyone.indptr[u + 1]]
    n, m = int(np.diff(everyone.indptr)[others].max()), mine.size
    if geometry.grid is not None and others.size < FEW:
        distance, places = geometry.grid, mine
    else:
        distance, places = query_major(geometry, mine), np.arange(m, dtype=mine.dtype)
    kernels.distances_from(
        u,
        others,
        everyone.indptr,
        everyone.indices,
        everyone.mass,
        everyone.total,
        distance,
        places,
        geometry.unit,
        bool(geometry.is_metric),
        np.empty(n + 1, np.int32),
        np.empty(m + 1, np.int32),
        np.empty(n + 1, np.int64),
        np.empty(m + 1, np.int64),
        np.empty(max(n * m, 1), np.int32),
        workspace(n + 1, m + 1),
        out,
    )
    for k in np.flatnonzero(out < 0).tolist():  # beyond 32 bits: solved again in 64
        out[k] = wide_distance(everyone, everyone, geometry, u, int(others[k]))
    return out


def query_major(geometry: ItemGeometry, items: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Return the (n_items, len(items)) distances from every item to ``items``, contiguous."""
    require(
        8 * len(items) * geometry.n_items,
        f"the distances of one user's {len(items):,} items to all {geometry.n_items:,}",
        "leave ratings of this user out, or compare pairs with pmd",
    )
    return np.ascontiguousarray(geometry.grid_block(items, None).T)


def wide_distance(
    preferences_u: Preferences, preferences_v: Preferences, geometry: ItemGeometry, u: int, v: int
) -> float:
    """Return the distance of one pair with 64-bit prices: for the rare pair that 32 bits do not hold."""
    (i, p, total_p), (j, q, total_q) = (
        (x.indices[x.indptr[k] : x.indptr[k + 1]], x.mass[x.indptr[k] : x.indptr[k + 1]], x.total[k])
        for x, k in ((preferences_u, u), (preferences_v, v))
    )
    whole = geometry.grid_block(i, j).astype(np.int64)
    return _distance(solve(TransportProblem(p * total_q, q * total_p, whole, geometry.unit)))


def _distance(result: Transport) -> float:
    """Return the distance from the exact total, by the same formula as the kernels."""
    problem, plan = result.problem, result.plan
    if result.status != "optimal":
        raise NotOptimalError("a distance is only taken from a plan that is proved optimal")
    exact = sum(
        int(units) * int(c)
        for units, c in zip(result.units, problem.whole[plan.rows, plan.columns], strict=True)
    )
    high, low = divmod(exact, 2**28)
    return (float(high) * 2.0**28 + float(low)) / float(problem.total) * problem.unit
