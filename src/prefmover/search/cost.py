"""What an exact search of all users would take, before it starts."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from prefmover._format import duration
from prefmover.dataset import Dataset
from prefmover.search.index import NeighborIndex

__all__ = ["LARGE", "SearchCost", "exact_cost"]

LARGE = 50_000
"""The number of users beyond which an exact search of all of them takes hours."""

TRIED = 5


class SearchCost(NamedTuple):
    """The cost of a search: pairs of users, and seconds of one core, extrapolated from a few queries."""

    pairs: int
    core_seconds: float
    tried: int

    def __str__(self) -> str:
        return (
            f"{self.pairs:,} pairs, about {duration(self.core_seconds)} on one core "
            f"(estimated from {self.tried} users)"
        )


def exact_cost(data: Dataset, k: int = 10) -> SearchCost:
    """Return the cost of the exact k nearest users of all users, extrapolated from a few queries.

    Users are sorted by their number of ratings, and the queries are taken at equal steps: the user with more
    ratings than a tenth of the others, than three tenths, and so on. The model of time is linear: a query
    without ratings would take half as long as one with the mean number.

    >>> from prefmover import datasets
    >>> exact_cost(datasets.load("cinema")).pairs
    639200
    """
    index, lengths = NeighborIndex(data), np.diff(data.preferences.indptr)
    order = np.argsort(lengths, kind="stable")
    tried = order[((np.arange(TRIED) + 0.5) / TRIED * order.size).astype(np.int64)]
    ids = data.ratings.users[tried].tolist()
    index.nearest(ids[:1], k, n_threads=1)  # compiles
    start = time.process_time()  # not that of other processes
    for user in ids:
        index.nearest([user], k, n_threads=1)
    taken = time.process_time() - start
    weight = lengths + max(float(lengths.mean()), 1.0)
    pairs = data.n_users * (data.n_users - 1)
    return SearchCost(pairs, taken * float(weight.sum() / weight[tried].sum()), TRIED)
