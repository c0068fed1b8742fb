r"""When ratings were given, and half-lives: old ratings count less.

With a half-life h, the mass of a rating is multiplied by 2^(−age / h). Preferences are shares of a user's
total, so only differences of age within a user matter: ages are measured from the user's latest rating. A
rating without a time, such as one that was added to a fitted model, is as new as the newest of all.

Times are seconds since any moment. More than 10¹¹ seconds would be more than 3,000 years. Such large numbers
are read as milliseconds, microseconds or nanoseconds since 1970, which JavaScript and pandas write, and are
converted (:func:`in_seconds`).

Masses stay whole numbers. Weighted ratings have no common unit, so they are rounded to a total of 2³⁰: each
share is correct within 10⁻⁹, and a share below that is dropped (:mod:`prefmover.data.preferences`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import numpy as np

from prefmover._typing import Floats
from prefmover.data.csr import indptr_where
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.errors import InputError

__all__ = ["duration", "half_life_weights", "in_seconds", "known_times", "rating_times", "time_table"]

LOG = logging.getLogger(__name__)

LATEST = 1e11
"""The largest number that is a time in seconds: the year 5138, counted from 1970."""

FRACTIONS = (("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9))

UNITS = {"s": 1.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0, "y": 365.25 * 86400.0}
EXPECTED = "give a number and a unit (s, h, d, w or y), such as 180d; or seconds; or a timedelta"


def duration(value: Any) -> float:
    """Return a duration in seconds, from text with a unit, a number of seconds, or a timedelta.

    >>> duration("180d"), duration("1.5h"), duration(60), duration(timedelta(days=1))
    (15552000.0, 5400.0, 60.0, 86400.0)
    """
    seconds = np.nan
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([shdwy])\s*", value, re.ASCII)
        seconds = float(match[1]) * UNITS[match[2]] if match else np.nan
    elif isinstance(value, int | float | np.number) and not isinstance(value, bool):
        seconds = float(value)
    if not 0 < seconds < np.inf:
        raise InputError(f"half_life is {value!r}; {EXPECTED}", argument="half_life")
    return seconds


def in_seconds(times: Floats) -> Floats:
    """Return times in seconds; their unit is recognized by their size.

    Parameters
    ----------
    times
        Numbers from 0; NaN if not known. All in one unit: seconds, or a fraction of seconds since 1970.

    Examples
    --------
    >>> in_seconds(np.array([1.5e9, 86400.0])).tolist()
    [1500000000.0, 86400.0]
    >>> in_seconds(np.array([1.5e12, 1.4e12])).tolist()
    [1500000000.0, 1400000000.0]
    """
    latest = float(np.nanmax(times, initial=0.0))
    if latest <= LATEST:
        return times
    unit, per_second = next((one for one in FRACTIONS if latest <= LATEST * one[1]), FRACTIONS[-1])
    earliest = float(np.nanmin(times, initial=latest, where=times > 0))
    if latest > LATEST * per_second or earliest <= LATEST * per_second / 1e3:
        raise InputError(
            f"times are from {earliest:.0f} to {latest:.0f}, which is neither seconds nor a fraction of "
            "seconds since 1970; give all in one unit",
            argument="time",
        )
    LOG.warning("times up to %.0f are too large for seconds; they are read as %s", latest, unit)
    return times / per_second


def half_life_weights(ratings: Ratings, times: Floats, half_life: float) -> Floats:
    """Return the weight of each rating, from 0 to 1; the latest of each user has 1.

    Parameters
    ----------
    times
        (n_ratings,) seconds, in the order of ``ratings.matrix.data``; NaN for a rating that is new.
    half_life
        Seconds.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(["a", "a", "b"], [1, 2, 2], [5, 3, 4])
    >>> half_life_weights(ratings, np.array([0.0, 20.0, 5.0]), 10.0)
    array([0.25, 1.  , 1.  ])
    """
    if not len(times):
        return np.ones(0)
    newest = np.nanmax(times) if np.isfinite(times).any() else 0.0
    when = np.where(np.isnan(times), newest, times)
    rows = ratings.rows()
    latest = np.full(ratings.n_users, -np.inf)
    np.maximum.at(latest, rows, when)
    weights: Floats = np.exp2((when - latest[rows]) / half_life)
    return weights


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


def known_times(ratings: Ratings, times: Ratings) -> Floats:
    """Return the entries of another table at the ratings of this one; NaN where it has none."""
    rows, columns = times.find_users(ratings.users)[ratings.rows()], times.find_items(ratings.items)
    at = columns[ratings.matrix.indices]
    keys = times.rows() * times.n_items + times.matrix.indices
    wanted = np.where((rows < 0) | (at < 0), -1, rows * times.n_items + at)
    if not len(keys):
        return np.full(len(wanted), np.nan)
    found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[found] == wanted, times.matrix.data[found], np.nan)


def _looked_up(ratings: Ratings, times: Ratings) -> Floats:
    """Return the entries of another table at the ratings of this one; all must be there."""
    when = known_times(ratings, times)
    missing = np.isnan(when)
    if missing.any():
        first = int(missing.argmax())
        user = ratings.users[ratings.rows()[first : first + 1]].tolist()[0]
        item = ratings.items[ratings.matrix.indices[first : first + 1]].tolist()[0]
        raise InputError(
            f"times has no entry for user {user!r} and item {item!r} ({missing.sum():,} such ratings); give "
            "the time of every rating"
        )
    return when


def time_table(ratings: Ratings, times: Any) -> Ratings | None:
    """Return the times of ratings, in any form, as a table of seconds; None for none."""
    if times is None:
        return None
    if isinstance(times, Ratings):
        m = times.matrix
        return _seconds(times, m.data, m.indices, m.indptr)
    m = ratings.matrix
    if isinstance(times, np.ndarray) and times.dtype.kind == "M":  # dates of any unit, as seconds
        seconds = times.astype("datetime64[us]").astype(np.int64) / 1e6
        times = np.where(np.isnat(times), np.nan, seconds)
    numbers = isinstance(times, np.ndarray) and times.dtype.kind in "iuf"
    if numbers and times.shape == m.data.shape and not np.isinf(times).any():
        when, kept = np.asarray(times, np.float64), ~np.isnan(times)
    else:
        when = rating_times(ratings, times)
        kept = np.ones(len(when), bool)
    return _seconds(ratings, when[kept], m.indices[kept], indptr_where(m.indptr, kept))


def _seconds(ratings: Ratings, times: Floats, indices: Any, indptr: Any) -> Ratings:
    """Return times, in their own unit, as a table of seconds with the users and items of ratings."""
    from scipy.sparse import csr_array

    if times.min(initial=0.0) < 0:
        raise InputError(
            f"a rating has the time {times.min():g}, which is before 1970; give seconds since then, or dates"
        )
    table = csr_array((in_seconds(times), indices, indptr), shape=ratings.matrix.shape)
    return Ratings(table, ratings.users, ratings.items, Scale(0.0, float(table.data.max(initial=1.0)), 0.0))
