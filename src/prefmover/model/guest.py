"""Guest: somebody who has just typed in a few ratings, and is answered without refitting."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from prefmover.data.ids import IdIndex
from prefmover.data.ratings import Ratings
from prefmover.execution.format import counted
from prefmover.predict.base import Prediction, Predictions
from prefmover.predict.centering import Index
from prefmover.predict.explanations import Labels, RecommendationExplanation, UserExplanation, explain_users
from prefmover.predict.inputs import listed, places
from prefmover.predict.knn import Answer, Parts, Placed
from prefmover.predict.similarity import stacked
from prefmover.predict.top_n import best
from prefmover.search import Neighbor

if TYPE_CHECKING:
    from prefmover.model.user_knn import UserKNN

__all__ = ["Guest"]


class Guest:
    """Somebody who is not in the data: neighbors, predictions, recommendations and reasons all the same.

    Made by :meth:`UserKNN.for_ratings`. The model stays as it is.
    """

    def __init__(self, model: "UserKNN", ratings: Ratings, name: Any) -> None:
        self.model = model
        self.ratings = ratings
        self.name = name
        self._place: tuple[object, Placed] | None = None

    @property
    def _placed(self) -> Placed:
        """Where the guest stands; kept while the model is the same."""
        predictor = self.model._fitted()
        if self._place is None or self._place[0] is not predictor:
            self._place = predictor, predictor.place(self.ratings)
        return self._place[1]

    def __repr__(self) -> str:
        return f"Guest({self.name!r}, {counted(self.ratings.n_ratings, 'rating')})"

    def predict(self, items: Iterable[Any]) -> Predictions:
        """Return predicted ratings of items."""
        asked = listed(items)
        i = places(asked, self.model._items)
        answer = self.model._fitted().guest_answer(self._placed, i)
        return self._predictions(asked, i, answer)

    def predict_one(self, item: Any) -> Prediction:
        """Return one predicted rating."""
        return self.predict([item])[0]

    def recommend(self, n: int = 10, *, items: Iterable[Any] | None = None) -> list[Prediction]:
        """Return the n items with the highest predicted ratings that the guest has not rated."""
        candidates = self.model._candidates(items)
        answer = self.model._fitted().guest_answer(self._placed, candidates)
        rated = np.flatnonzero(np.isin(candidates, self.ratings.matrix.indices))
        top = best(answer.values, rated, n)
        what = self.model.ratings_.items[candidates[top]].tolist()
        return list(self._predictions(what, candidates[top], answer.some(top)))

    def neighbors(self, k: int = 10) -> list[Neighbor]:
        """Return the k nearest users with their distances (or similarities), nearest first."""
        return list(self.model._fitted().likeness.nearest(self.ratings, k).of(self.name))

    def explain(self, other: Any, *, labels: Labels | None = None) -> UserExplanation:
        """Return what of the guest's ratings corresponds to what of a user's."""
        known = self.model.ratings_
        both = stacked(known.take(users=[known.user_position(other)]), self.ratings)
        return explain_users(both, self.model._with_geometry(), self.name, other, labels)

    def explain_recommendation(self, item: Any, *, labels: Labels | None = None) -> RecommendationExplanation:
        """Return what a predicted rating is made of."""
        parts = self.model._fitted().parts(self._placed, self.model._items.get(item, -1))
        prediction = self.predict_one(item)
        return RecommendationExplanation(prediction, parts.base, parts.neighbors, parts.through, labels or {})

    def reasons(self, items: Iterable[Any], most: int = 3) -> list[Parts]:
        """Return the neighbors who speak most for each item; :meth:`UserKNN.reasons` tells more."""
        at = IdIndex("item", self.model.ratings_.items).positions(items)
        return self.model._fitted().reasons(self._placed, at, most)

    def _predictions(self, items: list[Any], i: Index, answer: Answer) -> Predictions:
        known = np.zeros(len(items), np.int64)
        return self.model._predictions([self.name] * len(items), items, known, i, answer)
