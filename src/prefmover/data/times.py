"""When ratings were given, in seconds since any moment, for splits by time.

More than 10¹¹ seconds would be more than 3,000 years. Such large numbers are read as milliseconds,
microseconds or nanoseconds since 1970, which JavaScript and pandas write, and are converted
(:func:`in_seconds`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from prefmover._typing import Floats
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.errors import InputError

__all__ = ["in_seconds", "rating_times", "time_table"]

LOG = logging.getLogger(__name__)

LATEST = 1e11
"""The largest number that is a time in seconds: the year 5138, counted from 1970."""

FRACTIONS = (("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9))


def in_seconds(times: Floats) -> Floats:
    """Return times in seconds; their unit is recognized by their size.

    Parameters
    ----------
    times
        Numbers from 0, all in one unit: seconds, or a fraction of seconds since 1970.

    Examples
    --------
    >>> in_seconds(np.array([1.5e9, 86400.0])).tolist()
    [1500000000.0, 86400.0]
    >>> in_seconds(np.array([1.5e12, 1.4e12])).tolist()
    [1500000000.0, 1400000000.0]
    """
    latest = float(np.max(times, initial=0.0))
    if latest <= LATEST:
        return times
    unit, per_second = next((one for one in FRACTIONS if latest <= LATEST * one[1]), FRACTIONS[-1])
    earliest = float(np.min(times, initial=latest, where=times > 0))
    if latest > LATEST * per_second or earliest <= LATEST * per_second / 1e3:
        raise InputError(
            f"times are from {earliest:.0f} to {latest:.0f}, which is neither seconds nor a fraction of "
            "seconds since 1970; give all in one unit",
            argument="time",
        )
    LOG.warning("times up to %.0f are too large for seconds; they are read as %s", latest, unit)
    return times / per_second


def rating_times(ratings: Ratings, times: Any) -> Floats:
    """Return the time of each rating, in the order of ``ratings.matrix.data``.

    Parameters
    ----------
    times
        ``{(user, item): time}``; a frame with columns user, item and time; a :class:`~prefmover.Ratings`
        whose values are times, such as ``Ratings.read(file, rating="timestamp")``; or an array in the order
        of ``ratings.matrix.data``: by user, and each user's by item. Times are numbers from
        0, such as seconds. Entries of pairs that are not rated are ignored.
    """
    if isinstance(times, Mapping):
        try:
            users, items = zip(*times, strict=True)
        except (TypeError, ValueError):
            raise InputError("times must map (user, item) to numbers") from None
        times = Ratings.from_arrays(users, items, list(times.values()), feedback="explicit")
    elif hasattr(times, "columns") or hasattr(times, "column_names"):
        times = Ratings.from_frame(times, rating="time", duplicates="last", feedback="explicit")
    if isinstance(times, Ratings):
        return _looked_up(ratings, times)
    try:
        when = np.asarray(times, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"times is a {type(times).__name__}; give a number for each rating") from None
    if when.shape != (ratings.n_ratings,) or not np.isfinite(when).all():
        raise InputError(
            f"times has shape {when.shape}; give a finite number for each of {ratings.n_ratings:,} ratings"
        )
    return when


def _looked_up(ratings: Ratings, times: Ratings) -> Floats:
    """Return the entries of another table at the ratings of this one; all must be there."""
    rows, columns = times.user_index.get(ratings.users)[ratings.rows()], times.item_index.get(ratings.items)
    at = columns[ratings.matrix.indices]
    keys = times.rows() * times.n_items + times.matrix.indices
    wanted = np.where((rows < 0) | (at < 0), -1, rows * times.n_items + at)
    found = np.searchsorted(keys, wanted)
    missing = np.append(keys, -2)[found] != wanted
    if missing.any():
        first = int(missing.argmax())
        user = ratings.users[ratings.rows()[first : first + 1]].tolist()[0]
        item = ratings.items[ratings.matrix.indices[first : first + 1]].tolist()[0]
        raise InputError(
            f"times has no entry for user {user!r} and item {item!r} ({missing.sum():,} such ratings); give "
            "the time of every rating"
        )
    return np.asarray(times.matrix.data[found])


def time_table(ratings: Ratings, times: Any) -> Ratings:
    """Return the times of ratings, in any form, as a table of seconds."""
    if isinstance(times, Ratings):
        m = times.matrix
        return _seconds(times, m.data, m.indices, m.indptr)
    m = ratings.matrix
    if isinstance(times, np.ndarray) and times.dtype.kind == "M":  # dates of any unit, as seconds
        seconds = times.astype("datetime64[us]").astype(np.int64) / 1e6
        times = np.where(np.isnat(times), np.nan, seconds)
    return _seconds(ratings, rating_times(ratings, times), m.indices, m.indptr)


def _seconds(ratings: Ratings, times: Floats, indices: Any, indptr: Any) -> Ratings:
    """Return times, in their own unit, as a table of seconds with the users and items of ratings."""
    from scipy.sparse import csr_array

    if times.min(initial=0.0) < 0:
        raise InputError(
            f"a rating has the time {times.min():g}, which is before 1970; give seconds since then, or dates"
        )
    table = csr_array((in_seconds(times), indices, indptr), shape=ratings.matrix.shape)
    return Ratings(table, ratings.users, ratings.items, Scale(0.0, float(table.data.max(initial=1.0)), 0.0))
