"""Recommenders that score all items for blocks of users: the base of controls and peers for ranking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Ids, Ints
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.data.splits import hashed
from prefmover.dataset import Dataset
from prefmover.errors import InputError, check_whole_number
from prefmover.execution.threads import slices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Matrix: TypeAlias = csr_array[Any, tuple[int, int]]

__all__ = ["ScoredLists", "ScoringRecommender", "Values", "interactions", "relevant_from", "top_positions"]

Scores: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Values: TypeAlias = Literal["ratings", "seen", "liked"]

BLOCK_ENTRIES = 4_000_000  # scores in memory at once
LEAVE_OUT = "leave this recommender out"


def relevant_from(scale: Scale, threshold: float | None = None) -> float | None:
    """Return the lowest rating that makes an item relevant; None for implicit data, where every item is.

    By default it is three quarters up the scale.

    >>> relevant_from(Scale(1, 5, 1)), relevant_from(Scale(0.5, 5, 0.5)), relevant_from(Scale(1, 5, 1), 3)
    (4.0, 3.875, 3.0)
    """
    if threshold is None:
        return scale.liked_from
    if scale.implicit:
        raise InputError(f"relevant is {threshold:g}, but the data are implicit; all test items are relevant")
    return float(threshold)


def interactions(ratings: Ratings, values: Values = "ratings", threshold: float | None = None) -> Matrix:
    """Return the matrix X that a recommender learns from: zero where there is no rating.

    ``"ratings"`` keeps the ratings, ``"seen"`` has 1 for each, and ``"liked"`` 1 for the relevant ones.
    """
    from scipy.sparse import csr_array

    matrix, data = ratings.matrix, ratings.matrix.data
    if values == "seen":
        data = np.ones_like(data)
    elif values == "liked":
        least = relevant_from(ratings.scale, threshold)
        data = np.ones_like(data) if least is None else (data >= least).astype(np.float64)
    elif values != "ratings":
        raise InputError(f'values is {values!r}; choose "ratings", "seen" or "liked"')
    X = csr_array((data.copy(), matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
    X.eliminate_zeros()
    return X


def top_positions(scores: Scores, order: Ints, n: int) -> Ints:
    """Return the positions of the n highest scores of each row, -1 where fewer are finite.

    Equal scores are taken in the order of ``order``, a permutation of the columns: any order with a meaning,
    such as that of ids, would favor old or popular items.

    >>> top_positions(np.array([[1.0, 3.0, 3.0, -np.inf]]), np.array([2, 1, 0, 3]), 4)
    array([[ 2,  1,  0, -1]])
    """
    n = min(n, scores.shape[1])
    shuffled = -scores[:, order]
    last = np.partition(shuffled, n - 1, axis=1)[:, n - 1]
    best = np.empty((len(scores), n), np.int64)
    for row, values, worst in zip(best, shuffled, last, strict=True):
        some = np.flatnonzero(values <= worst)  # more than n if the last ones are equal
        row[:] = some[np.argsort(values[some], kind="stable")[:n]]
    return np.where(np.isfinite(np.take_along_axis(shuffled, best, axis=1)), order[best], -1)


@dataclass(frozen=True, eq=False)
class ScoredLists:
    """Lists of item ids, one for each user; ``positions`` (n_users, n) has them as positions, -1 for none."""

    items: Ids
    positions: Ints

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[list[Any]]:
        return (self.items[row[row >= 0]].tolist() for row in self.positions)


class ScoringRecommender(ABC):
    """A recommender that ranks by scores of all items. Its parameters are the fields of a dataclass."""

    over_users: ClassVar[bool] = False
    """Whether the cost of a fit grows with the cube of the users; a search then fits to a sample of them."""

    data_: Dataset

    def prepare(self, data: Dataset) -> Any:
        """Return what all settings of a search share, so that it is computed once."""
        return None

    def fit(self, data: Dataset, prepared: Any = None) -> Self:
        """Learn from the ratings; ``prepared`` is the value of :meth:`prepare` for these data."""
        self.data_ = data
        self._learn(data, self.prepare(data) if prepared is None else prepared)
        return self

    @abstractmethod
    def _learn(self, data: Dataset, prepared: Any) -> None:
        """Learn from the ratings."""

    @abstractmethod
    def _scores(self, users: Ints) -> Scores:
        """Return the scores of all items for users by position, (n_users, n_items)."""

    def recommend(self, users: Sequence[Any], n: int = 10) -> ScoredLists:
        """Return a list of n unrated items for each user, by id."""
        check_whole_number("n", n)
        ratings = self.data_.ratings
        at, matrix = ratings.user_positions(users), ratings.matrix
        order = np.argsort(hashed(0, np.arange(ratings.n_items)), kind="stable")
        out = np.full((len(at), min(n, ratings.n_items)), -1, dtype=np.int64)
        step = max(1, BLOCK_ENTRIES // max(1, ratings.n_items))
        for block in slices(len(at), step):
            scores: Any = np.array(self._scores(at[block]))
            rated = matrix[at[block]]
            scores[np.repeat(np.arange(len(scores)), np.diff(rated.indptr)), rated.indices] = -np.inf
            out[block] = top_positions(scores, order, n)
        return ScoredLists(ratings.items, out)
