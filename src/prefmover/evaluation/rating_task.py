"""The task of rating: predictions of the test ratings of a split, checked and scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Progress
from prefmover.data.splits import Split
from prefmover.errors import InputError
from prefmover.evaluation import metrics
from prefmover.evaluation.recommenders import Method
from prefmover.evaluation.record import Groups
from prefmover.items.geometry import ItemGeometry
from prefmover.model import KNNRecommender
from prefmover.predict.knn import KNNPredictor
from prefmover.predict.predictor import clip

__all__ = ["Predicted", "RatingTask"]


class Predicted(NamedTuple):
    """Predictions of the test ratings of a split, for each K; (n_test, n_cuts) each."""

    cuts: tuple[int | None, ...]
    ratings: Floats
    n_neighbors: npt.NDArray[np.integer[Any]]
    solved: int | None = None  # pairs of users that were compared


@dataclass(frozen=True, eq=False)
class RatingTask:
    """The test ratings of a split; a neighbor average predicts them for every K in ``ks``."""

    split: Split
    ks: tuple[int, ...] = (40,)

    @property
    def n_judged(self) -> int:
        """The number of test ratings."""
        return self.split.n_test

    def ask(self, recommender: Any, method: Method, progress: Progress | None = None) -> Predicted:
        """Return the predictions of a fitted recommender."""
        split, predictor = self.split, getattr(recommender, "predictor_", None)
        if isinstance(predictor, KNNPredictor) and method.kind in ("measure", "control"):
            all_k = predictor.predict_all_k(split.users, split.items, self.ks, progress)  # from one search
            return Predicted(self.ks, clip(all_k.values, split.train.scale)[0], all_k.used, all_k.solved)
        answer = recommender.predict(split.test_pairs())
        ratings = self._checked(getattr(answer, "ratings", answer), method.label)
        used = np.asarray(getattr(answer, "n_neighbors", np.zeros(split.n_test, np.int64)))
        k = recommender.settings_["k"] if isinstance(recommender, KNNRecommender) else None
        return Predicted((k,), ratings[:, None], used[:, None])

    def _checked(self, answer: Any, label: str) -> Floats:
        """Return the result of a recommender's ``predict`` as numbers, one for each test rating."""
        try:
            ratings = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{label}: predict() did not return numbers ({error})") from None
        if ratings.shape != (self.split.n_test,):
            raise InputError(
                f"{label}: predict() returned shape {ratings.shape} for {self.split.n_test:,} pairs; "
                "return one rating for each"
            )
        if not np.isfinite(ratings).all():
            user, item = self.split.test_pairs()[int((~np.isfinite(ratings)).argmax())]
            raise InputError(f"{label}: predict() returned no number for user {user!r} and item {item!r}")
        return ratings

    def value(self, answer: Predicted, method: Method) -> float:
        """Return the mean absolute error at the first K."""
        return metrics.mae(self.split.ratings, answer.ratings[:, 0])

    def score(self, answer: Predicted, method: Method, geometry: ItemGeometry | None) -> dict[str, Any]:
        """Return the fields of a record that depend on the predictions."""
        true, columns, used = self.split.ratings, answer.ratings.T, answer.n_neighbors.T
        n, sums = metrics.group_sums(self.split.users, np.abs(columns - true), 3)
        return {
            "cuts": answer.cuts,
            "metrics": {
                "mae": _rounded([metrics.mae(true, column) for column in columns]),
                "rmse": _rounded([metrics.rmse(true, column) for column in columns]),
                "coverage": _rounded([metrics.coverage(column) for column in used]),
                "neighbors": _rounded([float(column.mean()) for column in used]),
            },
            "groups": Groups(n=n, sums=sums),
        }


def _rounded(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(value, 8) for value in values)
