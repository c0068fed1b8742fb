r"""Who liked what, and which items the same people like.

A rating is a *like* if it is at least the user's mean. A mean below the middle of the scale counts as the
middle, and one in the upper quarter as its start: on a scale from 1 to 5, a 4 is always a like
and a 2 never is. All implicit feedback is a like.

With n_a likes of item a, n_ab users who like both a and b, and l_u likes of user u,

.. math:: \mathrm{lift}(a, b) = \frac{n_{ab}}{n_a n_b \sum_u l_u^2 / (\sum_u l_u)^2}.

The denominator is the number to expect if every like were drawn by chance, from users in proportion to l_u.
So with a lift of 2, twice as many people like both as by chance. If all users have as many likes, this is the
usual P(a, b) / (P(a) P(b)). Otherwise it is smaller: without the correction, any two items seem to be liked
together, because the same busy people rate everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from prefmover._typing import Bools, Floats, Ints
from prefmover.data.csr import entries_of_rows, indptr_from_counts
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale

__all__ = ["CoLikes", "likes_among"]

ROUNDING = 1e-9


def likes_among(values: Floats, means: Floats | float, scale: Scale) -> Bools:
    """Return which ratings are likes, given the mean rating of each one's user.

    >>> likes_among(np.array([2.0, 3.0, 4.0]), np.array([1.0, 3.5, 4.8]), Scale(1, 5, 1)).tolist()
    [False, False, True]
    """
    if scale.implicit:
        return np.ones(len(values), bool)
    upper = (scale.middle + scale.highest) / 2
    return np.asarray(values >= np.clip(means, scale.middle, upper) - ROUNDING)


@dataclass(frozen=True, eq=False)
class CoLikes:
    """The likes of a data set.

    Attributes
    ----------
    means
        (n_users,) the mean rating of each user.
    liked
        (n_users, n_items) 1 where there is a like, by columns.
    by_chance
        Σ l² / (Σ l)²: with n_a and n_b likes, n_a n_b times this many users like both by chance.
    """

    means: Floats
    liked: Any
    by_chance: float

    @classmethod
    def from_ratings(cls, ratings: Ratings) -> Self:
        """Return the likes of ratings.

        Examples
        --------
        Three of four people like a, and three like b; two of them like both:

        >>> users, items = ["ann", "ann", "bob", "bob", "cid", "dan"], ["a", "b", "a", "b", "a", "b"]
        >>> likes = CoLikes.from_ratings(Ratings.from_arrays(users, items))
        >>> n_both, lift = likes.together(np.array([0]), np.array([1]))
        >>> n_both.tolist(), lift.round(4).tolist()  # 2 / (3 * 3 * 10 / 36)
        ([[2]], [[0.8]])
        """
        from scipy.sparse import csr_array

        m, counts = ratings.matrix, np.diff(ratings.matrix.indptr)
        means = np.bincount(ratings.rows(), m.data, ratings.n_users) / np.maximum(counts, 1)
        liked = likes_among(m.data, np.repeat(means, counts), ratings.scale)
        rows, columns = ratings.rows()[liked], m.indices[liked]
        likes = np.bincount(rows, minlength=ratings.n_users).astype(np.float64)
        matrix = csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=m.shape)
        by_chance = float((likes**2).sum() / max(likes.sum(), 1.0) ** 2)
        return cls(means, matrix.tocsc(), by_chance)

    @cached_property
    def n_likes(self) -> Ints:
        """(n_items,) how many users like each item."""
        return np.asarray(np.diff(self.liked.indptr), np.int64)

    def together(self, items: Ints, others: Ints) -> tuple[Ints, Floats]:
        """Return how many users like both of two items, and the lift: (items, others) each."""
        from scipy.sparse import csr_array

        # A few items: the likes of the others are counted in dense columns.
        n_users, starts = self.liked.shape[0], self.liked.indptr
        likes_it = np.zeros((n_users, len(items)), np.int32)
        rows, entries = entries_of_rows(starts, items)
        likes_it[self.liked.indices[entries], rows] = 1
        _, entries = entries_of_rows(starts, others)
        ends = indptr_from_counts(self.n_likes[others])
        by_other = csr_array(
            (np.ones(len(entries), np.int32), self.liked.indices[entries], ends), shape=(len(others), n_users)
        )
        n_both = np.ascontiguousarray((by_other @ likes_it).T, np.int64)
        expected = np.outer(self.n_likes[items], self.n_likes[others].astype(np.float64)) * self.by_chance
        return n_both, n_both / np.where(expected > 0, expected, 1.0)
