"""What people gave to items, in their own words: ratings on a scale, counts, or choices.

A model of implicit feedback computes with strengths. People did something so many times, so requests and
responses have counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from prefmover._typing import Floats
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale

STRENGTHS = ("rating", "rated", "source_rating", "target_rating")  # fields of explanations
MOST_LEVELS = 20  # of a scale whose levels are shown one by one
PARTS = 10  # of a finer scale
MOST_BARS = 12  # of counts, which a phone has room for
WITHIN = 1e-9  # of a part: where a rounded rating is still on its edge


@dataclass(frozen=True, eq=False)
class Feedback:
    """What the values of ratings are to people, and how they are shown."""

    ratings: Ratings

    @cached_property
    def kind(self) -> Literal["ratings", "counts", "choices"]:
        """``"choices"`` are implicit feedback whose counts mean nothing: all are the same, or not kept."""
        return self.ratings.scale.kind

    @cached_property
    def noun(self) -> str:
        """What one is called."""
        return "rating" if self.kind == "ratings" else "choice"

    @cached_property
    def usual(self) -> float | None:
        """What "liked it" stands for: a usual count; 1 for choices, None for ratings."""
        if self.kind == "choices":
            return 1.0
        return self.ratings.usual_count if self.kind == "counts" else None

    @cached_property
    def scale(self) -> Scale:
        """The scale of what people give: that of the ratings, or from the lowest to the highest count."""
        scale = self.ratings.scale
        if self.kind == "ratings":
            return scale
        if self.kind == "choices":
            return Scale(1, 1, 1)
        counts = self.given(np.unique(self.ratings.matrix.data))
        return Scale(float(counts[0]), float(counts[-1]), float((counts == np.round(counts)).all()))

    def given(self, values: Floats) -> Floats:
        """Return what people gave, for values of the table of ratings."""
        if self.kind == "ratings":
            return values
        return np.ones_like(values) if self.kind == "choices" else self.ratings.scale.counts(values)

    def one_given(self, value: float) -> float:
        """Return what somebody gave, for one value."""
        return float(self.given(np.array([value]))[0])

    def in_explanation(self, part: Any) -> Any:
        """Return an explanation as ``to_dict`` gives it, or a part of one, with what people gave."""
        if self.kind == "ratings":
            return part
        if isinstance(part, list):
            return [self.in_explanation(one) for one in part]
        if not isinstance(part, dict):
            return part
        return {
            name: self.one_given(value)
            if name in STRENGTHS and isinstance(value, float)
            else self.in_explanation(value)
            for name, value in part.items()
        }

    def bars(self, values: Floats) -> Iterable[tuple[float, float, int]]:
        """Yield the bars of a histogram of some values of the table: lowest, highest, number of values.

        There is a bar for each level of a scale of up to 20, for each tenth of a finer one, and for counts of
        1, 2 to 3, 4 to 7, and so on; of up to 3, 15, 63 and so on if these were more than 12 bars.

        >>> plays = Ratings.from_arrays(["u"] * 4, [1, 2, 3, 4], [1, 2, 3, 9], feedback="implicit")
        >>> list(Feedback(plays).bars(plays.matrix.data))
        [(1.0, 1.0, 1), (2.0, 3.0, 2), (4.0, 7.0, 0), (8.0, 15.0, 1)]
        """
        low, high, step = self.scale.lowest, self.scale.highest, self.scale.step
        given = self.given(values)
        if not len(given):
            return
        if self.kind == "counts":
            yield from _doubling(given, bool(step))
            return
        levels = round((high - low) / step) + 1 if step else 0
        if 0 < levels <= MOST_LEVELS:
            edges = ends = low + step * np.arange(levels)
            number = np.round((given - low) / step)
        else:
            width = (high - low) / PARTS
            edges = low + width * np.arange(PARTS)
            ends = np.append(edges[1:] - step, high)
            number = np.clip(np.floor((given - low) / width + WITHIN), 0, PARTS - 1)
        counts = np.bincount(number.astype(np.int64), minlength=len(edges)).tolist()
        yield from zip(edges.round(9).tolist(), ends.round(9).tolist(), counts, strict=True)


def _doubling(counts: Floats, whole: bool) -> Iterable[tuple[float, float, int]]:
    powers = np.floor(np.log2(counts)).astype(np.int64)
    width = -(-(int(np.ptp(powers)) + 1) // MOST_BARS)
    powers //= width
    first = int(powers.min())
    for k, n in enumerate(np.bincount(powers - first).tolist(), first):
        yield 2.0 ** (k * width), 2.0 ** ((k + 1) * width) - (1 if whole else 0), n
