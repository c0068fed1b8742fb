r"""Recall of an approximate search: estimated on a random sample of queries, with an interval.

The recall of a query is the share of its k nearest users that its list has. The estimate is the mean over the
sample. Its interval is Wilson's for a proportion,

.. math:: \frac{\hat p + z^2 / 2n \pm z \sqrt{\hat p (1 - \hat p) / n + z^2 / 4n^2}}{1 + z^2 / n},

with n the number of independent trials that the sample is worth: neighbors of one query are found or missed
together, so that n is less than the number of neighbors, and at least the number of queries. The interval
does not collapse if the sample misses no neighbor, and is narrower if the sample is a good part of all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from prefmover._typing import Floats

__all__ = ["Recall"]

Z = 1.959963984540054  # 95 %


@dataclass(frozen=True, slots=True)
class Recall:
    """Recall of an approximate search, measured against the exact one.

    Attributes
    ----------
    estimate
        Mean share of the k nearest users that a list has.
    low, high
        95 % confidence interval.
    queries
        Number of queries in the sample.
    asked
        The recall that was asked for.

    Examples
    --------
    >>> Recall.from_sample(np.array([1.0, 0.9, 1.0, 1.0]), k=10, population=1000, asked=0.95)
    Recall(.975, 95 % interval .869 to .996, from 4 queries; asked for .950)
    """

    estimate: float
    low: float
    high: float
    queries: int
    asked: float

    @classmethod
    def from_sample(cls, recalls: Floats, k: int, population: int, asked: float) -> Recall:
        """Return the recall of a sample of queries, drawn from a population of queries."""
        n = len(recalls)
        p = float(np.mean(recalls)) if n else math.nan
        if not 0 < n < population:
            return cls(p, p, p, n, asked)
        trials = float(n)
        if n > 1 and 0 < p < 1:
            variance = float(np.var(recalls, ddof=1))
            trials = n * k if variance == 0 else min(max(p * (1 - p) * n / variance, n), n * k)
        low, high = wilson(p, trials / (1 - n / population))
        return cls(p, low, high, n, asked)

    @property
    def reached(self) -> bool:
        """Whether the estimate is what was asked for, or more."""
        return self.estimate >= self.asked

    def to_dict(self) -> dict[str, float | int | bool]:
        """Return plain Python, ready for JSON."""
        return {
            "recall": self.estimate, "low": self.low, "high": self.high,
            "queries": self.queries, "asked": self.asked, "reached": self.reached,
        }  # fmt: skip

    def __str__(self) -> str:
        interval = f"95 % interval {_short(self.low)} to {_short(self.high)}"
        return f"{_short(self.estimate)}, {interval}, from {self.queries:,} queries"

    def __repr__(self) -> str:
        return f"Recall({self}; asked for {_short(self.asked)})"


def wilson(p: float, n: float) -> tuple[float, float]:
    """Return the 95 % interval of a proportion p of n trials.

    >>> low, high = wilson(1.0, 100)
    >>> round(low, 3), high
    (0.963, 1.0)
    """
    center, slack = p + Z**2 / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return max(0.0, (center - slack) / (1 + Z**2 / n)), min(1.0, (center + slack) / (1 + Z**2 / n))


def recall_of_lists(found: Floats, exact: Floats) -> float:
    """Return the share of an exact list that a list found, by their sorted distances.

    Equally far users are as good as each other.

    >>> recall_of_lists(np.array([0.1, 0.3, 0.4]), np.array([0.1, 0.2, 0.3]))
    0.6666666666666666
    """
    if not len(exact):
        return 1.0
    return min(int(np.count_nonzero(found <= exact[-1])), len(exact)) / len(exact)


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")
