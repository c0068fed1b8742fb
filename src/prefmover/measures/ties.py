"""Values that are equal compare as equal: ratings as whole numbers, and rounding where they are not.

Users are ordered by a measure's values, and users with equal values by their order in the data. If two values
that should both be 1 came out as 1 and 0.9999999999999999, noise would decide instead. COS, PCC, MSD and
JMSD are therefore computed from whole numbers wherever the scale has steps, and rounded once. Jaccard is a
quotient of counts, and PMD of integers. The other measures contain exponentials and roots, and their values
are rounded to digits that noise does not reach.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from prefmover._typing import Floats
from prefmover.measures.pairs import Pairs

EXACT = 2.0**53
"""Sums of whole numbers below this are exact in floats."""


class WholeRatings(NamedTuple):
    """Ratings as whole multiples of a unit."""

    values: Floats
    lowest: int
    highest: int
    longest: int  # the most ratings of a user

    @property
    def width(self) -> int:
        """The width of the scale, 1 if it has none."""
        return self.highest - self.lowest or 1


def whole_ratings(pairs: Pairs, largest: Callable[[WholeRatings], int]) -> WholeRatings | None:
    """Return the ratings as whole numbers, if the ``largest`` sum of them that a measure takes is exact.

    None also on a continuous scale, or if a rating is between two levels. On 0.5 to 5 in steps of 0.5 they
    are 1 to 10. On 1.25 to 3.25 in steps of 0.5 they are 5, 7, ... 13.
    """
    scale, data = pairs.ratings.scale, pairs.matrix.data
    if not scale.step:
        return None
    start = Fraction(scale.lowest / scale.step).limit_denominator(100)
    per_unit = start.denominator / scale.step
    values = np.rint(data * per_unit)
    if np.abs(data * per_unit - values).max(initial=0.0) > 1e-6 * start.denominator:
        return None
    lowest, highest = round(scale.lowest * per_unit), round(scale.highest * per_unit)
    values.flags.writeable = False  # as the ratings are: one type for Numba, one compilation
    whole = WholeRatings(values, lowest, highest, int(pairs.counts().max(initial=0)))
    return whole if largest(whole) < EXACT else None


def on_grid(values: Floats, bits: int = 40) -> Floats:
    """Return values of about 1, rounded to multiples of 2^-bits.

    >>> on_grid(np.array([1 / 3, 0.1 + 0.2, 1e-17])) == on_grid(np.array([1 / 3, 0.3, 0.0]))
    array([ True,  True,  True])
    """
    grid = np.rint(values * 2.0**bits)
    grid *= 2.0**-bits
    return np.asarray(grid + 0.0)  # no negative zeros


def significant(values: Floats) -> Floats:
    """Return values rounded to 40 significant bits, about 12 digits.

    >>> significant(np.array([1e-5 / 3, 0.1 + 0.2])) == significant(np.array([1e-5 / 3, 0.3]))
    array([ True,  True])
    """
    wide = values * (2.0**13 + 1)
    rounded: Floats = wide - (wide - values)  # drops 13 of 53 bits, rounding to nearest
    return rounded
