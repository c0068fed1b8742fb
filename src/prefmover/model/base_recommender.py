"""The methods that all recommenders share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, get_args
from uuid import uuid4

import numpy as np

from prefmover._typing import Progress
from prefmover.data.ids import as_ids
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset, check_dataset
from prefmover.errors import InputError, check_whole_number
from prefmover.execution import Executor
from prefmover.execution.executor import open_executor
from prefmover.execution.threads import Stages, resolve_threads
from prefmover.explain.plan import UserExplanation, explain_rows, explain_users
from prefmover.explain.rating import RatingExplanation
from prefmover.explain.reasons import Explainer
from prefmover.explain.recommendation import RecommendationExplanation
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Measure, find_measure
from prefmover.model.batch import By, best_items, recommend_all
from prefmover.model.estimator import Estimator, not_fitted_error
from prefmover.model.inputs import guest_ratings, pair_columns, user_ratings
from prefmover.predict.predictions import Prediction, Predictions, clip, how_predicted
from prefmover.predict.predictor import Newcomers, Predictor, UserState
from prefmover.predict.similarity import UserSimilarity
from prefmover.rank.ranker import Ranker
from prefmover.rank.recommendations import Recommendations, RecommendationTable
from prefmover.rank.selection import Selection
from prefmover.search import NeighborList
from prefmover.search.nearest import group_ids, nearest_to_members

if TYPE_CHECKING:
    from prefmover.model.groups import Combine, GroupRecommendations

__all__ = ["BaseRecommender", "Fitted", "Head"]

Head: TypeAlias = Literal["ranking", "rating"]

ID_TYPES = "the new user ids must be of the model's type, all integers or all strings"


class Fitted(NamedTuple):
    """What a fit has made: the measure, the heads (None if they were not wanted), settings and trials."""

    similarity: UserSimilarity
    predictor: Predictor | None
    ranker: Ranker | None
    settings: dict[str, Any]
    trials: list[dict[str, Any]]


class BaseRecommender(Estimator, ABC):
    """Predictions, recommendations, neighbors and explanations from a fitted predictor and ranker.

    A subclass has the parameters of both heads, checks them and fits the heads.
    """

    kind: ClassVar[str]
    """Names the class in saved models."""

    uses_geometry: ClassVar[bool] = False
    """Whether a head itself uses the distances between items, whatever the measure does."""

    fit_shares: ClassVar[Mapping[str, int]] = {"fit": 1}
    """The stages of a fit, with their shares of its time in percent."""

    measure: str | Measure
    convention: str | None
    n_threads: int | None

    data_: Dataset
    similarity_: UserSimilarity
    heads_: tuple[Head, ...]
    settings_: dict[str, Any]
    tuning_: list[dict[str, Any]]
    params_: dict[str, Any]
    _fit_id: str
    _predictor: Predictor | None
    _ranker: Ranker | None
    _explainer: Explainer | None

    @abstractmethod
    def _check(self) -> None:
        """Raise an error that names a parameter with a bad value."""

    @abstractmethod
    def _fit(self, similarity: UserSimilarity, heads: tuple[Head, ...], stages: Stages) -> Fitted:
        """Return the fitted heads."""

    def fit(
        self, data: Dataset, *, heads: Iterable[Head] | None = None, progress: Progress | None = None
    ) -> Self:
        """Learn from a data set. A fit that fails or is interrupted leaves the model as it was.

        Parameters
        ----------
        data
            Ratings, and the distances between items if the measure needs them. Items without ratings can
            be predicted and recommended too.
        heads
            ``"ranking"`` for lists, ``"rating"`` for predicted ratings: those that are wanted. None is both;
            implicit feedback has no ratings to predict. Lists of a model without the rating head have no
            predicted ratings.
        progress
            Called with (steps done, steps in all), at least once in each stage of the fit.
        """
        row = self._checked()
        check_dataset(data)
        wanted = self._heads(heads, data)
        self._check_size(data, wanted)  # before distances between items are computed
        if row.needs_geometry:
            data.require_geometry(f"measure {row.name!r}")
        stages = Stages(progress, self.fit_shares)
        fitted = self._fit(UserSimilarity(data, row, self.convention, self.n_threads), wanted, stages)
        stages.end()
        self._take(fitted, wanted)
        return self

    def _heads(self, heads: Iterable[Head] | None, data: Dataset) -> tuple[Head, ...]:
        """Return the heads to fit, checked."""
        implicit = data.ratings.implicit
        if heads is None:
            return ("ranking",) if implicit else get_args(Head)
        wanted = (heads,) if isinstance(heads, str) else tuple(heads)
        if not wanted or not set(wanted) <= set(get_args(Head)):
            raise InputError(f'heads is {heads!r}; choose "ranking", "rating" or both')
        if implicit and "rating" in wanted:
            raise InputError(
                "the data are implicit feedback, which has no ratings to predict; leave out heads="
            )
        return tuple(head for head in get_args(Head) if head in wanted)

    def _take(self, fitted: Fitted, heads: tuple[Head, ...]) -> None:
        """Become a fitted model, in one step."""
        similarity, predictor, ranker, settings, trials = fitted
        more = {"heads_": heads, "settings_": settings, "tuning_": trials, "params_": self.get_params()}
        self._become(similarity, predictor, ranker, **more)

    def _become(
        self, similarity: UserSimilarity, predictor: Predictor | None, ranker: Ranker | None, **more: Any
    ) -> None:
        """Change what depends on the data, in one step."""
        vars(self).update(
            data_=similarity.data,
            similarity_=similarity,
            _predictor=predictor,
            _ranker=ranker,
            _explainer=None if ranker is None else Explainer(ranker),
            _fit_id=uuid4().hex,
            **more,
        )

    def _checked(self) -> Measure:
        """Return the measure, with all parameters checked."""
        resolve_threads(self.n_threads)
        row = find_measure(self.measure)
        row.convention(self.convention)
        self._check()
        return row

    def _check_size(self, data: Dataset, heads: tuple[Head, ...]) -> None:
        """Raise an error if the data are too large for the model."""
        return

    def _require_fit(self) -> None:
        if "data_" not in vars(self):
            raise not_fitted_error(type(self).__name__)

    @property
    def predicts(self) -> bool:
        """Whether the model was fitted with its rating head."""
        self._require_fit()
        return self._predictor is not None

    @property
    def predictor_(self) -> Predictor:
        """The fitted rating head."""
        self._require_fit()
        if self._predictor is None:
            raise InputError(
                "the data are implicit feedback, which has no ratings to predict; recommend() ranks items"
                if self.data_.ratings.implicit
                else "the model was fitted without its rating head; leave out heads="
            )
        return self._predictor

    @property
    def ranker_(self) -> Ranker:
        """The fitted ranking head."""
        self._require_fit()
        if self._ranker is None:
            raise InputError("the model was fitted without its ranking head; leave out heads=")
        return self._ranker

    @property
    def explainer_(self) -> Explainer:
        """Reasons for the scores of the ranking head."""
        assert self.ranker_ is not None  # or it says why
        assert self._explainer is not None
        return self._explainer

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
        predictor, ratings = self.predictor_, self.data_.ratings
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
        user: Any,
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
        reasons: bool = True,
    ) -> Recommendations:
        """Return the n best items for a user.

        Parameters
        ----------
        user
            Id or :class:`UserState`. ``None`` is a user about whom nothing is known, and gets the items that
            are liked most.
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
            Whether each item carries its reasons (:attr:`~prefmover.rank.Recommendation.why`). They are the
            reasons of the ranking, whatever the order of the list.
        """
        if isinstance(user, Mapping):
            raise InputError(
                "user is a mapping; for ratings by item, pass model.guest(ratings)", argument="user"
            )
        if isinstance(user, Iterable) and not isinstance(user, str | bytes):
            raise InputError("user is a list; for several users, call recommend_many", argument="user")
        options: dict[str, Any] = {
            "items": items,
            "exclude": exclude,
            "where": where,
            "min_ratings": min_ratings,
        }
        options |= {"novelty": novelty, "diversify": diversify, "seen": seen}
        return self.recommend_many([user], n, by=by, reasons=reasons, **options)[0]

    def recommend_many(
        self, users: Iterable[Any], n: int = 10, *, by: By = "ranking", reasons: bool = False, **options: Any
    ) -> RecommendationTable:
        """Return the n best items for each of some users: a table with the list of each.

        ``users`` are ids or states, ``options`` those of :meth:`recommend`. Reasons take most of the time of
        a list, and are left out by default.
        """
        selection = self._selection(n, by, options)
        states = [self._state(one, known=one is not None) for one in users]
        return best_items(self, states, by, selection, reasons=reasons and self._ranker is not None)

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

        selection = self._selection(n, by, options)
        states = [self._state(one, known=True) for one in group_ids(group)]
        return recommend_together(self, states, by, combine, selection, reasons)

    def group_neighbors(self, group: Iterable[Any], k: int = 10) -> NeighborList:
        """Return the k users nearest to several people together, nearest first, without the members.

        The group, two or more ids or states of guests, is the mixture of its members' preferences
        (:mod:`prefmover.data.preferences`). The measure must be PMD, which compares preferences; others
        compare ratings, and a group has none.
        """
        states = [self._state(one, known=True) for one in group_ids(group)]
        similarity = self.similarity_
        measure = similarity.measure
        if measure.name != "pmd" or not measure.searches_by_bounds(similarity.convention):
            raise InputError(
                f"a group has preferences but no ratings, so {measure.label} (convention "
                f"{measure.convention(similarity.convention)!r}) cannot compare it; use PMD as published"
            )
        ratings = self.data_.ratings
        members = [ratings.take(users=[one.position]) if one.guest is None else one.guest for one in states]
        return nearest_to_members(self.data_, members, k, self.n_threads)

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
        selection = self._selection(n, by, options)
        with open_executor(executor, self.n_threads) as opened_executor:
            return recommend_all(self, by, selection, opened_executor, checkpoint, progress)

    def neighbors(self, user: Any, k: int = 10, *, without_common_items: bool = False) -> NeighborList:
        """Return the k nearest users of a user (an id or a :class:`UserState`), nearest first.

        With ``without_common_items``, only users who have rated none of the user's items.
        """
        state, similarity = self._state(user, known=True), self.similarity_
        if without_common_items:
            check_whole_number("k", k)
            found = similarity.nearest_without_common_items(state.who, k)
        else:
            found = similarity.nearest(state.who, k)
        positions, values = found.row(0)
        users, value_name = self.data_.ratings.users[positions], similarity.measure.value_name
        return NeighborList(state.name, users, values, value_name)

    def explain(self, user: Any, other: Any) -> UserExplanation:
        """Explain the distance or similarity of a user (an id or a :class:`UserState`) and another, by id."""
        state, similarity = self._state(user, known=True), self.similarity_
        measure, convention = similarity.measure, similarity.convention
        v = self.data_.ratings.user_position(other)
        if state.position >= 0:
            return explain_users(self.data_, state.position, v, measure, convention)
        return explain_rows(self.data_, state.name, state.rated, state.given, v, measure, convention)

    def explain_recommendation(self, user: Any, item: Any) -> RecommendationExplanation:
        """Return why an item is recommended: the user's own ratings, and those of people with similar taste.

        Parameters
        ----------
        user
            Id or :class:`UserState`; ``None`` is a user about whom nothing is known.
        item
            Id of the item. It may be one that the user has rated, or that nobody has rated.
        """
        state = self._placed(self._state(user, known=user is not None))
        position = self.data_.ratings.item_positions([item])
        rating = self.predict_one(state, item).rating if self.predicts else None
        return self.explainer_.explain(state, position, [rating], everybody=True)[0]

    def explain_rating(self, user: Any, item: Any) -> RatingExplanation:
        """Return how a predicted rating comes about: the baseline, and the contribution of each neighbor.

        Unknown ids get a fallback, as in :meth:`predict`.
        """
        predictor, ratings, catalog = self.predictor_, self.data_.ratings, self.data_.catalog
        state, (position,) = self._state(user), ratings.item_index.get([item]).tolist()
        baseline, contributions = predictor.explain(state, position)
        shown = {one.item for part in contributions for one in part.evidence} | {position} - {-1}
        ids = dict(zip(shown, ratings.items[list(shown)].tolist(), strict=True))
        contributions = tuple(
            part._replace(
                user=ratings.users[[part.user]].tolist()[0],
                evidence=tuple(one._replace(item=ids[one.item]) for one in part.evidence),
            )
            for part in contributions
        )
        labels = {ids[one]: catalog.label(one) for one in shown}
        prediction, value_name = self.predict_one(state, item), self.similarity_.measure.value_name
        return RatingExplanation(prediction, baseline, contributions, labels, value_name)

    def guest(self, ratings: Mapping[Any, float], *, name: Any = "guest") -> UserState:
        """Return the state of a guest, who is not in the data, from ``{item: rating}``. Nothing is refitted.

        The name, which appears in results, must not be the id of a user.
        """
        self._require_fit()
        one = guest_ratings(self.data_.ratings, ratings, name)
        compared = self.similarity_.to_landmarks(one) if len(self.similarity_.landmarks) else None
        state = UserState(one.users.tolist()[0], -1, *one.row(0), self._fit_id, one, compared)
        rating = None if self._predictor is None else self._predictor.guest(state)
        return self._placed(replace(state, rating=rating))

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
        self._require_fit()
        known = self.data_.ratings
        one = user_ratings(known, ratings, user)
        ids = as_ids([user], "user")
        if ids.dtype != known.users.dtype:
            raise InputError(f"user {user!r}: {ID_TYPES}")
        return self._update(Ratings(one.matrix, ids, one.items, one.scale))

    def add_users(self, ratings: Ratings) -> Self:
        """Add users, by their ratings of items of the model: :meth:`update` for many new users at once."""
        self._require_fit()
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
        similarity = self.similarity_.updated(data)
        users = np.concatenate([changed, np.arange(self.data_.n_users, data.n_users)])
        compared = None
        if len(similarity.landmarks):  # once for both heads
            compared = [similarity.to_landmarks(data.ratings.take(users=[user])) for user in users.tolist()]
        newcomers = Newcomers(users, compared)
        predictor = self._predictor and self._predictor.with_data(similarity, newcomers)
        ranker = self._ranker and self._ranker.with_data(similarity, newcomers)
        self._become(similarity, predictor, ranker)
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
        self._require_fit()
        similarity = self.similarity_.with_items(self.data_.with_new_items(geometry, items))
        predictor = self._predictor and self._predictor.with_items(similarity)
        ranker = self._ranker and self._ranker.with_items(similarity)
        self._become(similarity, predictor, ranker)
        return self

    def save(self, folder: str | PathLike[str]) -> None:
        """Save the fitted model and its data in a folder; an older model there is replaced in one step."""
        from prefmover.model import storage

        self._require_fit()
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

    def _selection(self, n: int, by: By, options: dict[str, Any]) -> Selection:
        """Return how items are chosen, with all options checked."""
        self._require_fit()
        if by not in get_args(By):
            raise InputError(f'by is {by!r}; choose "ranking" or "rating"')
        if by == "rating" and self.data_.ratings.implicit:
            raise InputError(
                'by="rating" needs explicit ratings, and these data are implicit feedback; leave out by='
            )
        return Selection.from_options(self.data_, n, **options)

    def _known(self, position: int, name: Any = None) -> UserState:
        nothing = np.empty(0, np.int64), np.empty(0)
        rated, given = self.data_.ratings.row(position) if position >= 0 else nothing
        return UserState(name, position, rated, given, self._fit_id)

    def _placed(self, state: UserState) -> UserState:
        """Return a state with what the ranker needs to know about the user, computed once."""
        if self._ranker is None or state.ranking is not None or not len(state.rated):
            return state
        return replace(state, ranking=self._ranker.place(state))

    def _state(self, user: Any, *, known: bool = False) -> UserState:
        """Return the state of a user; with ``known``, an unknown id is an error."""
        self._require_fit()
        ratings = self.data_.ratings
        if not isinstance(user, UserState):
            position = ratings.user_position(user) if known else int(ratings.user_index.get([user])[0])
            return self._known(position, user.item() if isinstance(user, np.generic) else user)
        if user.fit_id != self._fit_id:
            raise InputError(
                f"the state of {user.name!r} was made by another fit; make it again with guest(ratings)"
            )
        return user
