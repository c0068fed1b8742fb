"""Item vectors: the type that all features have in common, and checks of rows and matrices of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ids
from prefmover.data.ids import IdIndex, frozen, show
from prefmover.errors import InputError
from prefmover.execution.memory import require

__all__ = [
    "RIDGE", "SQUARE_BYTES", "BlockWeight", "ItemVectors", "aligned", "block_weights", "finite_rows",
    "normalized", "symmetric_matrix",
]  # fmt: skip

SQUARE_BYTES = 32  # per entry of a matrix, to convert it to whole numbers
RIDGE = 0.025
"""The penalty of regressions between feature blocks, per item."""


class ItemVectors(NamedTuple):
    """Vectors of items.

    Attributes
    ----------
    items : ndarray of shape (n,)
        Item ids.
    vectors : float64 ndarray of shape (n, d)
        Unit rows, or rows of zeros for items about which nothing is known.
    name : str
        The source of the vectors.
    """

    items: Ids
    vectors: Floats
    name: str


class BlockWeight(NamedTuple):
    """The weight of a feature block in a geometry, and what the block is worth.

    Attributes
    ----------
    n_items
        The number of items that have the block.
    error, error_without
        Error of the held-out ratings with all blocks and without this one; None if the weights were given,
        or if there is no other block.
    """

    name: str
    weight: float
    n_items: int
    error: float | None = None
    error_without: float | None = None

    def __str__(self) -> str:
        text = f"{self.weight:g} ({self.n_items:,} items"
        if self.error is not None and self.error_without is not None:
            text += f"; held-out error {self.error:.4f}, without it {self.error_without:.4f}"
        return text + ")"


def normalized(ids: Ids, X: Floats, name: str) -> ItemVectors:
    """Return item vectors whose rows have length 1; a row of zeros stays."""
    return ItemVectors(frozen(ids), frozen(_unit_rows(X)), name)


def aligned(block: ItemVectors, ids: Ids) -> Floats:
    """Return the unit rows of a block for some items, in their order; zeros for those that it lacks."""
    if len(block.items) and len(ids) and block.items.dtype != ids.dtype:
        raise InputError(f"item ids are integers or strings, but not both; those of {block.name!r} differ")
    X = np.zeros((len(ids), block.vectors.shape[1]))
    at = IdIndex("item", ids).get(block.items)
    X[at[at >= 0]] = _unit_rows(block.vectors)[at >= 0]
    return X


def block_weights(weights: Sequence[float] | None, n_blocks: int, *, zero: bool = False) -> list[float]:
    """Return one weight for each block, 1 by default; ``zero`` allows 0."""
    w = [1.0] * n_blocks if weights is None else [float(x) for x in weights]
    if len(w) != n_blocks or not all(0 < x < np.inf or (zero and x == 0) for x in w):
        kind = "number from 0" if zero else "positive number"
        raise InputError(f"weights are {w} for {n_blocks} blocks; expected one {kind} per block")
    return w


def _unit_rows(X: Floats) -> Floats:
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    return np.asarray(X / lengths)


def finite_rows(what: str, values: npt.ArrayLike, ids: Ids) -> Floats:
    """Return an array (n, d) as float64; what is no number, or not one row for each item, is an error."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise _uneven(what, values, ids) from None
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what} must be real numbers, not {array.dtype}")
    array = array.astype(np.float64)
    if array.ndim != 2 or len(array) != len(ids):
        raise InputError(f"{what} has shape {array.shape} for {len(ids)} item ids; expected one row per item")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        row = f"{what}: the row of item {show(ids[bad][0])}"
        raise InputError(f"{row} has a missing or infinite number; fill it in, or leave out the item")
    return array


def symmetric_matrix(
    what: str, values: npt.ArrayLike, ids: Ids, *, diagonal: float, highest: float, slack: float
) -> Floats:
    """Return a symmetric matrix of numbers from 0 to ``highest`` with a constant diagonal."""
    n = len(ids)
    remedy = "leave out items, or make the geometry from vectors"
    require(SQUARE_BYTES * n**2, f"a geometry of a {what} matrix of {n:,} items", remedy)
    M = finite_rows(what, values, ids)
    if M.shape[1] != n:
        raise InputError(f"{what} has shape {M.shape}; expected a square matrix of {n} items")
    outside = (-slack > M) | (highest + slack < M)
    outside.flat[:: n + 1] |= np.abs(np.diagonal(M) - diagonal) > slack
    for wrong, remedy in (
        (M != M.T, "the matrix must be symmetric: if this is rounding, pass (M + M.T) / 2"),
        (outside, f"expected 0 to {highest:g}, and {diagonal} on the diagonal"),
    ):
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            back = f", and {show(M[j, i])} back" if M[i, j] != M[j, i] else ""
            raise InputError(
                f"the {what} of items {show(ids[i])} and {show(ids[j])} is {show(M[i, j])}{back}; {remedy}"
            )
    return M


def _uneven(what: str, values: Any, ids: Ids) -> InputError:
    """Return the error about the first row that is not as long as the first one."""
    lengths = [np.size(row) for row in values]
    k = next((k for k, length in enumerate(lengths) if length != lengths[0]), 0)
    item = show(ids[k]) if k < len(ids) else k
    return InputError(
        f"{what}: item {item} has {lengths[k]:,} numbers, but {show(ids[0])} has {lengths[0]:,}; give every "
        "item the same number of them"
    )
