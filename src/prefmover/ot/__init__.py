"""Exact optimal transport between two lists of masses. This package knows arrays, not users.

::

    p, q, cost ─ problem.py ─ solve.py ─────────────── Transport ─ certificate.py
                 integers     reduce → kernel → result  plan, prices: primal = dual
                                         │
                                _dual.py   subgradient steps: lower bounds, and prices to start from
                                _simplex.py  greedy start → spanning tree → pivots until none is left

``sinkhorn.py`` has Sinkhorn's approximation, for the paper's Table 1 and for comparison.
"""

from prefmover.ot.certificate import Certificate, Prices
from prefmover.ot.problem import TransportProblem
from prefmover.ot.sinkhorn import Sinkhorn, sinkhorn
from prefmover.ot.solve import Plan, Transport, transport

__all__ = [
    "Certificate",
    "Plan",
    "Prices",
    "Sinkhorn",
    "Transport",
    "TransportProblem",
    "sinkhorn",
    "transport",
]
