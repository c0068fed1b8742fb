"""The methods that all recommenders share."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.explain.plan import UserExplanation, explain_rows, explain_users
from prefmover.explain.rating import RecommendationExplanation
from prefmover.measures import Measure, Weight, find_measure, weight
from prefmover.predict.base import (
    HOW,
    Contribution,
    Prediction,
    Predictions,
    Predictor,
    Recommendation,
    Recommendations,
    Scores,
    UserState,
    best,
    clip,
    how_predicted,
)
from prefmover.predict.inputs import guest_ratings, pair_columns
from prefmover.predict.similarity import UserSimilarity
from prefmover.predict.tuning import Change, tuned
from prefmover.search import NeighborList

__all__ = ["BaseRecommender", "check_whole_number"]


class BaseRecommender(ABC):
    """Predictions, recommendations, neighbors and explanations from a fitted predictor.

    A subclass has the parameters of its predictor, checks them and builds it.
    """

    kind: ClassVar[str]
    """Names the class in saved models."""

    uses_geometry: ClassVar[bool] = False
    """Whether the predictor itself uses the distances between items, whatever the measure does."""

    measure: str | Measure
    weight: str | Weight | None
    convention: str | None
    n_threads: int | None

    data_: Dataset
    predictor_: Predictor[Any]
    settings_: dict[str, Any]
    tuning_: list[dict[str, Any]]
    params_: dict[str, Any]

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise an error that names a parameter with a bad value."""

    @abstractmethod
    def _settings(self, row: Measure) -> dict[str, Any]:
        """Return the numbers of the predictor: as set by the user, or by default."""

    @abstractmethod
    def _changes(self, settings: Mapping[str, Any]) -> list[Change]:
        """Return the changes that tuning tries; none to a parameter that the user has set."""

    @abstractmethod
    def _prepare(self, similarity: UserSimilarity, progress: Progress | None) -> Any:
        """Return the part of the fit that does not depend on the settings."""

    @abstractmethod
    def _build(
        self, similarity: UserSimilarity, settings: Mapping[str, Any], prepared: Any
    ) -> Predictor[Any]:
        """Return the predictor."""

    @abstractmethod
    def _stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the numbers and the arrays of the fitted predictor that are saved."""

    @abstractmethod
    def _restored(
        self,
        similarity: UserSimilarity,
        settings: Mapping[str, Any],
        facts: Mapping[str, Any],
        arrays: Mapping[str, Any],
    ) -> Predictor[Any]:
        """Return the predictor of a saved model, checked."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn's ``clone`` expects."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; they take effect with the next :meth:`fit`."""
        names = self._parameter_names()
        for name in parameters:
            if name not in names:
                raise InputError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}"
                )
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {n: v for n, v in self.get_params().items() if v != defaults[n].default}
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in changed.items())})"

    def fit(self, data: Dataset, *, tune: bool = False, progress: Progress | None = None) -> Self:
        """Learn from a data set. A fit that fails or is interrupted leaves the model as it was.

        Parameters
        ----------
        data
            Ratings, and the distances between items if the measure needs them. Items without ratings can
            be predicted and recommended too.
        tune
            Choose the parameters that were left at None on a tenth of the ratings, held out, and then fit
            to all ratings. :attr:`tuning_` lists the trials.
        progress
            Called with (steps done, steps in all).
        """
        row = self._checked_measure()
        if not isinstance(data, Dataset):
            raise InputError(
                f"fit takes a Dataset, got {type(data).__name__}; Dataset(ratings, geometry) makes one"
            )
        if row.needs_geometry:
            data.require_geometry(f"measure {row.name!r}")
        params, settings, trials = self.get_params(), self._settings(row), list[dict[str, Any]]()
        similarity = UserSimilarity(data, row, self.convention, self.n_threads)
        if tune:
            settings, trials = tuned(
                similarity, settings, self._changes(settings), self._prepare, self._build, self._seed
            )
        if row.needs_geometry or self.uses_geometry:  # a geometry made from the ratings is made once
            data = data.with_geometry(data.geometry)
            similarity = similarity.with_data(data)
        predictor = self._build(similarity, settings, self._prepare(similarity, progress))
        return self._adopt(data, predictor, settings, trials, params)

    @property
    def _seed(self) -> int:
        """The seed of the split that tuning makes."""
        return 0

    def _checked_measure(self) -> Measure:
        """Return the measure, with all parameters checked."""
        row = find_measure(self.measure)
        row.convention(self.convention)
        if self.weight is not None:
            weight(self.weight)
        self._check_parameters()
        return row

    def _adopt(
        self,
        data: Dataset,
        predictor: Predictor[Any],
        settings: dict[str, Any],
        trials: list[dict[str, Any]],
        params: dict[str, Any],
    ) -> Self:
        """Take over the result of a fit, all of it in one step."""
        self.__dict__.update(
            data_=data, predictor_=predictor, settings_=settings, tuning_=trials, params_=params
        )
        return self

    def _fitted(self) -> Predictor[Any]:
        if "predictor_" not in self.__dict__:
            raise InputError(f"this {type(self).__name__} is not fitted; call fit(data) first")
        return self.predictor_

    def predict(self, pairs: Any, *, progress: Progress | None = None) -> Predictions:
        """Return the predicted ratings of (user, item) pairs.

        Unknown users and items get a fallback, which ``how`` names.

        Parameters
        ----------
        pairs
            A list of (user, item), where the user is an id or a :class:`UserState`; a frame with columns
            user and item; a :class:`~prefmover.Ratings`, whose values are ignored; or a
            :class:`~prefmover.data.splits.Split`, whose test pairs are predicted.
        """
        predictor = self._fitted()
        columns = pair_columns(pairs, self.data_.ratings)
        users, items = columns.user_positions, columns.item_positions
        scores = predictor.predict(users, items, progress)
        states: dict[int, tuple[UserState, list[int]]] = {}
        for k, user in enumerate(columns.users):
            if isinstance(user, UserState):
                states.setdefault(id(user), (user, []))[1].append(k)
        names = columns.users
        for state, rows in states.values():
            self._check_state(state)
            for whole, part in zip(scores, predictor.scores(state, items[rows]), strict=True):
                whole[rows] = part
            users[rows] = 0 if state.is_known else -1
            for k in rows:
                names[k] = state.name
        return self._predictions(names, columns.items, users, items, scores)

    def predict_one(self, user: Any, item: Any) -> Prediction:
        """Return one predicted rating."""
        return self.predict([(user, item)])[0]

    def recommend(self, user: Any, n: int = 10, *, items: Iterable[Any] | None = None) -> Recommendations:
        """Return the n items with the highest scores among those that a user has not rated.

        Parameters
        ----------
        user
            Id or :class:`UserState`; an unknown user gets the items that suit most users.
        n
            Number of items.
        items
            Ids of the candidates; all items by default.
        """
        predictor, state = self._fitted(), self._state(user)
        candidates = (
            np.arange(self.data_.n_items)
            if items is None
            else np.unique(self.data_.ratings.item_positions(items))
        )
        scores = predictor.scores(state, candidates)
        top = best(scores.values, np.flatnonzero(np.isin(candidates, state.items)), n)
        return self._recommendations(state, candidates[top], scores.take(top))

    def neighbors(self, user: Any, k: int = 10) -> NeighborList:
        """Return the k nearest users of a user (an id or a :class:`UserState`), nearest first."""
        state, similarity = self._state(user, known=True), self._fitted().similarity
        guest = None if state.position >= 0 else self._guest_ratings(state)
        positions, values = similarity.nearest(np.array([state.position]), k, guest).row(0)
        return NeighborList(
            state.name, self.data_.ratings.users[positions], values, similarity.measure.value_name
        )

    def explain(self, user: Any, other: Any) -> UserExplanation:
        """Explain the distance or similarity of two users by the measure of the model.

        Parameters
        ----------
        user
            Id or :class:`UserState`.
        other
            Id.
        """
        similarity, state = self._fitted().similarity, self._state(user, known=True)
        measure, convention = similarity.measure, similarity.convention
        v = self.data_.ratings.user_position(other)
        if state.position >= 0:
            return explain_users(self.data_, state.position, v, measure, convention)
        return explain_rows(self.data_, state.name, state.items, state.values, v, measure, convention)

    def explain_recommendation(self, user: Any, item: Any) -> RecommendationExplanation:
        """Return the parts of a predicted rating: the baseline and the contribution of each neighbor."""
        state = self._state(user)
        position = int(self.data_.ratings.find_items([item])[0])
        baseline, contributions = self.predictor_.explain(state, position)
        evidence = [one.item for contribution in contributions for one in contribution.evidence]
        return RecommendationExplanation(
            self.predict_one(state, item),
            baseline,
            contributions,
            self._labels({item, *evidence}),
            self.predictor_.similarity.measure.value_name,
        )

    def contributions(self, user: Any, items: Iterable[Any], n: int = 3) -> list[tuple[Contribution, ...]]:
        """Return the n strongest contributions to each item's score: reasons to recommend it.

        Contributions in favor of the item come first, largest first; if there are fewer than n, those
        against it follow. This is cheaper than :meth:`explain_recommendation`, which lists all neighbors.

        Parameters
        ----------
        user
            Id or :class:`UserState`.
        items
            Ids.
        n
            Number of neighbors for each item.
        """
        state = self._state(user, known=True)
        return self._fitted().contributions(state, self.data_.ratings.item_positions(items), n)

    def guest(self, ratings: Mapping[Any, float], *, name: Any = "guest") -> UserState:
        """Return the state of somebody who is not in the data, from a few ratings. Nothing is refitted.

        Parameters
        ----------
        ratings
            Item id to rating.
        name
            Name of the guest in results; not the id of a user.
        """
        predictor = self._fitted()
        state: UserState = predictor.guest_state(guest_ratings(self.data_.ratings, ratings, name))
        return state

    def add_users(self, ratings: Ratings) -> Self:
        """Add users to the fitted model and return it. The present users are not compared again.

        Parameters
        ----------
        ratings
            The new users' ratings, of items of the model.
        """
        predictor, known = self._fitted(), self.data_.ratings
        present = np.flatnonzero(known.find_users(ratings.users) >= 0)
        if present.size:
            user = ratings.users[present[:1]].tolist()[0]
            raise InputError(f"user {user!r} is in the model already; fit again to change ratings")
        if (ratings.users.dtype == np.int64) != (known.users.dtype == np.int64):
            raise InputError("the new user ids must be of the model's type, all integers or all strings")
        known.item_positions(ratings.items)  # an unknown item is an error
        values, scale = ratings.matrix.data, known.scale
        if ((values < scale.lowest) | (values > scale.highest)).any():
            raise InputError(
                f"the new ratings go from {values.min():g} to {values.max():g}; the model's scale is "
                f"{scale.lowest:g} to {scale.highest:g}"
            )
        data = self.data_.with_ratings(known.stack(ratings.with_items(known.items)))
        return self._adopt(data, predictor.with_users(data), self.settings_, self.tuning_, self.params_)

    def save(self, folder: str | PathLike[str]) -> None:
        """Save the fitted model and its data in a folder; an older model there is replaced in one step."""
        from prefmover.model import storage

        self._fitted()
        storage.save(self, folder)

    @classmethod
    def load(cls, folder: str | PathLike[str], *, n_threads: int | None = None, verify: bool = True) -> Self:
        """Return a saved model. Arrays stay in the file until they are used.

        Parameters
        ----------
        n_threads
            Threads; None means all cores.
        verify
            Compare checksums, which reads the files once.
        """
        from prefmover.model import storage

        return storage.load_as(cls, folder, n_threads=n_threads, verify=verify)

    def _state(self, user: Any, *, known: bool = False) -> UserState:
        """Return the state of a user; with ``known``, an unknown id is an error."""
        predictor = self._fitted()
        if isinstance(user, UserState):
            self._check_state(user)
            return user
        ratings = self.data_.ratings
        position = ratings.user_position(user) if known else int(ratings.find_users([user])[0])
        state: UserState = predictor.state(position, user)
        return state

    def _guest_ratings(self, state: UserState) -> Ratings:
        return self.data_.ratings.one_user(state.name, state.items, state.values)

    def _check_state(self, state: UserState) -> None:
        if state.fit_id != self.predictor_.fit_id:
            raise InputError(
                f"the state of {state.name!r} was made by another fit; make it again with guest(ratings)"
            )

    def _labels(self, items: Iterable[Any]) -> dict[Any, str]:
        """Return the titles of those items that are known, by id."""
        positions = zip(items, self.data_.ratings.find_items(items).tolist(), strict=True)
        return {item: self.data_.items.label(position) for item, position in positions if position >= 0}

    def _predictions(
        self, users: list[Any], items: list[Any], u: Ints, i: Ints, scores: Scores
    ) -> Predictions:
        values, clipped = clip(scores.values, self.data_.ratings.scale)
        how = how_predicted(u, i, scores.n_neighbors)
        return Predictions(users, items, values, scores.baselines, how, clipped, scores.n_neighbors)

    def _recommendations(self, state: UserState, items: Ints, scores: Scores) -> Recommendations:
        ratings, catalog = self.data_.ratings, self.data_.items
        clipped: Floats = clip(scores.values, ratings.scale)[0]
        how = how_predicted(np.full(len(items), 0 if state.is_known else -1), items, scores.n_neighbors)
        columns = (
            ratings.items[items].tolist(),
            scores.values.tolist(),
            clipped.tolist(),
            [catalog.label(position) for position in items.tolist()],
            scores.n_neighbors.tolist(),
            [HOW[code] for code in how.tolist()],
        )
        return Recommendations(state.name, tuple(Recommendation(*row) for row in zip(*columns, strict=True)))


def check_whole_number(name: str, value: Any) -> None:
    """Raise an error unless a parameter is a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} is {value!r}; give a whole number from 1")
