"""Measures of how alike two users are: the paper's twelve, and yours.

::

    Ratings ──┐
              ├─ Pairs ─ kernel(pairs) ─ rows(users) ─ similarities · blocks
    geometry ─┘            (table.py)                 ─ compare, for one pair, with its parts

``table.py`` has one row for each measure; ``corated.py``, ``overlap.py``, ``distribution.py`` and
``item_aware.py`` have their formulas, ``pmd.py`` the paper's distance, ``weights.py`` the ways from a
distance to a neighbor's weight.
"""

from prefmover.measures.breakdown import Comparison, compare
from prefmover.measures.pairwise import blocks, similarities
from prefmover.measures.table import MEASURES, Convention, Measure, find_measure, register
from prefmover.measures.weights import WEIGHTS, Weight, weight

__all__ = [
    "MEASURES",
    "WEIGHTS",
    "Comparison",
    "Convention",
    "Measure",
    "Weight",
    "blocks",
    "compare",
    "find_measure",
    "register",
    "similarities",
    "weight",
]
