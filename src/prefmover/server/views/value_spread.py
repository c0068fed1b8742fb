"""The spread of a measure: its values between random users, to say how near a value is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prefmover._typing import Floats, Progress
from prefmover.data.ids import frozen
from prefmover.dataset import Dataset
from prefmover.measures import Measure
from prefmover.measures.pairs import values

__all__ = ["Spread", "sample_spread"]

USERS, OTHERS = 40, 25


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Values of a measure between random pairs of users, sorted, without undefined ones.

    >>> spread = Spread(np.array([0.2, 0.4, 0.6, 0.8]), larger_is_closer=False)
    >>> spread.nearer_than(0.3), spread.nearer_than(0.8)
    (0.75, 0.0)
    """

    values: Floats
    larger_is_closer: bool

    def nearer_than(self, value: float) -> float | None:
        """Return the share of the pairs that are farther apart than a value; None without pairs."""
        n = len(self.values)
        if n == 0 or np.isnan(value):
            return None
        if self.larger_is_closer:
            return int(np.searchsorted(self.values, value, side="left")) / n
        return 1 - int(np.searchsorted(self.values, value, side="right")) / n

    def quantile(self, share: float) -> float | None:
        """Return the value below which a share of the pairs is; None without pairs."""
        return float(np.quantile(self.values, share)) if len(self.values) else None


def sample_spread(
    data: Dataset,
    measure: Measure,
    convention: str | None = None,
    *,
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Spread:
    """Return the exact values between random users: up to 40 users, with 25 others each."""
    rng = np.random.default_rng(seed)
    eligible = np.flatnonzero(np.diff(data.ratings.matrix.indptr))
    users = rng.permutation(eligible)[:USERS]
    others = rng.permutation(eligible)[:OTHERS]
    table = values(data, measure, convention, users, others, n_threads, progress)
    found = table[(users[:, None] != others[None, :]) & ~np.isnan(table)]
    return Spread(frozen(np.sort(found)), measure.larger_is_closer)
