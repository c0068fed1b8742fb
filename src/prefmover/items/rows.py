"""Rows of numbers, one for each item, and symmetric matrices of items, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ids
from prefmover.data.ids import show
from prefmover.errors import InputError
from prefmover.execution.memory import require

__all__ = ["SQUARE_BYTES", "finite_rows", "symmetric_matrix"]

SQUARE_BYTES = 32  # per entry of a matrix, to convert it to whole numbers


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
