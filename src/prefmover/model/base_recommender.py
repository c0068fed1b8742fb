"""The methods that all recommenders share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.ids import as_ids
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset, check_dataset
from prefmover.errors import InputError, check_whole_number
from prefmover.execution import Executor
from prefmover.execution.executor import open_executor
from prefmover.execution.threads import Stages, resolve_threads
from prefmover.explain.plan import UserExplanation, explain_rows, explain_users
from prefmover.explain.rating import RatingExplanation
from prefmover.explain.reasons import explain_items
from prefmover.explain.recommendation import RecommendationExplanation
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Measure, find_measure, weight
from prefmover.model.estimator import Estimator, not_fitted_error
from prefmover.model.inputs import guest_ratings, pair_columns, user_ratings
from prefmover.model.lists import By, best_items, check_by
from prefmover.predict.predictor import (
    Prediction,
    Predictions,
    Predictor,
    UserState,
    clip,
    how_predicted,
)
from prefmover.predict.similarity import UserSimilarity
from prefmover.predict.tuning import CHANGES, Settings, tuned
from prefmover.rank.content import shared_content
from prefmover.rank.ranker import Ranker
from prefmover.rank.recommendations import RecommendationTable
from prefmover.rank.selection import Selection
from prefmover.rank.two_sided import SideScores
from prefmover.search import NeighborList
from prefmover.search.nearest import group_ids, nearest_to_members

if TYPE_CHECKING:
    from prefmover.model.groups import Combine, GroupRecommendations

__all__ = ["Arrays", "BaseRecommender"]

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]

FIT_SHARES = {"settings": 70, "calibration": 3, "comparison": 2, "predictor": 20, "ranker": 5}
"""The stages of a fit, with their shares of its time in percent: the default model on ml-100k.

Other models and measures have other shares; only the order is right for them.
"""

ID_TYPES = "the new user ids must be of the model's type, all integers or all strings"


class BaseRecommender(Estimator, ABC):
    """Predictions, recommendations, neighbors and explanations from a fitted predictor.

    A subclass has the parameters of its predictor, checks them and builds it.
    """

    kind: ClassVar[str]
    """Names the class in saved models."""

    uses_geometry: ClassVar[bool] = False
    """Whether the predictor itself uses the distances between items, whatever the measure does."""

    measure: str | Measure
    convention: str | None
    n_threads: int | None

    data_: Dataset
    predictor_: Predictor
    ranker_: Ranker
    settings_: dict[str, Any]
    tuning_: list[dict[str, Any]]
    params_: dict[str, Any]

    @abstractmethod
    def _settings(self, row: Measure) -> dict[str, Any]:
        """Return the parameters that can be tuned, with their defaults filled in."""

    @abstractmethod
    def _check(self, settings: Settings) -> None:
        """Raise an error that names a parameter, or a setting, with a bad value."""

    def _prepare(self, similarity: UserSimilarity, progress: Progress | None) -> Any:
        """Return the part of the fit that does not depend on the settings."""
        return None

    def _completed(
        self,
        similarity: UserSimilarity,
        settings: dict[str, Any],
        trials: list[dict[str, Any]],
        progress: Progress | None,
    ) -> dict[str, Any]:
        """Return the settings with those that every fit chooses on held-out ratings; trials are added."""
        return settings

    @abstractmethod
    def _build(self, similarity: UserSimilarity, settings: Settings, prepared: Any) -> Predictor:
        """Return the predictor."""

    @abstractmethod
    def _build_ranker(self, similarity: UserSimilarity, settings: Settings, prepared: Any) -> Ranker:
        """Return the ranker."""

    def _stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the numbers and the arrays of the fitted predictor that are saved."""
        return {}, {}

    def _restored(
        self, similarity: UserSimilarity, settings: Settings, facts: Mapping[str, Any], arrays: Arrays
    ) -> tuple[Predictor, Ranker]:
        """Return the predictor and the ranker of a saved model, checked."""
        return self._build(similarity, settings, None), self._build_ranker(similarity, settings, None)

    @shared_content()  # the weights of similar content are often the same in the search for settings
    def fit(self, data: Dataset, *, tune: bool = False, progress: Progress | None = None) -> Self:
        """Learn from a data set. A fit that fails or is interrupted leaves the model as it was.

        Parameters
        ----------
        data
            Ratings, and the distances between items if the measure needs them. Items without ratings can
            be predicted and recommended too.
        tune
            Choose ``weight`` and ``covariance`` (in a :class:`~prefmover.model.KNNRecommender`, ``weight``,
            ``k`` and ``shrinkage``) on a tenth of the ratings, held out, and then fit to all ratings. Those
            that differ from their defaults stay as they are. :attr:`tuning_` lists the trials.
        progress
            Called with (steps done, steps in all), at least once in each stage of the fit.
        """
        row, settings = self._checked()
        stages = Stages(progress, FIT_SHARES)
        check_dataset(data)
        self._check_size(data)  # before distances between items are computed
        if row.needs_geometry:
            data.require_geometry(f"measure {row.name!r}")
        params, changed, trials = self.get_params(), self._changed(), list[dict[str, Any]]()
        similarity = UserSimilarity(data, row, self.convention, self.n_threads)
        searched = stages.begin("settings")
        if tune:
            names = [name for name in settings if name in CHANGES and name not in changed]
            seed = params.get("seed", 0)
            settings, trials = tuned(similarity, settings, names, self._prepare, self._build, seed)
        # Before the geometry is made: one made from the ratings must not know those that are held out.
        settings = self._completed(similarity, settings, trials, searched)
        stages.begin("calibration")
        if row.needs_geometry or self.uses_geometry:  # a geometry made from the ratings is made once
            data = data.with_geometry(data.geometry)
            similarity = similarity.with_data(data)
        similarity = self._calibrated(similarity)
        prepared = self._prepare(similarity, stages.begin("comparison"))
        stages.begin("predictor")
        fitted: dict[str, Any] = {"predictor_": self._build(similarity, settings, prepared)}
        stages.begin("ranker")
        fitted["ranker_"] = self._build_ranker(similarity, settings, prepared)
        stages.end()
        # All in one step.
        vars(self).update(fitted, data_=data, settings_=settings, tuning_=trials, params_=params)
        return self

    def _calibrated(self, similarity: UserSimilarity) -> UserSimilarity:
        """Return the measure with a calibration, if the model needs many values that need not be exact."""
        return similarity

    def _checked(self) -> tuple[Measure, dict[str, Any]]:
        """Return the measure and the settings, with all parameters checked."""
        resolve_threads(self.n_threads)
        row = find_measure(self.measure)
        row.convention(self.convention)
        settings = self._settings(row)
        weight(settings["weight"])
        self._check(settings)
        return row, settings

    def _check_size(self, data: Dataset) -> None:
        """Raise an error if the data are too large for the model."""
        return

    def _fitted(self) -> Predictor:
        if "predictor_" not in vars(self):
            raise not_fitted_error(type(self).__name__)
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
        predictor, ratings = self._fitted(), self.data_.ratings
        names, item_ids, users, items = pair_columns(pairs, ratings)
        scores = predictor.predict(users, items, progress)
        states: dict[int, tuple[UserState, list[int]]] = {}
        for k, user in enumerate(names):
            if isinstance(user, UserState):
                states.setdefault(id(user), (user, []))[1].append(k)
                names[k] = user.name
        for state, rows in states.values():
            for whole, part in zip(scores, predictor.scores(self._state(state), items[rows]), strict=True):
                whole[rows] = part
            users[rows] = 0 if state.is_known else -1
        values, clipped = clip(scores.values, ratings.scale)
        how = how_predicted(users, items, scores.n_neighbors)
        return Predictions(names, item_ids, values, scores.baselines, how, clipped, scores.n_neighbors)

    def predict_one(self, user: Any, item: Any) -> Prediction:
        """Return one predicted rating."""
        return self.predict([(user, item)])[0]

    def recommend(
        self,
        user: Any = None,
        n: int = 10,
        *,
        by: By = "ranking",
        items: Iterable[Any] | None = None,
        exclude: Iterable[Any] | None = None,
        where: Mapping[str, Any] | None = None,
        min_ratings: int = 0,
        novelty: float = 0.0,
        diversify: float = 0.0,
        seen: bool = False,
        reasons: bool | None = None,
    ) -> Any:
        """Return the n best items for a user, or for each of a list of users.

        Parameters
        ----------
        user
            Id or :class:`UserState`, or a list of them. ``None`` is a user about whom nothing is known, and
            gets the items that are liked most.
        n
            Number of items.
        by
            ``"ranking"``: what to see next, by the score of the ranker. ``"rating"``: by expected rating,
            which favors items that few people know.
        items, exclude
            Ids of the candidates (all items by default), and of items to leave out.
        where
            Conditions on the items, such as ``{"year": (1980, 1999), "genre": "Horror"}``; see
            :meth:`prefmover.items.catalog.Catalog.matching`.
        min_ratings
            The least number of ratings of a recommended item.
        novelty
            From -1, better known items, to 1, less known ones.
        diversify
            From 0 to 1: how different the items of a list are (:mod:`prefmover.rank.selection`).
        seen
            Whether items that the user has rated may be recommended too.
        reasons
            Whether each item carries its reasons (:attr:`~prefmover.rank.Recommendation.why`). By default,
            the items for one user do, and those for a list of users, where reasons take most of the time, do
            not. They are the reasons of the ranking, whatever the order of the list.

        Returns
        -------
        Recommendations, or a RecommendationTable for a list of users
        """
        self._fitted()
        check_by(by, self.data_.ratings.implicit)
        selection = Selection.make(
            self.data_,
            n,
            items=items,
            exclude=exclude,
            where=where,
            min_ratings=min_ratings,
            novelty=novelty,
            diversify=diversify,
            seen=seen,
        )
        if isinstance(user, Mapping):
            raise InputError(
                "user is a mapping; for ratings by item, pass model.guest(ratings)", argument="user"
            )
        many = isinstance(user, Iterable) and not isinstance(user, str | bytes)
        states = [self._state(one, known=one is not None) for one in (user if many else [user])]
        one_scored = list[SideScores]()
        lists = best_items(self, states, by, selection, None if many else one_scored)
        table = lists.to_table([state.name for state in states], self.data_)
        if (not many) if reasons is None else reasons:
            scores = [None] * len(states) if many or by == "rating" else one_scored
            rows = zip(states, table.positions, table.ratings, scores, strict=True)
            table = replace(table, why=[self._why(*one) for one in rows])
        return table if many else table[0]

    def _why(
        self, state: UserState, positions: Ints, ratings: Floats, scores: SideScores | None
    ) -> list[RecommendationExplanation]:
        """Return the reasons for the items of a list, a row of a table."""
        there = positions >= 0
        predicted = [None if rating != rating else rating for rating in ratings[there].tolist()]
        return explain_items(self.ranker_, state, positions[there], predicted, scores)

    def recommend_group(
        self,
        group: Iterable[Any],
        n: int = 10,
        *,
        combine: Combine = "mean",
        by: By = "ranking",
        reasons: bool = True,
        **options: Any,
    ) -> GroupRecommendations:
        """Return the n best items for several people together.

        Parameters
        ----------
        group
            Two or more members: ids, or states of guests.
        n, by, options
            As in :meth:`recommend`: ``items``, ``exclude``, ``where``, ``min_ratings``, ``novelty``,
            ``diversify`` and ``seen``. Nothing that a member has rated is recommended, unless ``seen``.
        combine
            ``"mean"`` or ``"least"`` of the members' scores; each member's are standardized first, so that
            all count equally (:mod:`prefmover.model.groups`).
        reasons
            Whether members have their reasons.

        Examples
        --------
        >>> from prefmover import Recommender, datasets
        >>> cinema = datasets.load("cinema")
        >>> model = Recommender().fit(cinema.with_ratings(cinema.ratings.take(users=range(40))))
        >>> best = model.recommend_group(["ada-b", "ada-k"], n=3)
        >>> best.group, len(best), [member.user for member in best[0].members]
        (('ada-b', 'ada-k'), 3, ['ada-b', 'ada-k'])
        """
        from prefmover.model.groups import recommend_together

        self._fitted()
        check_by(by, self.data_.ratings.implicit)
        selection = Selection.make(self.data_, n, **options)
        states = [self._state(one, known=True) for one in group_ids(group)]
        return recommend_together(self, states, by, combine, selection, reasons)

    def group_neighbors(self, group: Iterable[Any], k: int = 10) -> NeighborList:
        """Return the k users nearest to several people together, nearest first, without the members.

        The group, two or more ids or states of guests, is the mixture of its members' preferences
        (:mod:`prefmover.data.preferences`). The measure must be PMD, which compares preferences; others
        compare ratings, and a group has none.
        """
        states = [self._state(one, known=True) for one in group_ids(group)]
        similarity = self._fitted().similarity
        measure = similarity.measure
        if measure.name != "pmd" or not measure.searches_by_bounds(similarity.convention):
            raise InputError(
                f"a group has preferences but no ratings, so {measure.label} (convention "
                f"{measure.convention(similarity.convention)!r}) cannot compare it; use PMD as published"
            )
        members = [self._own_ratings(state) for state in states]
        return nearest_to_members(self.data_, members, k, self.n_threads)

    def _own_ratings(self, state: UserState) -> Ratings:
        """Return the ratings of a user of the data, or of a guest, as a table of one user."""
        return self.data_.ratings.take(users=[state.position]) if state.guest is None else state.guest

    def recommend_all(
        self,
        n: int = 10,
        *,
        by: By = "ranking",
        checkpoint: str | PathLike[str] | None = None,
        executor: str | Executor | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> RecommendationTable:
        """Return the n best items for every user of the model.

        Parameters
        ----------
        n, by, options
            As in :meth:`recommend`: ``items``, ``exclude``, ``where``, ``min_ratings``, ``novelty``,
            ``diversify`` and ``seen``.
        checkpoint
            A folder for finished parts. After an interruption or a kill, the same call resumes from them.
        executor
            ``"threads"`` (default), ``"ray"``, or an :class:`~prefmover.execution.Executor`. The result is
            the same, bit for bit.
        progress
            Called with (users done, users in all).
        """
        from prefmover.model.everybody import recommend_all

        self._fitted()
        check_by(by, self.data_.ratings.implicit)
        selection = Selection.make(self.data_, n, **options)
        with open_executor(executor, self.n_threads) as opened_executor:
            return recommend_all(self, by, selection, opened_executor, checkpoint, progress)

    def neighbors(self, user: Any, k: int = 10, *, strangers: bool = False) -> NeighborList:
        """Return the k nearest users of a user (an id or a :class:`UserState`), nearest first.

        With ``strangers``, only users who have rated none of the user's items.
        """
        state, similarity = self._state(user, known=True), self._fitted().similarity
        if strangers:
            check_whole_number("k", k)
            found = similarity.nearest_strangers(state.position, state.items, k, state.guest)
        else:
            found = similarity.nearest(np.array([state.position]), k, state.guest)
        positions, values = found.row(0)
        users, value_name = self.data_.ratings.users[positions], similarity.measure.value_name
        return NeighborList(state.name, users, values, value_name)

    def explain(self, user: Any, other: Any) -> UserExplanation:
        """Explain the distance or similarity of a user (an id or a :class:`UserState`) and another, by id."""
        similarity, state = self._fitted().similarity, self._state(user, known=True)
        measure, convention = similarity.measure, similarity.convention
        v = self.data_.ratings.user_position(other)
        if state.position >= 0:
            return explain_users(self.data_, state.position, v, measure, convention)
        return explain_rows(self.data_, state.name, state.items, state.values, v, measure, convention)

    @overload
    def explain_recommendation(
        self, user: Any, item: Any, *, by: Literal["ranking"] = "ranking"
    ) -> RecommendationExplanation: ...

    @overload
    def explain_recommendation(self, user: Any, item: Any, *, by: Literal["rating"]) -> RatingExplanation: ...

    def explain_recommendation(
        self, user: Any, item: Any, *, by: By = "ranking"
    ) -> RecommendationExplanation | RatingExplanation:
        """Return why an item is recommended, or how its predicted rating comes about.

        Parameters
        ----------
        user
            Id or :class:`UserState`; ``None`` is a user about whom nothing is known.
        item
            Id of the item. It may be one that the user has rated, or that nobody has rated.
        by
            ``"ranking"``: the parts of the score by which items are recommended, the user's own ratings and
            those of people with the user's taste. Unknown ids are errors. ``"rating"``: the parts of the
            predicted rating, the baseline and the contribution of each neighbor. Unknown ids get a fallback.
        """
        self._fitted()
        check_by(by, self.data_.ratings.implicit)
        if by == "rating":
            return self._explain_rating(self._state(user), item)
        state = self._state(user, known=user is not None)
        position = self.data_.ratings.item_positions([item])
        rating = None if self.data_.ratings.scale.implicit else self.predict_one(state, item).rating
        return explain_items(self.ranker_, state, position, [rating], everybody=True)[0]

    def _explain_rating(self, state: UserState, item: Any) -> RatingExplanation:
        data = self.data_
        position = int(data.ratings.item_index.get([item])[0])
        baseline, contributions = self.predictor_.explain(state, position)
        shown = {one.item for contribution in contributions for one in contribution.evidence}
        shown |= {item} if position >= 0 else set()
        positions = zip(shown, data.ratings.item_index.get(shown).tolist(), strict=True)
        labels = {one: data.items.label(position) for one, position in positions if position >= 0}
        prediction, value_name = self.predict_one(state, item), self.predictor_.similarity.measure.value_name
        return RatingExplanation(prediction, baseline, contributions, labels, value_name)

    def guest(self, ratings: Mapping[Any, float], *, name: Any = "guest") -> UserState:
        """Return the state of a guest, who is not in the data, from ``{item: rating}``. Nothing is refitted.

        The name, which appears in results, must not be the id of a user.
        """
        predictor, one = self._fitted(), guest_ratings(self.data_.ratings, ratings, name)
        return replace(predictor.guest_state(one), ranking=self.ranker_.guest(one))

    def update(self, user: Any, ratings: Mapping[Any, float]) -> Self:
        """Add or change ratings of a user, known or new, from ``{item: rating}``. Nothing is refitted.

        The user is compared with the landmarks and solved for, given everybody else. Recommendations and
        predictions are then those of a guest with all ratings of the user, and the user counts as a neighbor
        of others. Settings, the item side and the places of other users stay until the next :meth:`fit`. For
        implicit feedback, a count replaces the present one.

        An update that fails leaves the model as it was.

        Examples
        --------
        >>> from prefmover import Recommender, datasets
        >>> cinema = datasets.load("cinema")
        >>> model = Recommender().fit(cinema.with_ratings(cinema.ratings.take(users=range(30))))
        >>> model.update("ada-b", {"alien-1979": 5}).update("somebody new", {"heat-1995": 4})
        Recommender()
        >>> model.data_.ratings["ada-b"]["alien-1979"], model.data_.n_users
        (5.0, 31)
        """
        self._fitted()
        known = self.data_.ratings
        one = user_ratings(known, ratings, user)
        ids = as_ids([user], "user")
        if ids.dtype != known.users.dtype:
            raise InputError(f"user {user!r}: {ID_TYPES}")
        return self._update(Ratings(one.matrix, ids, one.items, one.scale))

    def add_users(self, ratings: Ratings) -> Self:
        """Add users, by their ratings of items of the model: :meth:`update` for many new users at once."""
        self._fitted()
        known = self.data_.ratings
        if not isinstance(ratings, Ratings):
            raise InputError(f"expected Ratings, got {type(ratings).__name__}; see Ratings.from_arrays")
        present = np.flatnonzero(known.user_index.get(ratings.users) >= 0)
        if present.size:
            user = ratings.users[present[:1]].tolist()[0]
            raise InputError(f"user {user!r} is in the model already; update(user, ratings) changes ratings")
        if ratings.users.dtype != known.users.dtype:
            raise InputError(ID_TYPES)
        known.item_positions(ratings.items)  # an unknown item is an error
        values, scale = ratings.matrix.data, known.scale
        if not scale.implicit and ((values < scale.lowest) | (values > scale.highest)).any():
            raise InputError(
                f"the new ratings go from {values.min():g} to {values.max():g}; the model's scale is "
                f"{scale.lowest:g} to {scale.highest:g}"
            )
        return self._update(ratings.with_items(known.items))

    def _update(self, ratings: Ratings) -> Self:
        """Change ratings, checked, of users by id; those who are not in the model are added."""
        changed = self.data_.ratings.user_index.get(ratings.users)
        changed = changed[changed >= 0]
        data = self.data_.with_ratings(self.data_.ratings.updated(ratings))
        predictor = self.predictor_.with_data(data, changed)
        ranker = self.ranker_.with_data(data, changed)
        vars(self).update(data_=data, predictor_=predictor, ranker_=ranker)  # in one step
        return self

    def add_items(self, geometry: ItemGeometry, items: Any = None) -> Self:
        """Add items that nobody has rated, by their features. They are recommended through similar items.

        Nothing is refitted: predictions and rankings are those of a model that was fitted with these items
        from the start.

        Parameters
        ----------
        geometry
            The new items: vectors in the space of the model's, or a geometry of all items, old and new
            (:meth:`prefmover.ItemGeometry.extended`).
        items
            Their titles: ``{item: title}``, or a frame with columns item, title, year and genres.
        """
        self._fitted()
        data = self.data_.with_new_items(geometry, items)
        predictor, ranker = self.predictor_.with_items(data), self.ranker_.with_items(data)
        vars(self).update(data_=data, predictor_=predictor, ranker_=ranker)
        return self

    def save(self, folder: str | PathLike[str]) -> None:
        """Save the fitted model and its data in a folder; an older model there is replaced in one step."""
        from prefmover.model import storage

        self._fitted()
        storage.save(self, folder)

    @classmethod
    def load(
        cls, folder: str | PathLike[str], *, n_threads: int | None = None, verify: bool | None = None
    ) -> Self:
        """Return a saved model. Arrays stay in the file until they are used.

        Parameters
        ----------
        n_threads
            Threads; None means all cores.
        verify
            True compares all checksums, which reads the files once. False compares none. None, the default,
            compares the checksums of files up to 256 MB, but only the sizes of larger ones. So a large model
            is mapped into memory without being read.
        """
        from prefmover.model import storage

        model = storage.load(folder, n_threads=n_threads, verify=verify)
        if not isinstance(model, cls):
            name = type(model).__name__
            raise InputError(f"{folder} holds a {name}, not a {cls.__name__}; use {name}.load")
        return model

    def _state(self, user: Any, *, known: bool = False) -> UserState:
        """Return the state of a user; with ``known``, an unknown id is an error."""
        predictor, ratings = self._fitted(), self.data_.ratings
        if not isinstance(user, UserState):
            position = ratings.user_position(user) if known else int(ratings.user_index.get([user])[0])
            return predictor.state(position, user.item() if isinstance(user, np.generic) else user)
        if user.fit_id != predictor.fit_id:
            raise InputError(
                f"the state of {user.name!r} was made by another fit; make it again with guest(ratings)"
            )
        return user
