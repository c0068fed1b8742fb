r"""Which terms of a score are reasons that a person can check.

An **own rating** is named if it adds to the score (at least :data:`LEAST`), is a like
(:mod:`prefmover.explain.co_likes`), and its item is related to the recommended one, which means one of two
things:

- *near*: fewer than :data:`NEAR` items are nearer to the recommended one in the item geometry, and fewer than
  a twentieth of all items (or 5);
- *liked together*: at least :data:`BOTH` users like both, :data:`LIFT` times as many as by chance, and the
  item is among the nearest third of all items. (Films of one season are liked together, whatever they are.)

**People with the user's taste** are the users with the largest weights in the score: :data:`LIKE_MINDED` of
them, at most a quarter of all. They are near by the distances that the score uses, which are estimated
between many users (:mod:`prefmover.measures.estimates`); a neighbor average takes the nearest by the exact
measure. Those of them who like the item are *for* it, those who rated it and do not like it are *against* it.
A list names the two who add most to the score (:data:`FOR`) and the one who lowers it most (:data:`AGAINST`);
the explanation of one item names all of them.

If all users are compared exactly, the share of users who are less near than a named person is a count.
Otherwise it is an estimate, and is called one: the share of the landmarks, a random sample of the users,
whose distance is larger. A distance that is given is always exact. Where distances are estimated, a list does
not give them, because exact distances of users with hundreds of ratings take longer than everything else
together. The explanation of one item computes and gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from prefmover._typing import Bools, Floats, Ints
from prefmover.data.csr import entries_of_rows
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset, geometry_if
from prefmover.explain.co_likes import CoLikes, likes_among
from prefmover.explain.recommendation import NeighborRating, Others, OwnRating, RecommendationExplanation
from prefmover.items.geometry import ItemGeometry
from prefmover.predict.predictor import UserState
from prefmover.rank.ranker import NearerThan, Ranker, SideScores

__all__ = ["Explainer"]

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
"""People with a user's taste: this many users with the largest weights, at most a quarter of all."""

FOR, AGAINST = 2, 1
"""How many of them a list names for each item."""

FEW = 2
"""Items in common are named if there are at most this many."""


class Explainer:
    """Reasons for the scores of a ranker.

    Attributes
    ----------
    ranker
        The ranking that gives the scores.
    co_likes
        Who liked what.
    """

    def __init__(self, ranker: Ranker) -> None:
        self.ranker = ranker
        self.data = ranker.similarity.data

    def __reduce__(self) -> tuple[Any, ...]:
        return Explainer, (self.ranker,)

    @cached_property
    def co_likes(self) -> CoLikes:
        """Who liked what."""
        return CoLikes.from_ratings(self.data.ratings)

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
        ranker, data = self.ranker, self.data
        scores = ranker.scores(state) if scores is None else scores
        like_minded = self._like_minded(state)
        own_terms, user_terms = np.zeros((0, len(items))), np.zeros((0, len(items)))
        if len(state.rated):
            _, own_terms, _, user_terms = ranker.terms(state, items, like_minded)
        own = _OwnRatings.find(self, state, items, own_terms)
        people = _People.find(self, state, items, like_minded, user_terms, everybody)
        counts, n_likes = data.ratings_per_item, self.co_likes.n_likes
        n_others = data.n_users - (state.position >= 0)
        explanations = []
        for k, item in enumerate(items.tolist()):
            item_side, user_side = float(scores.items[0, item]), float(scores.users[0, item])
            named, neighbors = own.named(k), people.named(k, item)
            other_own = item_side - sum(one.value for one in named)
            other_users = user_side - sum(one.value for one in neighbors)
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
                    own=named,
                    other_own=Others(len(state.rated) - len(named), other_own),
                    n_like_minded=len(like_minded),
                    n_for=people.answers[k].n_for,
                    n_against=people.answers[k].n_against,
                    neighbors=neighbors,
                    other_users=Others(n_others - len(neighbors), other_users),
                    estimated=people.near.estimated,
                    implicit=data.ratings.scale.implicit,
                    value_name=ranker.similarity.measure.value_name,
                )
            )
        return explanations

    def near_limits(self, geometry: ItemGeometry, items: Ints) -> Floats:
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


def liked_together(n_both: Ints, lift: Floats) -> Bools:
    """Return which items are liked together, given how many like both and how many times chance that is."""
    return np.asarray((n_both >= BOTH) & (lift >= LIFT))


@dataclass(frozen=True, eq=False)
class _OwnRatings:
    """Those of the user's ratings that may be reasons: likes that add to the score of one of the items."""

    data: Dataset
    state: UserState
    at: Ints  # positions among the user's ratings
    parts: Floats  # (at, items) what they add
    distances: Floats | None  # (items, at), as are the next three; None without a geometry
    n_both: Ints
    lift: Floats
    related: Bools

    @classmethod
    def find(cls, explainer: Explainer, state: UserState, items: Ints, parts: Floats) -> Self:
        data = explainer.data
        at = np.flatnonzero(_likes(data, state) & (parts >= LEAST).any(axis=1))
        geometry, distances = geometry_if(data, False), None
        aside = np.ones((len(items), len(at)), bool)
        near = ~aside
        if geometry is not None and len(at):
            ends = explainer.near_limits(geometry, items)
            distances = _distances(geometry, items, state.rated[at])
            near, aside = distances <= ends[:, :1], distances <= ends[:, 1:]
            may_be = ((parts[at].T >= LEAST) & (near | aside)).any(axis=0)
            at, distances = at[may_be], distances[:, may_be]
            near, aside = near[:, may_be], aside[:, may_be]
        n_both, lift = explainer.co_likes.together(items, state.rated[at])
        is_related = near | (liked_together(n_both, lift) & aside)
        return cls(data, state, at, parts[at], distances, n_both, lift, is_related)

    def named(self, k: int) -> tuple[OwnRating, ...]:
        """Return the ratings that are reasons for item k, those that add most first."""
        data, state, parts, rows = self.data, self.state, self.parts[:, k], []
        best = np.flatnonzero(self.related[k] & (parts >= LEAST))
        for i in best[np.argsort(-parts[best], kind="stable")].tolist():
            position = int(state.rated[self.at[i]])
            rows.append(
                OwnRating(
                    data.ratings.items[[position]].tolist()[0],
                    data.catalog.label(position),
                    float(state.given[self.at[i]]),
                    float(parts[i]),
                    None if self.distances is None else float(self.distances[k, i]),
                    int(self.n_both[k, i]),
                    float(self.lift[k, i]),
                )
            )
        return tuple(rows)


class _Answers(NamedTuple):
    """What like-minded users gave an item."""

    named: Ints  # those who are named, as positions among the like-minded, with the largest parts first
    given: Floats
    likes: Bools
    parts: Floats
    n_for: int  # of all like-minded, named or not
    n_against: int


@dataclass(frozen=True, eq=False)
class _People:
    """The like-minded users who are named, and their ratings of the items to explain."""

    explainer: Explainer
    state: UserState
    like_minded: Ints
    answers: list[_Answers]  # one for each item
    known: Ints  # those who are named anywhere, ascending, as positions among the like-minded
    values: Floats | None  # (known,) the exact measure, None if it was not computed
    near: NearerThan
    common: list[Ints]  # for each of the known, the positions of the items that the user has rated too

    @classmethod
    def find(
        cls,
        explainer: Explainer,
        state: UserState,
        items: Ints,
        like_minded: Ints,
        parts: Floats,
        everybody: bool,
    ) -> Self:
        ranker, similarity = explainer.ranker, explainer.ranker.similarity
        ratings, means = similarity.data.ratings, explainer.co_likes.means
        rows, columns, given = _given(ratings, like_minded, items)
        likes, added = likes_among(given, means[like_minded[rows]], ratings.scale), parts[rows, columns]
        order = np.lexsort((-np.abs(added), columns))
        ends = np.cumsum(np.bincount(columns, minlength=len(items)))
        answers = [
            _answers(rows[some], given[some], likes[some], added[some], everybody)
            for some in np.split(order, ends[:-1])
        ]
        known = np.unique(np.concatenate([np.empty(0, np.int64), *(one.named for one in answers)]))
        named = like_minded[known]
        values, near = None, NearerThan(np.empty(0), estimated=False)
        if len(named):
            if everybody or similarity.calibration is None:
                values = similarity.exact_values(state.who, named)[0]
            near = ranker.nearer_than(state, named, values)
        rated = np.zeros(ratings.n_items, bool)
        rated[state.rated] = True
        theirs = [ratings.row(v)[0] for v in named.tolist()]
        common = [some[rated[some]] for some in theirs]
        return cls(explainer, state, like_minded, answers, known, values, near, common)

    def named(self, k: int, item: int) -> tuple[NeighborRating, ...]:
        """Return the ratings of an item, the k-th, by those who are named; the largest parts first."""
        data, answers, rows = self.explainer.data, self.answers[k], []
        for j, at in enumerate(np.searchsorted(self.known, answers.named).tolist()):
            other, common = int(self.like_minded[self.known[at]]), self.common[at]
            rows.append(
                NeighborRating(
                    data.ratings.users[[other]].tolist()[0],
                    float(answers.given[j]),
                    bool(answers.likes[j]),
                    float(answers.parts[j]),
                    None if self.values is None else float(self.values[at]),
                    float(self.near.shares[at]),
                    len(common),
                    tuple(data.catalog.label(i) for i in common.tolist()) if len(common) <= FEW else (),
                    None if len(common) else self._alike(other, item),
                )
            )
        return tuple(rows)

    def _alike(self, other: int, item: int) -> tuple[str, str] | None:
        """Return the titles of the nearest pair of items that the user and another like, without one item."""
        data = self.explainer.data
        mine = self.state.rated[_likes(data, self.state)]
        items, values = data.ratings.row(other)
        liked = likes_among(values, self.explainer.co_likes.means[other], data.ratings.scale)
        theirs = items[liked & (items != item)]
        geometry = geometry_if(data, False)
        if geometry is None or not len(mine) or not len(theirs):
            return None
        similarity = geometry.similarity(mine, theirs)
        a, b = np.unravel_index(similarity.argmax(), similarity.shape)
        if similarity[a, b] <= 0:
            return None
        return data.catalog.label(int(mine[a])), data.catalog.label(int(theirs[b]))


def _given(ratings: Ratings, users: Ints, items: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the ratings of some items by some users: which of the users, which of the items, the rating."""
    m, column = ratings.matrix, np.full(ratings.n_items, -1, np.int64)
    column[items] = np.arange(len(items))
    rows, entries = entries_of_rows(m.indptr, users)
    columns = column[m.indices[entries]]
    there = np.flatnonzero(columns >= 0)
    return rows[there], columns[there], m.data[entries[there]]


def _answers(at: Ints, given: Floats, likes: Bools, parts: Floats, everybody: bool) -> _Answers:
    """Return what like-minded users gave one item, the largest parts first; without ``everybody``, a few."""
    n_for = int(np.count_nonzero(likes))
    n_against = len(at) - n_for
    if not everybody:
        signed, likes_it = parts.tolist(), likes.tolist()
        in_favor = sorted((k for k, it in enumerate(likes_it) if it), key=lambda k: -signed[k])[:FOR]
        against = sorted((k for k, it in enumerate(likes_it) if not it), key=lambda k: signed[k])[:AGAINST]
        named = np.array(sorted(in_favor + against), np.int64)
        at, given, likes, parts = at[named], given[named], likes[named], parts[named]
    return _Answers(at, given, likes, parts, n_for, n_against)


def _likes(data: Dataset, state: UserState) -> Bools:
    mean = float(state.given.mean()) if len(state.given) else 0.0
    return likes_among(state.given, mean, data.ratings.scale)
