"""Exact nearest users, or rows of any histograms, with few of the transport problems solved.

::

    NeighborIndex of users (index.py), of histograms (points.py; transformer.py for scikit-learn)
        │
    Engine ─ rows by position, one query per thread at a time (engine.py)
        │
        ├─ all users: RWMD, two sums per user                         _bounds.py
        ├─ all users: one set of shared prices bounds all users left  _cascade.py
        ├─ each user: dual steps on the pair, abandoned once too far  _climb.py
        └─ the last few: exact, by simplex                            ot/
                                        │
            sorted lists of the nearest (_topk.py) ─ Neighbors, SearchStats (result.py)

``shard.py`` runs queries against some of the users; ``distributed.py`` spreads many queries over shards and
machines, and saves finished parts. ``nearest.py`` has the functions for all measures, and the
reference that computes every pair. With PMD both give the same result, bit for bit: distances are exact, and
ties go to the earlier user.

``candidates.py`` finds the neighbors of all users in very large data. It compares each user with candidates
only (``shortlist.py``), and measures how many of the nearest it finds.
"""

from prefmover.search.index import NeighborIndex
from prefmover.search.nearest import nearest, nearest_raters, nearest_to_group, within
from prefmover.search.result import Neighbor, NeighborList, Neighbors, Recall, SearchStats

__all__ = [
    "Neighbor",
    "NeighborIndex",
    "NeighborList",
    "Neighbors",
    "Recall",
    "SearchStats",
    "nearest",
    "nearest_raters",
    "nearest_to_group",
    "within",
]
