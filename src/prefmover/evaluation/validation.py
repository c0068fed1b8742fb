"""The search for settings: each recommender with a grid gets the same number of trials on a validation part.

The validation part is a share of the *training* ratings, held out in the way in which the test part was
(:func:`~prefmover.data.splits.validation_split`). The search does not see the test part. After it, the
recommender is fitted to all training ratings with the settings that had the highest nDCG, or the lowest mean
absolute error of predicted ratings.

The lists of at most :data:`MAX_USERS` users are judged, drawn by a hash; the default model's own search takes
1,500. Recommenders whose cost grows with the cube of the users are also fitted to these users only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from prefmover.data.splits import Split, take_users, validation_split
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.evaluation import metrics
from prefmover.evaluation.baselines.by_scores import ScoringRecommender
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.grids import grid
from prefmover.evaluation.ranking_task import Question, check_lists
from prefmover.evaluation.recommenders import Method, create
from prefmover.evaluation.record import RatingTrial, RatingTuning, Trial, Tuning
from prefmover.predict.predictor import clip

__all__ = ["MAX_USERS", "Found", "search_lists", "search_ratings", "validation_part", "validation_question"]

MAX_USERS = 2000

T = TypeVar("T")


class Found(NamedTuple, Generic[T]):
    """The best settings, how they were found, and the seconds of each trial."""

    settings: dict[str, Any]
    tuning: T | None
    seconds: tuple[float, ...]


def validation_part(experiment: Experiment, split: Split, seed: int) -> Split:
    """Return the training ratings of a split, split again."""
    with _usable(split):
        return validation_split(split, 1 - experiment.validation, seed)


def validation_question(experiment: Experiment, split: Split, seed: int) -> tuple[Split, Question]:
    """Return the training ratings of a split, split again, and the question that their test part asks."""
    inner = validation_part(experiment, split, seed)
    with _usable(split):
        return inner, Question.of_split(inner, experiment.relevant)


@contextmanager
def _usable(split: Split) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(
            f"the validation part of {split.name} cannot be used: {error}. Train on a larger share, or pass "
            "trials=0 to search for nothing",
            argument="trials",
        ) from None


def search_ratings(
    method: Method, experiment: Experiment, data: Dataset, split: Split, seed: int, n_threads: int | None
) -> Found[RatingTuning]:
    """Return the settings of a recommender's grid with the lowest mean absolute error of predicted ratings.

    ``data`` has the training ratings of the split. Without a grid, there are no settings.
    """
    e, trials = experiment, grid(method, experiment.trials, "rating")
    if not trials:
        return Found({}, None, ())
    inner = validation_part(experiment, split, seed)
    known, pairs = data.with_ratings(inner.train), inner.test_pairs()
    errors, seconds = list[float](), list[float]()
    for settings in trials:
        start = time.perf_counter()
        model = create(method, e, seed, n_threads, "rating", settings)
        model.fit(known)
        values = clip(np.asarray(model.predict(pairs)), inner.train.scale)[0]
        errors.append(round(metrics.mae(inner.ratings, values), 8))
        seconds.append(round(time.perf_counter() - start, 3))
    tuning = RatingTuning(
        validation=e.validation,
        budget=e.trials,
        n_ratings=inner.n_test,
        trials=tuple(RatingTrial(settings=one, mae=mae) for one, mae in zip(trials, errors, strict=True)),
    )
    return Found(trials[int(np.argmin(errors))], tuning, tuple(seconds))


def search_lists(
    method: Method, experiment: Experiment, data: Dataset, split: Split, seed: int, n_threads: int | None
) -> Found[Tuning]:
    """Return the settings of a recommender's grid whose lists have the highest nDCG.

    ``data`` has the training ratings of the split. Without a grid, there are no settings.
    """
    e, trials = experiment, grid(method, experiment.trials)
    if not trials:
        return Found({}, None, ())
    inner, question = validation_question(experiment, split, seed)
    first = create(method, e, seed, n_threads, "ranking", trials[0])
    chosen = question.sample(MAX_USERS)
    if len(chosen) < len(question.users):
        if isinstance(first, ScoringRecommender) and first.over_users:
            inner = take_users(inner, question.users[chosen])
            question = Question.of_split(inner, e.relevant)
        else:
            question = question.take(chosen)
    known, users, n = data.with_ratings(inner.train), question.ids(), e.ns[0]
    prepared, scores, seconds = None, list[float](), list[float]()
    for settings in trials:
        start = time.perf_counter()
        model = create(method, e, seed, n_threads, "ranking", settings)
        if isinstance(model, ScoringRecommender):
            prepared = model.prepare(known) if prepared is None else prepared
            model.fit(known, prepared)
        else:
            model.fit(known)
        lists = check_lists(model.recommend(users, n), question, n, method.label)
        values = metrics.user_metrics(question.hits(lists.positions), question.n_relevant, n)
        scores.append(round(float(values["ndcg"].mean()), 8))
        seconds.append(round(time.perf_counter() - start, 3))
    pairs = zip(trials, scores, strict=True)
    tuning = Tuning(
        validation=e.validation,
        budget=e.trials,
        n_users=len(users),
        trials=tuple(Trial(settings=settings, ndcg=score) for settings, score in pairs),
    )
    return Found(trials[int(np.argmax(scores))], tuning, tuple(seconds))
