"""Implicit feedback has no ratings to predict; what remains of a predictor is the users' states."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.predict.base import Predictor

__all__ = ["ImplicitPredictor"]


@dataclass(frozen=True, eq=False)
class ImplicitPredictor(Predictor):
    """The predictor of a model of implicit feedback: every prediction is an error that says so."""

    def _refuse(self, *_: Any) -> Any:
        raise InputError(
            "the data are implicit feedback, which has no ratings to predict; recommend() ranks items"
        )

    predict = scores = contributions = explain = _refuse

    def with_users(self, data: Dataset) -> Self:
        """Return the predictor with more users."""
        return replace(self, similarity=self.similarity.with_data(data))
