"""Measures of how close two users are: the paper's twelve, two extensions, and your own.

::

    Dataset ─ Pairs ─ kernel(pairs) ─ rows(users) ─ pairwise · value_blocks
                        (table.py)
    Dataset ─ UserPair ─ PairBreakdown, one pair in detail (breakdown.py)

``table.py`` has one row for each measure. ``corated.py``, ``distribution.py``, ``item_aware.py``,
``pmd.py``, ``agreement.py`` and ``opinions.py`` have the kernels and the breakdowns, ``measure.py`` the type
of a row, and the rules that turn a value into a neighbor's weight.
"""

import prefmover.measures.table  # noqa: F401 - it fills MEASURES
from prefmover.measures.breakdown import Factor, Flow, PairBreakdown
from prefmover.measures.estimates import EstimatedDistances, estimated_distances
from prefmover.measures.measure import (
    MEASURES,
    WEIGHTS,
    Convention,
    Measure,
    Style,
    Weight,
    find_measure,
    register_measure,
    unregister_measure,
    weight,
)
from prefmover.measures.pairs import pairwise, value_blocks

__all__ = [
    "MEASURES",
    "WEIGHTS",
    "Convention",
    "EstimatedDistances",
    "Factor",
    "Flow",
    "Measure",
    "PairBreakdown",
    "Style",
    "Weight",
    "estimated_distances",
    "find_measure",
    "pairwise",
    "register_measure",
    "unregister_measure",
    "value_blocks",
    "weight",
]
