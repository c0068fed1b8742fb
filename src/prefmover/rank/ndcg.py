"""nDCG, the normalized discounted cumulative gain of a ranking with relevant and other items.

A relevant item at place k gains 1 / log₂(1 + k). DCG@n is the sum over the first n places, and nDCG@n divides
it by the DCG of a list that begins with all relevant items.

Reference: K. Järvelin and J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM Transactions
on Information Systems 20(4), 2002.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints

__all__ = ["discounts", "ideal_dcg", "ndcg"]


def discounts(n: int) -> Floats:
    """Return what a relevant item gains at places 1 to n: 1 / log₂(1 + k).

    >>> discounts(3).round(4)
    array([1.    , 0.6309, 0.5   ])
    """
    return np.asarray(1 / np.log2(np.arange(2, n + 2)))


def ideal_dcg(n_relevant: Ints, n: int) -> Floats:
    """Return DCG@n of lists that begin with all relevant items, of which there is at least one.

    >>> ideal_dcg(np.array([1, 2, 5]), 2).round(4)
    array([1.    , 1.6309, 1.6309])
    """
    return np.asarray(np.cumsum(discounts(n))[np.minimum(n_relevant, n) - 1])


def ndcg(scores: npt.NDArray[Any], relevant: Bools, n: int = 10) -> Floats:
    """Return nDCG@n of each user (row) with a relevant item; scores of -inf are never in the list.

    >>> ndcg(np.array([[3.0, 2.0, 1.0]]), np.array([[False, True, False]])).round(4)
    array([0.6309])
    """
    counts = relevant.sum(axis=1)
    users = np.flatnonzero(counts)
    k = min(n, scores.shape[1])
    if not len(users):
        return np.empty(0)
    rows, columns, ranks = _top(scores, k)
    gained = np.bincount(rows, relevant[rows, columns] * discounts(k)[ranks], len(scores))
    return np.asarray(gained[users] / ideal_dcg(counts[users], k))


def _top(scores: npt.NDArray[Any], k: int) -> tuple[Ints, Ints, Ints]:
    """Return rows, columns and ranks of the k largest entries of each row; of equal ones, the first.

    Only scores from the k-th largest on are sorted. With many columns, the k-th largest of the maxima of 8 k
    groups of columns takes its place: it is at most as large, and few scores are above it.
    """
    (n, m), n_groups, largest = scores.shape, 8 * k, scores
    if m >= 2 * n_groups:
        even = m // n_groups * n_groups
        largest = scores[:, :even].reshape(n, -1, n_groups).max(axis=1)
    least = np.partition(largest, -k, axis=1)[:, -k]
    rows, columns = np.nonzero(scores >= least[:, None])
    order = np.lexsort((columns, -scores[rows, columns], rows))
    rows, columns = rows[order], columns[order]
    ranks = np.arange(len(rows)) - np.searchsorted(rows, np.arange(n))[rows]
    top = ranks < k
    return rows[top], columns[top], ranks[top]
