"""The responses: calls of the library, in the shape of the schemas. They run on worker threads.

Nothing is computed here that the library does not compute; the tests compare the two.
"""

from __future__ import annotations

import hashlib
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.metadata import version
from math import isnan
from typing import Any

import numpy as np
from cachetools import LRUCache

from prefmover._typing import Progress
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import InputError, UnknownIdError
from prefmover.explain.rating import contribution_dict
from prefmover.measures import MEASURES, Measure
from prefmover.measures.breakdown import breakdown
from prefmover.measures.pairwise import values
from prefmover.model.base import BaseRecommender
from prefmover.predict.base import UserState
from prefmover.server import schemas
from prefmover.server.workers import check_cancelled

__all__ = ["Handlers"]

REASONS = 3  # contributions sent with each recommendation
EXPLAINED = 20  # contributions sent in the explanation of one; the others are summed
GUESTS = 128  # states of guests in the cache: the pages send several requests with the same ratings
SHOWN = 60  # characters of an unknown id that are repeated
STEPS = ("rwmd", "prices", "abandoned", "solved", "known", "undefined")  # of a search, for the metrics

GuestKey = tuple[tuple[str, float], ...]


class Handlers:
    """The responses of one model.

    Parameters
    ----------
    model
        A fitted model. It does not change, so responses can be cached.
    name
        Name of the model on the pages; the name of its data set by default.
    item_noun
        Word for an item; "film" for the film data sets and "item" for others by default.

    Attributes
    ----------
    searched
        Number of pairs of users, by the search step that dealt with them.
    """

    def __init__(self, model: BaseRecommender, name: str = "", item_noun: str | None = None) -> None:
        self.model = model
        self.data = model.data_
        self.name = name or self.data.name or "unnamed data set"
        self.item_noun = item_noun or _item_noun(self.data.name)
        self.searched: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._guests: LRUCache[bytes, UserState] = LRUCache(GUESTS)
        self._arriving: dict[bytes, threading.Lock] = {}
        ratings = self.data.ratings
        self._n_ratings = np.diff(ratings.matrix.indptr)
        self._n_raters = np.bincount(ratings.matrix.indices, minlength=ratings.n_items)
        sums = np.bincount(ratings.matrix.indices, ratings.matrix.data, minlength=ratings.n_items)
        self._item_means = sums / np.maximum(self._n_raters, 1)
        self._users, self._items = ratings.users.tolist(), ratings.items.tolist()
        self._user_ids = [str(user) for user in self._users]
        self._item_ids = [str(item) for item in self._items]
        self._longest_user = max(map(len, self._user_ids), default=0)
        self._longest_item = max(map(len, self._item_ids), default=0)
        self._plain_users = [(_plain(user),) for user in self._user_ids]
        self._plain_items = [
            (_plain(title), _plain(item))
            for title, item in zip(self.data.items.labels, self._item_ids, strict=True)
        ]
        self._popular = np.argsort(-self._n_raters, kind="stable").tolist()
        self._guest_name = "guest"  # a guest's name must not be the id of a user
        while self._guest_name in self._user_ids:
            self._guest_name += "'"

    @property
    def measure(self) -> Measure:
        """The measure of the model."""
        return self.model.predictor_.similarity.measure

    def user(self, text: str) -> UserState:
        """Return the state of a user."""
        position = self._user(text)
        state: UserState = self.model.predictor_.state(position, self._users[position])
        return state

    def guest(self, ratings: GuestKey) -> UserState:
        """Return the state of a guest. Requests about the same guest, at the same time, compute it once."""
        key = hashlib.blake2b(repr(ratings).encode(errors="surrogatepass"), digest_size=16).digest()
        with self._lock:
            lock = self._arriving.setdefault(key, threading.Lock())
        try:
            with lock:
                with self._lock:
                    state = self._guests.get(key)
                if state is None:
                    by_item = {self._items[self._item(item)]: rating for item, rating in ratings}
                    state = self.model.guest(by_item, name=self._guest_name)
                    with self._lock:
                        self._guests[key] = state
                return state
        finally:
            with self._lock:
                self._arriving.pop(key, None)

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
            item_noun=self.item_noun,
            measure=self.measure.name,
            value_name=self.measure.value_name,
            parameters=parameters,
            version=version("prefmover"),
            measures=[schemas.MeasureOut(**_about(row)) for row in MEASURES.values()],
        )

    def users(self, q: str, offset: int, limit: int) -> schemas.UsersOut:
        """Return a page of the users whose id contains a text."""
        hits = _search(q, self._plain_users, range(self.data.n_users))
        page = [
            schemas.UserOut(id=self._user_ids[k], n_ratings=int(self._n_ratings[k]))
            for k in hits[offset : offset + limit]
        ]
        return schemas.UsersOut(total=len(hits), offset=offset, limit=limit, users=page)

    def user_details(self, user: str, offset: int, limit: int) -> schemas.UserDetailsOut:
        """Return a user with a page of ratings, highest first."""
        position = self._user(user)
        items, ratings = self.data.ratings.row(position)
        total = float(ratings.sum())
        order = np.lexsort((items, -ratings))[offset : offset + limit]
        return schemas.UserDetailsOut(
            id=self._user_ids[position],
            n_ratings=len(items),
            mean_rating=float(ratings.mean()) if len(items) else None,
            offset=offset,
            limit=limit,
            ratings=[
                schemas.RatedItemOut(
                    **self._titled(item), rating=rating, share=rating / total if total else 0.0
                )
                for item, rating in zip(items[order].tolist(), ratings[order].tolist(), strict=True)
            ],
        )

    def items(self, q: str, offset: int, limit: int) -> schemas.ItemsOut:
        """Return a page of the items whose title or id contains a text, those with most ratings first."""
        hits = _search(q, self._plain_items, self._popular)
        page = [schemas.ItemOut(**self._facts(k)) for k in hits[offset : offset + limit]]
        return schemas.ItemsOut(total=len(hits), offset=offset, limit=limit, items=page)

    def item_details(self, item: str) -> schemas.ItemDetailsOut:
        """Return an item, and how often it got each rating."""
        position, catalog, matrix = self._item(item), self.data.items, self.data.ratings.matrix
        given = matrix.data[matrix.indices == position]
        counts = zip(*(part.tolist() for part in np.unique(given, return_counts=True)), strict=True)
        return schemas.ItemDetailsOut(
            **self._facts(position),
            year=int(catalog.years[position]) or None,
            genres=list(catalog.genres[position]),
            ratings=[schemas.RatingCountOut(rating=rating, count=count) for rating, count in counts],
        )

    def near_items(self, item: str, k: int) -> schemas.NearItemsOut:
        """Return the items nearest to an item."""
        position = self._item(item)
        geometry = self.data.require_geometry("the search for near items")
        near = geometry.near(self._items[position], k)
        positions = [geometry.item_position(other) for other, _ in near]
        similarities = geometry.similarity([position], positions)[0].tolist()
        return schemas.NearItemsOut(
            **self._titled(position),
            near=[
                schemas.NearItemOut(**self._titled(other), distance=distance, similarity=similarity)
                for other, (_, distance), similarity in zip(positions, near, similarities, strict=True)
            ],
        )

    def neighbors(self, state: UserState, options: schemas.NeighborOptions) -> schemas.NeighborsOut:
        """Return the nearest users."""
        similarity, guest = self.model.predictor_.similarity, None
        if state.position < 0:
            guest = self.data.ratings.one_user(state.name, state.items, state.values)
        near = similarity.nearest(np.array([state.position]), options.k, guest, check_cancelled)
        self._count({step: getattr(near.stats, step) for step in STEPS})
        name = self.measure.value_name
        return schemas.NeighborsOut(
            user=state.name,
            measure=self.measure.name,
            neighbors=[
                schemas.NeighborOut(
                    user=self._user_ids[other], n_common=self._n_common(state, other), **{name: value}
                )
                for other, value in zip(near.neighbors.tolist(), near.values.tolist(), strict=True)
            ],
        )

    def recommendations(
        self, state: UserState, options: schemas.RecommendationOptions
    ) -> schemas.RecommendationsOut:
        """Return the items with the highest scores that the user has not rated."""
        top = self.model.recommend(state, **self._arguments(options))
        check_cancelled()
        reasons = self.model.contributions(state, [one.item for one in top], REASONS) if top else []
        return schemas.RecommendationsOut(
            user=state.name,
            recommendations=[
                schemas.RecommendationOut(
                    **one.to_dict(),
                    contributions=[schemas.ContributionOut(**self._contribution(c)) for c in contributions],
                )
                for one, contributions in zip(top, reasons, strict=True)
            ],
        )

    def _arguments(self, options: schemas.RecommendationOptions) -> dict[str, Any]:
        """Return the arguments of the model's ``recommend``; an unknown id is an error."""
        given = options.arguments()
        for name in ("items", "exclude"):
            if name in given:
                given[name] = [self._items[self._item(item)] for item in given[name]]
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

    def predictions(self, state: UserState, items: Sequence[str]) -> schemas.PredictionsOut:
        """Return predicted ratings of items."""
        positions = [self._item(item) for item in items]
        pairs = [(state, self._items[position]) for position in positions]
        predictions = self.model.predict(pairs, progress=check_cancelled)
        return schemas.PredictionsOut(
            user=state.name,
            predictions=[
                schemas.PredictionOut(
                    **self._titled(position),
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
        """Return the parts of a predicted rating."""
        explanation = self.model.explain_recommendation(state, self._items[self._item(item)])
        return schemas.RecommendationExplanationOut(**explanation.to_dict(EXPLAINED))

    def user_explanation(self, state: UserState, other: str) -> schemas.UserExplanationOut:
        """Return why two users are as near as they are."""
        explanation = self.model.explain(state, self._users[self._user(other)])
        self._count({"solved": 1})
        return schemas.UserExplanationOut(**explanation.to_dict())

    def comparison(self, state: UserState, other: str) -> schemas.ComparisonOut:
        """Return the values of all measures for two users."""
        position = self._user(other)
        ratings = self.data.ratings
        name = self._guest_name if state.position == position else state.name
        user = ratings.one_user(name, state.items, state.values)
        pair = self._with_ratings(ratings.take(users=[position]).stack(user))
        # Most measures look at the two users only; the others use the ratings of everybody.
        everybody, first = self.data, state.position
        if first < 0:
            everybody, first = self._with_ratings(ratings.stack(user)), ratings.n_users
        results = []
        for row in MEASURES.values():
            check_cancelled()
            data, u, v = (everybody, first, position) if row.uses_others else (pair, 1, 0)
            results.append(_measured(data, row, u, v))
        return schemas.ComparisonOut(
            user=state.name,
            other=self._user_ids[position],
            n_common=self._n_common(state, position),
            measures=results,
        )

    def warm_up(self, progress: Progress = lambda done, total: None) -> None:
        """Call everything once, so that kernels are compiled and indexes are built before a client waits."""
        raters = np.flatnonzero(self._n_ratings > 0)
        typical = raters[np.argsort(self._n_ratings[raters], kind="stable")[len(raters) // 2]]
        other = self._user_ids[raters[0] if raters[0] != typical else raters[-1]]
        items, ratings = (part[:5].tolist() for part in self.data.ratings.row(int(typical)))
        guest = tuple((self._item_ids[item], rating) for item, rating in zip(items, ratings, strict=True))
        calls: list[Callable[[UserState], object]] = [
            lambda user: self.neighbors(user, schemas.NeighborOptions()),
            lambda user: self.recommendations(user, schemas.RecommendationOptions(n=3)),
            lambda user: self.predictions(user, self._item_ids[:2]),
            lambda user: self.recommendation_explanation(user, self._item_ids[0]),
            lambda user: self.user_explanation(user, other),
            lambda user: self.comparison(user, other),
        ]
        for k, state in enumerate((self.user(self._user_ids[typical]), self.guest(guest))):
            for done, call in enumerate(calls, k * len(calls)):
                progress(done, 2 * len(calls))
                with suppress(InputError):  # undefined for this user, perhaps not for others
                    call(state)

    def _count(self, pairs: dict[str, int]) -> None:
        with self._lock:
            self.searched.update(pairs)

    def _user(self, text: str) -> int:
        self._refuse_long(text, "user", self._longest_user)
        return self.data.user_position(text)

    def _item(self, text: str) -> int:
        self._refuse_long(text, "item", self._longest_item)
        return self.data.ratings.item_position(text, from_text=True)

    @staticmethod
    def _refuse_long(text: str, kind: str, longest: int) -> None:
        """Refuse an id that is longer than all ids: a search for similar ones could take seconds."""
        if len(text) > max(2 * longest, SHOWN):
            raise UnknownIdError(f"there is no {kind} {text[:SHOWN]!r}...; the longest id has {longest:,}")

    def _facts(self, position: int) -> dict[str, Any]:
        n = int(self._n_raters[position])
        return {
            "id": self._item_ids[position],
            "title": self.data.items.label(position),
            "n_ratings": n,
            "mean_rating": float(self._item_means[position]) if n else None,
        }

    def _titled(self, position: int) -> dict[str, str]:
        return {"item": self._item_ids[position], "title": self.data.items.label(position)}

    def _with_ratings(self, ratings: Ratings) -> Dataset:
        """Return the data set with other ratings and the same distances between items."""
        return Dataset(ratings, self.data.geometry, self.data.items)

    def _n_common(self, state: UserState, other: int) -> int:
        theirs = self.data.ratings.row(other)[0]
        return len(np.intersect1d(state.items, theirs, assume_unique=True))

    def _contribution(self, one: Any) -> dict[str, Any]:
        labels = {
            e.item: self.data.items.label(self.data.ratings.item_position(e.item)) for e in one.evidence
        }
        return contribution_dict(one, self.measure.value_name, labels)


def _measured(data: Dataset, row: Measure, u: int, v: int) -> schemas.MeasureValueOut:
    value, reason = float("nan"), None
    if row.needs_geometry and data.geometry is None:
        reason = "the data set has no distances between items"
    else:
        value = float(values(data, row, None, np.array([u]), np.array([v]), n_threads=1)[0, 0])
        if isnan(value):
            reason = breakdown(data, u, v, row).reason or "the measure gives no value for this pair"
    return schemas.MeasureValueOut(**_about(row), value=None if isnan(value) else value, reason=reason)


def _about(row: Measure) -> dict[str, Any]:
    return {"name": row.name, "label": row.label, "summary": row.summary, "value_name": row.value_name}


def _item_noun(name: str) -> str:
    return "film" if name == "cinema" or name.startswith("ml-") else "item"


def _plain(text: str) -> str:
    """Return a text without case and accents.

    >>> _plain("Amélie")
    'amelie'
    """
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in folded if not unicodedata.combining(c))


def _search(text: str, names: Sequence[tuple[str, ...]], order: Iterable[int]) -> list[int]:
    """Return the positions of names that begin with a text, then of those that contain it.

    >>> _search("him", [("der himmel", "k1"), ("himmel", "k2"), ("", "k3")], range(3))
    [1, 0]
    """
    query = _plain(text.strip())
    hits = [k for k in order if any(query in name for name in names[k])]
    return sorted(hits, key=lambda k: not any(name.startswith(query) for name in names[k]))
