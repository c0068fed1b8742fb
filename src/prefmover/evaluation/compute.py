"""One record: choose settings, fit a recommender to the training part of a split, score what it answers.

A recommender with a grid searches for settings with a budget of trials on a validation part. That is a share
of the *training* ratings, held out in the way in which the test part was
(:func:`~prefmover.data.splits.validation_split`). The search does not see the test part. After it, the
recommender is fitted to all training ratings with the settings that had the highest nDCG, or the lowest mean
absolute error of predicted ratings.

A search for lists is one that every recommender can afford, and the same for all (:class:`Validation`): it
sees the :data:`MAX_ITEMS` items with the most ratings, and judges at most :data:`MAX_USERS` warm users, drawn
by a hash. Recommenders whose cost grows with the cube of the users are also fitted to these users only.
"""

from __future__ import annotations

import copy
import time
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from prefmover._typing import Progress
from prefmover.data.splits import Split, hashed, take_part, validation_split
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.evaluation.baselines.rankers import ByScores
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.grids import Settings
from prefmover.evaluation.recommenders import AnyRecommender, Method, Request, fit, grid
from prefmover.evaluation.record import Record, RunInfo, Task, Trial, Tuning, versions
from prefmover.evaluation.tasks import SAMPLE_SEED, AnyTask, Predicted, RankingTask, task_of
from prefmover.model import KNNRecommender, Recommender
from prefmover.rank.tuning import TRAIN_SHARE, sample_users

MAX_USERS = 2000
MAX_ITEMS = 4000
SEEDED = ("random", "cold-items", "new-people")  # protocols in which each repeat has a seed


class Validation(NamedTuple):
    """The validation part of a split: the data that a trial is fitted to, and what it is asked."""

    data: Dataset  # with the inner training ratings, of all users and at most MAX_ITEMS items
    split: Split  # these ratings, and the held-out ones; positions are those of the data
    task: AnyTask  # of lists: of at most MAX_USERS warm users

    def of_judged(self) -> Validation:
        """Return the part with the ratings of the judged users only, if these are a sample."""
        task = self.task
        if not isinstance(task, RankingTask) or task.n_judged < MAX_USERS:
            return self
        split = take_part(self.split, users=task.users)
        judged = RankingTask.of_split(split, task.threshold, task.ns)
        return Validation(self.data.with_ratings(split.train), split, judged)


class TrainTest(NamedTuple):
    """One split with its training data: the input of every recommender."""

    experiment: Experiment
    share: float
    repeat: int
    split: Split
    data: Dataset  # with the training ratings
    given: int | None = None  # of new people

    @property
    def seed(self) -> int:
        """The seed of random splits, and of controls and peers that draw at random."""
        return self.experiment.seed + self.repeat

    def validation(self, task: Task) -> Validation:
        """Return the training ratings, split again, and what their held-out part asks for.

        Of lists, everything outside of :data:`MAX_ITEMS` items is left out: those with the most ratings of
        the inner training part. Users who are then without one are not judged.
        """
        e, data = self.experiment, self.data
        try:
            inner = validation_split(self.split, 1 - e.validation, self.seed)
            if task == "ranking" and data.n_items > MAX_ITEMS:
                # Items that are held out whole count, too.
                known = self.split.train if e.protocol == "cold-items" else inner.train
                counts = np.bincount(known.matrix.indices, minlength=data.n_items)
                order = np.lexsort((hashed(SAMPLE_SEED, np.arange(data.n_items)), -counts))
                items = np.sort(order[:MAX_ITEMS])
                inner, data = take_part(inner, items=items), data.take_items(items)
            judge = task_of(e.model_copy(update={"ns": e.ns[:1]}), inner, task)
            judge = judge.sampled(MAX_USERS) if isinstance(judge, RankingTask) else judge
            return Validation(data.with_ratings(inner.train), inner, judge)
        except InputError as error:
            raise InputError(
                f"the validation part of {self.split.name} cannot be used: {error}. Train on a larger share, "
                "or pass trials=0 to search for nothing",
                argument="trials",
            ) from None


def compute_record(
    part: TrainTest,
    method: Method,
    recommender: AnyRecommender | None = None,
    task: Task = "rating",
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Record:
    """Return the record of one recommender on one split: a function of its arguments, times excepted.

    Without an object, settings are searched for on the validation part; then the recommender is fitted to all
    training ratings.
    """
    e, split, geometry = part.experiment, part.split, part.data.geometry
    judge, ask = task_of(e, split, task), Request(method, e, part.seed, n_threads, task)
    if isinstance(judge, RankingTask) and e.protocol == "cold-items":
        judge = replace(judge.sampled(MAX_USERS), cold=part.data.ratings_per_item == 0)
    if e.protocol == "new-people":
        ask = ask._replace(guests=np.unique(split.users))
    model: Any = copy.deepcopy(recommender)
    tuning, seconds, settings = None, list[float](), dict[str, Any]()
    if recommender is None:
        if trials := grid(method, e.trials, task):
            tuning, seconds = _search(part, ask, trials)
            best = min if task == "rating" else max
            settings = best(tuning.trials, key=lambda trial: trial.value).settings
        model = ask.create(settings)
    start = time.perf_counter()
    fit(model, part.data, task)
    fitted = time.perf_counter()
    answer = judge.ask(model, method, progress)
    end = time.perf_counter()
    return Record(
        task=task,
        dataset=e.data_name,
        geometry=geometry.name if geometry is not None else "",
        protocol=e.protocol,
        share=part.share,
        given=part.given,
        repeat=part.repeat,
        seed=part.seed if e.protocol in SEEDED else e.seed,
        stratify=e.stratify,
        n_train=split.train.n_ratings,
        n_test=split.n_test,
        new_users=split.new_users,
        new_items=split.new_items,
        **method._asdict(),
        **judge.score(answer, method, geometry),
        settings=settings or _own_settings(getattr(model, "model", model), task),
        tuning=tuning or (_own_tuning(getattr(model, "model", model)) if task == "ranking" else None),
        run=RunInfo(
            seconds=round(end - start, 3),
            fit_seconds=round(fitted - start, 3),
            answer_seconds=round(end - fitted, 3),
            trial_seconds=tuple(seconds),
            solved=answer.solved if isinstance(answer, Predicted) else None,
            threads=n_threads,
            versions=versions(),
        ),
    )


def _search(part: TrainTest, ask: Request, trials: tuple[Settings, ...]) -> tuple[Tuning, list[float]]:
    """Try settings on the validation part; return what came of them, and the seconds of each trial."""
    e, method, task = part.experiment, ask.method, ask.task
    first = ask.create(trials[0])
    distances = first.distances if isinstance(first, ByScores) else None
    validation = part.validation(task)
    known, _, judge = validation if distances is None else validation.of_judged()
    found, seconds, shared = list[Trial](), list[float](), None
    for settings in trials:
        start, model = time.perf_counter(), ask.create(settings)
        if distances is None:
            fit(model, known, task)
        else:
            shared = distances(known) if shared is None else shared
            model.fit(known, shared)
        found.append(Trial(settings=settings, value=round(judge.value(judge.ask(model, method), method), 8)))
        seconds.append(round(time.perf_counter() - start, 3))
    published = part.split.held
    tuning = Tuning(
        validation=e.validation if published is None else round(float(published.mean()), 6),
        budget=e.trials,
        n_judged=judge.n_judged,
        n_users=known.n_users,
        n_items=known.n_items,
        trials=tuple(found),
    )
    return tuning, seconds


def _own_settings(model: Any, task: Task) -> dict[str, Any]:
    """Return the settings that a model of the package has, or has chosen in its fit."""
    if isinstance(model, KNNRecommender):
        if task == "ranking":
            return {"k": model.settings_["k"]}
        weight, shrinkage = str(model.settings_["weight"]), model.settings_["shrinkage"]
        return {"weight": weight, "centering": model.centering, "shrinkage": shrinkage}
    if isinstance(model, Recommender) and task == "ranking":
        return asdict(model.settings_["ranking"])
    return {}


def _own_tuning(model: Any) -> Tuning | None:
    """Return the search that the default model made in its fit, on held-out training ratings."""
    trials = [dict(one) for one in model.tuning_ if "ndcg" in one] if isinstance(model, Recommender) else []
    if not trials:
        return None
    return Tuning(
        validation=round(1 - TRAIN_SHARE, 6),
        budget=len(trials),
        n_judged=sample_users(model.data_.ratings, model.seed).n_users,
        trials=tuple(Trial(value=round(one.pop("ndcg"), 8), settings=one) for one in trials),
    )
