"""Choosing what the user left open, on held-out training ratings."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.predict.base import clip
from prefmover.predict.centering import Floats, Index
from prefmover.predict.kernel import Lending, landmark_values
from prefmover.predict.knn import Averaging
from prefmover.predict.similarity import Likeness

__all__ = ["hold_out", "tuned"]

HELD_OUT = 0.1
FEWEST = 20  # ratings to hold out; fewer tell nothing

Build = Callable[[Likeness, Mapping[str, Any], "tuple[Index, Floats] | None"], Averaging | Lending]

Change = Callable[[dict[str, Any]], dict[str, Any]]

RATES = (1.6, 4.0, 6.4)
COUNTS = (20, 80)
DOUBTS = (0.25, 1.0)
FACTORS = {"lending": 2.0, "similar_items": 2.0, "own_taste": 2.0, "item_rate": 1.6, "item": 1.6}


def hold_out(ratings: Ratings, share: float, seed: int) -> tuple[Ratings, Index, Index, Floats]:
    """Return the ratings without a random share of them, and users, items and values of that share."""
    from scipy.sparse import csr_array

    matrix = ratings.matrix
    chosen = np.random.default_rng(seed).random(ratings.n_ratings) < share
    rows = np.repeat(np.arange(ratings.n_users), np.diff(matrix.indptr))
    kept = ~chosen
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows[kept], minlength=ratings.n_users))))
    rest = csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=matrix.shape)
    inner = Ratings(rest, ratings.users, ratings.items, ratings.scale)
    return inner, rows[chosen], matrix.indices[chosen].astype(np.int64), matrix.data[chosen]


def tuned(
    likeness: Likeness,
    settings: Mapping[str, Any],
    given: set[str],
    build: Build,
    landmarks: int,
    seed: int,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the best settings found, and everything tried with its mean absolute error.

    Settings that are ``given``, by name, stay as they are.

    One number is varied at a time, from the defaults, and kept if it helps. Users are compared anew on the
    ratings that are left: distances that had seen the held-out ratings would flatter.
    """
    inner, users, items, values = hold_out(likeness.ratings, HELD_OUT, seed)
    if len(values) < FEWEST or not inner.n_ratings:
        raise InputError(
            f"{likeness.ratings.n_ratings} ratings are too few to hold some out; fit without tune=True"
        )
    apart = Likeness(inner, likeness.geometry, likeness.measure, likeness.convention, likeness.n_threads)
    kernel = "shared" in settings
    compared = landmark_values(apart, landmarks, seed) if kernel else None
    tried: list[dict[str, Any]] = []

    def error(candidate: Mapping[str, Any]) -> float:
        predicted = build(apart, candidate, compared).answer(users, items).values
        mae = float(np.abs(clip(predicted, inner.scale)[0] - values).mean())
        shown = dict(candidate, weight=str(candidate["weight"]), mae=mae)
        if kernel:
            shown["shared"] = candidate["shared"].to_dict()
        tried.append(shown)
        return mae

    best = dict(settings)
    least = error(best)
    for change in _changes(best, given, kernel):
        candidate = change(best)
        mae = error(candidate)
        if mae < least:
            best, least = candidate, mae
    return best, tried


def _changes(settings: Mapping[str, Any], given: set[str], kernel: bool) -> list[Change]:
    """Return the changes to try, each from the best settings so far."""
    changes: list[Change] = []
    if "weight" not in given and str(settings["weight"]).startswith("exponential"):
        changes += [_set("weight", f"exponential({rate:g})") for rate in RATES]
    if not kernel and "k" not in given:
        changes += [_set("k", k) for k in COUNTS]
    if not kernel and "shrinkage" not in given:
        changes += [_set("shrinkage", doubt) for doubt in DOUBTS]
    if kernel and "shared" not in given:
        changes += [_scale(name, f) for name, step in FACTORS.items() for f in (step, 1 / step)]
    return changes


def _set(name: str, value: Any) -> Change:
    return lambda now: {**now, name: value}


def _scale(name: str, factor: float) -> Change:
    return lambda now: {**now, "shared": now["shared"].scaled(**{name: factor})}
