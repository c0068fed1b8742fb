"""Exact nearest users, while solving few of the transport problems.

::

    NeighborIndex ─ one query at a time, on threads (index.py)
        │
        ├─ everybody: RWMD, two sums a user                           _bounds.py
        ├─ the crowd: one set of prices bounds all who are left       _cascade.py
        ├─ each: dual steps on the pair, abandoned once too far
        └─ the last few: exact, by simplex                            transport/
                                        │
            sorted lists of the nearest (_topk.py) ─ Neighbors, SearchStats (neighbors.py)

``shard.py`` is one query against some of the users; ``blocks.py`` spreads many queries over shards and over
machines. ``find.py`` has the functions for all measures; ``exhaustive.py`` the reference that computes every
pair. With PMD both give the same answer, bit for bit: distances are exact, ties go to the earlier user.
"""

from prefmover.search.exhaustive import exhaustive, exhaustive_raters
from prefmover.search.index import NeighborIndex, RaterNeighbors
from prefmover.search.nearest import nearest, nearest_raters, within
from prefmover.search.result import Neighbor, Neighbors, SearchStats

__all__ = [
    "Neighbor",
    "NeighborIndex",
    "Neighbors",
    "RaterNeighbors",
    "SearchStats",
    "exhaustive",
    "exhaustive_raters",
    "nearest",
    "nearest_raters",
    "within",
]
