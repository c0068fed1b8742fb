"""Tuning: settings are chosen on held-out training ratings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from prefmover._greedy import is_better
from prefmover._typing import Progress
from prefmover.data.splits import random_split
from prefmover.errors import InputError
from prefmover.predict.gaussian_process import Covariance
from prefmover.predict.predictor import Predictor, clip
from prefmover.predict.similarity import UserSimilarity

__all__ = ["Settings", "tuned"]

TRAIN_SHARE = 0.9
MIN_HELD_OUT = 20  # fewer held-out ratings tell nothing

Settings: TypeAlias = Mapping[str, Any]

RATES = (1.6, 4.0, 6.4)
FACTORS = {
    "shared_taste": 2.0,
    "shrinkage": 4.0,
    "similar_items": 2.0,
    "taste": 2.0,
    "item_rate": 1.6,
    "item": 1.6,
}


def _with_rate(rate: float, weight: Any) -> Any:
    """Return an exponential weight with another rate; other rules as they are."""
    return f"exponential({rate:g})" if str(weight).startswith("exponential") else weight


def _scaled(name: str, factor: float, covariance: Covariance) -> Covariance:
    """Return a covariance with one number multiplied."""
    return replace(covariance, **{name: getattr(covariance, name) * factor})


CHANGES: dict[str, list[Callable[[Any], Any]]] = {
    "weight": [partial(_with_rate, rate) for rate in RATES],
    "k": [lambda _: 20, lambda _: 80],
    "shrinkage": [lambda _: 0.25, lambda _: 1.0],
    "covariance": [partial(_scaled, name, f) for name, step in FACTORS.items() for f in (step, 1 / step)],
}
"""The changes to try, in order, by the name of the setting: functions of its present value."""


def tuned(
    similarity: UserSimilarity,
    settings: Settings,
    names: Iterable[str],
    prepare: Callable[[UserSimilarity, Progress | None], Any],
    build: Callable[[UserSimilarity, Settings, Any], Predictor],
    seed: int,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the best settings, and all trials with their mean absolute errors.

    One setting is changed at a time, beginning with ``settings``, and the change is kept if it helps by a
    margin (:mod:`prefmover._greedy`). Users are compared again on the ratings that remain: distances
    that know the held-out ratings would flatter.

    Parameters
    ----------
    settings, names
        The settings to begin with, and the names of those to tune.
    prepare, build
        Fit a predictor: the part that does not depend on settings, and the rest.
    """
    data = similarity.data
    if round((1 - TRAIN_SHARE) * data.ratings.n_ratings) < MIN_HELD_OUT:
        raise InputError(f"{data.ratings.n_ratings} ratings are too few to hold some out; fit without tuning")
    split = random_split(data.ratings, TRAIN_SHARE, seed)
    train = similarity.with_data(data.with_ratings(split.train)).calibrated(seed)
    prepared = prepare(train, None)
    trials: list[dict[str, Any]] = []

    def error(candidate: Settings) -> float:
        values = build(train, candidate, prepared).predict(split.users, split.items).values
        mae = float(np.abs(clip(values, split.train.scale)[0] - split.ratings).mean())
        shown = {name: _plain(value) for name, value in candidate.items() if name in CHANGES}
        trials.append({**shown, "mae": mae})
        return mae

    best = dict(settings)
    least = error(best)
    for name in names:
        for change in CHANGES[name]:
            candidate = {**best, name: change(best[name])}
            if candidate != best and is_better(-(mae := error(candidate)), -least):
                best, least = candidate, mae
    return best, trials


def _plain(value: Any) -> Any:
    """Return a setting as plain Python, for people and for JSON."""
    if isinstance(value, Covariance):
        return asdict(value)
    return value if isinstance(value, int | float) else str(value)
