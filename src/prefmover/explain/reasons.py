r"""Which terms of a score are reasons that a person can check.

An **own rating** is named if it carries weight and its item is related to the recommended one. It carries
weight if it adds to the score (at least :data:`LEAST`), and at least :data:`WEIGHT` times what the strongest
of these adds, or the strongest like (:mod:`prefmover.explain.co_likes`). A rating of an item that is not
related is named, too, if it adds :data:`ALONE` / √n of all that n ratings of the user add: then it would not
be true to leave it out. Related means one of two things:

- *near*: fewer than :data:`NEAR` items are nearer to the recommended one in the item geometry, and fewer than
  a twentieth of all items (or 5);
- *liked together*: at least 10 users like both, 1.5 times as many as by chance, and the item is among the
  nearest third of all items. (Films of one season are liked together, whatever they are.)

**People with the user's taste** are the users with the largest weights in the score: :data:`LIKE_MINDED` of
them, at most a quarter of all. They are near by the distances that the score uses, which are estimated
between many users (:mod:`prefmover.measures.estimates`); a neighbor average takes the nearest by the exact
measure. Those of them who like the item are *for* it, those who rated it and do not like it are *against* it.
A list has the two who add most to the score (:data:`FOR`) and the one who lowers it most (:data:`AGAINST`);
the explanation of one item has all of them. Each comes with what connects the two: an item that both like, or
the nearest pair of likes if it is near.

**Sentences** name at most two own ratings, likes of related items, and one person
(:mod:`prefmover.explain.sentences`), and not the same ones again and again
(:mod:`prefmover.explain.variety`). If a list of :data:`FEW` items for somebody with as many ratings has no
own rating to name, because no item is related to a like, the like that adds most of those among the nearest
third is named, as a weak reason.

If all users are compared exactly, the share of users who are less near than a named person is a count.
Otherwise it is an estimate, and is called one: the share of the landmarks, a random sample of the users,
whose distance is larger. A distance that is given is always exact. Where distances are estimated, a list does
not give them, because exact distances of users with hundreds of ratings take longer than everything else
together. The explanation of one item computes and gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from prefmover._pickled import PickledFields
from prefmover._typing import Bools, Floats, Ints
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset, geometry_if
from prefmover.explain.co_likes import ROUNDING, CoLikes, liked_together, likes_among
from prefmover.explain.recommendation import (
    LEAST,
    NeighborRating,
    Others,
    OwnRating,
    RecommendationExplanation,
)
from prefmover.explain.variety import NEARLY, Variety
from prefmover.explain.words import Words
from prefmover.items.geometry import ItemGeometry
from prefmover.predict.predictor import UserState
from prefmover.rank.ranker import NearerThan, Ranker, SideScores

__all__ = ["Explainer"]

NEAR = 100
"""A related item is among this many nearest of the recommended one."""

NEAR_SHARE = 20
"""It is also among the nearest twentieth of all items, or among the nearest 5."""

WEIGHT = 0.2
"""A named rating adds at least this share of what the strongest one adds."""

ALONE = 1.2
"""An unrelated rating is named if it adds ALONE / √n of all that n ratings add (docs/results/reasons.md)."""

SIDE_SHARE = 3
"""An item that is liked together with it is among the nearest third."""

LIKE_MINDED = 40
"""People with a user's taste: this many users with the largest weights, at most a quarter of all."""

FOR, AGAINST = 2, 1
"""How many of them a list names for each item."""

OWN = 2
"""How many own ratings the sentences for an item name."""

FEW = 5
"""A list of this many items for a user with as many ratings names at least one own rating."""


@dataclass(frozen=True, eq=False)
class Explainer(PickledFields):
    """Reasons for the scores of a ranker.

    Attributes
    ----------
    ranker
        The ranking that gives the scores.
    alone
        How much an unrelated rating adds at least if it is named: :data:`ALONE`, or another value.
    """

    ranker: Ranker
    alone: float = ALONE

    @cached_property
    def data(self) -> Dataset:
        """The data set of the ranking."""
        return self.ranker.similarity.data

    @cached_property
    def co_likes(self) -> CoLikes:
        """Who liked what."""
        return CoLikes(self.data.ratings)

    @cached_property
    def _near_limits(self) -> Floats:
        """(n_items, 2) :func:`limits` of the items that were asked for, NaN for others: lists share them.

        Threads may fill the same row at once: they write the same numbers, and a row counts when it is whole.
        """
        return np.full((self.data.n_items, 2), np.nan)

    def explain(
        self,
        state: UserState,
        items: Ints,
        ratings: Sequence[float | None],
        scores: SideScores | None = None,
        *,
        everybody: bool = False,
    ) -> list[RecommendationExplanation]:
        """Return the reasons to recommend items to a user, in one pass.

        Parameters
        ----------
        state
            The user. If nothing is known about the user, there are no reasons, only a score.
        items, ratings
            Positions of the items, and their predicted ratings.
        scores
            The user's scores of all items, if they are there.
        everybody
            Whether all like-minded users who rated an item are named, not only the strongest.
        """
        if not len(items):
            return []
        ranker, data = self.ranker, self.data
        scores = ranker.scores(state) if scores is None else scores
        like_minded = self._like_minded(state)
        own_terms, user_terms = np.zeros((0, len(items))), np.zeros((0, len(items)))
        if len(state.rated):
            own_terms, user_terms = ranker.terms(state, items, like_minded)
        own = self._own_ratings(state, items, own_terms)
        words = Words.of(data, guest=state.position < 0)
        liked = set(data.ratings.items[state.rated[_likes(data, state)]].tolist())
        because = _because(own, liked, words)
        if not any(because) and min(len(items), len(state.rated)) >= FEW:
            because = self._nearly_related(state, items, own_terms)
            own = [_with(*some) for some in zip(own, because, strict=True)]
        said = {
            item: data.ratings.item_positions([one.item for one in some])
            for item, some in zip(items.tolist(), because, strict=True)
        }
        people, estimated = self._people(state, like_minded, user_terms, said, everybody)
        counts, n_likes = data.ratings_per_item, self.co_likes.n_likes
        n_others = data.n_users - (state.position >= 0)
        explanations = []
        for k, item in enumerate(items.tolist()):
            item_side, user_side = float(scores.items[0, item]), float(scores.users[0, item])
            other_own = item_side - sum(one.value for one in own[k])
            other_users = user_side - sum(one.value for one in people[k].named)
            explanations.append(
                RecommendationExplanation(
                    user=state.name,
                    item=data.ratings.items[[item]].tolist()[0],
                    label=data.catalog.label(item),
                    item_side=item_side,
                    user_side=user_side,
                    rating=ratings[k],
                    n_ratings=int(counts[item]),
                    n_likes=int(n_likes[item]),
                    rated=next(iter(state.given[state.rated == item].tolist()), None),
                    own=own[k],
                    other_own=Others(len(state.rated) - len(own[k]), other_own),
                    n_like_minded=len(like_minded),
                    n_for=people[k].n_for,
                    n_against=people[k].n_against,
                    neighbors=people[k].named,
                    other_users=Others(n_others - len(people[k].named), other_users),
                    because=because[k],
                    estimated=estimated,
                    value_name=ranker.similarity.measure.value_name,
                    words=words,
                )
            )
        return explanations

    def _own_ratings(self, state: UserState, items: Ints, parts: Floats) -> list[tuple[OwnRating, ...]]:
        """Return the user's ratings that are reasons for each item, those that add most first.

        ``parts`` are (rated, items): what each rating adds.
        """
        data, likes = self.data, _likes(self.data, state)
        share = max(self.alone, ROUNDING) / max(len(parts), 1) ** 0.5
        heavy = parts >= share * np.maximum(parts, 0.0).sum(axis=0)
        at = np.flatnonzero((parts >= LEAST).any(axis=1))
        geometry, distances = geometry_if(data, False), None
        aside = np.ones((len(items), len(at)), bool)
        near = ~aside
        if geometry is not None and len(at):
            ends = self._limits_of(geometry, items)
            distances = _distances(geometry, items, state.rated[at])
            near, aside = distances <= ends[:, :1], distances <= ends[:, 1:]
            may_be = ((parts[at].T >= LEAST) & (near | aside | heavy[at].T)).any(axis=0)
            at, distances = at[may_be], distances[:, may_be]
            near, aside = near[:, may_be], aside[:, may_be]
        n_both, lift = self.co_likes.together(items, state.rated[at])
        related = near | (liked_together(n_both, lift) & aside)
        named = []
        for k, added in enumerate(parts[at].T):
            kin = related[k] & (added >= LEAST)
            strongest = added[kin & likes[at]] if (kin & likes[at]).any() else added[kin]
            chosen = kin & (added >= WEIGHT * strongest.max(initial=0.0))
            chosen |= heavy[at, k] & (added >= LEAST)
            best = np.flatnonzero(chosen)
            best = best[np.argsort(-added[best], kind="stable")]
            facts = (None if distances is None else distances[k, best], n_both[k, best], lift[k, best])
            named.append(self._named(state, at[best], added[best], *facts, related[k, best]))
        return named

    def _nearly_related(self, state: UserState, items: Ints, parts: Floats) -> list[tuple[OwnRating, ...]]:
        """Return the one rating that says most about a list if none is related to an item of it.

        It is the like that adds most of those whose item is among the nearest third, or of all if none is.
        """
        data, added = self.data, parts * _likes(self.data, state)[:, None]
        geometry, distances = geometry_if(data, False), None
        if geometry is not None:
            distances = _distances(geometry, items, state.rated)
            aside = (distances <= self._limits_of(geometry, items)[:, 1:]).T
            added = np.where(aside, added, 0.0) if (aside & (added >= LEAST)).any() else added
        at, k = np.unravel_index(added.argmax(), added.shape)
        named: list[tuple[OwnRating, ...]] = [()] * len(items)
        if added[at, k] >= LEAST:
            some = np.array([at])
            n_both, lift = self.co_likes.together(items[[k]], state.rated[some])
            far = None if distances is None else distances[k, some]
            named[k] = self._named(state, some, parts[some, k], far, n_both[0], lift[0], np.zeros(1, bool))
        return named

    def _named(
        self, state: UserState, at: Ints, added: Floats, distances: Floats | None, n_both: Ints, lift: Floats,
        related: Bools,
    ) -> tuple[OwnRating, ...]:  # fmt: skip
        """Return some of the user's ratings, by their places, with what they add to the score of an item."""
        data, rated = self.data, state.rated[at]
        columns = (
            data.ratings.items[rated].tolist(),
            map(data.catalog.label, rated.tolist()),
            state.given[at].tolist(),
            added.tolist(),
            [None] * len(at) if distances is None else [d if d == d else None for d in distances.tolist()],
            n_both.tolist(),
            lift.tolist(),
            related.tolist(),
        )
        return tuple(OwnRating(*row) for row in zip(*columns, strict=True))

    def _limits_of(self, geometry: ItemGeometry, items: Ints) -> Floats:
        """Return :func:`limits` of items, (items, 2)."""
        known = self._near_limits
        new = items[np.isnan(known[items]).any(axis=1)]
        if len(new):
            known[new] = np.hstack(limits(_distances(geometry, new, None)))
        return known[items]

    def _like_minded(self, state: UserState) -> Ints:
        """Return the positions of the people with a user's taste; nobody if nothing is known about it."""
        n_others = self.data.n_users - (state.position >= 0)
        if not len(state.rated) or not n_others:
            return np.empty(0, np.int64)
        return self.ranker.like_minded(state, min(LIKE_MINDED, -(-n_others // 4)))

    def _people(
        self, state: UserState, like_minded: Ints, parts: Floats, said: Mapping[int, Ints], everybody: bool
    ) -> tuple[list[_People], bool]:
        """Return who of the like-minded rated each item, and whether ``nearer_than`` is an estimate.

        ``parts`` are (like_minded, items): what each of them adds. ``said`` are the items with the rated ones
        that their sentences name.
        """
        data, ranker, similarity = self.data, self.ranker, self.ranker.similarity
        items = np.array(list(said), np.int64)
        rows, columns, given = _given(data.ratings, like_minded, items)
        likes = likes_among(given, self.co_likes.means[like_minded[rows]], data.ratings.scale)
        added = parts[rows, columns]
        ends = np.cumsum(np.bincount(columns, minlength=len(items)))
        raters = np.split(np.lexsort((-np.abs(added), columns)), ends[:-1])  # the largest parts first
        variety, connections = Variety(len(items)), Variety(len(items))
        named = raters if everybody else [_strongest(some, rows, likes, added, variety) for some in raters]
        known = np.unique(rows[np.concatenate([np.empty(0, np.int64), *named])])
        users = like_minded[known]  # all who are named for an item
        values, near = None, NearerThan(np.empty(0), estimated=False)
        if len(users):
            if everybody or similarity.calibration is None:
                values = similarity.exact_values(state.who, users)[0]
            near = ranker.nearer_than(state, users, values)
        rated = np.zeros(data.n_items, bool)
        rated[state.rated] = True
        n_common = [int(rated[data.ratings.row(user)[0]].sum()) for user in users.tolist()]

        def neighbor(entry: int, item: int) -> NeighborRating:
            at = int(np.searchsorted(known, rows[entry]))
            user = int(users[at])
            return NeighborRating(
                data.ratings.users[[user]].tolist()[0],
                float(given[entry]),
                bool(likes[entry]),
                float(added[entry]),
                None if values is None else float(values[at]),
                float(near.shares[at]),
                n_common[at],
                self._alike(state, user, item, said[item], connections) if likes[entry] else None,
            )

        people = []
        for item, some, chosen in zip(items.tolist(), raters, named, strict=True):
            n_for = int(np.count_nonzero(likes[some]))
            neighbors = tuple(neighbor(entry, item) for entry in chosen.tolist())
            people.append(_People(neighbors, n_for, len(some) - n_for))
        return people, near.estimated

    def _alike(
        self, state: UserState, other: int, item: int, said: Ints, variety: Variety
    ) -> tuple[str, str] | None:
        """Return the titles of the two items, one that the user likes and one of another, that connect them.

        If there are items that both like, it is one of those on which most preference stays in the transport
        plan between them: the nearest to the recommended item (without a geometry, the one that fewest people
        like) that is neither ``said`` already nor named again and again. Otherwise it is the nearest pair, if
        it is near.
        """
        data, label = self.data, self.data.catalog.label
        geometry = geometry_if(data, False)
        items, values = data.ratings.row(other)
        liked = likes_among(values, self.co_likes.means[other], data.ratings.scale) & (items != item)
        own, scale = _likes(data, state), data.ratings.scale
        if not scale.implicit:  # "likes it as you do" is not said of a 3 of 5
            own, liked = own & (state.given > scale.middle), liked & (values > scale.middle)
        theirs = items[liked]
        mine = state.rated[own]
        if not len(mine) or not len(theirs):
            return None
        weight_of_mine = state.given[own] / state.given.sum()
        weight_of_theirs = values[liked] / values.sum()
        _, a, b = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
        if len(a):
            stays = np.minimum(weight_of_mine[a], weight_of_theirs[b])
            shared = mine[a[stays >= NEARLY * stays.max()]]
            order = [self.co_likes.n_likes[shared]]
            if geometry is not None:
                order.append(_distances(geometry, np.array([item]), shared)[0])
            shared = shared[np.lexsort((*order, np.isin(shared, said)))]
            (best,) = variety.choose(shared.tolist(), [1.0] * len(shared), 1)
            return (label(int(shared[best])),) * 2
        if geometry is None:
            return None
        distances = _distances(geometry, mine, theirs)
        if np.isnan(distances).all():
            return None
        nearest = distances <= np.nanmin(distances) + ROUNDING
        moves = np.where(nearest, np.minimum.outer(weight_of_mine, weight_of_theirs), -1.0)
        i, j = np.unravel_index(moves.argmax(), moves.shape)
        if distances[i, j] > self._limits_of(geometry, mine[[i]])[0, 0]:
            return None
        return label(int(mine[i])), label(int(theirs[j]))


def _because(
    own: Sequence[Sequence[OwnRating]], liked: Set[Any], words: Words
) -> list[tuple[OwnRating, ...]]:
    """Return the own ratings that the sentences for each item name: likes of related items.

    A 3 of 5 may be a like for somebody who gives few points. But as a reason it convinces nobody, so it is
    named only if the whole list has no better one.
    """
    likes = [[one for one in some if one.related and one.item in liked] for some in own]
    high = [[one for one in some if words.is_high(one.rating)] for some in likes]
    variety, named = Variety(len(own)), []
    for some in high if any(high) else likes:
        best = variety.choose([one.item for one in some], [one.value for one in some], OWN)
        named.append(tuple(some[k] for k in best))
    return named


def _with(own: tuple[OwnRating, ...], said: tuple[OwnRating, ...]) -> tuple[OwnRating, ...]:
    """Return the own ratings that are named for an item, with those that its sentences name."""
    more = tuple(one for one in said if one.item not in {known.item for known in own})
    return tuple(sorted((*own, *more), key=lambda one: -one.value)) if more else own


class _People(NamedTuple):
    """Like-minded users who rated an item: those who are named, the largest parts first, and the counts."""

    named: tuple[NeighborRating, ...]
    n_for: int
    n_against: int


def limits(distances: Floats) -> tuple[Floats, Floats]:
    """Return up to which distance items are near each of some items, and up to which they are not far.

    ``distances`` are (items, n_items), NaN where there is no similarity; both results are (items, 1).
    """
    # Fewer than m others are nearer than d if d is at most the m-th in order, counted from the item itself.
    n = distances.shape[1]
    ends = np.array([max(5, min(NEAR, n // NEAR_SHARE)), n // SIDE_SHARE])
    inside = np.minimum(ends, n - 1)
    farthest = np.partition(distances, inside, axis=1)[:, inside]  # NaN are last
    farthest[np.isnan(farthest) | (ends >= n)] = np.inf
    return farthest[:, :1], farthest[:, 1:]


def _distances(geometry: ItemGeometry, items: Ints, others: Ints | None) -> Floats:
    """Return distances of items to others, or to all; NaN where there is no similarity."""
    distances = geometry.block(items, others)
    # Similarities fall with the distance: if the farthest have one, all have.
    if (geometry.similarity_at(distances.max(axis=1, initial=0.0)) <= 0).any():
        distances[geometry.similarity_at(distances) <= 0] = np.nan
    return distances


def _given(ratings: Ratings, users: Ints, items: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the ratings of some items by some users: which of the users, which of the items, the rating."""
    some, column = ratings.matrix[users], np.full(ratings.n_items, -1, np.int64)
    column[items] = np.arange(len(items))
    columns, rows = column[some.indices], np.repeat(np.arange(len(users)), np.diff(some.indptr))
    there = np.flatnonzero(columns >= 0)
    return rows[there], columns[there], some.data[there]


def _strongest(raters: Ints, users: Ints, likes: Bools, parts: Floats, variety: Variety) -> Ints:
    """Return those raters of an item who add most of all that like it, and take most of the others.

    ``users`` is who each rater is: the same person is not named again and again.
    """
    liked, added = likes[raters], parts[raters]
    in_favor, against = np.flatnonzero(liked), np.flatnonzero(~liked)
    in_favor = in_favor[np.argsort(-added[in_favor], kind="stable")]
    chosen = variety.choose(users[raters[in_favor]].tolist(), added[in_favor].tolist(), FOR)
    against = against[np.argsort(added[against], kind="stable")][:AGAINST]
    strongest: Ints = raters[np.sort(np.concatenate([in_favor[chosen], against]))]
    return strongest


def _likes(data: Dataset, state: UserState) -> Bools:
    mean = float(state.given.mean()) if len(state.given) else 0.0
    return likes_among(state.given, mean, data.ratings.scale)
