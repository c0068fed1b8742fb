"""The search for settings: a budget of trials on a validation part for each recommender with a grid.

The validation part is a share of the *training* ratings, held out in the way in which the test part was
(:func:`~prefmover.data.splits.validation_split`). The search does not see the test part. After it, the
recommender is fitted to all training ratings with the settings that had the highest nDCG, or the lowest mean
absolute error of predicted ratings.

The lists of at most :data:`MAX_USERS` users are judged, drawn by a hash; the default model's own search takes
1,500. Recommenders whose cost grows with the cube of the users are also fitted to these users only.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from prefmover.data.splits import Split, take_users, validation_split
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.evaluation.baselines.rankers import ByScores
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.ranking_task import RankingTask
from prefmover.evaluation.rating_task import RatingTask
from prefmover.evaluation.recommenders import Method, create, fit, grid
from prefmover.evaluation.record import Task, Trial, Tuning

__all__ = ["MAX_USERS", "Found", "search", "task_of", "validation_part"]

MAX_USERS = 2000

AnyTask: TypeAlias = RatingTask | RankingTask


class Found(NamedTuple):
    """The best settings, how they were found, and the seconds of each trial."""

    settings: dict[str, Any]
    tuning: Tuning | None
    seconds: tuple[float, ...]


def task_of(experiment: Experiment, split: Split, task: Task) -> AnyTask:
    """Return what the test part of a split asks for."""
    if task == "rating":
        return RatingTask(split, experiment.ks)
    return RankingTask.of_split(split, experiment.relevant, experiment.ns)


def validation_part(experiment: Experiment, split: Split, seed: int, task: Task) -> tuple[Split, AnyTask]:
    """Return the training ratings of a split, split again, and what their test part asks for."""
    try:
        inner = validation_split(split, 1 - experiment.validation, seed)
        return inner, task_of(experiment.model_copy(update={"ns": experiment.ns[:1]}), inner, task)
    except InputError as error:
        raise InputError(
            f"the validation part of {split.name} cannot be used: {error}. Train on a larger share, or pass "
            "trials=0 to search for nothing",
            argument="trials",
        ) from None


def search(
    method: Method,
    experiment: Experiment,
    data: Dataset,
    split: Split,
    seed: int,
    n_threads: int | None,
    task: Task,
) -> Found:
    """Return the settings of a recommender's grid that do best on the validation part.

    ``data`` has the training ratings of the split. Without a grid, there are no settings.
    """
    e, trials = experiment, grid(method, experiment.trials, task)
    if not trials:
        return Found({}, None, ())
    models = [create(method, e, seed, n_threads, task, settings) for settings in trials]
    inner, judge = validation_part(e, split, seed, task)
    if isinstance(judge, RankingTask) and judge.n_judged > MAX_USERS:
        chosen = judge.sample(MAX_USERS)
        if isinstance(models[0], ByScores) and models[0].distances is not None:
            inner = take_users(inner, judge.users[chosen])
            judge = RankingTask.of_split(inner, e.relevant, judge.ns)
        else:
            judge = judge.take(chosen)
    known, distances = data.with_ratings(inner.train), None
    values, seconds = list[float](), list[float]()
    while models:
        start, model = time.perf_counter(), models.pop(0)  # a fitted model is not kept
        if isinstance(model, ByScores) and model.distances is not None:
            distances = model.distances(known) if distances is None else distances
            model.fit(known, distances)
        else:
            fit(model, known, task)
        values.append(round(judge.value(judge.ask(model, method), method), 8))
        seconds.append(round(time.perf_counter() - start, 3))
    best = np.argmin(values) if task == "rating" else np.argmax(values)
    tuning = Tuning(
        validation=e.validation,
        budget=e.trials,
        n_judged=judge.n_judged,
        trials=tuple(Trial(settings=one, value=value) for one, value in zip(trials, values, strict=True)),
    )
    return Found(trials[int(best)], tuning, tuple(seconds))
