"""The reference: compute every pair, then sort. For any measure.

The tests compare the cascade with it, and it searches measures without bounds.
"""

import numpy as np

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.execution.memory import require
from prefmover.measures import Measure, value_blocks
from prefmover.search.result import NeighborPositions, SearchStats

__all__ = ["exhaustive", "exhaustive_raters", "rank"]


def rank(values: Floats, candidates: Ints, k: int, larger_is_closer: bool) -> Ints:
    """Return the k closest candidates by their values: ties in user order, never those without a value.

    >>> rank(np.array([0.5, np.nan, 0.2, 0.5]), np.array([3, 2, 1, 0]), 2, larger_is_closer=True)
    array([0, 3])
    """
    value = values[candidates]
    defined = ~np.isnan(value)
    candidates, value = candidates[defined], value[defined]
    order = np.lexsort((candidates, -value if larger_is_closer else value))
    return candidates[order[:k]]


def exhaustive(
    data: Dataset,
    measure: Measure,
    convention: str | None = None,
    users: Ints | None = None,
    *,
    new: Ratings | None = None,
    k: int | None = None,
    radius: float | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> NeighborPositions:
    """Return the k closest users of each query, or all within a radius, from all pairs.

    Parameters
    ----------
    users
        Positions of the queries; None means all users of the data, or all of ``new``.
    new
        Ratings of new users, over the same items: the queries, in place of users of the data.
    k, radius
        One or both. A radius is a greatest distance, or a least similarity.

    Examples
    --------
    >>> from prefmover import Dataset, MEASURES
    >>> data = Dataset(Ratings.from_arrays([1, 1, 2, 2, 3], list("xyyzz"), [5, 3, 3, 1, 2]))
    >>> exhaustive(data, MEASURES["jaccard"], k=1).neighbors
    array([1, 2, 1])
    """
    n, most = data.n_users, data.n_users if k is None else k
    compared, queries = _with_new(data, measure, new, users)
    if radius is None:
        require(
            16 * queries.size * min(most, n),
            f"the {most:,} closest of {queries.size:,} users",
            "ask for a smaller k, or for fewer users",
        )
    everyone = np.arange(n)
    neighbors, values, undefined = [], [], 0
    for positions, block in value_blocks(
        compared, measure, convention, queries, everyone, n_threads=n_threads, progress=progress
    ):
        for u, line in zip(positions.tolist(), block, strict=True):
            candidates = everyone[everyone != u]
            undefined += int(np.isnan(line[candidates]).sum())
            if radius is not None:
                value = line[candidates]
                candidates = candidates[value >= radius if measure.larger_is_closer else value <= radius]
            closest = rank(line, candidates, most, measure.larger_is_closer)
            neighbors.append(closest)
            values.append(line[closest])
    pairs = queries.size * (n - (new is None))
    return NeighborPositions.from_lists(
        neighbors, values, SearchStats(solved=pairs - undefined, undefined=undefined)
    )


def exhaustive_raters(
    data: Dataset,
    measure: Measure,
    convention: str | None,
    users: Ints,
    items: Ints,
    k: int,
    *,
    new: Ratings | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> NeighborPositions:
    """Return, for each pair (user, item), the k closest raters of the item, from all pairs of users."""
    n = data.n_users
    compared, positions_of_pairs = _with_new(data, measure, new, users)
    queries = np.unique(positions_of_pairs)
    by_item = data.ratings.matrix.tocsc()
    neighbors: list[Ints] = [np.empty(0, np.int64)] * len(items)
    values: list[Floats] = [np.empty(0)] * len(items)
    pairs_of: dict[int, list[int]] = {}
    for pair, u in enumerate(positions_of_pairs.tolist()):
        pairs_of.setdefault(u, []).append(pair)
    for positions, block in value_blocks(
        compared, measure, convention, queries, np.arange(n), n_threads=n_threads, progress=progress
    ):
        for u, line in zip(positions.tolist(), block, strict=True):
            for pair in pairs_of[u]:
                i = int(items[pair])
                raters = by_item.indices[by_item.indptr[i] : by_item.indptr[i + 1]].astype(np.int64)
                neighbors[pair] = rank(line, raters[raters != u], k, measure.larger_is_closer)
                values[pair] = line[neighbors[pair]]
    return NeighborPositions.from_lists(
        neighbors, values, SearchStats(solved=queries.size * (n - (new is None)))
    )


def _with_new(
    data: Dataset, measure: Measure, new: Ratings | None, users: Ints | None
) -> tuple[Dataset, Ints]:
    """Return a data set that has the new users too, behind all others, and the queries' positions in it."""
    if new is None:
        return data, np.arange(data.n_users) if users is None else users
    queries = np.arange(new.n_users) if users is None else users
    geometry = data.geometry if measure.needs_geometry else None
    return Dataset(data.ratings.stack(new), geometry, data.items), queries + data.n_users
