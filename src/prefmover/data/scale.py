"""The scale of ratings: its ends, its step, its levels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prefmover._typing import Floats
from prefmover.errors import InputError

__all__ = ["Scale"]

GRID = 1e9  # steps are recognized on a grid of 1e-9
MAX_LEVELS = 1_000_000  # a scale with more is treated as continuous


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of ratings: its ends, and the step from one level to the next, 0 if it is continuous.

    >>> Scale(0.5, 5.0, 0.5).middle
    2.75
    """

    lowest: float
    highest: float
    step: float

    def __post_init__(self) -> None:
        values = (self.lowest, self.highest, self.step)
        if not all(isinstance(v, int | float | np.integer | np.floating) for v in values):
            raise InputError(f"scale {values} is not valid; give three numbers: lowest, highest, step")
        if not all(map(_finite, values)) or not 0 <= self.lowest <= self.highest or self.step < 0:
            raise InputError(
                f"scale {values} is not valid; expected finite 0 <= lowest <= highest and step >= 0"
            )
        if self.step:
            steps = (float(self.highest) - float(self.lowest)) / float(self.step)
            if not steps < 2**53 or abs(steps - round(steps)) > 1e-3:
                raise InputError(f"scale {values} is not valid; no number of steps leads from end to end")

    @property
    def middle(self) -> float:
        """The middle of the scale, halfway between its ends (r_med in the literature)."""
        return (self.lowest + self.highest) / 2

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


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of 400 digits
        return False
