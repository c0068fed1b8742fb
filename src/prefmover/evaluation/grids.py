"""The settings that a search may try, for each recommender of the ranking task, in the order of trying.

A budget of t trials takes the first t, so the coarse ones come first. All grids were fixed before any run;
nothing was looked at on a test part.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from prefmover.evaluation.recommenders import Method

__all__ = ["GRIDS", "grid"]

Settings = dict[str, Any]


def _product(**values: tuple[Any, ...]) -> tuple[Settings, ...]:
    return tuple(dict(zip(values, one, strict=True)) for one in product(*values.values()))


def _ease() -> tuple[Settings, ...]:
    coarse = [("ratings", 1e3), ("ratings", 1e4), ("ratings", 1e5), ("seen", 100.0), ("seen", 1e3)]
    fine = [("ratings", 300.0), ("ratings", 3e3), ("ratings", 3e4), ("ratings", 3e5)]
    more = [("seen", 300.0), ("seen", 3e3), ("seen", 1e4)]
    return tuple({"values": values, "penalty": penalty} for values, penalty in coarse + fine + more)


GRIDS: dict[str, tuple[Settings, ...]] = {
    "ease": _ease(),
    "item-knn": _product(shrinkage=(10.0, 0.0, 100.0), k=(50, 20, 100, 200)),
    "user-knn": _product(values=("ratings", "seen"), k=(80, 40, 160, 320, 640, 20)),
    "implicit:als": _product(regularization=(0.1, 10.0), factors=(64, 16), alpha=(10.0, 1.0, 40.0)),
    "implicit:bpr": _product(factors=(64, 16), regularization=(0.01, 0.001, 0.1), learning_rate=(0.05, 0.01)),
    "cornac:EASE": _product(lambda_reg=(1e3, 1e4, 1e5, 300.0, 3e3, 3e4, 3e5)),
    "cornac:BPR": _product(k=(50, 10), lambda_reg=(0.01, 0.001, 0.1), learning_rate=(0.01, 0.05)),
    "kernel": _product(penalty=(3.0, 10.0, 1.0), rate=(4.0, 2.0, 6.0, 1.0)),
    "knn": _product(k=(40, 20, 80, 160)),
}
"""Grids by name; all kernels share one, and all neighbor averages."""


def grid(method: Method, budget: int) -> tuple[Settings, ...]:
    """Return the settings to try, at most ``budget``; none for a recommender without a grid.

    >>> grid(Method.parse("ease"), 2)
    ({'values': 'ratings', 'penalty': 1000.0}, {'values': 'ratings', 'penalty': 10000.0})
    >>> grid(Method.parse("popularity"), 12)
    ()
    """
    name = method.recommender
    if name not in GRIDS:
        name = {"kernel-ridge": "kernel", "knn": "knn"}.get(method.family, "")
    return GRIDS.get(name, ())[:budget]
