"""The neighbors of one user by several measures side by side, and how often common items are lacking.

How well a list of neighbors predicts is measured with hidden ratings. The items that the user liked are
hidden in turns, a fifth at a time. The neighbors are searched again with the rest of the ratings. The items
that most of them liked are the suggestions of the list, and the hidden items among them are its hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prefmover._typing import Bools, Floats, Ints, Progress
from prefmover.data.ratings import Ratings, one_user
from prefmover.predict.similarity import UserSimilarity

__all__ = ["CommonGround", "NeighborTest", "UserList", "common_ground", "neighbor_lists"]

FOLDS = 5
SUGGESTED = 20
SAMPLED = 100
EXAMPLES = 10


@dataclass(frozen=True, slots=True, eq=False)
class NeighborTest:
    """How many of a user's favorites a list of neighbors finds.

    Attributes
    ----------
    hits, n_hidden, n_suggested
        So many of the hidden favorites were among the first suggestions.
    """

    hits: int
    n_hidden: int
    n_suggested: int


@dataclass(frozen=True, slots=True, eq=False)
class UserList:
    """The nearest users by one measure: positions, values, and numbers of items in common, nearest first.

    ``test`` says how well the list predicts; it is None if the user liked fewer than two items.
    """

    measure: str
    users: Ints
    values: Floats
    n_common: Ints
    test: NeighborTest | None


def neighbor_lists(
    similarities: Sequence[UserSimilarity],
    user: int,
    items: Ints,
    ratings: Floats,
    k: int = 10,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[UserList]:
    """Return the k nearest users of a user by each measure, with a test of each list.

    Parameters
    ----------
    similarities
        Measures on the same data.
    user, items, ratings
        Position of the user, -1 for a guest; positions of the rated items, and the ratings.
    """
    data = similarities[0].data
    liked = items[_favored(ratings, data.ratings)] if len(items) else items
    n_folds = min(FOLDS, len(liked)) if len(liked) >= 2 else 0
    folds = np.array_split(np.random.default_rng(seed).permutation(liked), n_folds) if n_folds else []
    common, lists = data.ratings.n_common(items), []
    for row, similarity in enumerate(similarities):
        users, values = _nearest(similarity, user, items, ratings, k)
        hits = 0
        for fold, hidden in enumerate(folds):
            if progress is not None:
                progress(row * len(folds) + fold, len(similarities) * len(folds))
            seen = ~np.isin(items, hidden)
            near, _ = _nearest(similarity, user, items[seen], ratings[seen], k)
            hits += int(np.isin(hidden, _suggestions(data.ratings, near, items[seen])).sum())
        test = NeighborTest(hits, len(liked), SUGGESTED) if folds else None
        lists.append(UserList(similarity.measure.name, users, values, common[users], test))
    return lists


def _nearest(
    similarity: UserSimilarity, user: int, items: Ints, values: Floats, k: int
) -> tuple[Ints, Floats]:
    """Return the k nearest users to some ratings, the user who gave them left out."""
    ratings = similarity.data.ratings
    guest = one_user(ratings, ratings.user_index.free_name("guest"), items, values)
    near, found = similarity.nearest(guest, k + 1).row(0)
    others = near != user
    return near[others][:k], found[others][:k]


def _favored(values: Floats, ratings: Ratings) -> Bools:
    """Return which of a user's ratings are above the mean; all of them if they are implicit feedback."""
    return np.asarray(ratings.implicit | (values > values.mean()))


def _suggestions(ratings: Ratings, near: Ints, seen: Ints) -> Ints:
    """Return the items that most of some users liked, then those with the higher ratings by them."""
    votes, sums = np.zeros(ratings.n_items), np.zeros(ratings.n_items)
    for user in near.tolist():
        items, values = ratings.row(user)
        votes[items[_favored(values, ratings)]] += 1
        sums[items] += values
    votes[seen] = 0
    order = np.lexsort((-sums, -votes))[:SUGGESTED]
    chosen: Ints = order[votes[order] > 0]
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class CommonGround:
    """How often neighbors, and users in general, have rated items in common.

    Attributes
    ----------
    k
        Number of neighbors of each user.
    n_sampled
        Number of random users.
    pairs_without
        Share of the pairs of a sampled user and any other that have no item in common.
    neighbors_without
        The same share among the k nearest.
    users_with
        Share of the sampled users of whose k nearest at least one has nothing in common with them.
    n_light, light_ratings, light_neighbors_without
        Number of the users with the fewest ratings that were looked at, the most ratings of one, and the
        share of their k nearest with nothing in common.
    examples
        Positions of users with the most such neighbors, and how many: (user, neighbors without), from both
        samples.
    """

    k: int
    n_sampled: int
    pairs_without: float
    neighbors_without: float
    users_with: float
    n_light: int
    light_ratings: int
    light_neighbors_without: float
    examples: list[tuple[int, int]]


def common_ground(
    similarity: UserSimilarity,
    k: int = 10,
    *,
    n: int = SAMPLED,
    least: int = 3,
    seed: int = 0,
    progress: Progress | None = None,
) -> CommonGround:
    """Return how often neighbors have nothing in common, for n random users and the n with least ratings.

    Users with fewer than ``least`` ratings are left out: they have no taste yet.
    """
    ratings = similarity.data.ratings
    lengths = np.diff(ratings.matrix.indptr)
    eligible = np.flatnonzero(lengths >= least)
    if not len(eligible):
        eligible = np.flatnonzero(lengths > 0)
    some = np.sort(np.random.default_rng(seed).permutation(eligible)[:n])
    light = eligible[np.argsort(lengths[eligible], kind="stable")][:n]
    users = np.union1d(some, light)
    without, pairs, found = np.zeros(len(users)), np.zeros(len(users)), np.zeros(len(users))
    for row, user in enumerate(users.tolist()):
        if progress is not None:
            progress(row, len(users))
        common = ratings.n_common(ratings.row(user)[0])
        near, _ = similarity.nearest(np.array([user]), k).row(0)
        without[row], found[row] = (common[near] == 0).sum(), len(near)
        pairs[row] = (common == 0).sum() / max(ratings.n_users - 1, 1)
    sampled, lightest = np.searchsorted(users, some), np.searchsorted(users, light)
    best = np.lexsort((users, -lengths[users], -without))[:EXAMPLES]
    share = lambda rows: float(without[rows].sum() / max(found[rows].sum(), 1))  # noqa: E731
    return CommonGround(
        k,
        len(some),
        float(pairs[sampled].mean()) if len(some) else 0.0,
        share(sampled),
        float((without[sampled] > 0).mean()) if len(some) else 0.0,
        len(light),
        int(lengths[light].max()) if len(light) else 0,
        share(lightest),
        [(int(users[row]), int(without[row])) for row in best.tolist()],
    )
