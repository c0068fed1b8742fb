"""What values stand for: ratings on a scale, or strengths of implicit feedback.

An *explicit* rating is an opinion on a scale. *Implicit* feedback is what people did: clicks, plays,
purchases, with or without counts. Counts differ by orders of magnitude (1 to 352,698 plays), so they are
damped:

==========  ======================  =================================================
damping     strength of count c     for
==========  ======================  =================================================
``log``     log₂(1 + c)             counts of any size: one event is 1, three are 2
``sqrt``    √c                      the same, with more weight on large counts
``none``    c                       strengths that are good as they are
``binary``  1                       data whose counts mean nothing
==========  ======================  =================================================
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats
from prefmover.data.file_options import Damping, Duplicates, Zeros, check_choice
from prefmover.errors import InputError, ZeroRatingsWarning

__all__ = ["LARGEST", "SMALLEST", "Meaning", "Scale", "damped"]

LOG = logging.getLogger(__name__)

GRID = 1e9  # steps are recognized on a grid of 1e-9
MAX_LEVELS = 1_000_000  # a scale with more is treated as continuous

LIKED = 0.75  # how far up the scale ratings begin that count as liked

SMALLEST, LARGEST = 1e-15, 1e15
"""Ratings above 0 are in this range. Their squares, and products of two sums of squares, can be computed."""

MANY_ZEROS = 0.3  # a share of ratings of 0 beyond which they are likely to mean "no rating" ...
STRAY = 0.005  # a share of ratings far above the others that is taken for an error
SCALE_LEVELS = 21  # of 0 to 10 in half steps; data with more levels may well have a long tail
TELLING = 100  # ... if there are as many ratings
TIMES = (1e8, 1e14)  # seconds or milliseconds since 1970, from 1973 on

DAMPING: dict[str, Callable[[Floats], Any]] = {
    "log": lambda counts: np.log2(1 + counts),
    "sqrt": np.sqrt,
    "none": lambda counts: counts,
    "binary": np.ones_like,
}
UNDAMPING: dict[str, Callable[[Floats], Any]] = {
    "log": lambda strengths: np.exp2(strengths) - 1,
    "sqrt": np.square,
    "none": lambda strengths: strengths,
    "binary": np.ones_like,
}
WHOLE = 1e-9  # the relative rounding of a count that was damped, and back


def damped(counts: npt.ArrayLike, damping: str) -> Floats:
    """Return the strengths of positive counts.

    >>> damped([1, 3, 1023], "log")
    array([ 1.,  2., 10.])
    """
    return np.asarray(DAMPING[damping](np.asarray(counts, dtype=np.float64)), dtype=np.float64)


@dataclass(frozen=True, slots=True, repr=False)
class Scale:
    """The scale of ratings: its ends, and the step from one level to the next, 0 if it is continuous.

    Implicit feedback has no scale that people chose from. There, the ends are the lowest and the highest
    strength in the data, the step is 0 (or 1 if all strengths are equal), and ``damping`` says how a count
    becomes a strength.

    >>> Scale(0.5, 5.0, 0.5).middle
    2.75
    >>> Scale(1, 8, 0, implicit=True).strengths([1, 7])
    array([1., 3.])
    """

    lowest: float
    highest: float
    step: float
    implicit: bool = False
    damping: Damping | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.implicit, bool) or (self.damping is not None and not self.implicit):
            given = f"implicit is {self.implicit!r} and damping {self.damping!r}"
            raise InputError(f"{given}; damping needs implicit=True")
        if self.implicit:
            check_choice("damping", self.damping, Damping)
            object.__setattr__(self, "damping", self.damping or "log")
        values = (self.lowest, self.highest, self.step)
        if not all(isinstance(v, int | float | np.integer | np.floating) for v in values):
            raise InputError(f"scale {values} is not valid; give three numbers: lowest, highest, step")
        try:
            numbers = [float(value) for value in values]  # a comparison in a narrow type could overflow
        except OverflowError:  # an integer of 400 digits
            numbers = [math.inf] * 3
        if not 0 <= numbers[0] <= numbers[1] < math.inf or not 0 <= numbers[2] < math.inf:
            expected = "finite 0 <= lowest <= highest and step >= 0"
            raise InputError(f"scale {values} is not valid; expected {expected}")
        if numbers[1] > LARGEST or any(0 < number < SMALLEST for number in numbers):
            ends = f"{SMALLEST:g} and {LARGEST:g}"
            raise InputError(f"scale {values} is not between {ends}; choose another unit")
        if self.step:
            steps = (float(self.highest) - float(self.lowest)) / float(self.step)
            if not steps < 2**53 or abs(steps - round(steps)) > 1e-3:
                raise InputError(f"scale {values} is not valid; its ends must be whole steps apart")

    def __repr__(self) -> str:
        ends = f"lowest={self.lowest!r}, highest={self.highest!r}, step={self.step!r}"
        more = f", implicit=True, damping={self.damping!r}" if self.implicit else ""
        return f"Scale({ends}{more})"

    @property
    def kind(self) -> Literal["ratings", "counts", "choices"]:
        """What people gave; ``"choices"`` are implicit feedback whose counts mean nothing, or are equal.

        >>> Scale(1, 5, 1).kind, Scale(1, 8, 0, implicit=True).kind, Scale(1, 1, 1, implicit=True).kind
        ('ratings', 'counts', 'choices')
        """
        if not self.implicit:
            return "ratings"
        return "choices" if self.damping == "binary" or self.lowest == self.highest else "counts"

    @property
    def middle(self) -> float:
        """The middle of the scale, halfway between its ends (r_med in the literature)."""
        return (self.lowest + self.highest) / 2

    @property
    def liked_from(self) -> float | None:
        """The lowest rating that counts as a like, three quarters up the scale; None if every item is liked.

        >>> Scale(1, 5, 1).liked_from, Scale(0.5, 5, 0.5).liked_from, Scale(1, 8, 0, implicit=True).liked_from
        (4.0, 3.875, None)
        """
        return None if self.implicit else float(self.lowest + LIKED * (self.highest - self.lowest))

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Return the scale in ``"LOWEST:HIGHEST:STEP"``; the step is 1 by default.

        >>> Scale.parse("0.5:5:0.5"), Scale.parse("1:5")
        (Scale(lowest=0.5, highest=5.0, step=0.5), Scale(lowest=1.0, highest=5.0, step=1.0))
        """
        try:
            lowest, highest, *step = (float(part) for part in text.split(":"))
            (only,) = step or [1.0]
        except ValueError:
            raise InputError(f"scale is {text!r}; expected LOWEST:HIGHEST:STEP, such as 0.5:5:0.5") from None
        return cls(lowest, highest, only)

    def strengths(self, counts: npt.ArrayLike) -> Floats:
        """Return the strengths of the counts of implicit feedback, damped as those in the data are.

        A count must be a positive number, from :data:`SMALLEST` to :data:`LARGEST`.
        """
        if not self.implicit or self.damping is None:
            raise InputError("strengths are for implicit feedback; these are ratings on a scale")
        values = np.asarray(counts, dtype=np.float64)
        bad = ~((values >= SMALLEST) & (values <= LARGEST))
        if bad.any():
            ends = f"from {SMALLEST:g} to {LARGEST:g}"
            raise InputError(f"the count {values[bad][0]:g} is not a positive number {ends}")
        return damped(values, self.damping)

    def counts(self, strengths: npt.ArrayLike) -> Floats:
        """Return the counts of implicit feedback for their strengths, the inverse of :meth:`strengths`.

        Rounding is undone: a count that was whole is whole again. Binary strengths are counts of 1.

        >>> Scale(1, 8, 0, implicit=True).counts([1, 3, np.log2(1 + 352_698)])
        array([1.00000e+00, 7.00000e+00, 3.52698e+05])
        """
        if not self.implicit or self.damping is None:
            raise InputError("counts are of implicit feedback; these are ratings on a scale")
        values = np.asarray(UNDAMPING[self.damping](np.asarray(strengths, np.float64)), np.float64)
        whole = np.round(values)
        return np.where(np.abs(values - whole) <= WHOLE * np.maximum(whole, 1), whole, values)

    @classmethod
    def from_strengths(cls, values: Floats, damping: Damping) -> Scale:
        """Return the range of the strengths of implicit feedback.

        >>> Scale.from_strengths(np.array([1.0, 2.5]), "log")
        Scale(lowest=1.0, highest=2.5, step=0.0, implicit=True, damping='log')
        """
        lowest, highest = float(values.min()), float(values.max())
        return cls(lowest, highest, 0.0 if lowest < highest else 1.0, implicit=True, damping=damping)

    def facts(self) -> list[Any]:
        """Return the arguments that make this scale again, for JSON.

        >>> Scale(*Scale(1, 5, 1).facts())
        Scale(lowest=1, highest=5, step=1)
        """
        ends: list[Any] = [self.lowest, self.highest, self.step]
        return [*ends, True, self.damping] if self.implicit else ends

    @classmethod
    def from_ratings(cls, values: Floats) -> Scale:
        """Infer the scale from ratings.

        The ends are the lowest and the highest rating. The step is the greatest one with which every rating
        can be reached from the lowest; it is 0 if the ratings are not on a grid of 1e-9, or if there would
        be more than a million levels.

        >>> Scale.from_ratings(np.array([1.0, 2.5, 4.0, 4.5]))
        Scale(lowest=1.0, highest=4.5, step=0.5)
        >>> Scale.from_ratings(np.array([1.0, 2**0.5]))
        Scale(lowest=1.0, highest=1.4142135623730951, step=0.0)
        """
        levels = np.unique(values)
        lowest, highest = float(levels[0]), float(levels[-1])
        grid = GRID
        while highest * grid > 2.0**40:  # beyond, floats are too far apart
            grid /= 10
        units = np.round(levels * grid)
        if grid < 1 or (np.abs(levels * grid - units) > 4 * np.spacing(units)).any():
            return cls(lowest, highest, 0.0)
        units = np.unique(units)  # ratings that differ by rounding are one level
        # A single level shows no step; whole numbers are the likeliest.
        steps = np.diff(units if len(units) > 1 else np.array([0, units[0], grid])).astype(np.int64)
        step = int(np.gcd.reduce(steps))
        if (units[-1] - units[0]) / step > MAX_LEVELS:
            return cls(lowest, highest, 0.0)
        return cls(lowest, highest, step / grid)


@dataclass(slots=True)
class Meaning:
    """What values stand for: ratings on a scale, or counts with a damping.

    These are the choices of a caller; one that would be ignored is an error.
    """

    implicit: bool
    duplicates: Duplicates
    scale: Scale | None
    damping: Damping | None
    zeros: Zeros | None

    def __post_init__(self) -> None:
        check_choice("duplicates", self.duplicates, Duplicates, optional=False)
        check_choice("damping", self.damping, Damping)
        check_choice("zeros", self.zeros, Zeros)
        if not self.implicit:
            if self.damping is not None:
                problem = f"damping={self.damping!r} is for counts, and these are ratings"
                remedy = "pass feedback='implicit' too if these are counts, or leave it out"
                raise InputError(f"{problem}; {remedy}", argument="damping")
            if self.scale is not None and self.scale.implicit:
                remedy = "pass feedback='implicit' instead"
                raise InputError(f"scale= has implicit=True; {remedy}", argument="scale")
            return
        for name, is_ignored, why in (
            ("duplicates", self.duplicates != "error", "repeated counts are added up"),
            ("scale", self.scale is not None, "counts have no scale"),
            ("zeros", self.zeros == "rating", "a count of 0 is no interaction"),
        ):
            if is_ignored:
                problem = f"{name}= does not go with implicit feedback ({why})"
                remedy = "leave it out, or pass feedback='explicit' if these are ratings"
                raise InputError(f"{problem}; {remedy}", argument=name)
        self.damping, self.zeros = self.damping or "log", "missing"

    @property
    def noun(self) -> str:
        """The name of a value in messages."""
        return "count" if self.implicit else "rating"

    def kept(self, values: Floats, table: str) -> Bools:
        """Return which values are kept: all, or those that are not 0; many zeros are worth a warning."""
        kept: Bools = values != 0
        n_zeros = len(values) - int(kept.sum())
        if self.zeros == "missing":
            if n_zeros == len(values):
                problem = f"{table}: all {n_zeros:,} {self.noun}s are 0, and 0 means none here"
                raise InputError(f"{problem}; give one above 0")
            if n_zeros:
                rows = f"{n_zeros:,} of {len(values):,} rows"
                LOG.info("%s: %s have a %s of 0 and are dropped", table, rows, self.noun)
            return kept
        is_large = len(values) >= TELLING and n_zeros > MANY_ZEROS * len(values)
        if self.zeros is None and is_large and len(np.unique(values)) > 2:  # 0 and 1 are a scale, too
            warnings.warn(
                f"{table}: {n_zeros:,} of {len(values):,} ratings ({n_zeros / len(values):.0%}) are 0. If 0 "
                'means that there is no rating, pass zeros="missing" (--zeros missing) to drop them; '
                'zeros="rating" says that it is one',
                ZeroRatingsWarning,
                stacklevel=4,
            )
        return np.ones(len(values), dtype=bool)

    def refuse_times(self, values: Floats, where: str) -> None:
        """Raise an error if a column that the caller did not name has times instead of ratings."""
        if self.damping == "binary" or not ((values > TIMES[0]) & (values < TIMES[1])).all():
            return
        problem = f"{where}: {values[0]:.0f} looks like a time, not a {self.noun}"
        remedy = "pass rating= with another column, or feedback='implicit' and damping='binary'"
        raise InputError(f"{problem}; {remedy}", argument="rating")

    def refuse_stray(self, values: Floats, at: Callable[[int], str]) -> None:
        """Raise an error about a few ratings far above all others on a scale: totals, typing errors, codes.

        ``at`` says where a row is.
        """
        if self.implicit or self.scale is not None or len(values) < TELLING:
            return
        highest = float(np.nanmax(values))
        others = values[values < highest]
        if not len(others) or len(values) - len(others) > max(1, STRAY * len(values)):
            return
        lowest, next_ = float(others.min()), float(others.max())
        if highest - next_ <= next_ - lowest or not 2 <= len(np.unique(others)) <= SCALE_LEVELS:
            return
        problem = f"the rating {highest:g} is far from all others, which are from {lowest:g} to {next_:g}"
        remedy = f"correct or drop the row, or pass scale='{lowest:g}:{highest:g}' if it is right"
        raise InputError(f"{at(int(np.nanargmax(values)))}: {problem}; {remedy}", argument="scale")
