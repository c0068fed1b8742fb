"""Models of scikit-surprise on the same splits, with their defaults and a fixed seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from prefmover._typing import Floats
from prefmover.dataset import Dataset
from prefmover.errors import InputError, MissingExtraError
from prefmover.evaluation.recommenders import PEERS

__all__ = ["SurpriseRecommender"]


@dataclass
class SurpriseRecommender:
    """A model of Surprise as a recommender: ``"SVD"``, ``"SVDpp"``, ``"KNNBaseline"``, ...

    The two with neighbors are user-based, by MSD, with K = 40: Surprise's defaults. The seed is that of the
    initial values of the factor models.
    """

    name: str
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in PEERS:
            raise InputError(f"peer is {self.name!r}; choose one of {', '.join(PEERS)}")

    def fit(self, data: Dataset) -> Self:
        """Train on the ratings."""
        try:
            import surprise
        except ImportError:
            raise MissingExtraError("peers need scikit-surprise: pip install 'prefmover[peers]'") from None
        options = {"random_state": self.seed} if self.name.startswith("SVD") else {"verbose": False}
        ratings = data.ratings
        columns = ratings.rows().tolist(), ratings.matrix.indices.tolist(), ratings.matrix.data.tolist()
        rows = [(user, item, rating, None) for user, item, rating in zip(*columns, strict=True)]
        reader = surprise.Reader(rating_scale=(ratings.scale.lowest, ratings.scale.highest))
        self.model_ = getattr(surprise, self.name)(**options)
        self.model_.fit(surprise.Dataset(reader).construct_trainset(rows))
        self.data_ = data
        return self

    def predict(self, pairs: list[tuple[Any, Any]]) -> Floats:
        """Return one rating for each (user, item)."""
        ratings, (users, items) = self.data_.ratings, zip(*pairs, strict=True)
        positions = ratings.user_positions(users).tolist(), ratings.item_positions(items).tolist()
        return np.array([self.model_.predict(u, i).est for u, i in zip(*positions, strict=True)])
