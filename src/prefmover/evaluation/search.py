"""The search for settings: each recommender with a grid gets the same number of trials on a validation part.

The validation part is a share of the *training* ratings, held out in the way in which the test part was
(:func:`~prefmover.data.splits.validation_split`). Nothing of the test part is in reach. After the search, the
recommender is fitted to all training ratings with the settings that had the highest nDCG.

The lists of at most :data:`MAX_USERS` users are judged, drawn by a hash; the default model's own search takes
1,500. Recommenders whose cost grows with the cube of the users are also fitted to these users only.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from prefmover.data.splits import Split, take_users, validation_split
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.evaluation import metrics
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.grids import grid
from prefmover.evaluation.lists import Question, check_lists
from prefmover.evaluation.recommenders import Method, create
from prefmover.evaluation.record import Trial, Tuning
from prefmover.evaluation.scoring import ScoringRecommender

__all__ = ["MAX_USERS", "Found", "search", "validation_part"]

MAX_USERS = 2000


class Found(NamedTuple):
    """The settings with the highest nDCG, how they were found, and the seconds of each trial."""

    settings: dict[str, Any]
    tuning: Tuning | None
    seconds: tuple[float, ...]


def validation_part(experiment: Experiment, split: Split, seed: int) -> tuple[Split, Question]:
    """Return the training ratings of a split, split again, and the question that their test part asks."""
    try:
        inner = validation_split(split, 1 - experiment.validation, seed)
        return inner, Question.of_split(inner, experiment.relevant)
    except InputError as error:
        raise InputError(
            f"the validation part of {split.name} cannot be used: {error}. Train on a larger share, or pass "
            "trials=0 to search for nothing",
            argument="trials",
        ) from None


def search(
    method: Method, experiment: Experiment, data: Dataset, split: Split, seed: int, n_threads: int | None
) -> Found:
    """Return the best settings of a recommender's grid; none for a recommender without one.

    ``data`` has the training ratings of the split.
    """
    e, trials = experiment, grid(method, experiment.trials)
    if not trials:
        return Found({}, None, ())
    inner, question = validation_part(experiment, split, seed)
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
