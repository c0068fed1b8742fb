"""The protocol of predictors, and the state of a user in a fitted model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from prefmover._format import counted
from prefmover._pickled import PickledFields
from prefmover._typing import Bools, Floats, Ints, Progress
from prefmover.data.ratings import Ratings
from prefmover.measures import Weight
from prefmover.predict.predictions import Baseline, Contribution
from prefmover.predict.similarity import UserSimilarity, Who

__all__ = ["Newcomers", "Predictor", "Scores", "UserState"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UserState:
    """The state of one user in a fitted model: a user of the data, a guest, or an unknown user.

    Models make states: :meth:`~prefmover.model.Recommender.guest` makes that of a guest from ratings, and
    every method of a model that takes a user's id takes the state too. Nothing is refitted.

    Attributes
    ----------
    name
        Id of the user, or name of the guest.
    position
        Position of the user in the data; -1 for a guest or an unknown user.
    rated, given
        Positions of the rated items, ascending, and the ratings.
    fit_id
        Identifies the fit that made the state.
    guest
        The ratings of a guest as a table; None for all others.
    to_landmarks
        The measure between a guest and the landmarks, and the guest itself: computed once for both heads.
    rating, ranking
        The numbers of a user that the predictor and the ranker compute once.
    """

    name: Any
    position: int
    rated: Ints
    given: Floats
    fit_id: str
    guest: Ratings | None = None
    to_landmarks: tuple[Floats, float] | None = None
    rating: Any = None
    ranking: Any = None

    @property
    def is_known(self) -> bool:
        """Whether anything is known about the user: a user of the data, or a guest with ratings."""
        return self.position >= 0 or len(self.rated) > 0

    @property
    def who(self) -> Who:
        """The user as a measure takes it: the ratings of a guest, or the position."""
        return np.array([self.position]) if self.guest is None else self.guest

    def __repr__(self) -> str:
        return f"UserState({self.name!r}, {counted(len(self.rated), 'rating')})"


class Newcomers(NamedTuple):
    """Users whose ratings an update changes or adds.

    Attributes
    ----------
    users
        Their positions: those whose ratings changed, and after them new users.
    to_landmarks
        For each, the measure to the landmarks and to the user itself; None in a model without landmarks.
    """

    users: Ints
    to_landmarks: list[tuple[Floats, float]] | None


class Scores(NamedTuple):
    """Predictions before they are clipped to the scale, with their baselines and numbers of neighbors."""

    values: Floats
    baselines: Floats
    n_neighbors: Ints


@dataclass(frozen=True, eq=False)
class Predictor(PickledFields, ABC):
    """A fitted predictor of ratings. Users and items are positions; -1 is an unknown user or item.

    Attributes
    ----------
    similarity
        The measure between the users of the data.
    weight
        The rule that turns its values into weights.
    """

    similarity: UserSimilarity
    weight: Weight

    @property
    def ratings(self) -> Ratings:
        """The training ratings."""
        return self.similarity.data.ratings

    def guest(self, state: UserState) -> Any:
        """Return the numbers that a guest's state carries for this predictor."""
        return None

    @abstractmethod
    def predict(self, users: Ints, items: Ints, progress: Progress | None = None) -> Scores:
        """Return the scores of pairs."""

    @abstractmethod
    def scores(self, state: UserState, items: Ints) -> Scores:
        """Return the scores of items for one user."""

    def expected(self, state: UserState, items: Ints) -> tuple[Floats, Bools]:
        """Return the scores of items for one user, and which of them have neighbors; a list needs no more."""
        scores = self.scores(state, items)
        return scores.values, scores.n_neighbors > 0

    @abstractmethod
    def explain(self, state: UserState, item: int) -> tuple[tuple[Baseline, ...], tuple[Contribution, ...]]:
        """Return all parts of one score, which sum to it, with positions as ids; contributions by size."""

    @abstractmethod
    def with_data(self, similarity: UserSimilarity, newcomers: Newcomers) -> Self:
        """Return the predictor with other ratings of some users, and with more users.

        The present users are the first of the data of ``similarity``, in the same order.
        """

    @abstractmethod
    def with_items(self, similarity: UserSimilarity) -> Self:
        """Return the predictor with more items, which nobody has rated: the last of the data."""
