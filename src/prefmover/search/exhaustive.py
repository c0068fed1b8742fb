"""The reference: compute every pair, then sort. For any measure.

The tests compare the cascade with it, and it searches measures without bounds.
"""

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.measures import value_blocks
from prefmover.search.index import Request
from prefmover.search.result import NeighborPositions, SearchStats


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


def exhaustive(request: Request) -> NeighborPositions:
    """Return the lists of a search, from the values of all pairs.

    >>> from prefmover import Dataset, Ratings
    >>> data = Dataset(Ratings.from_arrays([1, 1, 2, 2, 3], list("xyyzz"), [5, 3, 3, 1, 2]))
    >>> exhaustive(Request.from_ids(data, None, "jaccard", k=1)).neighbors
    array([1, 2, 1])
    """
    data, measure, new, radius = request.data, request.measure, request.new, request.radius
    compared, queries = data, request.users
    if new is not None:  # behind all others
        compared = data.with_guests(new, with_geometry=measure.needs_geometry)
        queries = queries + data.n_users
    everyone, rows = np.arange(data.n_users), np.unique(queries)
    by_item = data.ratings.matrix.tocsc() if request.items is not None else None
    numbers_of: dict[int, list[int]] = {}
    for number, u in enumerate(queries.tolist()):
        numbers_of.setdefault(u, []).append(number)
    lists, undefined = [(everyone[:0], np.empty(0))] * queries.size, 0
    blocks = value_blocks(
        compared, measure, request.convention, rows, everyone,
        n_threads=request.n_threads, progress=request.progress,
    )  # fmt: skip
    for positions, block in blocks:
        for u, line in zip(positions.tolist(), block, strict=True):
            undefined += int(np.isnan(line[everyone != u]).sum())
            for number in numbers_of[u]:
                candidates = everyone
                if by_item is not None and request.items is not None:
                    i = request.items[number]
                    candidates = by_item.indices[by_item.indptr[i] : by_item.indptr[i + 1]].astype(np.int64)
                candidates = candidates[candidates != u]
                if radius is not None:
                    value = line[candidates]
                    candidates = candidates[value >= radius if measure.larger_is_closer else value <= radius]
                closest = rank(line, candidates, request.most, measure.larger_is_closer)
                lists[number] = closest, line[closest]
    solved = rows.size * (data.n_users - (new is None)) - undefined
    return NeighborPositions.from_lists(lists, SearchStats(solved=solved, undefined=undefined))
