"""The responses: calls of the library, in the shape of the schemas. They run on worker threads.

Nothing is computed here that the library does not compute; the tests compare the two.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property
from importlib.metadata import version
from math import isnan
from typing import Any

import numpy as np

from prefmover._typing import Floats, Ints, Progress
from prefmover.dataset import Dataset
from prefmover.errors import InputError, UnknownIdError
from prefmover.measures import MEASURES, Measure
from prefmover.measures.breakdown import breakdown
from prefmover.measures.pairwise import values
from prefmover.model.base_recommender import BaseRecommender
from prefmover.predict.predictor import UserState
from prefmover.predict.similarity import UserSimilarity
from prefmover.rank.recommendations import RECOMMENDATION_FIELDS, Recommendation
from prefmover.server import schemas
from prefmover.server.facts import ItemFacts, UserFacts
from prefmover.server.guests import GuestKey, GuestStates
from prefmover.server.imports import read_export
from prefmover.server.views.item_groups import groupings
from prefmover.server.views.neighbor_comparison import common_ground, neighbor_lists
from prefmover.server.views.profiles import item_profile
from prefmover.server.views.scatter_map import Map, item_map, user_map
from prefmover.server.views.value_spread import Spread, sample_spread
from prefmover.server.workers import check_cancelled

__all__ = ["Handlers"]

REASONS = 3  # own ratings, and ratings of neighbors, in each recommendation of a list
EXPLAINED = 20  # parts of each kind in the explanation of one recommendation; the others are summed
CONTRASTS = ("cos", "jmsd")  # measures of co-rated items, to compare the model's measure with
FANS = 12  # users who liked an item, on its page
GROUPS = 8  # groups that a map distinguishes
STEPS = ("rwmd", "prices", "abandoned", "solved", "known", "undefined")  # search steps that /metrics counts


class Handlers:
    """The responses of one model.

    Parameters
    ----------
    model
        A fitted model. It does not change, so responses can be cached.
    name
        Name of the model on the pages; the name of its data set by default.
    user_noun, item_noun
        What a user and an item are called on the pages; by default, what the data set calls them.

    Attributes
    ----------
    searched
        Number of pairs of users, by the search step that dealt with them.
    """

    def __init__(
        self,
        model: BaseRecommender,
        name: str = "",
        item_noun: str | None = None,
        user_noun: str | None = None,
    ) -> None:
        self.model = model
        self.data = model.data_
        self.name = name or self.data.name or "unnamed data set"
        self.item_noun = item_noun or self.data.item_noun
        self.user_noun = user_noun or self.data.user_noun
        self.searched: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._guests = GuestStates(self._guest_state)
        self._users, self._items = UserFacts(self.data), ItemFacts(self.data)
        self._guest_name = self.data.ratings.free_name("guest")

    @property
    def measure(self) -> Measure:
        """The measure of the model."""
        return self.model.predictor_.similarity.measure

    def user(self, text: str) -> UserState:
        """Return the state of a user."""
        position = self._users.position(text)
        state: UserState = self.model.predictor_.state(position, self._users.ids[position])
        return state

    def guest(self, ratings: GuestKey) -> UserState:
        """Return the state of a guest."""
        return self._guests.get(ratings)

    def _guest_state(self, ratings: GuestKey) -> UserState:
        by_item = {self._items.id_of(item): rating for item, rating in ratings}
        return self.model.guest(by_item, name=self._guest_name)

    def model_info(self) -> schemas.ModelOut:
        """Return the model and its data."""
        ratings, scale = self.data.ratings, self.data.ratings.scale
        parameters = {
            name: value if isinstance(value, str | int | float | bool | None) else str(value)
            for name, value in (self.model.get_params() | self.model.settings_).items()
            if name not in ("n_threads", "measure")
        }
        return schemas.ModelOut(
            name=self.name,
            n_users=ratings.n_users,
            n_items=ratings.n_items,
            n_ratings=ratings.n_ratings,
            scale=schemas.ScaleOut(lowest=scale.lowest, highest=scale.highest, step=scale.step),
            geometry=None if self.data.geometry is None else self.data.geometry.name,
            user_noun=self.user_noun,
            item_noun=self.item_noun,
            genres=self._users.genres,
            years=self._items.years(),
            spread=schemas.SpreadOut(
                nearest=self.spread.quantile(0.99 if self.measure.larger_is_closer else 0.01),
                median=self.spread.quantile(0.5),
                farthest=self.spread.quantile(0.01 if self.measure.larger_is_closer else 0.99),
            ),
            measure=self.measure.name,
            value_name=self.measure.value_name,
            parameters=parameters,
            version=version("prefmover"),
            measures=[schemas.MeasureOut(**_about(row)) for row in MEASURES.values()],
        )

    def users(self, q: str, offset: int, limit: int) -> schemas.UsersOut:
        """Return a page of the users whose id contains a text."""
        hits = self._users.search(q)
        page = [schemas.UserOut(**self._users.facts(k)) for k in hits[offset : offset + limit]]
        return schemas.UsersOut(total=len(hits), offset=offset, limit=limit, users=page)

    def user_details(self, user: str, offset: int, limit: int) -> schemas.UserDetailsOut:
        """Return a user with a page of ratings, highest first."""
        position = self._users.position(user)
        items, ratings = self.data.ratings.row(position)
        total = float(ratings.sum())
        order = np.lexsort((items, -ratings))[offset : offset + limit]
        return schemas.UserDetailsOut(
            **self._users.facts(position),
            mean_rating=float(ratings.mean()) if len(items) else None,
            offset=offset,
            limit=limit,
            ratings=[
                schemas.RatedItemOut(
                    **self._items.titled(item), rating=rating, share=rating / total if total else 0.0
                )
                for item, rating in zip(items[order].tolist(), ratings[order].tolist(), strict=True)
            ],
        )

    def items(self, q: str, offset: int, limit: int) -> schemas.ItemsOut:
        """Return a page of the items whose title or id contains a text, those with most ratings first."""
        hits = self._items.search(q)
        page = [schemas.ItemOut(**self._items.facts(k)) for k in hits[offset : offset + limit]]
        return schemas.ItemsOut(total=len(hits), offset=offset, limit=limit, items=page)

    def item_details(self, item: str) -> schemas.ItemDetailsOut:
        """Return an item, how often it got each rating, and who liked it."""
        position, catalog = self._items.position(item), self.data.items
        found = item_profile(self.data, position, FANS)
        return schemas.ItemDetailsOut(
            **self._items.facts(position),
            year=int(catalog.years[position]) or None,
            genres=list(catalog.genres[position]),
            ratings=[schemas.RatingCountOut(rating=rating, count=count) for rating, count in found.counts],
            n_fans=found.n_fans,
            fans=[
                schemas.FanOut(
                    user=self._users.texts[one.user], rating=one.rating, taste=self._users.taste(one.user)
                )
                for one in found.fans
            ],
        )

    def listed_items(self, ids: Sequence[str]) -> schemas.ListedItemsOut:
        """Return some items; ids that the data do not have are listed apart."""
        found, unknown = [], []
        for item in ids:
            try:
                found.append(schemas.ItemOut(**self._items.facts(self._items.position(item))))
            except UnknownIdError:
                unknown.append(item)
        return schemas.ListedItemsOut(items=found, unknown=unknown)

    def search(self, q: str, limit: int) -> schemas.SearchOut:
        """Return the first items and users whose title or id contains a text."""
        items, users = self.items(q, 0, limit), self.users(q, 0, limit)
        return schemas.SearchOut(
            n_items=items.total, items=items.items, n_users=users.total, users=users.users
        )

    def near_items(self, item: str, k: int) -> schemas.NearItemsOut:
        """Return the items nearest to an item."""
        position = self._items.position(item)
        geometry = self.data.require_geometry("the search for near items")
        near = geometry.near(self._items.ids[position], k)
        positions = [geometry.item_position(other) for other, _ in near]
        similarities = geometry.similarity([position], positions)[0].tolist()
        return schemas.NearItemsOut(
            **self._items.titled(position),
            near=[
                schemas.NearItemOut(**self._items.titled(other), distance=distance, similarity=similarity)
                for other, (_, distance), similarity in zip(positions, near, similarities, strict=True)
            ],
        )

    def neighbors(self, state: UserState, options: schemas.NeighborOptions) -> schemas.NeighborsOut:
        """Return the nearest users."""
        similarity, guest = self.model.predictor_.similarity, None
        if state.position < 0:
            guest = self.data.ratings.one_user(state.name, state.items, state.values)
        if options.strangers:
            near = similarity.nearest_strangers(
                state.position, state.items, options.k, guest, check_cancelled
            )
        else:
            near = similarity.nearest(np.array([state.position]), options.k, guest, check_cancelled)
        self._count({step: getattr(near.stats, step) for step in STEPS})
        return schemas.NeighborsOut(
            user=state.name,
            measure=self.measure.name,
            neighbors=self._neighbors(state.items, near.neighbors, near.values),
        )

    def group_neighbors(self, users: Sequence[str], k: int) -> schemas.GroupNeighborsOut:
        """Return the users nearest to several users together, by PMD."""
        states = [self.user(user) for user in users]
        near = self.model.group_neighbors(states, k)
        rated = np.unique(np.concatenate([state.items for state in states]))
        positions = self.data.ratings.find_users(near.users)
        return schemas.GroupNeighborsOut(
            group=list(users),
            measure=self.measure.name,
            neighbors=self._neighbors(rated, positions, near.values, of_group=True),
        )

    def _neighbors(
        self, rated: Ints, users: Ints, values: Floats, *, of_group: bool = False
    ) -> list[schemas.NeighborOut]:
        """Return near users, given the items that the query, or a group of users, has rated."""
        common = self.data.ratings.n_common(rated)
        return [
            schemas.NeighborOut(
                user=self._users.texts[other],
                n_common=int(common[other]),
                nearer_than=None if of_group else self.spread.nearer_than(value),
                taste=self._users.taste(other),
                **{self.measure.value_name: value},
            )
            for other, value in zip(users.tolist(), values.tolist(), strict=True)
        ]

    def neighbor_lists(self, state: UserState) -> schemas.NeighborListsOut:
        """Return the nearest users by the model's measure, and by measures of items in common."""
        similarity = self.model.predictor_.similarity
        others = [UserSimilarity(self.data, MEASURES[name], None, 1) for name in CONTRASTS]
        rows = [similarity, *(one for one in others if one.measure.name != self.measure.name)]
        found = neighbor_lists(rows, state.position, state.items, state.values, progress=check_cancelled)
        lists = []
        for one in found:
            row = MEASURES[one.measure]
            columns = zip(one.users.tolist(), one.values.tolist(), one.n_common.tolist(), strict=True)
            near = [
                schemas.ListedNeighborOut(user=self._users.texts[user], value=value, n_common=n)
                for user, value, n in columns
            ]
            test = None if one.test is None else schemas.NeighborTestOut(**asdict(one.test))
            lists.append(schemas.NeighborListOut(**_about(row), neighbors=near, test=test))
        return schemas.NeighborListsOut(user=state.name, lists=lists)

    def common_ground(self, progress: Progress) -> schemas.CommonGroundOut:
        """Return how often near users have nothing in common, with users for whom it is so."""
        found = common_ground(self.model.predictor_.similarity, progress=progress)
        examples = [
            schemas.ExampleOut(**self._users.facts(user), n_without=without)
            for user, without in found.examples
        ]
        return schemas.CommonGroundOut(**(asdict(found) | {"examples": examples}))

    def user_map(self, progress: Progress) -> schemas.MapOut:
        """Return a map of the users."""
        drawn = user_map(self.model.predictor_.similarity, progress=progress)
        tastes = [self._users.taste(user) for user in drawn.positions.tolist()]
        return self._map(drawn, self._users.texts, self._users.texts, [some[:1] for some in tastes])

    def item_map(self, progress: Progress) -> schemas.MapOut:
        """Return a map of the items."""
        geometry = self.data.require_geometry("a map of items")
        drawn = item_map(geometry, self._items.n_ratings, progress=progress)
        kinds = groupings(self.data.items, geometry, drawn.positions)
        groups = [[name] for name in kinds["genre"]] if "genre" in kinds else [[] for _ in drawn.positions]
        return self._map(drawn, self._items.texts, self.data.items.labels, groups)

    @staticmethod
    def _map(
        drawn: Map, ids: Sequence[str], names: Sequence[str], groups: Sequence[Sequence[str]]
    ) -> schemas.MapOut:
        kinds = [name for name, _ in Counter(name for some in groups for name in some).most_common(GROUPS)]
        number = {name: k for k, name in enumerate(kinds)}
        points = zip(drawn.positions.tolist(), drawn.points.round(4).tolist(), groups, strict=True)
        return schemas.MapOut(
            groups=kinds,
            points=[
                schemas.PointOut(
                    id=ids[k], name=names[k], x=x, y=y, group=number.get(some[0]) if some else None
                )
                for k, (x, y), some in points
            ],
        )

    def imported(self, text: str) -> schemas.ImportOut:
        """Return the ratings in an export of another site."""
        found = read_export(text, self.data)
        positions = [self.data.ratings.item_position(item) for item in found.ratings]
        return schemas.ImportOut(
            origin=found.origin,
            ratings=[
                schemas.ImportedRatingOut(**self._items.titled(position), rating=rating)
                for position, rating in zip(positions, found.ratings.values(), strict=True)
            ],
            unmatched=[
                schemas.UnmatchedOut(title=row.title, year=row.year or None) for row in found.unmatched
            ],
            n_unrated=found.n_unrated,
        )

    def recommendations(
        self, state: UserState, options: schemas.RecommendationOptions
    ) -> schemas.RecommendationsOut:
        """Return the items with the highest scores that the user has not rated."""
        best = self.model.recommend(state, **self._arguments(options))
        return schemas.RecommendationsOut(
            user=state.name, recommendations=[_recommended(one) for one in best]
        )

    def _arguments(self, options: schemas.RecommendationOptions) -> dict[str, Any]:
        """Return the arguments of the model's ``recommend``; an unknown id is an error."""
        given = options.arguments()
        for name in ("items", "exclude"):
            if name in given:
                given[name] = [self._items.id_of(item) for item in given[name]]
        return given

    def users_recommendations(
        self, users: Sequence[str], options: schemas.RecommendationOptions
    ) -> schemas.UsersRecommendationsOut:
        """Return the recommendations of several users."""
        states = [self.user(user) for user in users]  # an unknown id is an error before anything is computed
        answers = []
        for state in states:
            check_cancelled()
            answers.append(self.recommendations(state, options))
        return schemas.UsersRecommendationsOut(users=answers)

    def group_recommendations(
        self, users: Sequence[str], options: schemas.Group
    ) -> schemas.GroupRecommendationsOut:
        """Return the recommendations for several users together."""
        states = [self.user(user) for user in users]
        best = self.model.recommend_group(states, combine=options.combine, **self._arguments(options))
        return schemas.GroupRecommendationsOut(**best.to_dict())

    def predictions(self, state: UserState, items: Sequence[str]) -> schemas.PredictionsOut:
        """Return predicted ratings of items."""
        positions = [self._items.position(item) for item in items]
        pairs = [(state, self._items.ids[position]) for position in positions]
        predictions = self.model.predict(pairs, progress=check_cancelled)
        return schemas.PredictionsOut(
            user=state.name,
            predictions=[
                schemas.PredictionOut(
                    **self._items.titled(position),
                    rating=one.rating,
                    baseline=one.baseline,
                    how=one.how,
                    clipped=one.clipped,
                    n_neighbors=one.n_neighbors,
                )
                for position, one in zip(positions, predictions, strict=True)
            ],
        )

    def recommendation_explanation(self, state: UserState, item: str) -> schemas.RecommendationExplanationOut:
        """Return the reasons for a recommendation, the parts of its score."""
        explanation = self.model.explain_recommendation(state, self._items.id_of(item))
        return schemas.RecommendationExplanationOut(**explanation.to_dict(EXPLAINED))

    def rating_explanation(self, state: UserState, item: str) -> schemas.RatingExplanationOut:
        """Return the parts of a predicted rating."""
        id_ = self._items.id_of(item)
        explanation = self.model.explain_recommendation(state, id_, by="rating")
        return schemas.RatingExplanationOut(**explanation.to_dict(EXPLAINED))

    def user_explanation(self, state: UserState, other: str) -> schemas.UserExplanationOut:
        """Return why two users are as near as they are."""
        explanation = self.model.explain(state, self._users.ids[self._users.position(other)])
        self._count({"solved": 1})
        return schemas.UserExplanationOut(
            **explanation.to_dict(),
            nearer_than=self.spread.nearer_than(explanation.value),
            items=self._grouped({id_ for flow in explanation.flows for id_ in (flow.source, flow.target)}),
        )

    def _grouped(self, ids: set[Any]) -> list[schemas.GroupedItemOut]:
        """Return the groups of items, by kind of group."""
        positions = np.sort(np.array([self.data.ratings.item_position(id_) for id_ in ids], np.int64))
        kinds = groupings(self.data.items, self.data.geometry, positions) if len(positions) else {}
        return [
            schemas.GroupedItemOut(
                item=self._items.texts[position], groups={kind: names[k] for kind, names in kinds.items()}
            )
            for k, position in enumerate(positions.tolist())
        ]

    def comparison(self, state: UserState, other: str) -> schemas.ComparisonOut:
        """Return the values of all measures for two users."""
        position = self._users.position(other)
        ratings = self.data.ratings
        name = self._guest_name if state.position == position else state.name
        user = ratings.one_user(name, state.items, state.values)
        pair = self.data.with_guests(user, [position])
        # Most measures look at the two users only; the others use the ratings of everybody.
        everybody, first = self.data, state.position
        if first < 0:
            everybody, first = self.data.with_guests(user), ratings.n_users
        results = []
        for row in MEASURES.values():
            if row.extension:
                continue
            check_cancelled()
            data, u, v = (everybody, first, position) if row.uses_others else (pair, 1, 0)
            results.append(_measured(data, row, u, v))
        return schemas.ComparisonOut(
            user=state.name,
            other=self._users.texts[position],
            n_common=int(self.data.ratings.n_common(state.items)[position]),
            measures=results,
        )

    def warm_up(self, progress: Progress = lambda done, total: None) -> None:
        """Call everything once, so that kernels are compiled and indexes are built before a client waits."""
        _ = self.spread
        raters = np.flatnonzero(self._users.n_ratings > 0)
        typical = raters[np.argsort(self._users.n_ratings[raters], kind="stable")[len(raters) // 2]]
        other = self._users.texts[raters[0] if raters[0] != typical else raters[-1]]
        items, ratings = (part[:5].tolist() for part in self.data.ratings.row(int(typical)))
        guest = tuple((self._items.texts[item], rating) for item, rating in zip(items, ratings, strict=True))
        calls: list[Callable[[UserState], object]] = [
            lambda user: self.neighbors(user, schemas.NeighborOptions()),
            lambda user: self.recommendations(user, schemas.RecommendationOptions(n=3)),
            lambda user: self.predictions(user, self._items.texts[:2]),
            lambda user: self.recommendation_explanation(user, self._items.texts[0]),
            lambda user: self.rating_explanation(user, self._items.texts[0]),
            lambda user: self.user_explanation(user, other),
            lambda user: self.comparison(user, other),
        ]
        for k, state in enumerate((self.user(self._users.texts[typical]), self.guest(guest))):
            for done, call in enumerate(calls, k * len(calls)):
                progress(done, 2 * len(calls))
                with suppress(InputError):  # undefined for this user, perhaps not for others
                    call(state)

    def _count(self, pairs: dict[str, int]) -> None:
        with self._lock:
            self.searched.update(pairs)

    @cached_property
    def spread(self) -> Spread:
        """Values of the measure between random users."""
        similarity = self.model.predictor_.similarity
        return sample_spread(self.data, self.measure, similarity.convention, n_threads=1)


def _measured(data: Dataset, row: Measure, u: int, v: int) -> schemas.MeasureValueOut:
    value, reason = float("nan"), None
    if row.needs_geometry and data.geometry is None:
        reason = "the data set has no distances between items"
    else:
        value = float(values(data, row, None, np.array([u]), np.array([v]), n_threads=1)[0, 0])
        if isnan(value):
            reason = breakdown(data, u, v, row).reason or "the measure gives no value for this pair"
    return schemas.MeasureValueOut(**_about(row), value=None if isnan(value) else value, reason=reason)


def _recommended(one: Recommendation) -> schemas.RecommendationOut:
    """Return a recommended item; its sentences are made once, for itself and its explanation."""
    why = one.why.to_dict(REASONS)
    fields = {name: getattr(one, name) for name in RECOMMENDATION_FIELDS}
    return schemas.RecommendationOut(**fields, reasons=why["reasons"], why=why)


def _about(row: Measure) -> dict[str, Any]:
    return {"name": row.name, "label": row.label, "summary": row.summary, "value_name": row.value_name}
