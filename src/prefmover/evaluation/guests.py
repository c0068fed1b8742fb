"""The default model for people who are not in its data: guests, by the ratings that they have given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from prefmover._typing import Ints
from prefmover.data.ratings import one_user
from prefmover.dataset import Dataset
from prefmover.evaluation.baselines.rankers import ByScores, Scores
from prefmover.model import Recommender

__all__ = ["AsGuests"]


class AsGuests:
    """A model that is fitted without some people, who then are its guests.

    >>> from prefmover import datasets
    >>> cinema = datasets.load("cinema")
    >>> few = cinema.with_ratings(cinema.ratings.take(users=range(40)))
    >>> people = AsGuests(Recommender(), np.array([3]))
    >>> users = people.fit(few).model.data_.n_users
    >>> users, len(people.recommend(few.ratings.users[[3]].tolist(), 2)[0])
    (39, 2)
    """

    def __init__(self, model: Recommender, guests: Ints, relevant: float | None = None) -> None:
        self.model, self.guests, self.relevant = model, guests, relevant

    def fit(self, data: Dataset) -> Self:
        """Learn from the ratings of the others."""
        others = np.setdiff1d(np.arange(data.n_users), self.guests)
        self.model.fit(data.with_ratings(data.ratings.take(users=others)), heads=["ranking"])
        self.data_ = data
        return self

    def recommend(self, users: Sequence[Any], n: int = 10) -> list[list[Any]]:
        """Return the ids of n items for each guest, best first; of equal scores, the most liked ones."""
        by_scores = ByScores(lambda data: self._scores, None, self.relevant)
        return by_scores.fit(self.data_).recommend(users, n)

    def _scores(self, users: Ints) -> Scores:
        ratings, known = self.data_.ratings, self.model.data_.ratings
        rows = []
        for user in users.tolist():
            one = one_user(known, ratings.users[[user]].tolist()[0], *ratings.row(user))
            rows.append(self.model.ranker_.scores(self.model.guest_of(one)).total[0])
        return np.asarray(rows, np.float32)
