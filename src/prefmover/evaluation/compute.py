"""One record: fit a recommender to the training part of a split, and score its ratings or its lists."""

from __future__ import annotations

import copy
import time
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Progress
from prefmover.data.splits import Split
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.evaluation import metrics
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.ranking_task import N_GROUPS, Question, check_lists, group_of, summarize
from prefmover.evaluation.recommenders import AnyRecommender, Method, create
from prefmover.evaluation.record import (
    AnyRecord,
    Groups,
    ListRecord,
    Record,
    RunInfo,
    Task,
    Trial,
    Tuning,
    versions,
)
from prefmover.evaluation.validation import search_lists, search_ratings
from prefmover.measures import find_measure
from prefmover.model import KNNRecommender, Recommender
from prefmover.model.base_recommender import BaseRecommender
from prefmover.predict.knn import KNNPredictor
from prefmover.predict.predictor import clip
from prefmover.rank.tuning import TRAIN_SHARE, sample_users

__all__ = ["TrainTest", "compute_record"]


class TrainTest(NamedTuple):
    """One split with its training data: the input of every recommender."""

    experiment: Experiment
    share: float
    repeat: int
    split: Split
    data: Dataset  # with the training ratings

    @property
    def seed(self) -> int:
        """The seed of random splits, and of controls and peers that draw at random."""
        return self.experiment.seed + self.repeat

    def facts(self, method: Method) -> dict[str, Any]:
        """Return the fields that records of both tasks have."""
        e, split, geometry = self.experiment, self.split, self.data.geometry
        return {
            "dataset": e.data_name,
            "geometry": geometry.name if geometry is not None else "",
            "protocol": e.protocol,
            "share": self.share,
            "repeat": self.repeat,
            "seed": self.seed if e.protocol == "random" else e.seed,
            "stratify": e.stratify,
            "n_train": split.train.n_ratings,
            "n_test": split.n_test,
            "new_users": split.new_users,
            "new_items": split.new_items,
            **method._asdict(),
        }


class Outcome(NamedTuple):
    """Predictions of the test ratings of a split."""

    ks: tuple[int | None, ...]
    ratings: Floats  # (n_test, len(ks))
    n_neighbors: npt.NDArray[np.integer[Any]]  # (n_test, len(ks))
    solved: int | None = None


def compute_record(
    part: TrainTest,
    method: Method,
    recommender: AnyRecommender | None = None,
    task: Task = "rating",
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> AnyRecord:
    """Return the record of one recommender on one split: a function of its arguments, times excepted."""
    if recommender is not None:
        recommender = copy.deepcopy(recommender)
    if task == "ranking":
        return _lists(part, method, recommender, n_threads)
    return _ratings(part, method, recommender, n_threads, progress)


def _lists(part: TrainTest, method: Method, recommender: Any, n_threads: int) -> ListRecord:
    """Search for settings, fit to all training ratings, recommend, and score the lists."""
    e, settings, tuning, trials = part.experiment, dict[str, Any](), None, tuple[float, ...]()
    question, n = Question.of_split(part.split, e.relevant), e.ns[-1]
    if recommender is None:
        settings, tuning, trials = search_lists(method, e, part.data, part.split, part.seed, n_threads)
        recommender = create(method, e, part.seed, n_threads, "ranking", settings)
    start = time.perf_counter()
    recommender.fit(part.data)
    fitted = time.perf_counter()
    answer = recommender.recommend(question.ids(), n)
    end = time.perf_counter()
    lists = check_lists(answer, question, n, method.label)
    return ListRecord(
        **part.facts(method),
        **summarize(lists.positions, question, e.ns, part.data.geometry),
        settings=settings or _own_settings(recommender),
        tuning=tuning or _own_trials(recommender),
        events=lists.events,
        run=RunInfo(
            seconds=round(end - start, 3),
            fit_seconds=round(fitted - start, 3),
            answer_seconds=round(end - fitted, 3),
            trial_seconds=trials,
            threads=n_threads,
            versions=versions(),
        ),
    )


def _own_settings(recommender: Any) -> dict[str, Any]:
    """Return the settings of the ranking that a model of the package has, or has chosen in its fit."""
    if not isinstance(recommender, BaseRecommender):
        return {}
    if isinstance(recommender, KNNRecommender):
        return {"k": recommender.settings_["k"]}
    return asdict(recommender.settings_["ranking"])


def _own_trials(recommender: Any) -> Tuning | None:
    """Return the search that the default model made in its fit, on held-out training ratings."""
    if not isinstance(recommender, Recommender):
        return None
    trials = [dict(one) for one in recommender.tuning_ if "ndcg" in one]
    if not trials:
        return None
    return Tuning(
        validation=round(1 - TRAIN_SHARE, 6),
        budget=len(trials),
        n_users=sample_users(recommender.data_.ratings, recommender.seed).n_users,
        trials=tuple(Trial(ndcg=round(one.pop("ndcg"), 8), settings=one) for one in trials),
    )


def _ratings(
    part: TrainTest, method: Method, recommender: Any, n_threads: int, progress: Progress | None
) -> Record:
    """Search for settings, fit to all training ratings, predict the test ratings, and score them."""
    e, split = part.experiment, part.split
    settings, tuning, trials = dict[str, Any](), None, tuple[float, ...]()
    if recommender is None:
        settings, tuning, trials = search_ratings(method, e, part.data, split, part.seed, n_threads)
        recommender = create(method, e, part.seed, n_threads, "rating", settings)
    start = time.perf_counter()
    recommender.fit(part.data)
    fitted = time.perf_counter()
    predictor = getattr(recommender, "predictor_", None)
    by_neighbors = isinstance(predictor, KNNPredictor) and method.kind in ("measure", "control")
    if isinstance(predictor, KNNPredictor) and by_neighbors:  # every K from one search
        all_k = predictor.predict_all_k(split.users, split.items, e.ks, progress)
        outcome = Outcome(e.ks, clip(all_k.values, split.train.scale)[0], all_k.used, all_k.solved)
    else:
        outcome = _predict(recommender, method, split)
    end = time.perf_counter()
    errors = np.abs(outcome.ratings - split.ratings[:, None])
    group, columns = group_of(split.users), outcome.ratings.T
    return Record(
        **part.facts(method),
        weight=find_measure(method.method).weight if method.kind == "measure" else "",
        centering=e.centering if by_neighbors else "",
        shrinkage=e.shrinkage if by_neighbors else 0.0,
        ks=outcome.ks,
        mae=tuple(round(metrics.mae(split.ratings, column), 8) for column in columns),
        rmse=tuple(round(metrics.rmse(split.ratings, column), 8) for column in columns),
        coverage=tuple(round(metrics.coverage(used), 8) for used in outcome.n_neighbors.T),
        neighbors=tuple(round(float(used.mean()), 8) for used in outcome.n_neighbors.T),
        settings=settings,
        tuning=tuning,
        groups=Groups(
            n=tuple(np.bincount(group, minlength=N_GROUPS).tolist()),
            error=tuple(tuple(np.bincount(group, column, N_GROUPS).round(3)) for column in errors.T),
        ),
        run=RunInfo(
            seconds=round(end - start, 3),
            fit_seconds=round(fitted - start, 3),
            answer_seconds=round(end - fitted, 3),
            trial_seconds=trials,
            solved=outcome.solved,
            threads=n_threads,
            versions=versions(),
        ),
    )


def _predict(recommender: Any, method: Method, split: Split) -> Outcome:
    """Return the result of a recommender's ``predict``, checked."""
    answer = recommender.predict(split.test_pairs())
    try:
        ratings = np.asarray(getattr(answer, "ratings", answer), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{method.label}: predict() did not return numbers ({error})") from None
    if ratings.shape != (split.n_test,):
        raise InputError(
            f"{method.label}: predict() returned shape {ratings.shape} for {split.n_test:,} pairs; "
            "return one rating for each"
        )
    if not np.isfinite(ratings).all():
        user, item = split.test_pairs()[int((~np.isfinite(ratings)).argmax())]
        raise InputError(f"{method.label}: predict() returned no number for user {user!r} and item {item!r}")
    used = np.asarray(getattr(answer, "n_neighbors", np.zeros(split.n_test, np.int64)))
    k = recommender.settings_["k"] if isinstance(recommender, KNNRecommender) else None
    return Outcome((k,), ratings[:, None], used[:, None])
