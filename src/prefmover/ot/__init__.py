"""Exact optimal transport between two lists of masses. This package knows arrays, not users.

::

    p, q, cost ─ problem.py ─ solve.py ─────────────── Transport ─ certificate.py
                 integers     reduce → kernel → result  plan, prices: primal = dual
                                         │
                                _dual.py   subgradient steps: lower bounds, and prices to start from
                                _simplex.py  greedy start → spanning tree → pivots until none is left

``sinkhorn.py`` has Sinkhorn's approximation, for the paper's Table 1 and for comparison.

Many histograms at a time are searched by :class:`NeighborIndex`, or in a pipeline by
:class:`~prefmover.search.transformer.NeighborsTransformer`. They are in ``prefmover.search``, with the engine
that also searches users, and are imported when they are first used.
"""

from importlib import import_module
from typing import Any

from prefmover.ot.certificate import Certificate, Prices
from prefmover.ot.problem import TransportProblem
from prefmover.ot.sinkhorn import Sinkhorn, sinkhorn
from prefmover.ot.solve import Plan, Transport, transport

__all__ = [
    "Certificate",
    "Nearest",
    "NeighborIndex",
    "Plan",
    "Prices",
    "Sinkhorn",
    "Transport",
    "TransportProblem",
    "sinkhorn",
    "transport",
]

_LATE = {"Nearest": "points", "NeighborIndex": "points", "NeighborsTransformer": "transformer"}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"prefmover.search.{_LATE[name]}"), name)
