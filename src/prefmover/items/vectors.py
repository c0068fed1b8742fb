"""Item vectors: the type that all features have in common, and its checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from prefmover._typing import Floats, Ids
from prefmover.data.ids import IdIndex, frozen
from prefmover.errors import InputError

__all__ = ["RIDGE", "ItemVectors", "aligned", "block_weights", "normalized"]

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
