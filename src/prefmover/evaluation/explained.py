"""Recommenders whose recommendations carry reasons, as their evaluation asks them; positions throughout.

Three kinds of recommenders are judged:

- models of the package, by their explanations and by :meth:`prefmover.model.Recommender.without`;
- linear ones, ``ease`` and ``item-knn``: a score is a sum over the ratings of a user, Σ_i x_ui w_ij, and the
  reasons are its largest terms (:class:`Linear`);
- any object with ``fit(data)``, ``recommend(users, n)`` and ``explain(user, item)``, which returns the items
  of the user's ratings that are reasons (ids, or objects with an attribute ``item``), the strongest first.
  With ``without(user, items)``, which returns what ``recommend`` takes for the same user without some
  ratings, it is judged with the model fixed, else only refitted. If what it recommends has an attribute
  ``score``, its scores are judged, too, else only places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from prefmover._typing import Floats, Ints, Sparse
from prefmover.data.ratings import one_user
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.evaluation.baselines import linear, rankers
from prefmover.model.base_recommender import BaseRecommender
from prefmover.predict.predictor import UserState
from prefmover.rank.item_side import gram
from prefmover.rank.ranker import SideScores
from prefmover.rank.two_sided import TwoSidedRanker

__all__ = ["Explained", "Linear", "Listed", "explained"]


class Listed(NamedTuple):
    """A recommended item, and the reasons that are named for it, the strongest first."""

    item: int
    own: Ints  # positions of rated items
    shown: Ints  # those that sentences name
    people: tuple[int, ...] = ()  # positions of users


class Explained(Protocol):
    """A fitted recommender that gives reasons."""

    data: Dataset
    scored: bool  # whether it gives scores; else those of items are less for later places

    def listed(self, user: int, n: int) -> list[Listed]:
        """Return a user's list of n items with reasons."""

    def scores(self, user: int, removed: Sequence[Ints]) -> Floats | None:
        """Return the scores of all items without each of some sets of ratings, (sets, n_items).

        The model stays as it is. None if it cannot say.
        """

    def terms(self, user: int, items: Ints) -> Floats | None:
        """Return what each rating of a user adds to the scores of items, (rated, items), if it can say."""

    def like_minded(self, user: int, item: int) -> list[int]:
        """Return the people who could be named for an item, those who add most first."""

    def without_people(self, user: int, others: Ints) -> Floats | None:
        """Return the scores of all items without what each of some users adds; None if it cannot say."""


class OfModel:
    """A model of the package."""

    scored = True

    def __init__(self, model: BaseRecommender) -> None:
        self.model, self.data = model, model.data_

    def naming(self, alone: float) -> OfModel:
        """Return the same with another value of :data:`prefmover.explain.reasons.ALONE`."""
        model = copy(self.model)
        vars(model)["_explainer"] = replace(model.explainer_, alone=alone)
        return OfModel(model)

    def _id(self, user: int) -> Any:
        return self.data.ratings.users[[user]].tolist()[0]

    def listed(self, user: int, n: int) -> list[Listed]:
        """Return a user's list of n items with reasons."""
        ratings, found = self.data.ratings, []
        for one in self.model.recommend(self._id(user), n):
            named = [part.user for part in one.why.in_favor if part.value > 0]
            people = tuple(ratings.user_positions(named).tolist()) if named else ()
            own, shown = (_positions(ratings, some) for some in (one.why.own, one.why.because))
            found.append(Listed(ratings.item_position(one.item), own, shown, people))
        return found

    def scores(self, user: int, removed: Sequence[Ints]) -> Floats:
        """Return the scores of all items without each of some sets of ratings."""
        whole, similarity = self.model._state(self._id(user)), self.model.similarity_
        states = [whole.without(some, similarity) if len(some) else whole for some in removed]
        ranker = self.model.ranker_
        if not isinstance(ranker, TwoSidedRanker) or len(states) == 1:
            return np.concatenate([ranker.scores(state).total for state in states]).astype(np.float64)
        return _together(ranker, whole, states)

    def terms(self, user: int, items: Ints) -> Floats:
        """Return what each rating of a user adds to the scores of items."""
        state = self.model._state(self._id(user))
        return self.model.ranker_.terms(state, items, np.empty(0, np.int64)).item_terms

    def like_minded(self, user: int, item: int) -> list[int]:
        """Return the people with the user's taste, those who add most to the score of an item first."""
        state = self.model._state(self._id(user))
        those = self.model.explainer_._like_minded(state)
        adds = self.model.ranker_.terms(state, np.array([item]), those).user_terms[:, 0]
        found: list[int] = those[np.argsort(-adds, kind="stable")].tolist()
        return found

    def without_people(self, user: int, others: Ints) -> Floats:
        """Return the scores of all items without what each of some users adds."""
        state, every = self.model._state(self._id(user)), np.arange(self.data.n_items)
        return self.scores(user, [others[:0]]) - self.model.ranker_.terms(state, every, others).user_terms


def _together(ranker: TwoSidedRanker, whole: UserState, states: Sequence[UserState]) -> Floats:
    """Return the scores of the same user of the data in several states, (states, n_items).

    They are those of ``ranker.scores``, state by state; matrices together are ten times faster.
    """
    from scipy.sparse import vstack

    likes = vstack([ranker.own_likes(state) for state in states], format="csr")
    ratings = vstack([ranker.own_ratings(state) for state in states], format="csr")
    items = ranker.item_side.scores(likes)
    if ranker.factors is not None:
        items += ranker.factors.scores(ratings)
    user, row = np.array([whole.position]), ranker.likes[[whole.position]]
    places = np.stack([ranker.place(state) for state in states])
    target = row.toarray().astype(np.float32) - ranker.item_side.scores(row)
    users = ranker.user_side.own_scores(np.repeat(user, len(states)), target, places)
    users += np.float32(ranker.adds) * (ranker.total_likes - row.toarray()[0].astype(np.float32))
    scores = SideScores(items, users)
    if ranker.similar is not None:
        scores = SideScores(*map(ranker.similar.filled, scores))
    return np.asarray(scores.total, np.float64)


class Linear:
    """EASE or item-kNN with their terms as reasons: ``weights`` returns rows of W for some items.

    >>> from prefmover import Ratings
    >>> data = Dataset(Ratings.from_arrays([1, 1, 2, 2, 3], list("ababa"), [1, 1, 1, 1, 1]))
    >>> model = Linear("item-knn").fit(data)
    >>> model.recommend([3], 1), model.explain(3, "b")
    ([['b']], ['a'])
    """

    scored = True

    def __init__(self, name: str, n_named: int = 5) -> None:
        self.name, self.n_named = name, n_named

    def fit(self, data: Dataset) -> Self:
        """Learn the weights between items."""
        self.data = data
        self.X = rankers.interactions(data.ratings)
        self.weights = (_ease_rows if self.name == "ease" else _cosine_rows)(data, self.X)
        return self

    def recommend(self, users: Sequence[Any], n: int = 10) -> list[list[Any]]:
        """Return the ids of n unrated items for each user, best first."""
        ratings = self.data.ratings
        lists = [[one.item for one in self.listed(u, n)] for u in ratings.user_positions(users).tolist()]
        return [ratings.items[np.array(own, np.int64)].tolist() for own in lists]

    def explain(self, user: Any, item: Any) -> list[Any]:
        """Return the ids of the ratings that add most."""
        ratings = self.data.ratings
        u, j = ratings.user_positions([user]).tolist()[0], ratings.item_position(item)
        return list(ratings.items[self._own(u, np.array([j]))[0]].tolist())

    def listed(self, user: int, n: int) -> list[Listed]:
        """Return a user's list of n items with reasons."""
        scores = self.scores(user, [np.empty(0, np.int64)])[0]
        scores[self.data.ratings.row(user)[0]] = -np.inf
        items = np.argsort(-scores, kind="stable")[:n]
        items = items[np.isfinite(scores[items])]
        named = self._own(user, items)
        return [Listed(item, own, own[:2]) for item, own in zip(items.tolist(), named, strict=True)]

    def scores(self, user: int, removed: Sequence[Ints]) -> Floats:
        """Return the scores of all items without each of some sets of ratings."""
        rated, given = self.data.ratings.row(user)
        weights, scores = self.weights(rated), list[Floats]()
        for some in removed:
            left = ~np.isin(rated, some)
            one = one_user(self.data.ratings, 0, rated[left], given[left])
            scores.append(rankers.interactions(one).data @ weights[left])
        return np.asarray(scores, np.float64)

    def terms(self, user: int, items: Ints) -> Floats:
        """Return what each rating of a user adds to the scores of items."""
        rated = self.data.ratings.row(user)[0]
        x = self.X[[user]].toarray()[0, rated]
        return np.asarray(x[:, None] * self.weights(rated)[:, items], np.float64)

    def like_minded(self, user: int, item: int) -> list[int]:
        """Return nobody: no people are named."""
        return []

    def without_people(self, user: int, others: Ints) -> None:
        """Return nothing: no people are named."""

    def _own(self, user: int, items: Ints) -> list[Ints]:
        rated, terms = self.data.ratings.row(user)[0], self.terms(user, items)
        best = np.argsort(-terms, axis=0, kind="stable")[: self.n_named]
        return [rated[at[terms[at, k] > 0]] for k, at in enumerate(best.T)]


def _ease_rows(data: Dataset, X: Sparse) -> Callable[[Ints], Any]:
    """Return what gives rows of the weights of EASE, with its default penalty."""
    unit = float((X.data**2).mean()) if X.nnz else 1.0
    P = linear.inverse(X, np.full(data.n_items, 300.0 * unit), lambda: gram(X))
    return lambda items: P.from_others(_unit_rows(items, data.n_items))


def _cosine_rows(data: Dataset, X: Sparse) -> Callable[[Ints], Any]:
    """Return what gives rows of the weights of item-kNN, with its default number of items and shrinkage."""
    seen = rankers.interactions(data.ratings, "seen")
    length = np.sqrt(np.bincount(X.indices, X.data**2, data.n_items))
    length[length == 0] = 1.0
    columns, raters = X.T.tocsr(), seen.T.tocsr()

    def similar(items: Ints) -> Any:
        S = (columns[items] @ X).toarray() / (length[items][:, None] * length)
        both = (raters[items] @ seen).toarray()
        return (S * (both / (both + 10.0))).astype(np.float32)

    every = _unit_rows(np.arange(data.n_items), data.n_items)
    return rankers.by_nearest(every, similar, 50)


def _unit_rows(items: Ints, n: int) -> Sparse:
    from scipy.sparse import csr_array

    at = np.arange(len(items))
    return csr_array((np.ones(len(items)), (at, items)), shape=(len(items), n))


@dataclass
class OfObject:
    """An object of a caller."""

    model: Any
    data: Dataset
    label: str
    scored: bool = False

    def _ids(self, user: int) -> Any:
        return self.data.ratings.users[[user]].tolist()[0]

    def listed(self, user: int, n: int) -> list[Listed]:
        """Return a user's list of n items with reasons."""
        ratings, name, found = self.data.ratings, self._ids(user), []
        for item in self._list(name, n):
            try:
                own = _positions(ratings, self.model.explain(name, item))
            except TypeError:
                raise InputError(
                    f"{self.label}: explain() must return a list of items that the user has rated"
                ) from None
            if len(strange := np.setdiff1d(own, ratings.row(user)[0])):
                what = ratings.items[strange[:1]].tolist()[0]
                raise InputError(f"{self.label}: explain() named item {what!r}, which {name!r} has not rated")
            found.append(Listed(ratings.item_position(item), own, own[:2]))
        return found

    def scores(self, user: int, removed: Sequence[Ints]) -> Floats | None:
        """Return the scores of all items, or their places below 0; None if ratings cannot be taken out."""
        found = [self._scores(user, some) for some in removed]
        return None if any(one is None for one in found) else np.array(found)

    def _scores(self, user: int, removed: Ints) -> Floats | None:
        ratings, who = self.data.ratings, self._ids(user)
        if len(removed):
            if not callable(getattr(self.model, "without", None)):
                return None
            who = self.model.without(who, ratings.items[removed].tolist())
        ranking = self._answer(who, ratings.n_items)
        at = ratings.item_positions([getattr(one, "item", one) for one in ranking])
        self.scored = bool(ranking) and hasattr(ranking[0], "score")
        scores = np.full(ratings.n_items, -np.inf)
        scores[at] = [one.score for one in ranking] if self.scored else -np.arange(len(at), dtype=float)
        return scores

    def terms(self, user: int, items: Ints) -> None:
        """Return nothing: what ratings add is not known."""

    def like_minded(self, user: int, item: int) -> list[int]:
        """Return nobody: no people are named."""
        return []

    def without_people(self, user: int, others: Ints) -> None:
        """Return nothing: no people are named."""

    def _answer(self, who: Any, n: int) -> list[Any]:
        return list(self.model.recommend([who], n)[0])

    def _list(self, who: Any, n: int) -> list[Any]:
        return [getattr(one, "item", one) for one in self._answer(who, n)]


def _positions(ratings: Any, named: Sequence[Any]) -> Ints:
    """Return the positions of items that are named, by id or by an attribute ``item``."""
    ids = [getattr(one, "item", one) for one in named]
    return np.asarray(ratings.item_positions(ids) if ids else np.empty(0), np.int64)


def explained(model: Any, data: Dataset, label: str) -> Explained:
    """Return a fitted recommender as its evaluation asks it; an error if it gives no reasons."""
    if isinstance(model, BaseRecommender):
        return OfModel(model)
    if isinstance(model, Linear):
        return model
    if not callable(getattr(model, "explain", None)) or not callable(getattr(model, "recommend", None)):
        raise InputError(
            f"{label} gives no reasons; add explain(user, item), which returns rated items, or leave it out",
            argument="recommenders",
        )
    return OfObject(model, data, label)
