"""Tuning: settings that the user left open are chosen on held-out training ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from prefmover._typing import Progress
from prefmover.data.splits import random_split
from prefmover.errors import InputError
from prefmover.predict.base import Predictor, clip
from prefmover.predict.regression import Covariance
from prefmover.predict.similarity import UserSimilarity

__all__ = ["Change", "neighbor_counts", "scaled_covariances", "shrinkages", "tuned", "weights"]

TRAIN_SHARE = 0.9
MIN_HELD_OUT = 20  # fewer held-out ratings tell nothing

Settings: TypeAlias = Mapping[str, Any]
Change: TypeAlias = Callable[[Settings], dict[str, Any]]
"""Returns settings with one of them changed."""

RATES = (1.6, 4.0, 6.4)
COUNTS = (20, 80)
SHRINKAGES = (0.25, 1.0)
FACTORS = {"shared_taste": 2.0, "similar_items": 2.0, "taste": 2.0, "item_rate": 1.6, "item": 1.6}


def tuned(
    similarity: UserSimilarity,
    settings: Settings,
    changes: list[Change],
    prepare: Callable[[UserSimilarity, Progress | None], Any],
    build: Callable[[UserSimilarity, Settings, Any], Predictor[Any]],
    seed: int,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the best settings, and all trials with their mean absolute errors.

    One setting is changed at a time, beginning with the defaults, and the change is kept if it helps. Users
    are compared again on the ratings that remain: distances that know the held-out ratings would flatter.

    Parameters
    ----------
    similarity
        The measure over all training ratings.
    settings
        The settings to begin with.
    changes
        The changes to try, in order.
    prepare, build
        Fit a predictor: the part that does not depend on settings, and the rest.
    seed
        Seed of the split.
    """
    data = similarity.data
    if round((1 - TRAIN_SHARE) * data.ratings.n_ratings) < MIN_HELD_OUT:
        raise InputError(
            f"{data.ratings.n_ratings} ratings are too few to hold some out; fit without tune=True"
        )
    split = random_split(data.ratings, TRAIN_SHARE, seed)
    train = similarity.with_data(data.with_ratings(split.train))
    prepared = prepare(train, None)
    trials: list[dict[str, Any]] = []

    def error(candidate: Settings) -> float:
        values = build(train, candidate, prepared).predict(split.users, split.items).values
        mae = float(np.abs(clip(values, split.train.scale)[0] - split.ratings).mean())
        trials.append({**{name: _plain(value) for name, value in candidate.items()}, "mae": mae})
        return mae

    best = dict(settings)
    least = error(best)
    for change in changes:
        candidate = change(best)
        mae = error(candidate)
        if mae < least:
            best, least = candidate, mae
    return best, trials


def weights(settings: Settings) -> list[Change]:
    """Return changes of the rate of an exponential weight; none for other rules."""
    if not str(settings["weight"]).startswith("exponential"):
        return []
    return [_set("weight", f"exponential({rate:g})") for rate in RATES]


def neighbor_counts() -> list[Change]:
    """Return changes of k."""
    return [_set("k", k) for k in COUNTS]


def shrinkages() -> list[Change]:
    """Return changes of the shrinkage."""
    return [_set("shrinkage", shrinkage) for shrinkage in SHRINKAGES]


def scaled_covariances() -> list[Change]:
    """Return changes of one variance each, up and down."""
    return [_scale(name, f) for name, step in FACTORS.items() for f in (step, 1 / step)]


def _set(name: str, value: Any) -> Change:
    return lambda settings: {**settings, name: value}


def _scale(name: str, factor: float) -> Change:
    return lambda settings: {**settings, "covariance": settings["covariance"].scaled(**{name: factor})}


def _plain(value: Any) -> Any:
    """Return a setting as plain Python, for people and for JSON."""
    if isinstance(value, Covariance):
        return value.to_dict()
    return value if isinstance(value, int | float) else str(value)
