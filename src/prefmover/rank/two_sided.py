r"""What to see next: items ranked by what a user likes, and by what people with the user's taste like.

An expected rating answers "how would I like it". A list of recommendations answers another question, and is
ranked by a score of two parts, each of which is a sum that can be shown:

.. math:: \mathrm{score}(u, j) = \underbrace{\sum_{i \in I_u} y_{ui} B_{ij}}_{\text{because you liked } i}
          + \underbrace{\sum_{v \ne u} K_{uv} A_{vj}}_{\text{because } v \text{, who is like you, liked it}}

The *likes* y are 0 where there is no rating. For ratings, y_ui = r_ui - r̄_u / 2: a rating below half of the
user's mean counts against. For implicit feedback, y is the strength of the interaction. The item side
(:mod:`prefmover.rank.ease`) is fitted to the likes; the user side
(:mod:`prefmover.rank.user_ridge`) to what the item side leaves.

Items without ratings are scored through similar ones (:mod:`prefmover.rank.similar_items`). Users without
ratings get the mean likes of all users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.items.geometry import ItemGeometry
from prefmover.measures.weights import weight
from prefmover.predict.low_rank import Singles, UserKernel, normalized_weights
from prefmover.predict.sparse_sums import sum_rows
from prefmover.rank.content import content_weights
from prefmover.rank.ease import ItemSide
from prefmover.rank.similar_items import SimilarItems
from prefmover.rank.user_ridge import UserSide

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Likes: TypeAlias = csr_array[Any, tuple[int, int]]

__all__ = [
    "Ranking",
    "RankingSettings",
    "SideScores",
    "dense_columns",
    "likes_of",
    "mean_likes",
    "mean_squared_like",
    "row_angles",
    "user_weights",
]


@dataclass(frozen=True, slots=True)
class RankingSettings:
    """The numbers of the two sides. By default they are chosen on held-out ratings in the fit.

    Attributes
    ----------
    item_penalty
        λ of the item side, in units of the mean squared like.
    weight
        The rule that turns values of the measure into the kernel of users.
    overlap
        ω: the kernel is multiplied by exp(-ω angle) of the two users' rows of ratings. 0 leaves the measure
        alone; above 0, users count more if they rated the same items alike.
    user_penalty
        λ of the user side.
    content
        What the likes of items of similar content are multiplied by; see :mod:`prefmover.rank.content`.
    """

    item_penalty: float = 750.0
    weight: str = "exponential(2.5)"
    overlap: float = 0.0
    user_penalty: float = 3.0
    content: float = 0.3

    def __post_init__(self) -> None:
        weight(self.weight)
        for field in fields(self):
            value = getattr(self, field.name)
            may_be_0 = field.name in ("content", "overlap")
            least = "from 0" if may_be_0 else "above 0"
            if field.name != "weight" and not (0 <= value < np.inf and (value > 0 or may_be_0)):
                raise InputError(f"{field.name} is {value!r}; give a number {least}")


class SideScores(NamedTuple):
    """The two parts of scores, (users, items) each; a score is their sum."""

    items: Singles
    users: Singles

    @property
    def total(self) -> Singles:
        """The scores."""
        return self.items + self.users


def likes_of(ratings: Ratings) -> Likes:
    """Return the likes of ratings: r - r̄_u / 2, or the strengths of implicit feedback.

    >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "y"], [5, 1, 4])
    >>> likes_of(ratings).toarray()
    array([[ 3.5, -0.5],
           [ 0. ,  2. ]])
    """
    from scipy.sparse import csr_array

    m = ratings.matrix
    values = m.data
    if not ratings.scale.implicit:
        counts = np.diff(m.indptr)
        means = np.bincount(ratings.rows(), m.data, ratings.n_users) / np.maximum(counts, 1)
        values = m.data - np.repeat(means, counts) / 2
    return csr_array((values, m.indices, m.indptr), shape=m.shape)


def dense_columns(rows: Likes, items: Ints) -> Singles:
    """Return some columns of rows of likes, (rows, items), all different, in single precision.

    >>> from scipy.sparse import csr_array
    >>> dense_columns(csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]), np.array([2, 1]))
    array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    column = np.full(rows.shape[1], -1, np.int64)
    column[items] = np.arange(len(items))
    at = column[rows.indices]
    chosen = np.flatnonzero(at >= 0)
    row = np.searchsorted(rows.indptr, chosen, side="right") - 1
    out = np.zeros((rows.shape[0], len(items)), np.float32)
    out[row, at[chosen]] = rows.data[chosen]
    return out


def mean_likes(likes: Likes) -> Floats:
    """Return the mean like of each item over all users: the scores of a user without ratings."""
    n_users, n_items = likes.shape
    totals = np.bincount(likes.indices, likes.data, n_items)
    return np.asarray(totals / max(n_users, 1))


def mean_squared_like(likes: Likes) -> float:
    """Return the mean square of all likes, the unit of the item penalty; 1 if it is 0."""
    return float(np.sum(likes.data**2) / max(len(likes.data), 1)) or 1.0


def row_angles(likes: Likes, others: Likes) -> Floats:
    """Return the angles between rows of likes, (rows, others); a right angle for an empty row."""
    a, b = (_unit_rows(rows) for rows in (likes, others))
    return np.asarray(np.arccos(np.clip((a @ b.T).toarray(), -1.0, 1.0)))


def user_weights(
    values: Floats,
    self_values: Floats,
    landmark_self_values: Floats,
    angles: Floats | None,
    s: RankingSettings,
) -> Floats:
    """Return the kernel between users and landmarks, from values of the measure and angles of rows."""
    out = normalized_weights(values, weight(s.weight), self_values, landmark_self_values)
    return out if angles is None or not s.overlap else out * np.exp(-s.overlap * angles)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Both sides, fitted.

    Attributes
    ----------
    likes
        (n_users, n_items) Y.
    settings
        The numbers of the two sides.
    item_side, user_side
        The sides.
    similar
        For items without ratings, similar items; None if there is no such item, or no geometry.
    """

    likes: Likes
    settings: RankingSettings
    item_side: ItemSide
    user_side: UserSide
    similar: SimilarItems | None

    @classmethod
    def fit(
        cls,
        likes: Likes,
        geometry: ItemGeometry | None,
        kernel: UserKernel,
        settings: RankingSettings,
        n_threads: int | None = None,
    ) -> Self:
        """Return the ranking of likes (n_users, n_items), with a kernel of the users."""
        from scipy.sparse import csr_array

        mean_square = mean_squared_like(likes)
        if geometry is None:
            settings = replace(settings, content=0.0)
        content = None
        if geometry is not None and settings.content and likes.nnz:
            rated = np.unique(likes.indices).astype(np.int64)
            one = content_weights(geometry, rated, n_threads)
            scaled = np.float32(settings.content) * one.data
            content = csr_array((scaled, one.indices, one.indptr), shape=one.shape)
        item_side = ItemSide.fit(likes, settings.item_penalty * mean_square, content)
        # ΦᵀR = ΦᵀY - (ΦᵀY)B: the rows of R, users x items, are never made.
        moment = sum_rows(likes.astype(np.float32).tocsc(), kernel.features, n_threads=n_threads)
        moment -= item_side.mixed(moment, n_threads)
        user_side = UserSide.fit(kernel, moment.T, settings.user_penalty)
        return cls(likes, settings, item_side, user_side, SimilarItems.of_likes(likes, geometry))

    def with_items(self, likes: Likes, geometry: ItemGeometry) -> Self:
        """Return the ranking with more items, which nobody has rated: the last columns of ``likes``."""
        rated = np.arange(self.likes.shape[1])
        similar = self.similar.with_items(geometry) if self.similar else SimilarItems.fit(rated, geometry)
        side, n_items = self.user_side, likes.shape[1]
        none = np.zeros((len(side.weights), n_items - side.weights.shape[1]), np.float32)
        return replace(
            self,
            likes=likes,
            item_side=self.item_side.with_items(n_items),
            user_side=replace(side, weights=np.concatenate([side.weights, none], axis=1)),
            similar=similar,
        )

    def scores(self, users: slice | Ints) -> SideScores:
        """Return the scores of users of the data, (users, n_items), without the user's own row."""
        positions = np.arange(self.likes.shape[0])[users]
        rows = self.likes[positions]
        items = self.item_side.scores(rows)
        rest = rows.toarray().astype(np.float32) - items
        return self._with_similar(SideScores(items, self.user_side.own_scores(positions, rest)))

    def guest_scores(self, likes: Likes, features: Singles) -> SideScores:
        """Return the scores of one user who is not in the data, (1, n_items)."""
        return self._with_similar(
            SideScores(self.item_side.scores(likes), self.user_side.scores(features[None]))
        )

    def item_parts(self, rated: Ints, likes: Floats, items: Ints) -> Floats:
        """Return what each rated item adds to the item side of items, (rated, items): y_i B_ij."""
        return likes[:, None] * self._columns(items, lambda some: self.item_side.weights(rated, some))

    def user_parts(self, features: Singles, position: int, items: Ints, users: Ints | None = None) -> Floats:
        """Return what each user, or each of some, adds to the user side, (users, items): K_uv A_vj."""
        rows = np.arange(self.likes.shape[0]) if users is None else np.append(users, max(position, 0))
        likes, features_of = self.likes[rows], self.user_side.kernel.features[rows]

        def of(some: Ints) -> Floats:
            rest = dense_columns(likes, some) - self.item_side.scores(likes, some)
            rest -= features_of @ self.user_side.weights[:, some]  # R - ΦW
            return self.user_side.parts(features, position, rest, rows)

        parts = self._columns(items, of)
        return parts if users is None else parts[:-1]

    def _columns(self, items: Ints, of: Callable[[Ints], Any]) -> Floats:
        """Return columns of a function of items; those of unrated items are mixtures."""
        return np.asarray(of(items), np.float64) if self.similar is None else self.similar.columns(items, of)

    def _with_similar(self, scores: SideScores) -> SideScores:
        return scores if self.similar is None else SideScores(*map(self.similar.filled, scores))


def _unit_rows(rows: Likes) -> Likes:
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    scaled = rows.copy().astype(np.float64)
    scaled.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(rows.indptr))
    return scaled
