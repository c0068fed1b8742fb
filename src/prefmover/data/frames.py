"""Columns of users, items and ratings from data frames: pandas, polars, Arrow, or others by narwhals."""

from __future__ import annotations

from typing import Any

from prefmover.data.columns import Columns
from prefmover.data.file_options import Feedback
from prefmover.data.names import find_column, find_ratings
from prefmover.data.origin import Origin
from prefmover.errors import InputError

__all__ = ["frame_columns"]


def frame_columns(frame: Any, user: str, item: str, rating: str | None, feedback: Feedback | None) -> Columns:
    """Return the columns of a frame; without the name of one of ratings, a usual name is recognized.

    Only the columns that are used are collected from a lazy frame.
    """
    import narwhals as nw

    try:
        native: Any = nw.from_native(frame)
    except TypeError:
        remedy = "Ratings.from_arrays takes three lists, Ratings.from_csr a sparse matrix"
        raise InputError(f"expected a data frame, got {type(frame).__name__}; {remedy}") from None
    schema = native.collect_schema()
    names, dtypes = schema.names(), schema.dtypes()
    others = [find_column(user, names, "user", "the frame"), find_column(item, names, "item", "the frame")]
    position, implicit = find_ratings(
        names, rating, feedback, others, lambda k: dtypes[k].is_numeric(), "the frame"
    )
    positions = [*others, *([] if position is None else [position])]
    if len({*positions}) < len(positions):
        raise InputError("user, item and rating must be different columns")
    chosen = native.select(*(names[k] for k in positions))
    if isinstance(chosen, nw.LazyFrame):
        chosen = chosen.collect()
    values: list[Any] = [_to_arrow(chosen[names[k]]) for k in positions]
    used = (user, item, None if position is None else names[position])
    return Columns((*values, None)[:3], used, Origin(), implicit=implicit)


def _to_arrow(series: Any) -> Any:
    """Return a narwhals series as an Arrow array, or as a list if Arrow does not support its values."""
    import pyarrow as pa

    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        return series.to_list()
