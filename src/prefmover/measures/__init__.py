"""Measures of how close two users are: the paper's twelve, two extensions, and your own.

::

    Dataset ─ Pairs ─ kernel(pairs) ─ rows(users) ─ similarities · value_blocks
                        (table.py)
    Dataset ─ UserPair ─ PairBreakdown, one pair in detail (breakdown.py)

``table.py`` has one row for each measure. ``corated.py``, ``overlap.py``, ``distribution.py``,
``item_aware.py``, ``pmd.py``, ``agreement.py`` and ``opinions.py`` have the kernels and the breakdowns,
``weights.py`` the rules that turn a value into a neighbor's weight.
"""

from prefmover.measures.breakdown import Factor, Flow, PairBreakdown
from prefmover.measures.pairwise import similarities, value_blocks
from prefmover.measures.table import MEASURES, Convention, Measure, Style, find_measure, register_measure
from prefmover.measures.weights import WEIGHTS, Weight, weight

__all__ = [
    "MEASURES",
    "WEIGHTS",
    "Convention",
    "Factor",
    "Flow",
    "Measure",
    "PairBreakdown",
    "Style",
    "Weight",
    "find_measure",
    "register_measure",
    "similarities",
    "value_blocks",
    "weight",
]
