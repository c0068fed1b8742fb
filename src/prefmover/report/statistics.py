r"""Is a difference more than chance? Paired tests, a bootstrap over users, and many comparisons at once.

Two recommenders are judged by the same users, so that what counts is the difference of each user. Records
keep sums over twenty fixed groups of users, and nDCG of each user in a byte.

- :func:`paired_p`: the paired t-test of the means of groups.
- :func:`bootstrap`: users are drawn with replacement 10,000 times. The middle 95 % of the mean differences
  are the interval; twice the smaller share on either side of 0 is the p-value (B. Efron and R. Tibshirani,
  *An Introduction to the Bootstrap*, 1993). A user of several splits is drawn with all of them.
- :func:`holm`: of m comparisons, the k-th smallest p-value is multiplied by m + 1 - k, and is at least the
  one before. The chance that any true tie is called a win or a loss is then at most 5 % (S. Holm, "A simple
  sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979).
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats
from prefmover.data.splits import hashed
from prefmover.execution.threads import slices

RESAMPLES = 10_000
SEED = 35
BLOCK = 200  # resamples at a time


class Interval(NamedTuple):
    """Where 95 % of the resampled mean differences are, and the p-value of no difference."""

    low: float
    high: float
    p: float


def paired_p(a: Floats, b: Floats) -> Floats:
    """Return two-sided p-values of paired t-tests of rows; 1 without any difference or with one pair."""
    from scipy.stats import ttest_rel

    with warnings.catch_warnings():  # differences that are all equal, or one pair only
        warnings.simplefilter("ignore", RuntimeWarning)
        p = ttest_rel(a, b, axis=-1, nan_policy="omit").pvalue
    return np.nan_to_num(np.asarray(p, dtype=np.float64), nan=1.0)


def holm(p: npt.ArrayLike) -> Floats:
    """Return p-values adjusted for their number, in the same order.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(len(values))
    adjusted[order] = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return np.minimum(adjusted, 1.0)


def bootstrap(a: Floats, b: Floats) -> Interval:
    """Return the interval of the mean of a - b by a paired bootstrap over users.

    Both are (n_splits, n_users), NaN where a user was not judged in a split. The mean over users is taken in
    each split, and then over the splits.
    """
    D = (a - b)[:, ~np.isnan(a - b).all(axis=0)]
    there = ~np.isnan(D)
    columns = np.concatenate([np.where(there, D, 0.0), there]).T
    drawn = np.concatenate([some.astype(np.float64) @ columns for some in _resamples(D.shape[1])])
    sums, counts = np.hsplit(drawn, 2)
    means = (sums / np.maximum(counts, 1)).mean(axis=1).round(12)  # the same sums on every machine
    low, high = np.quantile(means, [0.025, 0.975]).tolist()
    less = min(int((means <= 0).sum()), int((means >= 0).sum()))
    return Interval(low, high, min(1.0, 2 * (less + 1) / (RESAMPLES + 1)))


@lru_cache(maxsize=1)
def _resamples(n: int) -> list[npt.NDArray[np.uint8]]:
    """Return how often each of n users is drawn in each resample, by blocks; the same on every machine."""
    out = []
    for block in slices(RESAMPLES, BLOCK):
        rows = np.arange(block.start, block.stop)[:, None]
        drawn = (hashed(SEED, rows * n + np.arange(n)) % np.uint64(n)).astype(np.int64)
        flat = (drawn + (rows - block.start) * n).ravel()
        out.append(np.bincount(flat, minlength=len(rows) * n).reshape(len(rows), n).astype(np.uint8))
    return out
