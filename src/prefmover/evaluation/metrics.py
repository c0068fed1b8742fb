"""Metrics of predicted ratings and of ranked lists."""

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.data.splits import hashed
from prefmover.errors import InputError

__all__ = ["coverage", "mae", "ranking", "rmse"]


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
    """Return the metrics of the first n candidates of each user, by score.

    All arrays have one entry per candidate. Equal scores are ordered by a hash of the candidate's position,
    because a meaningful order such as that of ids would favor old or popular items.

    ========= ====================================================================================
    precision mean over users of (relevant among the first n) / (length of the list, at most n)
    recall    mean of (relevant among the first n) / (all relevant), over users with relevant candidates
    ndcg      mean of DCG / ideal DCG, DCG = Σ gain / log2(1 + rank), over users with a positive gain
    hit_rate  share of users with a relevant candidate among the first n, of those who have any
    catalog   share of a catalog of ``n_items`` that is in at least one user's first n
    ========= ====================================================================================

    Without ties, nDCG equals scikit-learn's ``ndcg_score``; precision and recall equal LensKit's, over the
    relevant items among a user's candidates. (LensKit's nDCG differs: it discounts by max(1, log2 rank), and
    its ideal list is not cut off at n.)

    >>> arrays = {"relevant": [True, False, True], "gains": [1, 0, 3], "items": [5, 6, 7]}
    >>> metrics = ranking(2, [1, 1, 1], [3.0, 2.0, 1.0], **arrays, n_items=4)
    >>> {name: round(value, 4) for name, value in metrics.items()}
    {'precision': 0.5, 'recall': 0.5, 'ndcg': 0.2754, 'hit_rate': 1.0, 'catalog': 0.5}
    """
    score, gain = np.asarray(scores, dtype=np.float64), np.asarray(gains, dtype=np.float64)
    queries, is_relevant = np.asarray(users), np.asarray(relevant, dtype=np.float64)
    if n != int(n) or n < 1:
        raise InputError(f"n is {n!r}; give a whole number from 1")
    if queries.shape != score.shape or queries.ndim != 1 or not queries.size:
        raise InputError(
            f"users and scores have shapes {queries.shape} and {score.shape}; give one score for each user"
        )
    if np.isnan(score).any():
        raise InputError(f"the score of candidate {int(np.isnan(score).argmax())} is NaN; give numbers")
    if not (gain >= 0).all():
        raise InputError(f"gain {gain.min():g} is not a number from 0; give gains from 0")
    if n_items < 1:
        raise InputError(f"n_items is {n_items!r}; a catalog has at least one item")
    owner, counts = np.unique(queries, return_inverse=True, return_counts=True)[1:]
    rank, ideal_rank = _ranks(owner, counts, score), _ranks(owner, counts, gain)
    total = np.bincount(owner, is_relevant)
    hits = np.bincount(owner, is_relevant * (rank < n))
    dcg, ideal = (np.bincount(owner, gain * (r < n) / np.log2(2.0 + r)) for r in (rank, ideal_rank))
    searching, gaining = total > 0, ideal > 0
    if not searching.any() or not gaining.any():
        raise InputError("no user has a relevant candidate, or none has a candidate with a positive gain")
    return {
        "precision": float((hits / np.minimum(counts, n)).mean()),
        "recall": float((hits[searching] / total[searching]).mean()),
        "ndcg": float((dcg[gaining] / ideal[gaining]).mean()),
        "hit_rate": float((hits[searching] > 0).mean()),
        "catalog": len(np.unique(np.asarray(items)[rank < n])) / n_items,
    }


def _ranks(owner: Ints, counts: Ints, scores: Floats) -> Ints:
    """Return the rank of each candidate in its user's list, from 0, with ties in a pseudo-random order."""
    order = np.lexsort((hashed(0, np.arange(owner.size)), -scores, owner))
    ranks = np.empty(owner.size, np.int64)
    ranks[order] = np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks


def _errors(ratings: npt.ArrayLike, predictions: npt.ArrayLike) -> Floats:
    r, p = np.asarray(ratings, dtype=np.float64), np.asarray(predictions, dtype=np.float64)
    if r.shape != p.shape or not r.size:
        raise InputError(
            f"ratings and predictions have shapes {r.shape} and {p.shape}; give one prediction each"
        )
    return p - r
