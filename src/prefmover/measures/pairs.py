"""Which users against which: what every measure's kernel is handed.

A kernel is a function ``kernel(pairs, **options)``. It prepares what all rows share (item means, the
raters of each item, item similarities), once, and returns a function from a block of users to their
rows of values. The driver in :mod:`prefmover.measures.pairwise` calls that function block by block, on
several threads, so memory is that of a block and not of users x users.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from prefmover.data.ratings import Ratings
    from prefmover.items.geometry import ItemGeometry

__all__ = ["Floats", "Index", "Kernel", "Pairs", "Raters", "Rows"]

Floats: TypeAlias = npt.NDArray[np.float64]
Index: TypeAlias = npt.NDArray[np.int64]
Rows: TypeAlias = Callable[[Index], Floats]
"""Takes positions of users in the ratings, (k,), and returns (k, others) values, NaN where undefined."""


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Users x others over one set of ratings.

    Attributes
    ----------
    ratings
        All ratings. Item means are taken over all of them, not only over ``users`` and ``others``.
    geometry
        Item similarities, over the same items in the same order, for the measures that need them.
    users, others
        Positions in ``ratings.users`` of the rows and of the columns of the result.
    upper
        Users and others are the same, and only columns from the row's own on are wanted.
    """

    ratings: "Ratings"
    geometry: "ItemGeometry | None"
    users: Index
    others: Index
    upper: bool = False

    @property
    def matrix(self) -> "csr_array":
        """The users x items matrix of ratings."""
        return self.ratings.matrix

    def counts(self) -> Index:
        """Return |I_u|, the number of ratings of each user."""
        return np.diff(self.matrix.indptr).astype(np.int64)

    def spans(self, users: Index) -> tuple[Index, Index]:
        """Return where each user's ratings begin and end in ``matrix.indices`` and ``matrix.data``."""
        indptr = self.matrix.indptr
        return indptr[users].astype(np.int64), indptr[users + 1].astype(np.int64)

    def item_means(self) -> Floats:
        """Return μ_i, the mean rating of each item over its raters; NaN for an item nobody rated."""
        n = np.bincount(self.matrix.indices, minlength=self.matrix.shape[1])
        total = np.bincount(self.matrix.indices, self.matrix.data, minlength=self.matrix.shape[1])
        means: Floats = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
        return means

    def raters(self, values: npt.NDArray[Any] | None = None) -> "Raters":
        """Return who among ``others`` rated each item, and how.

        Parameters
        ----------
        values
            Numbers to carry in place of the ratings, one for each, in the order of ``matrix.data``.
        """
        from prefmover.execution.jit import announce_compilation

        announce_compilation()  # every compiled kernel of ours walks over raters
        rows, spots = select_rows(self.matrix.indptr, self.others)
        items = self.matrix.indices[spots]
        order = np.argsort(items, kind="stable")
        n = np.bincount(items, minlength=self.matrix.shape[1])
        data = self.matrix.data if values is None else values
        indptr = np.concatenate([[0], np.cumsum(n)]).astype(np.int64)
        begins = indptr[self.matrix.indices]
        if self.upper:
            begins[spots[order]] = np.arange(len(order))
        return Raters(begins, indptr, rows[order].astype(np.int32), data[spots[order]])


@dataclass(frozen=True, slots=True, eq=False)
class Raters:
    """For each item, who rated it: ``others[indptr[i]:indptr[i + 1]]`` are columns of the result.

    ``begins`` has one entry for each rating in the matrix: where in ``others`` its walk begins.
    """

    begins: Index
    indptr: Index
    others: npt.NDArray[np.int32]
    values: npt.NDArray[Any]


def select_rows(indptr: npt.NDArray[Any], rows: Index) -> tuple[Index, Index]:
    """Return, for all entries of the given rows of a CSR matrix, their row's rank and their place.

    >>> select_rows(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([0, 0, 0, 1, 1]), array([2, 3, 4, 0, 1]))
    """
    start = indptr[rows].astype(np.int64)
    length = indptr[rows + 1] - start
    rank = np.repeat(np.arange(len(rows)), length)
    first = np.cumsum(length) - length
    return rank, np.arange(int(length.sum())) - np.repeat(first - start, length)


Kernel: TypeAlias = Callable[..., Rows]
"""``kernel(pairs, **options)`` returns a :data:`Rows`; see the top of this module."""
