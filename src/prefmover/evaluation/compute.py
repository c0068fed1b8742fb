"""One record: choose settings, fit a recommender to the training part of a split, score what it answers.

A recommender with a grid searches for settings with a budget of trials on a validation part. That is a share
of the *training* ratings, held out in the way in which the test part was
(:func:`~prefmover.data.splits.validation_split`). The search does not see the test part. After it, the
recommender is fitted to all training ratings with the settings that had the highest nDCG, or the lowest mean
absolute error of predicted ratings.

A search for lists is one that every recommender can afford, and the same for all (:class:`Validation`): it
sees the items with the most ratings, and judges at most 2,000 warm users, drawn by a hash. Small data are
split several times, and judged by longer lists (:func:`prefmover.rank.tuning.splits_and_length`). The default
model searches on these parts, too, not on those of its own fit. Recommenders whose cost grows with the cube
of the users are also fitted to the judged users only.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from prefmover._typing import Progress
from prefmover.data.splits import Split, take_part, validation_split
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.evaluation.baselines.rankers import ByScores, relevant_from
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.grids import Settings
from prefmover.evaluation.reasons import ReasonsTask
from prefmover.evaluation.recommenders import AnyRecommender, Method, Request, fit, grid
from prefmover.evaluation.record import Record, RunInfo, Task, Trial, Tuning, versions
from prefmover.evaluation.tasks import AnyTask, Predicted, RankingTask, task_of
from prefmover.model import KNNRecommender, Recommender
from prefmover.rank.tuning import MAX_USERS, MIN_HELD_OUT, HeldOut, most_rated, splits_and_length

SEEDED = ("random", "cold-items", "new-people")  # protocols in which each repeat has a seed
SEEDS = 1000  # between the validation parts of one split
GRID = "the first settings of the grid"


class Validation(NamedTuple):
    """The validation part of a split: the data that a trial is fitted to, and what it is asked."""

    data: Dataset  # with the inner training ratings, of all users and at most 4,000 items
    split: Split  # these ratings, and the held-out ones; positions are those of the data
    task: AnyTask  # of lists: of at most 2,000 warm users

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

    def validations(self, task: Task) -> list[Validation]:
        """Return the training ratings, split again, and what their held-out part asks for.

        There are several such parts only for lists, of small data that are split at random.
        """
        e, n_splits, n = self.experiment, 1, self.experiment.ns[0]
        if task == "ranking" and e.protocol == "random":
            train = self.split.train
            least = relevant_from(train.scale, e.relevant)
            n_relevant = train.n_ratings if least is None else int((train.matrix.data >= least).sum())
            n_splits, n = splits_and_length(e.validation * n_relevant)
        try:
            return [self._validation(task, self.seed + SEEDS * k, n) for k in range(n_splits)]
        except InputError as error:
            raise InputError(
                f"the validation part of {self.split.name} cannot be used: {error}. Train on a larger share, "
                "or pass trials=0 to search for nothing",
                argument="trials",
            ) from None

    def _validation(self, task: Task, seed: int, n: int) -> Validation:
        e, data = self.experiment, self.data
        inner = validation_split(self.split, 1 - e.validation, seed)
        if task == "ranking":  # items that are held out whole count, too
            known = self.split.train if e.protocol == "cold-items" else inner.train
            inner, data = most_rated(inner, data, known)
        judge = task_of(e.model_copy(update={"ns": (n,)}), inner, task)
        judge = judge.sampled(MAX_USERS) if isinstance(judge, RankingTask) else judge
        return Validation(data.with_ratings(inner.train), inner, judge)


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
    own = getattr(model, "model", model)
    if isinstance(own, Recommender) and task != "rating" and own.ranking == "tuned":
        tuning, seconds = _search_own(part, own)
    start = time.perf_counter()
    fit(model, part.data, task)
    fitted = time.perf_counter()
    if isinstance(judge, ReasonsTask):
        judge = replace(judge, fitted=part.data, anew=lambda: _again(recommender, model, ask))
    answer: Any = judge.ask(model, method, progress)
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
        settings=settings or _own_settings(own, task),
        tuning=tuning,
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
    """Try settings on the validation parts; return what came of them, and the seconds of each trial."""
    method, task = ask.method, ask.task
    first = ask.create(trials[0])
    distances = first.distances if isinstance(first, ByScores) else None
    parts, shared = part.validations(task), list[Any]()
    if distances is not None:
        parts = [one.of_judged() for one in parts]
        shared = [distances(one.data) for one in parts]
    found, seconds = list[Trial](), list[float]()
    for settings in trials:
        start, values = time.perf_counter(), list[float]()
        for k, (known, _, judge) in enumerate(parts):
            model = ask.create(settings)
            if distances is None:
                fit(model, known, task)
            else:
                model.fit(known, shared[k])
            answer: Any = judge.ask(model, method)
            values.append(judge.value(answer, method))
        found.append(Trial(settings=settings, value=round(float(np.mean(values)), 8)))
        seconds.append(round(time.perf_counter() - start, 3))
    return _tuning(part, parts, found), seconds


def _search_own(part: TrainTest, model: Recommender) -> tuple[Tuning | None, list[float]]:
    """Let the default model search on the validation parts; it then has the settings that it chose."""
    e, parts, held = part.experiment, list[Validation](), list[HeldOut]()
    start, n = time.perf_counter(), 0
    with suppress(InputError):  # with too few ratings for a search, it has its defaults
        parts = part.validations("ranking") if e.trials else []
    for known, _, judge in parts:
        if isinstance(judge, RankingTask) and len(judge.keys) >= MIN_HELD_OUT / len(parts):
            held.append(HeldOut.of_pairs(known, judge.users, *judge.relevant_pairs()))
            n = judge.ns[0]
    choice = model.tune(part.data, held, n, e.trials)
    model.ranking = choice.settings
    if not choice.trials:
        return None, []
    trials = [dict(one) for one in choice.trials]
    found = [Trial(value=round(one.pop("ndcg"), 8), settings=one) for one in trials]
    seconds = (time.perf_counter() - start) / len(found)
    return _tuning(part, parts, found, "one setting after the other"), [round(seconds, 3)] * len(found)


def _tuning(part: TrainTest, parts: Sequence[Validation], found: list[Trial], search: str = GRID) -> Tuning:
    e, published = part.experiment, part.split.held
    return Tuning(
        validation=e.validation if published is None else round(float(published.mean()), 6),
        budget=e.trials,
        search=search,
        n_judged=sum(one.task.n_judged for one in parts),
        n_users=parts[0].data.n_users,
        n_items=parts[0].data.n_items,
        trials=tuple(found),
    )


def _again(recommender: AnyRecommender | None, model: Any, ask: Request) -> Any:
    """Return an unfitted recommender with the settings of a fitted one."""
    if recommender is not None:
        return copy.deepcopy(recommender)
    if isinstance(model, Recommender):
        return replace(model, ranking=model.settings_["ranking"])
    return ask.create()


def _own_settings(model: Any, task: Task) -> dict[str, Any]:
    """Return the settings that a model of the package has, or has chosen in its fit."""
    if isinstance(model, KNNRecommender):
        if task == "ranking":
            return {"k": model.settings_["k"]}
        weight, shrinkage = str(model.settings_["weight"]), model.settings_["shrinkage"]
        return {"weight": weight, "centering": model.centering, "shrinkage": shrinkage}
    if isinstance(model, Recommender) and task != "rating":
        return asdict(model.settings_["ranking"])
    return {}
