"""The model that is served, with what its answers share: facts, guests, and the spread of its measure."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Future
from functools import cached_property
from typing import Any, TypeAlias

from cachetools import LRUCache

from prefmover._typing import Floats, Ints
from prefmover.measures import Measure
from prefmover.model.base_recommender import BaseRecommender
from prefmover.predict.predictor import UserState
from prefmover.predict.similarity import UserSimilarity
from prefmover.server.facts import ItemFacts, UserFacts
from prefmover.server.schemas.requests import Person, RecommendationOptions
from prefmover.server.schemas.responses import NeighborOut
from prefmover.server.views.value_spread import Spread, sample_spread

__all__ = ["ServedModel"]

MOST_GUESTS = 128
GuestKey: TypeAlias = tuple[tuple[str, float], ...]
"""The ratings of a guest, (item, rating) sorted by item."""


class ServedModel:
    """A fitted model, which does not change, so that answers can be cached.

    Parameters
    ----------
    model
        A fitted model.
    name
        Name of the model on the pages; the name of its data set by default.
    user_noun, item_noun
        What a user and an item are called on the pages; by default, what the data set calls them.

    Attributes
    ----------
    users, items
        The users and items of the data as answers show them.
    searched
        Number of pairs of users, by the search step that dealt with them.
    guest_name
        What a guest is called; no user has this id.
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
        self.users, self.items = UserFacts(self.data), ItemFacts(self.data)
        self.searched: Counter[str] = Counter()
        self.guest_name = self.data.ratings.user_index.free_name("guest")
        self._lock = threading.Lock()
        self._guests: LRUCache[GuestKey, Future[UserState]] = LRUCache(MOST_GUESTS)

    @property
    def similarity(self) -> UserSimilarity:
        """The measure of the model on its data."""
        similarity: UserSimilarity = self.model.predictor_.similarity
        return similarity

    @property
    def measure(self) -> Measure:
        """The measure of the model."""
        return self.similarity.measure

    @cached_property
    def spread(self) -> Spread:
        """Values of the measure between random users."""
        return sample_spread(self.data, self.measure, self.similarity.convention, n_threads=1)

    def person(self, asked: Person) -> UserState:
        """Return the state of the person whom a request is about."""
        return self.guest(asked.key) if asked.ratings else self.user(asked.user)

    def user(self, text: str) -> UserState:
        """Return the state of a user."""
        position = self.users.position(text)
        return self.model._known(position, self.users.ids[position])

    def guest(self, ratings: GuestKey) -> UserState:
        """Return the state of a guest: computed once for the several requests that a page sends."""
        with self._lock:
            known = self._guests.get(ratings)
            state = self._guests[ratings] = known or Future()
        if known is None:
            try:
                by_item = {self.items.id_of(item): rating for item, rating in ratings}
                state.set_result(self.model.guest(by_item, name=self.guest_name))
            except BaseException as error:
                with self._lock:
                    self._guests.pop(ratings, None)
                state.set_exception(error)
        return state.result()

    def choices(self, options: RecommendationOptions) -> dict[str, Any]:
        """Return the arguments of the model's ``recommend``; an unknown id is an error."""
        given = options.arguments()
        for name in ("items", "exclude"):
            if name in given:
                given[name] = [self.items.id_of(item) for item in given[name]]
        return given

    def near_users(
        self, rated: Ints, users: Ints, values: Floats, *, of_group: bool = False
    ) -> list[NeighborOut]:
        """Return near users, given the items that the person, or a group of users, has rated."""
        common = self.data.ratings.n_common(rated)
        return [
            NeighborOut(
                user=self.users.texts[other],
                n_common=int(common[other]),
                nearer_than=None if of_group else self.spread.nearer_than(value),
                taste=self.users.taste(other),
                **{self.measure.value_name: value},
            )
            for other, value in zip(users.tolist(), values.tolist(), strict=True)
        ]

    def count(self, pairs: dict[str, int]) -> None:
        """Count pairs of users by search step."""
        with self._lock:
            self.searched.update(pairs)
