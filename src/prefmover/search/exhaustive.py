"""The reference: compute every pair, then sort. For any measure.

What the cascade is checked against, what measures without bounds use, and the baseline of benchmarks.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.execution.memory import require
from prefmover.execution.threads import Progress
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Measure, blocks, find_measure
from prefmover.search.index import RaterNeighbors
from prefmover.search.result import Floats, Index, Neighbors, SearchStats

__all__ = ["exhaustive", "exhaustive_raters", "rank"]


def rank(values: Floats, candidates: Index, k: int, larger_is_closer: bool) -> Index:
    """Return the k closest of the candidates by their values: ties in user order, NaN never.

    >>> rank(np.array([0.5, np.nan, 0.2, 0.5]), np.array([3, 2, 1, 0]), 2, larger_is_closer=True)
    array([0, 3])
    """
    value = values[candidates]
    defined = ~np.isnan(value)
    candidates, value = candidates[defined], value[defined]
    order = np.lexsort((candidates, -value if larger_is_closer else value))
    return candidates[order[:k]]


def exhaustive(
    ratings: Ratings,
    measure: str | Measure = "pmd",
    *,
    geometry: ItemGeometry | None = None,
    k: int | None = None,
    radius: float | None = None,
    users: Iterable[Any] | None = None,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Neighbors:
    """Return the k closest users of each asker, or all within a radius, from all pairs.

    Parameters
    ----------
    k, radius
        One or both. A radius is a greatest distance, or a least similarity.

    Examples
    --------
    >>> ratings = Ratings.from_arrays([1, 1, 2, 2, 3], list("xyyzz"), [5, 3, 3, 1, 2])
    >>> exhaustive(ratings, "jaccard", k=1).of(3)
    [Neighbor(id=2, distance=0.5)]
    """
    row = find_measure(measure)
    most = ratings.n_users if k is None else k
    if most < 1:
        raise InputError(f"k is {k!r}; give a whole number from 1")
    everyone = np.arange(ratings.n_users)
    if users is not None and not isinstance(users, np.ndarray):
        users = list(users)
    if radius is None:
        n = len(ratings.user_positions(users))
        require(
            16 * n * min(most, ratings.n_users),
            f"the {most:,} closest of {n:,} users",
            "ask for a smaller k, or for fewer users",
        )
    asked, neighbors, values, undefined = [], [], [], 0
    for positions, block in blocks(
        ratings, row, geometry=geometry, users=users, convention=convention, n_threads=n_threads, progress=progress
    ):
        for u, line in zip(positions.tolist(), block, strict=True):
            others = everyone[everyone != u]
            undefined += int(np.isnan(line[others]).sum())
            if radius is not None:
                near = line[others] >= radius if row.larger_is_closer else line[others] <= radius
                others = others[near]
            closest = rank(line, others, most, row.larger_is_closer)
            asked.append(u)
            neighbors.append(closest)
            values.append(line[closest])
    pairs = len(asked) * (ratings.n_users - 1)
    return Neighbors(
        ratings.users[asked],
        ratings.users,
        np.concatenate(([0], np.cumsum([len(part) for part in neighbors], dtype=np.int64))),
        np.concatenate([np.empty(0, np.int64), *neighbors]),
        np.concatenate([np.empty(0), *values]),
        row.larger_is_closer,
        SearchStats(solved=pairs - undefined, undefined=undefined),
    )


def exhaustive_raters(
    ratings: Ratings,
    users: Iterable[Any],
    items: Iterable[Any],
    k: int = 60,
    measure: str | Measure = "pmd",
    *,
    geometry: ItemGeometry | None = None,
    convention: str | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> RaterNeighbors:
    """Return, for each pair (user, item), the k closest among the raters of the item, from all pairs."""
    row = find_measure(measure)
    who = ratings.user_positions(users)
    wanted = items.tolist() if isinstance(items, np.ndarray) else list(items)
    place = {item: at for at, item in enumerate(ratings.items.tolist())}
    by_item = ratings.matrix.tocsc()
    asking = np.unique(who)
    found: list[Index] = [np.empty(0, np.int64)] * len(wanted)
    values: list[Floats] = [np.empty(0)] * len(wanted)
    pairs_of: dict[int, list[int]] = {}
    for pair, u in enumerate(who.tolist()):
        pairs_of.setdefault(u, []).append(pair)
    for positions, block in blocks(
        ratings,
        row,
        geometry=geometry,
        users=ratings.users[asking],
        convention=convention,
        n_threads=n_threads,
        progress=progress,
    ):
        for u, line in zip(positions.tolist(), block, strict=True):
            for pair in pairs_of[u]:
                at = place.get(wanted[pair])
                if at is not None:
                    raters = by_item.indices[by_item.indptr[at] : by_item.indptr[at + 1]].astype(np.int64)
                    found[pair] = rank(line, raters[raters != u], k, row.larger_is_closer)
                    values[pair] = line[found[pair]]
    return RaterNeighbors(
        ratings.users[who],
        np.asarray(wanted, dtype=object),
        ratings.users,
        np.concatenate(([0], np.cumsum([len(part) for part in found], dtype=np.int64))),
        np.concatenate([np.empty(0, np.int64), *found]),
        np.concatenate([np.empty(0), *values]),
        row.larger_is_closer,
        SearchStats(solved=asking.size * (ratings.n_users - 1)),
    )
