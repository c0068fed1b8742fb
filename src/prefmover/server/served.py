"""The model that is served, with what its answers share: facts, guests, and the spread of its measure."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from cachetools import LRUCache

from prefmover._typing import Floats, Ints
from prefmover.dataset import Dataset
from prefmover.datasets.matching import TitleIndex
from prefmover.items.catalog import parse_where
from prefmover.measures import Measure
from prefmover.measures.pairs import values
from prefmover.model.base_recommender import BaseRecommender
from prefmover.predict.predictor import UserState
from prefmover.server.facts import ItemFacts, UserFacts
from prefmover.server.feedback import Feedback
from prefmover.server.problems import reading
from prefmover.server.schemas.requests import Person, RecommendationOptions, WhatIf
from prefmover.server.schemas.responses import NeighborOut

MOST_GUESTS = 128
USERS, OTHERS = 40, 25  # random users, and others that each is compared with
GuestKey: TypeAlias = tuple[tuple[str, float | None], ...]
"""The ratings of a guest, (item, rating) sorted by item; None is a like."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Values of a measure between random pairs of users, sorted, to say how near a value is.

    >>> spread = Spread(np.array([0.2, 0.4, 0.6, 0.8]), larger_is_closer=False)
    >>> spread.nearer_than(0.3), spread.nearer_than(0.8)
    (0.75, 0.0)
    """

    values: Floats
    larger_is_closer: bool

    @classmethod
    def of(cls, data: Dataset, measure: Measure, convention: str | None = None) -> Spread:
        """Return the exact values between random users: up to 40 users, with 25 others each."""
        rng = np.random.default_rng(0)
        eligible = np.flatnonzero(np.diff(data.ratings.matrix.indptr))
        users, others = rng.permutation(eligible)[:USERS], rng.permutation(eligible)[:OTHERS]
        table = values(data, measure, convention, users, others, n_threads=1)
        found = table[(users[:, None] != others[None, :]) & ~np.isnan(table)]
        return cls(np.sort(found), measure.larger_is_closer)

    def nearer_than(self, value: float) -> float | None:
        """Return the share of the pairs that are farther apart than a value; None without pairs."""
        n = len(self.values)
        if n == 0 or np.isnan(value):
            return None
        if self.larger_is_closer:
            return int(np.searchsorted(self.values, value, side="left")) / n
        return 1 - int(np.searchsorted(self.values, value, side="right")) / n

    def quantile(self, share: float) -> float | None:
        """Return the value below which a share of the pairs is; None without pairs."""
        return float(np.quantile(self.values, share)) if len(self.values) else None


class ServedModel:
    """A fitted model, which does not change, so that answers can be cached.

    The pages show its name, and what a user and an item are called; by default, those of the data set. No
    user has the id ``guest_name``. ``searched`` counts pairs of users by search step.
    """

    def __init__(
        self,
        model: BaseRecommender,
        name: str = "",
        item_noun: str | None = None,
        user_noun: str | None = None,
    ) -> None:
        self.model = model
        self.data, self.similarity = model.data_, model.similarity_
        self.measure = self.similarity.measure
        self.name = name or self.data.name or "unnamed data set"
        self.item_noun = item_noun or self.data.item_noun
        self.user_noun = user_noun or self.data.user_noun
        self.users, self.items = UserFacts(self.data), ItemFacts(self.data)
        self.feedback = Feedback(self.data.ratings)
        self.searched: Counter[str] = Counter()
        self.guest_name = self.data.ratings.user_index.free_name("guest")
        self._lock = threading.Lock()
        self._guests: LRUCache[GuestKey, Future[UserState]] = LRUCache(MOST_GUESTS)

    @cached_property
    def spread(self) -> Spread:
        """Values of the measure between random users."""
        return Spread.of(self.data, self.measure, self.similarity.convention)

    @cached_property
    def titles(self) -> TitleIndex:
        """The titles of the items, for those of other sites."""
        return TitleIndex(self.data.catalog)

    def person(self, asked: Person) -> UserState:
        """Return the state of the person whom a request is about."""
        state = self.guest(asked.key) if asked.ratings else self.user(asked.user)
        if not isinstance(asked, WhatIf) or not asked.without:
            return state
        return self.model.without(state, [self.items.id_of(item) for item in asked.without])

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
        given = {name: getattr(options, name) for name in RecommendationOptions.model_fields}
        with reading():
            given["where"] = parse_where(options.where)
            self.data.catalog.matching(given["where"])
        for name in ("items", "exclude"):
            given[name] = [self.items.id_of(item) for item in given[name]]
        return {name: value for name, value in given.items() if value not in ([], {})}

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
