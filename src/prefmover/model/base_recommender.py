"""What a fitted model answers: predictions, recommendations, neighbors and explanations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from prefmover._typing import Ints, Progress
from prefmover.data.file_options import check_whole_number
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.execution import Executor
from prefmover.execution.executor import open_executor
from prefmover.explain.counterfactual import Counterfactual, counterfactual
from prefmover.explain.plan import UserExplanation, explain_users
from prefmover.explain.rating import RatingExplanation
from prefmover.explain.recommendation import RecommendationExplanation
from prefmover.model.batch import By, best_items, recommend_all
from prefmover.model.estimator import Estimator
from prefmover.model.inputs import guest_ratings, pair_columns
from prefmover.predict.predictor import Prediction, Predictions, UserState, clip, how_predicted
from prefmover.rank.recommendations import Recommendations, RecommendationTable, Selection
from prefmover.search import NeighborList
from prefmover.search.nearest import group_ids, nearest_to_members

if TYPE_CHECKING:
    from prefmover.model.groups import Combine, GroupRecommendations

__all__ = ["BaseRecommender"]


class BaseRecommender(Estimator):
    """Predictions, recommendations, neighbors and explanations from a fitted predictor and ranker."""

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
        counts = [(np.arange(len(names)), scores.count_neighbors)]
        for state, rows in states.values():
            part = predictor.scores(self._state(state), items[rows])
            for whole, some in zip(scores[:3], part[:3], strict=True):
                whole[rows] = some
            counts.append((np.array(rows), part.count_neighbors))
            users[rows] = 0 if state.is_known else -1
        values, clipped = clip(scores.values, ratings.scale)
        how = how_predicted(users, items, scores.has_neighbors)

        def count() -> Ints:
            out = np.empty(len(names), np.int64)
            for rows, count_part in counts:
                out[rows] = count_part()
            return out

        return Predictions(names, item_ids, values, scores.baselines, how, clipped, count)

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
            From 0 to 1: how different the items of a list are (:mod:`prefmover.rank.recommendations`).
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
        options: dict[str, Any] = {"items": items, "exclude": exclude, "where": where}
        options |= {"min_ratings": min_ratings, "novelty": novelty, "diversify": diversify, "seen": seen}
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
        if reasons:
            states = [self._placed(state) for state in states]
        return best_items(self, states, by, selection, self._explainer if reasons else None)

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
            found = similarity.nearest(state.who, k, but=state.position)
        positions, values = found.row(0)
        users, value_name = self.data_.ratings.users[positions], similarity.measure.value_name
        return NeighborList(state.name, users, values, value_name)

    def explain(self, user: Any, other: Any) -> UserExplanation:
        """Explain the distance or similarity of a user (an id or a :class:`UserState`) and another, by id."""
        state, similarity = self._state(user, known=True), self.similarity_
        v = self.data_.ratings.user_position(other)
        one = state.position if state.guest is None else state.guest
        return explain_users(self.data_, one, v, similarity.measure, similarity.convention)

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

    def guest(self, ratings: Mapping[Any, float | None], *, name: Any = "guest") -> UserState:
        """Return the state of a guest, who is not in the data, from ``{item: rating}``. Nothing is refitted.

        For implicit feedback it is ``{item: count}``, and a count of None means "liked it": a usual count.
        The name, which appears in results, must not be the id of a user.
        """
        self._require_fit()
        return self.guest_of(guest_ratings(self.data_.ratings, ratings, name))

    def guest_of(self, one: Ratings) -> UserState:
        """Return the state of a guest whose ratings are a table over the items of the data."""
        self._require_fit()
        return self._as_guest(UserState(one.users.tolist()[0], -1, *one.row(0), self._fit_id, one))

    def without(self, user: Any, items: Iterable[Any]) -> UserState:
        """Return the state of the same person without the ratings of some items, to ask "what if".

        The model stays as it is. The person is placed anew by the ratings that are left, as a guest is, and
        the row that the person has in the data is not a neighbor. So if nothing were taken out, the scores
        would be the person's own. Every method that takes a user takes the result, :meth:`without` too. The
        items are not recommended: the person still knows them. (What else the ratings did to the fit, to the
        weights between items for example, stays. To take that out, fit again.)

        Parameters
        ----------
        user
            Id or :class:`UserState`.
        items
            Ids of items that the user has rated. At least one rating must be left.

        Examples
        --------
        >>> from prefmover import Recommender, datasets
        >>> cinema = datasets.load("cinema")
        >>> model = Recommender().fit(cinema.with_ratings(cinema.ratings.take(users=range(40))))
        >>> guest = model.guest({"alien-1979": 5, "the-thing-1982": 4.5, "casablanca-1942": 2})
        >>> less = model.without(guest, ["alien-1979"])
        >>> less
        UserState('guest', 2 ratings without 1)
        >>> "alien-1979" in [one.item for one in model.recommend(less, n=3)]
        False
        """
        state, ratings = self._state(user, known=True), self.data_.ratings
        if isinstance(items, str) or not isinstance(items, Iterable):
            raise InputError(f"items is {items!r}; give a list of item ids", argument="items")
        removed = ratings.item_positions(list(items))
        unknown = np.setdiff1d(removed, state.rated)
        if len(unknown):
            item = ratings.items[unknown[:1]].tolist()[0]
            wrong = f"{state.name!r} has not rated item {item!r}; name items that are rated"
            raise InputError(wrong, reason="not-listed")
        if not len(removed):
            raise InputError("items is empty; give the ids of the ratings to take out", argument="items")
        return self._as_guest(state.without(removed, self.similarity_))

    def _without(self, state: UserState, removed: Ints) -> UserState:
        """Return the state without the ratings of items by position."""
        return self._placed(state.without(removed, self.similarity_))

    def counterfactual(self, user: Any, item: Any, n: int = 1) -> Counterfactual:
        """Return the fewest ratings of a user without which an item would not be recommended.

        Sets of one, two and three ratings are searched, larger ones greedily; the result says whether none
        is smaller (:mod:`prefmover.explain.counterfactual`).

        Parameters
        ----------
        user
            Id or :class:`UserState`.
        item
            Id of an item that is among the first ``n`` recommendations.
        n
            How long the list is from which the item is to drop. 1 asks what changes the first recommendation.

        Examples
        --------
        >>> from prefmover import Recommender, datasets
        >>> cinema = datasets.load("cinema")
        >>> model = Recommender().fit(cinema.with_ratings(cinema.ratings.take(users=range(40))))
        >>> guest = model.guest({"alien-1979": 5, "the-thing-1982": 4.5, "casablanca-1942": 2})
        >>> first = model.recommend(guest, n=1)[0].item
        >>> why = model.counterfactual(guest, first)
        >>> less = model.without(guest, [one.item for one in why.without])
        >>> model.recommend(less, n=1)[0].item == why.instead != first
        True
        """
        check_whole_number("n", n)
        assert self.ranker_ is not None  # or it says why
        state = self._placed(self._state(user, known=True))
        return counterfactual(self.ranker_, state, self.data_.ratings.item_position(item), n)

    def _as_guest(self, state: UserState) -> UserState:
        """Return a state whose ratings are those of a guest, placed among the landmarks and solved for."""
        assert state.guest is not None
        if state.to_landmarks is None and len(self.similarity_.landmarks):
            state = replace(state, to_landmarks=self.similarity_.to_landmarks(state.guest))
        rating = None if self._predictor is None else self._predictor.guest(state)
        return self._placed(replace(state, rating=rating))

    def _selection(self, n: int, by: By, options: dict[str, Any]) -> Selection:
        """Return how items are chosen, with all options checked."""
        self._require_fit()
        if by not in get_args(By):
            raise InputError(f'by is {by!r}; choose "ranking" or "rating"')
        if by == "rating" and self.data_.ratings.implicit:
            raise InputError(
                'by="rating" needs explicit ratings, and these data are implicit feedback; leave out by='
            )
        assert (self.predictor_ if by == "rating" else self.ranker_) is not None  # or it says why
        return Selection(self.data_, n, **options)
