r"""Which terms of a score are reasons that a person can check.

An **own rating** is named if it adds to the score (at least :data:`LEAST`), is a like
(:mod:`prefmover.predict.co_likes`), and its item is related to the recommended one, which means one of two
things:

- *near*: fewer than :data:`NEAR` items are nearer to the recommended one in the item geometry, and fewer than
  a twentieth of all items (or 5);
- *liked together*: at least :data:`BOTH` users like both, :data:`LIFT` times as many as by chance, and the
  item is among the nearest third of all items. (Films of one season are liked together, whatever they are.)

**People with the user's taste** are the nearest users by the exact measure: :data:`LIKE_MINDED` of them, at
most a quarter of all. Those of them who rated the item are named. Those who like it are *for* it, the others
*against* it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from prefmover._typing import Bools, Floats, Ints
from prefmover.dataset import Dataset
from prefmover.explain.recommendation import (
    NeighborRating,
    Others,
    OwnRating,
    RecommendationExplanation,
)
from prefmover.predict.base import UserState
from prefmover.predict.co_likes import likes_among
from prefmover.predict.ranker import Ranker
from prefmover.predict.ranking import SideScores
from prefmover.predict.selection import n_ratings

__all__ = ["explain_items"]

LEAST = 0.0005
"""What an own rating adds at least if it is named; explanations print three digits."""

NEAR = 100
"""A related item is among this many nearest of the recommended one."""

NEAR_SHARE = 20
"""It is also among the nearest twentieth of all items, or among the nearest 5."""

SIDE_SHARE = 3
"""An item that is liked together with it is among the nearest third."""

BOTH = 10
"""Two items are liked together if at least this many users like both ..."""

LIFT = 1.5
"""... and this many times as many as by chance."""

LIKE_MINDED = 40
"""People with a user's taste: this many nearest users, at most a quarter of all."""

FEW = 2
"""Items in common are named if there are at most this many."""


def explain_items(
    ranker: Ranker,
    state: UserState,
    items: Ints,
    ratings: Sequence[float | None],
    scores: SideScores | None = None,
) -> list[RecommendationExplanation]:
    """Return the reasons to recommend items to a user, in one pass.

    Parameters
    ----------
    ranker
        The ranking that gave the scores.
    state
        The user. About somebody of whom nothing is known there are no reasons, only a score.
    items, ratings
        Positions of the items, and their predicted ratings.
    scores
        The user's scores of all items, if they are there.
    """
    data = ranker.similarity.data
    scores = ranker.scores(state) if scores is None else scores
    own, people = _OwnRatings.of(ranker, state, items), _People.of(ranker, state, items)
    if len(state.items):
        parts = ranker.parts(state, items, people.positions)
        own_parts, user_parts = parts.items, parts.users
    else:
        own_parts, user_parts = np.zeros((0, len(items))), np.zeros((0, len(items)))
    counts, n_likes = n_ratings(data), np.diff(ranker.co_likes.liked.indptr)
    n_others = data.n_users - (state.position >= 0)
    explanations = []
    for k, item in enumerate(items.tolist()):
        item_side, user_side = float(scores.items[0, item]), float(scores.users[0, item])
        named, neighbors = own.named(k, own_parts[:, k]), people.named(k, item, user_parts[:, k])
        other_own = item_side - sum(one.value for one in named)
        other_users = user_side - sum(one.value for one in neighbors)
        explanations.append(
            RecommendationExplanation(
                user=state.name,
                item=data.ratings.items[[item]].tolist()[0],
                label=data.items.label(item),
                item_side=item_side,
                user_side=user_side,
                rating=ratings[k],
                n_ratings=int(counts[item]),
                n_likes=int(n_likes[item]),
                rated=next(iter(state.values[state.items == item].tolist()), None),
                own=named,
                other_own=Others(len(state.items) - len(named), other_own),
                n_nearest=len(people.positions),
                neighbors=neighbors,
                other_users=Others(n_others - len(neighbors), other_users),
                implicit=data.ratings.scale.implicit,
                value_name=ranker.similarity.measure.value_name,
            )
        )
    return explanations


def related(distances: Floats | None, n_both: Ints, lift: Floats, of: Ints) -> Bools:
    """Return which of the items ``of`` are near an item, or liked together with it.

    Parameters
    ----------
    distances
        (n_items,) from the item to all items, NaN where there is no similarity; None without a geometry.
    n_both, lift
        (of,) how many like both, and how many times as many as by chance.
    """
    together = (n_both >= BOTH) & (lift >= LIFT)
    if distances is None:
        return together
    n_nearer = np.searchsorted(np.sort(distances), distances[of]) - 1  # without the item itself
    near = n_nearer < max(5, min(NEAR, len(distances) // NEAR_SHARE))
    return ~np.isnan(distances[of]) & (near | (together & (n_nearer < len(distances) // SIDE_SHARE)))


@dataclass(frozen=True, eq=False)
class _OwnRatings:
    """The user's ratings next to the items to explain.

    Attributes
    ----------
    liked
        (rated,) which are likes.
    distances
        (items, n_items) distances of the items to all items; None without a geometry.
    n_both, lift
        (items, rated) from :class:`~prefmover.predict.co_likes.CoLikes`.
    """

    data: Dataset
    state: UserState
    liked: Bools
    distances: Floats | None
    n_both: Ints
    lift: Floats

    @classmethod
    def of(cls, ranker: Ranker, state: UserState, items: Ints) -> Self:
        data = ranker.similarity.data
        n_both, lift = ranker.co_likes.together(items, state.items)
        geometry = data.geometry_if(needed=False)
        distances = None
        if geometry is not None:
            distances = geometry.block(items, None)
            distances[geometry.similarity_at(distances) <= 0] = np.nan
        return cls(data, state, _likes(data, state), distances, n_both, lift)

    def named(self, k: int, parts: Floats) -> tuple[OwnRating, ...]:
        """Return the ratings that are reasons for item k, given what each adds."""
        data, state = self.data, self.state
        distances = None if self.distances is None else self.distances[k]
        close = related(distances, self.n_both[k], self.lift[k], state.items)
        best = np.flatnonzero(self.liked & close & (parts >= LEAST))
        rows = []
        for i in best[np.argsort(-parts[best], kind="stable")].tolist():
            position = int(state.items[i])
            rows.append(
                OwnRating(
                    data.ratings.items[[position]].tolist()[0],
                    data.items.label(position),
                    float(state.values[i]),
                    float(parts[i]),
                    None if distances is None else float(distances[position]),
                    int(self.n_both[k, i]),
                    float(self.lift[k, i]),
                )
            )
        return tuple(rows)


@dataclass(frozen=True, eq=False)
class _People:
    """The nearest users, and their ratings of the items to explain.

    Attributes
    ----------
    positions, values
        (near,) the users, nearest first, and the measure.
    gave
        (near, items) their ratings of the items, sparse.
    common
        For each of them, the positions of the items that the user has rated too.
    """

    ranker: Ranker
    state: UserState
    positions: Ints
    values: Floats
    gave: Any
    common: list[Ints]

    @classmethod
    def of(cls, ranker: Ranker, state: UserState, items: Ints) -> Self:
        similarity = ranker.similarity
        ratings, n_others = similarity.data.ratings, similarity.data.n_users - (state.position >= 0)
        positions, values = np.empty(0, np.int64), np.empty(0)
        if len(state.items) and n_others:
            k = min(LIKE_MINDED, -(-n_others // 4))
            if state.guest is None:
                positions, values = similarity.nearest_to(state.position, k)
            else:
                positions, values = similarity.nearest(None, k, state.guest).row(0)
        rated = np.zeros(ratings.n_items, bool)
        rated[state.items] = True
        rows = [ratings.row(v)[0] for v in positions.tolist()]
        common = [row[rated[row]] for row in rows]
        return cls(ranker, state, positions, values, ratings.matrix[positions][:, items].tocsc(), common)

    def named(self, k: int, item: int, parts: Floats) -> tuple[NeighborRating, ...]:
        """Return the ratings of an item, the k-th, given what each user adds; the largest parts first."""
        data, column = self.ranker.similarity.data, slice(*self.gave.indptr[k : k + 2])
        at, given = self.gave.indices[column], self.gave.data[column]
        likes = likes_among(given, self.ranker.co_likes.means[self.positions[at]], data.ratings.scale)
        n_others = data.n_users - (self.state.position >= 0)
        rows = []
        for j in np.argsort(-np.abs(parts[at]), kind="stable").tolist():
            near, other = int(at[j]), int(self.positions[at[j]])
            common = self.common[near]
            rows.append(
                NeighborRating(
                    data.ratings.users[[other]].tolist()[0],
                    float(given[j]),
                    bool(likes[j]),
                    float(parts[near]),
                    float(self.values[near]),
                    (n_others - near - 1) / n_others,
                    len(common),
                    tuple(data.items.label(i) for i in common.tolist()) if len(common) <= FEW else (),
                    None if len(common) else self._alike(other, item),
                )
            )
        return tuple(rows)

    def _alike(self, other: int, item: int) -> tuple[str, str] | None:
        """Return the titles of the nearest pair of items that the user and another like, without one item."""
        data = self.ranker.similarity.data
        mine = self.state.items[_likes(data, self.state)]
        items, values = data.ratings.row(other)
        liked = likes_among(values, self.ranker.co_likes.means[other], data.ratings.scale)
        theirs = items[liked & (items != item)]
        geometry = data.geometry_if(needed=False)
        if geometry is None or not len(mine) or not len(theirs):
            return None
        similarity = geometry.similarity(mine, theirs)
        a, b = np.unravel_index(similarity.argmax(), similarity.shape)
        if similarity[a, b] <= 0:
            return None
        return data.items.label(int(mine[a])), data.items.label(int(theirs[b]))


def _likes(data: Dataset, state: UserState) -> Bools:
    mean = float(state.values.mean()) if len(state.values) else 0.0
    return likes_among(state.values, mean, data.ratings.scale)
