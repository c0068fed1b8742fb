r"""Old ratings count less: half-lives.

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
from datetime import timedelta
from typing import Any

import numpy as np

from prefmover._typing import Floats
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError

__all__ = ["duration", "half_life_weights", "in_seconds"]

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
