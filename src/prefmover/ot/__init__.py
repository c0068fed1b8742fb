"""Exact optimal transport between two lists of masses. Knows arrays, not users.

::

    p, q, cost ─ problem.py ─ solve.py ──────────────────────── Transport ─ certificate.py
                 whole        validate → reduce → kernel → result           plan, prices: primal = dual
                 numbers                   │
                                _dual.py   subgradient steps: lower bounds, good prices to start from
                                _simplex.py  greedy start → spanning tree → pivots until none is left

``entropic.py`` has Sinkhorn's approximation, for the paper's Table 1 and for comparison.
"""

from prefmover.ot.certificate import Certificate, certificate
from prefmover.ot.problem import TransportProblem
from prefmover.ot.sinkhorn import Sinkhorn, sinkhorn
from prefmover.ot.solve import Plan, Transport, solve, transport

__all__ = [
    "Certificate",
    "Plan",
    "Sinkhorn",
    "Transport",
    "TransportProblem",
    "certificate",
    "sinkhorn",
    "solve",
    "transport",
]
