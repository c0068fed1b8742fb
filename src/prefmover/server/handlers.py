"""What the service answers: calls of the library, dressed as the schemas. Runs on the pool's threads.

Nothing is computed here that the library does not compute; the tests compare the two.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import numpy as np

from prefmover.data.preferences import preferences
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.measures import MEASURES, Measure, compare, similarities
from prefmover.measures.pmd import UserTransport, pmd
from prefmover.model import Guest, UserKNN
from prefmover.predict.base import NeighborPart, Prediction
from prefmover.predict.explanations import RecommendationExplanation, Through
from prefmover.predict.similarity import stacked
from prefmover.search import SearchStats
from prefmover.server import schemas
from prefmover.server.labels import Directory
from prefmover.server.workers import Budget

__all__ = ["Answers"]

GUEST_ID = "guest"
GUEST_LABEL = "You"
REASONS = 3  # neighbors named with each recommendation
NAMED = 20  # neighbors named in the explanation of one

OF_THE_PAIR = frozenset({"cos", "pcc", "msd", "jaccard", "urp", "jmsd", "bcf", "n-bcf", "pmd"})
"""Measures that look at nobody else's ratings; the others use the means of items."""

MOST_GUESTS = 128  # who are remembered: the pages ask several things about the same ratings

GivenRatings = Sequence[tuple[str, float]]


class Answers:
    """A model with names, ready to answer.

    Parameters
    ----------
    model
        Fitted; it is never changed.
    name
        What to call it.
    labels
        Names of items, by id.

    Attributes
    ----------
    searched
        What all searches did together; solves elsewhere are added.
    """

    def __init__(self, model: UserKNN, name: str, labels: Mapping[Any, str] | None = None) -> None:
        self.model = model
        self.name = name
        self.names = Directory(model.ratings_, labels or {})
        self.searched = SearchStats()
        self._lock = threading.Lock()
        self._guests: OrderedDict[tuple[tuple[str, float], ...], Guest] = OrderedDict()
        # Inside the library a guest needs a name that nobody has.
        self._guest = GUEST_ID
        while self._guest in self.names.users.ids:
            self._guest += "'"

    def info(self) -> schemas.ModelInfo:
        """Return what is served."""
        ratings, model = self.model.ratings_, self.model
        scale, geometry = ratings.scale, model.geometry_
        parameters = {
            name: value if isinstance(value, str | int | float | bool | None) else str(value)
            for name, value in model.get_params().items()
            if name not in ("n_threads", "measure")
        }
        return schemas.ModelInfo(
            name=self.name,
            n_users=ratings.n_users,
            n_items=ratings.n_items,
            n_ratings=ratings.n_ratings,
            scale=schemas.Scale(lowest=scale.lowest, highest=scale.highest, step=scale.step),
            geometry=None if geometry is None else geometry.name,
            measure=self._measure.name,
            parameters=parameters,
            version=version("prefmover"),
            measures=[
                schemas.MeasureInfo(name=row.name, label=row.label, summary=row.summary, kind=_kind(row))
                for row in MEASURES.values()
            ],
        )

    def users(self, q: str, offset: int, limit: int) -> schemas.Users:
        """Return a page of users."""
        found = self.names.users.search(q)
        page = [self.names.user(k) for k in found[offset : offset + limit]]
        return schemas.Users(total=len(found), offset=offset, limit=limit, users=page)

    def user(self, user: str, offset: int, limit: int) -> schemas.UserDetails:
        """Return a user with a page of their ratings, highest first."""
        k = self.names.users.at(user)
        items, given = self.names.row(k)
        total = float(given.sum())
        order = np.lexsort((items, -given))[offset : offset + limit]
        ratings = [
            schemas.RatedItem(item=self.names.item(i), rating=r, share=r / total if total else 0.0)
            for i, r in zip(items[order].tolist(), given[order].tolist(), strict=True)
        ]
        return schemas.UserDetails(
            **self.names.user(k).model_dump(),
            mean_rating=float(given.mean()) if len(given) else None,
            offset=offset,
            limit=limit,
            ratings=ratings,
        )

    def items(self, q: str, offset: int, limit: int) -> schemas.Items:
        """Return a page of items."""
        found = self.names.items.search(q)
        page = [self.names.item_details(k) for k in found[offset : offset + limit]]
        return schemas.Items(total=len(found), offset=offset, limit=limit, items=page)

    def near(self, item: str, k: int) -> schemas.NearItems:
        """Return the items nearest to an item."""
        at = self.names.items.at(item)
        geometry = self.model.geometry_
        if geometry is None:
            raise InputError("this model has no distances between items")
        found = geometry.near(self.names.items.ids[at], k)
        places = [self.names.items.at(str(other)) for other, _ in found]
        similarity = geometry.similarity([at], places)[0].tolist()
        near = [
            schemas.NearItem(item=self.names.item(place), distance=distance, similarity=alike)
            for place, (_, distance), alike in zip(places, found, similarity, strict=True)
        ]
        return schemas.NearItems(item=self.names.item(at), near=near)

    def neighbors(self, who: str | GivenRatings, k: int, budget: Budget) -> schemas.Neighbors:
        """Return the nearest users of a user or of a guest."""
        likeness = self.model.predictor_.likeness
        if isinstance(who, str):
            at = self.names.users.at(who)
            found = likeness.nearest(np.array([at]), k, budget.check)
            user, items = self.names.user(at), self.names.row(at)[0]
        else:
            guest = self.guest(who)
            found = likeness.nearest(guest.ratings, k, budget.check)
            user, items = self._as_user(guest), guest.ratings.matrix.indices
        self._count(found.stats)
        places = found.neighbors.tolist()
        near = [
            schemas.Neighbor(user=self.names.user(place), distance=distance, n_common=common)
            for place, distance, common in zip(
                places, found.values.tolist(), self.names.in_common(items, places), strict=True
            )
        ]
        return schemas.Neighbors(user=user, measure=self._measure.name, neighbors=near)

    def recommendations(self, who: str | GivenRatings, n: int, budget: Budget) -> schemas.Recommendations:
        """Return the best items that a user or a guest has not rated."""
        if isinstance(who, str):
            user, id_ = self._user(who)
            best = self.model.recommend(id_, n)
            budget.check()
            reasons = self.model.reasons(id_, [p.item for p in best], REASONS)
        else:
            guest = self.guest(who)
            user, best = self._as_user(guest), guest.recommend(n)
            budget.check()
            reasons = guest.reasons([p.item for p in best], REASONS)
        out = [
            schemas.Recommendation(
                item=self.names.item_of(p.item),
                rating=p.rating,
                fallback=_fallback(p),
                reasons=self._reasons(parts.neighbors, parts.through),
            )
            for p, parts in zip(best, reasons, strict=True)
        ]
        return schemas.Recommendations(user=user, recommendations=out)

    def predictions(
        self, who: str | GivenRatings, items: Iterable[str], budget: Budget
    ) -> schemas.Predictions:
        """Return predicted ratings of items."""
        asked = [self.names.items.ids[self.names.items.at(item)] for item in items]
        if isinstance(who, str):
            user, id_ = self._user(who)
            found = self.model.predict([(id_, item) for item in asked], progress=budget.check)
        else:
            guest = self.guest(who)
            user, found = self._as_user(guest), guest.predict(asked)
        out = [
            schemas.Prediction(
                item=self.names.item_of(p.item),
                rating=p.rating,
                fallback=_fallback(p),
                clipped=p.clipped,
                n_neighbors=p.n_neighbors,
            )
            for p in found
        ]
        return schemas.Predictions(user=user, predictions=out)

    def explanation(self, who: str | GivenRatings, item: str, budget: Budget) -> schemas.Explanation:
        """Return what one predicted rating is made of."""
        id_ = self.names.items.ids[self.names.items.at(item)]
        if isinstance(who, str):
            user, asker = self._user(who)
            whole = self.model.explain_recommendation(asker, id_)
        else:
            guest = self.guest(who)
            user, whole = self._as_user(guest), guest.explain_recommendation(id_)
        return self._explained(user, whole)

    def pair(self, who: str | GivenRatings, other: str, budget: Budget) -> schemas.PairExplanation:
        """Return the plan between two users."""
        geometry = self.model.geometry_
        if geometry is None:
            raise InputError("this model has no distances between items, and thus no plan between users")
        at = self.names.users.at(other)
        id_ = self.names.users.ids[at]
        if isinstance(who, str):
            mine = self.names.users.at(who)
            two = self.model.ratings_.take(users=[mine] if mine == at else [mine, at])
            user, name = self.names.user(mine), self.names.users.ids[mine]
        else:
            guest = self.guest(who)
            two = stacked(self.model.ratings_.take(users=[at]), guest.ratings)
            user, name = self._as_user(guest), guest.name
        solved = pmd(two, geometry, name, id_)
        self._count(SearchStats(solved=1))
        return self._plan(user, self.names.user(at), two, solved)

    def comparison(self, who: str | GivenRatings, other: str, budget: Budget) -> schemas.Comparison:
        """Return two users under all measures."""
        at = self.names.users.at(other)
        id_ = self.names.users.ids[at]
        ratings = self.model.ratings_
        if isinstance(who, str):
            user, name = self._user(who)
            mine = self.names.users.at(who)
            items = self.names.row(mine)[0]
            two = ratings.take(users=[mine] if mine == at else [mine, at])
        else:
            guest = self.guest(who)
            user, name, items = self._as_user(guest), guest.name, guest.ratings.matrix.indices
            two = stacked(ratings.take(users=[at]), guest.ratings)
            ratings = stacked(ratings, guest.ratings)
        values = []
        for row in MEASURES.values():
            budget.check()
            values.append(self._measured(two if row.name in OF_THE_PAIR else ratings, row, name, id_))
        return schemas.Comparison(
            user=user,
            other=self.names.user(at),
            n_common=self.names.in_common(items, [at])[0],
            measures=values,
        )

    def guest(self, ratings: GivenRatings) -> Guest:
        """Return somebody with ratings typed in a moment ago; the last ones are kept with their place."""
        key = tuple(ratings)
        with self._lock:
            known = self._guests.pop(key, None)
            if known is not None:
                self._guests[key] = known
                return known
        items = self.names.items
        made = self.model.for_ratings(
            {items.ids[items.at(item)]: rating for item, rating in key}, name=self._guest
        )
        with self._lock:
            self._guests[key] = made
            while len(self._guests) > MOST_GUESTS:
                self._guests.popitem(last=False)
        return made

    def warm_up(self, budget: Budget) -> None:
        """Ask for everything once, so that kernels are compiled and indexes made before anybody waits."""
        users, items = self.names.users, self.names.items
        able = np.flatnonzero(self.names.per_user > 0)
        typical = able[np.argsort(self.names.per_user[able], kind="stable")[len(able) // 2]]
        who = users.texts[typical]
        other = users.texts[able[0] if able[0] != typical else able[-1]]
        row, given = self.names.row(int(typical))
        guest = [(items.texts[i], r) for i, r in zip(row[:5].tolist(), given[:5].tolist(), strict=True)]
        asker: str | GivenRatings
        for asker in (who, guest):
            for ask in (
                lambda who: self.neighbors(who, 10, budget),
                lambda who: self.recommendations(who, 3, budget),
                lambda who: self.predictions(who, items.texts[:2], budget),
                lambda who: self.explanation(who, items.texts[0], budget),
                lambda who: self.pair(who, other, budget),
                lambda who: self.comparison(who, other, budget),
            ):
                with suppress(InputError):  # this user has none; others may
                    ask(asker)

    def _count(self, stats: SearchStats) -> None:
        with self._lock:
            self.searched += stats

    @property
    def _measure(self) -> Measure:
        return self.model.predictor_.likeness.measure

    def _user(self, text: str) -> tuple[schemas.User, Any]:
        at = self.names.users.at(text)
        return self.names.user(at), self.names.users.ids[at]

    def _as_user(self, guest: Guest) -> schemas.User:
        return schemas.User(id=GUEST_ID, label=GUEST_LABEL, n_ratings=guest.ratings.n_ratings)

    def _reasons(
        self, parts: Sequence[NeighborPart], through: Mapping[Any, Sequence[Through]]
    ) -> list[schemas.NeighborReason]:
        return [
            schemas.NeighborReason(
                user=self.names.user_of(part.user),
                distance=None if np.isnan(part.distance) else part.distance,
                rating=part.rating,
                weight=part.weight,
                opinion=part.opinion,
                contribution=part.value,
                through=[
                    schemas.Through(item=self.names.item_of(t.item), rating=t.rating, contribution=t.value)
                    for t in through.get(part.user, ())
                ],
            )
            for part in parts
        ]

    def _explained(self, user: schemas.User, whole: RecommendationExplanation) -> schemas.Explanation:
        p, spoken = whole.prediction, sum(part.value for part in whole.neighbors)
        parts = [schemas.Part(name=b.name, label=b.meaning, value=b.value) for b in whole.base]
        if whole.neighbors:
            label = f"{len(whole.neighbors):,} like-minded users"
            parts.append(schemas.Part(name="neighbors", label=label, value=spoken))
        rest = whole.neighbors[NAMED:]
        return schemas.Explanation(
            user=user,
            item=self.names.item_of(p.item),
            rating=p.rating,
            total=sum(part.value for part in parts),
            base=p.base,
            parts=parts,
            neighbors=self._reasons(whole.neighbors[:NAMED], whole.through),
            others=schemas.Others(count=len(rest), contribution=sum(part.value for part in rest)),
            fallback=_fallback(p),
            clipped=p.clipped,
        )

    def _plan(
        self, user: schemas.User, other: schemas.User, two: Ratings, solved: UserTransport
    ) -> schemas.PairExplanation:
        geometry, places = self.model.geometry_, self.names.items
        assert geometry is not None
        flows = solved.flows
        sources = [places.at(str(flow.source)) for flow in flows]
        targets = [places.at(str(flow.target)) for flow in flows]
        rows, row_of = np.unique(sources, return_inverse=True)
        columns, column_of = np.unique(targets, return_inverse=True)
        similarity = geometry.similarity(rows, columns)[row_of, column_of].tolist()
        moved = [
            schemas.Flow(
                source=self.names.item(i),
                target=self.names.item(j),
                distance=flow.distance,
                similarity=alike,
                mass=flow.mass,
                cost=flow.mass * flow.distance,
                share=flow.share,
            )
            for flow, i, j, alike in zip(flows, sources, targets, similarity, strict=True)
        ]
        stays = sorted(((f.mass, i) for f, i, j in zip(flows, sources, targets, strict=True) if i == j))
        mine, theirs = (self._masses(two, id_) for id_ in (solved.u, solved.v))
        both = {one.item.id for one in mine} & {one.item.id for one in theirs}
        proof = solved.transport.certificate
        return schemas.PairExplanation(
            user=user,
            other=other,
            distance=solved.distance,
            certificate=schemas.Certificate(primal=proof.primal, dual=proof.dual, gap=proof.gap),
            n_common=len(both),
            shared=[schemas.SharedItem(item=self.names.item(i), mass=mass) for mass, i in reversed(stays)],
            flows=moved,
            source_items=mine,
            target_items=theirs,
        )

    def _masses(self, two: Ratings, id_: Any) -> list[schemas.MassItem]:
        """Return a user's items with their shares of the preference, largest first."""
        one = two.take(users=[two.user_position(id_)])
        whole = preferences(one)
        mass = dict(zip(whole.indices.tolist(), (whole.mass / whole.total[0]).tolist(), strict=True))
        given = zip(one.matrix.indices.tolist(), one.matrix.data.tolist(), strict=True)
        listed = [
            schemas.MassItem(item=self.names.item(i), rating=r, mass=mass.get(i, 0.0)) for i, r in given
        ]
        return sorted(listed, key=lambda one: -one.mass)

    def _measured(self, ratings: Ratings, row: Measure, name: Any, other: Any) -> schemas.MeasureValue:
        value, why = float("nan"), None
        if row.needs_geometry and self.model.geometry_ is None:
            why = "the model has no distances between items"
        else:
            asked = {"geometry": self.model.geometry_, "users": [name], "others": [other]}
            value = float(similarities(ratings, row, n_threads=1, **asked)[0, 0])  # type: ignore[arg-type]
            if np.isnan(value):
                why = compare(ratings, name, other, row, geometry=self.model.geometry_, n_terms=0).reason
        defined = not np.isnan(value)
        return schemas.MeasureValue(
            name=row.name,
            label=row.label,
            summary=row.summary,
            kind=_kind(row),
            value=value if defined else None,
            defined=defined,
            why=None if defined else why or "it gives no value for this pair",
        )


def _kind(row: Measure) -> Any:
    return "similarity" if row.larger_is_closer else "distance"


def _fallback(prediction: Prediction) -> str | None:
    return None if prediction.how == "neighbors" else prediction.how
