"""One record: fit a recommender to the training part of a split, and score its ratings or its lists."""

from __future__ import annotations

import copy
import time
from dataclasses import asdict
from typing import Any, NamedTuple

from prefmover._typing import Progress
from prefmover.data.splits import Split
from prefmover.dataset import Dataset
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.rating_task import Predicted
from prefmover.evaluation.recommenders import AnyRecommender, Method, create, fit
from prefmover.evaluation.record import Record, RunInfo, Task, Trial, Tuning, versions
from prefmover.evaluation.validation import Found, search, task_of
from prefmover.model import KNNRecommender, Recommender
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

    def facts(self) -> dict[str, Any]:
        """Return the fields of a record that describe the split."""
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
        }


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
    e, judge, found = part.experiment, task_of(part.experiment, part.split, task), Found({}, None, ())
    model: Any = copy.deepcopy(recommender)
    if recommender is None:
        found = search(method, e, part.data, part.split, part.seed, n_threads, task)
        model = create(method, e, part.seed, n_threads, task, found.settings)
    start = time.perf_counter()
    fit(model, part.data, task)
    fitted = time.perf_counter()
    answer = judge.ask(model, method, progress)
    end = time.perf_counter()
    return Record(
        task=task,
        **part.facts(),
        **method._asdict(),
        **judge.score(answer, method, part.data.geometry),
        settings=found.settings or _own_settings(model, task),
        tuning=found.tuning or (_own_tuning(model) if task == "ranking" else None),
        run=RunInfo(
            seconds=round(end - start, 3),
            fit_seconds=round(fitted - start, 3),
            answer_seconds=round(end - fitted, 3),
            trial_seconds=found.seconds,
            solved=answer.solved if isinstance(answer, Predicted) else None,
            threads=n_threads,
            versions=versions(),
        ),
    )


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
