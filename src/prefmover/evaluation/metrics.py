"""Metrics of predicted ratings and of ranked lists.

The functions for ranked lists take flat arrays with one entry per candidate: ``users``, ``scores``, and the
relevance or gain. A user's candidates are ranked by score, best first. Equal scores are ordered by a hash of
the candidate's position, because a meaningful order such as that of ids would favor old or popular items.
Without ties, nDCG equals scikit-learn's ``ndcg_score``; precision and recall equal LensKit's,
over the relevant items among a user's candidates. (LensKit's nDCG differs: it discounts by max(1, log2 rank),
and its ideal list is not cut off at n.)
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints
from prefmover.data.splits import hashed
from prefmover.errors import InputError

__all__ = [
    "TopN",
    "catalog_coverage",
    "coverage",
    "hit_rate",
    "mae",
    "ndcg_at",
    "precision_at",
    "ranking",
    "recall_at",
    "rmse",
    "top_n",
]


def mae(ratings: npt.ArrayLike, predictions: npt.ArrayLike) -> float:
    """Return the mean absolute error, the mean of ``|r̂ - r|``.

    >>> mae([4, 2], [3.5, 2.5])
    0.5
    """
    return float(np.abs(_errors(ratings, predictions)).mean())


def rmse(ratings: npt.ArrayLike, predictions: npt.ArrayLike) -> float:
    """Return the root mean squared error, √ mean (r̂ - r)².

    >>> rmse([4, 2], [4, 3])
    0.7071067811865476
    """
    return float(np.sqrt((_errors(ratings, predictions) ** 2).mean()))


def coverage(used: npt.ArrayLike) -> float:
    """Return the share of predictions with at least one neighbor.

    >>> coverage([3, 0, 40, 1])
    0.75
    """
    counts = np.asarray(used)
    if not counts.size:
        raise InputError("coverage needs at least one prediction; give one count for each")
    return float((counts > 0).mean())


@dataclass(frozen=True, slots=True, eq=False)
class TopN:
    """The first n candidates of each user.

    Attributes
    ----------
    users
        The users with candidates, ascending.
    indptr
        CSR: the list of user k is ``chosen[indptr[k]:indptr[k + 1]]``, best first.
    chosen
        Positions in the arrays that were ranked.
    rank
        The rank of each candidate in its user's list, from 0.
    owner
        The position in ``users`` of each candidate's user.
    """

    users: Ints
    indptr: Ints
    chosen: Ints
    rank: Ints
    owner: Ints


def top_n(users: npt.ArrayLike, scores: npt.ArrayLike, n: int) -> TopN:
    """Return the n best candidates of each user by score, with ties in a fixed pseudo-random order.

    Examples
    --------
    >>> lists = top_n([7, 7, 7, 9], [1.0, 3.0, 2.0, 5.0], 2)
    >>> lists.users, lists.chosen, lists.indptr
    (array([7, 9]), array([1, 2, 3]), array([0, 2, 3]))
    """
    if n != int(n) or n < 1:
        raise InputError(f"n is {n!r}; give a whole number from 1")
    queries, score = np.asarray(users), np.asarray(scores, dtype=np.float64)
    if queries.shape != score.shape or queries.ndim != 1 or not queries.size:
        raise InputError(
            f"users and scores have shapes {queries.shape} and {score.shape}; give one score for each user"
        )
    if np.isnan(score).any():
        raise InputError(f"the score of candidate {int(np.isnan(score).argmax())} is NaN; give numbers")
    ids, owner, counts = np.unique(queries, return_inverse=True, return_counts=True)
    order = np.lexsort((hashed(0, np.arange(queries.size)), -score, owner))
    in_order = np.arange(queries.size) - np.repeat(np.cumsum(counts) - counts, counts)
    rank = np.empty(queries.size, np.int64)
    rank[order] = in_order
    indptr = np.concatenate(([0], np.cumsum(np.minimum(counts, n))))
    return TopN(ids, indptr, order[in_order < n], rank, owner)


def precision_at(n: int, users: npt.ArrayLike, scores: npt.ArrayLike, relevant: npt.ArrayLike) -> float:
    """Return the mean over users of (relevant among the first n) / (length of the list, at most n).

    >>> precision_at(2, [1, 1, 1], [3.0, 2.0, 1.0], [True, False, True])
    0.5
    """
    return _precision(top_n(users, scores, n), relevant)


def recall_at(n: int, users: npt.ArrayLike, scores: npt.ArrayLike, relevant: npt.ArrayLike) -> float:
    """Return the mean of (relevant among the first n) / (all relevant), over users with relevant candidates.

    >>> recall_at(2, [1, 1, 1, 2], [3.0, 2.0, 1.0, 1.0], [True, False, True, False])
    0.5
    """
    return _recall(top_n(users, scores, n), relevant)[0]


def hit_rate(n: int, users: npt.ArrayLike, scores: npt.ArrayLike, relevant: npt.ArrayLike) -> float:
    """Return the share of users with a relevant candidate among their first n, of those who have any.

    >>> hit_rate(1, [1, 1, 2, 2], [2.0, 1.0, 1.0, 2.0], [True, False, True, False])
    0.5
    """
    return _recall(top_n(users, scores, n), relevant)[1]


def ndcg_at(n: int, users: npt.ArrayLike, scores: npt.ArrayLike, gains: npt.ArrayLike) -> float:
    """Return the mean over users of DCG / ideal DCG, DCG = Σ gain / log2(1 + rank) over the first n.

    Gains are linear, from 0, as in scikit-learn; users whose gains are all 0 are left out.

    >>> round(ndcg_at(2, [1, 1, 1], [3.0, 2.0, 1.0], [1, 0, 3]), 4)
    0.2754
    """
    return _ndcg(top_n(users, scores, n), top_n(users, gains, n), gains)


def catalog_coverage(
    n: int, users: npt.ArrayLike, scores: npt.ArrayLike, items: npt.ArrayLike, n_items: int
) -> float:
    """Return the share of a catalog of ``n_items`` that is in at least one user's first n.

    >>> catalog_coverage(1, [1, 1, 2, 2], [2.0, 1.0, 2.0, 1.0], [5, 6, 5, 7], 4)
    0.25
    """
    return _catalog(top_n(users, scores, n), items, n_items)


def ranking(
    n: int,
    users: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    relevant: npt.ArrayLike,
    gains: npt.ArrayLike,
    items: npt.ArrayLike,
    n_items: int,
) -> dict[str, float]:
    """Return precision, recall, nDCG, hit rate and catalog coverage, from one sort."""
    lists = top_n(users, scores, n)
    recall, hits = _recall(lists, relevant)
    return {
        "precision": _precision(lists, relevant),
        "recall": recall,
        "ndcg": _ndcg(lists, top_n(users, gains, n), gains),
        "hit_rate": hits,
        "catalog": _catalog(lists, items, n_items),
    }


def _precision(lists: TopN, relevant: npt.ArrayLike) -> float:
    return float((_hits(lists, relevant) / np.diff(lists.indptr)).mean())


def _recall(lists: TopN, relevant: npt.ArrayLike) -> tuple[float, float]:
    """Return recall and hit rate."""
    total = np.bincount(lists.owner, np.asarray(relevant, dtype=np.float64), minlength=len(lists.users))
    counted, hits = _require_any(total > 0, "no user has a relevant candidate"), _hits(lists, relevant)
    return float((hits[counted] / total[counted]).mean()), float((hits[counted] > 0).mean())


def _ndcg(lists: TopN, ideal: TopN, gains: npt.ArrayLike) -> float:
    gain = np.asarray(gains, dtype=np.float64)
    if (gain < 0).any():
        raise InputError(f"gain {gain.min():g} is negative; give gains from 0")
    best = _discounted(ideal, gain)
    counted = _require_any(best > 0, "no user has a candidate with a positive gain")
    return float((_discounted(lists, gain)[counted] / best[counted]).mean())


def _catalog(lists: TopN, items: npt.ArrayLike, n_items: int) -> float:
    if n_items < 1:
        raise InputError(f"n_items is {n_items!r}; a catalog has at least one item")
    return len(np.unique(np.asarray(items)[lists.chosen])) / n_items


def _errors(ratings: npt.ArrayLike, predictions: npt.ArrayLike) -> Floats:
    r, p = np.asarray(ratings, dtype=np.float64), np.asarray(predictions, dtype=np.float64)
    if r.shape != p.shape or not r.size:
        raise InputError(
            f"ratings and predictions have shapes {r.shape} and {p.shape}; give one prediction each"
        )
    return p - r


def _hits(lists: TopN, relevant: npt.ArrayLike) -> Floats:
    """Return the number of relevant candidates in each list."""
    return _sum_by_list(lists, np.asarray(relevant, bool)[lists.chosen].astype(np.float64))


def _discounted(lists: TopN, gain: Floats) -> Floats:
    """Return the discounted cumulative gain of each list."""
    return _sum_by_list(lists, gain[lists.chosen] / np.log2(2.0 + lists.rank[lists.chosen]))


def _sum_by_list(lists: TopN, terms: Floats) -> Floats:
    sums = np.bincount(lists.owner[lists.chosen], terms, minlength=len(lists.users))
    return np.asarray(sums, dtype=np.float64)


def _require_any(users: Bools, message: str) -> Bools:
    if not users.any():
        raise InputError(message)
    return users
