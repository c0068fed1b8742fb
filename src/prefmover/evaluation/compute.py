"""One record: fit a recommender to the training part of a split, predict the test part, and score."""

from __future__ import annotations

import copy
import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Progress
from prefmover.data.splits import Split, hashed
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.evaluation import metrics
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.recommenders import FitPredict, Method, create
from prefmover.evaluation.record import Groups, Record, RunInfo, versions
from prefmover.measures import find_measure
from prefmover.model import KNNRecommender
from prefmover.predict.base import clip
from prefmover.predict.knn import KNNPredictor

__all__ = ["TrainTest", "compute_record"]

N_GROUPS = 20
GROUP_SEED = 20
RELEVANT = 0.75  # of the scale: 4 and 5 stars of 1 to 5


class TrainTest(NamedTuple):
    """One split with its training data: the input of every recommender."""

    experiment: Experiment
    share: float
    repeat: int
    split: Split
    data: Dataset  # for training


class Outcome(NamedTuple):
    """Predictions of the test ratings of a split."""

    ks: tuple[int | None, ...]
    ratings: Floats  # (n_test, len(ks))
    n_neighbors: npt.NDArray[np.integer[Any]]  # (n_test, len(ks))
    solved: int | None = None


def compute_record(
    part: TrainTest,
    method: Method,
    recommender: FitPredict | None = None,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Record:
    """Return the record of one recommender on one split: a function of its arguments, times excepted."""
    e, split, geometry = part.experiment, part.split, part.data.geometry
    start = time.perf_counter()
    if recommender is None:
        recommender = create(method, e, e.seed + part.repeat, n_threads)
    else:
        recommender = copy.deepcopy(recommender)
    recommender.fit(part.data)
    predictor = getattr(recommender, "predictor_", None)
    by_neighbors = isinstance(predictor, KNNPredictor) and method.kind in ("measure", "control")
    if isinstance(predictor, KNNPredictor) and by_neighbors:  # every K from one search
        all_k = predictor.predict_all_k(split.users, split.items, e.ks, progress)
        outcome = Outcome(e.ks, clip(all_k.values, split.train.scale)[0], all_k.used, all_k.solved)
    else:
        outcome = _predict(recommender, method, split)
    seconds = time.perf_counter() - start
    errors = np.abs(outcome.ratings - split.ratings[:, None])
    group = (hashed(GROUP_SEED, split.users) % np.uint64(N_GROUPS)).astype(np.int64)
    columns = outcome.ratings.T
    return Record(
        dataset=e.data_name,
        geometry=geometry.name if geometry is not None else "",
        protocol=e.protocol,
        share=part.share,
        repeat=part.repeat,
        seed=e.seed + part.repeat if e.protocol == "random" else e.seed,
        stratify=e.stratify,
        n_train=split.train.n_ratings,
        n_test=split.n_test,
        new_users=split.new_users,
        new_items=split.new_items,
        **method._asdict(),
        weight=find_measure(method.method).weight if method.kind == "measure" else "",
        centering=e.centering if by_neighbors else "",
        shrinkage=e.shrinkage if by_neighbors else 0.0,
        ks=outcome.ks,
        mae=tuple(round(metrics.mae(split.ratings, column), 8) for column in columns),
        rmse=tuple(round(metrics.rmse(split.ratings, column), 8) for column in columns),
        coverage=tuple(round(metrics.coverage(used), 8) for used in outcome.n_neighbors.T),
        neighbors=tuple(round(float(used.mean()), 8) for used in outcome.n_neighbors.T),
        ranking=tuple(_ranking(split, column, e.top_n) for column in columns) if e.top_n else None,
        groups=Groups(
            n=tuple(np.bincount(group, minlength=N_GROUPS).tolist()),
            error=tuple(tuple(np.bincount(group, column, N_GROUPS).round(3)) for column in errors.T),
        ),
        run=RunInfo(seconds=round(seconds, 3), solved=outcome.solved, threads=n_threads, versions=versions()),
    )


def _predict(recommender: FitPredict, method: Method, split: Split) -> Outcome:
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


def _ranking(split: Split, predicted: Floats, n: int) -> dict[str, float]:
    """Rank each user's test items by prediction; those in the upper quarter of the scale are relevant."""
    scale = split.train.scale
    relevant = split.ratings >= scale.lowest + RELEVANT * (scale.highest - scale.lowest)
    if scale.highest == scale.lowest:
        raise InputError("top_n: all ratings are equal; there is nothing to rank")
    if not relevant.any():
        raise InputError("top_n: no test rating is in the upper quarter of the scale; none is relevant")
    values = metrics.ranking(
        n,
        split.users,
        predicted,
        relevant=relevant,
        gains=split.ratings - scale.lowest,
        items=split.items,
        n_items=len(np.union1d(split.train.matrix.indices, split.items)),  # those with a rating
    )
    return {name: round(value, 8) for name, value in values.items()}
