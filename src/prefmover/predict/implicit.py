"""Implicit feedback has no ratings to predict; what remains of a predictor is the users' states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from prefmover._typing import Ints, Progress
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.predict.predictor import Baseline, Contribution, Predictor, Scores, UserState

__all__ = ["ImplicitPredictor"]


@dataclass(frozen=True, eq=False)
class ImplicitPredictor(Predictor):
    """The predictor of a model of implicit feedback: every prediction is an error that says so."""

    def _no_ratings(self) -> InputError:
        return InputError(
            "the data are implicit feedback, which has no ratings to predict; recommend() ranks items"
        )

    def predict(self, users: Ints, items: Ints, progress: Progress | None = None) -> Scores:
        """Raise an error."""
        raise self._no_ratings()

    def scores(self, state: UserState, items: Ints) -> Scores:
        """Raise an error."""
        raise self._no_ratings()

    def explain(self, state: UserState, item: int) -> tuple[tuple[Baseline, ...], tuple[Contribution, ...]]:
        """Raise an error."""
        raise self._no_ratings()

    def with_data(self, data: Dataset, changed: Ints) -> Self:
        """Return the predictor with other ratings, or more users."""
        return replace(self, similarity=self.similarity.updated(data))

    def with_items(self, data: Dataset) -> Self:
        """Return the predictor with more items."""
        return replace(self, similarity=self.similarity.with_items(data))
