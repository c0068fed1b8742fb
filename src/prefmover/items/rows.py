"""Rows of numbers, one for each item, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ids
from prefmover.data.ids import show
from prefmover.errors import InputError

__all__ = ["finite_rows"]


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


def _uneven(what: str, values: Any, ids: Ids) -> InputError:
    """Return the error about the first row that is not as long as the first one."""
    lengths = [np.size(row) for row in values]
    k = next((k for k, length in enumerate(lengths) if length != lengths[0]), 0)
    item = show(ids[k]) if k < len(ids) else k
    return InputError(
        f"{what}: item {item} has {lengths[k]:,} numbers, but {show(ids[0])} has {lengths[0]:,}; give every "
        "item the same number of them"
    )
