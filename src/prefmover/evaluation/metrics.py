"""Metrics of predicted ratings and of recommended lists.

A list of length n is judged by its *hits*, (n_users, n) booleans: whether the item in each place is relevant.
With h the hits of a user in places 1 to n, and R the number of relevant items that the user has,

==========  ==================================================================================
ndcg        Σ_k h_k / log2(1 + k), over the same sum for a list that begins with min(R, n) hits
recall      Σ_k h_k / R
precision   Σ_k h_k / n
mrr         1 / k for the first hit, 0 without one
hit_rate    1 if there is a hit
==========  ==================================================================================

All are means over users with R > 0. An empty place in a list that is too short is no hit.

What all lists together hold says how fair they are to items. With c_j the number of lists that have item j,
n_j the number of its training ratings, and m items, c_(1) ≤ ... ≤ c_(m),

==================  ==========================================================================
catalog             the share of items with c_j > 0
gini                Σ_i (2i - m - 1) c_(i) / (m Σ_j c_j): 0 if all items are listed equally often,
                    near 1 if all lists are the same
popularity          the median of n_j over the places of all lists
average_popularity  the mean, Σ_j c_j n_j / Σ_j c_j
tail                the share of places with an item of the long tail: the least rated items that
                    together have a fifth of the training ratings
==================  ==========================================================================

(H. Abdollahpouri, R. Burke, B. Mobasher, "Managing popularity bias in recommender systems with personalized
re-ranking", FLAIRS 2019, for the average popularity and the tail of a fifth.)

Definitions elsewhere: nDCG equals scikit-learn's ``ndcg_score`` with gains of 0 and 1, and implicit's. They
differ here: LensKit's nDCG divides by max(1, log2 k), unless its rank weight has an offset of 1, its recall
divides by min(R, n), and its precision by the length of the list; implicit's precision divides by min(R, n),
over all users together.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from zlib import compress, decompress

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints
from prefmover.data.splits import hashed
from prefmover.errors import InputError
from prefmover.execution.threads import slices
from prefmover.items.geometry import ItemGeometry
from prefmover.rank.tuning import discounts, ideal_dcg

__all__ = [
    "PER_USER",
    "average_popularity",
    "coverage",
    "diversity",
    "gini",
    "group_of",
    "group_sums",
    "is_hit",
    "list_coverage",
    "mae",
    "novelty",
    "packed",
    "popularity",
    "rmse",
    "tail_share",
    "unpacked",
    "user_metrics",
]

PER_USER = ("ndcg", "recall", "precision", "mrr", "hit_rate")
N_GROUPS = 20
GROUP_SEED = 20
TAIL = 0.2  # of the training ratings belong to the long tail
STEPS = 254  # of a packed value; 255 is a user without one
MAX_PACKED = 8192  # users whose values are kept
BLOCK_ENTRIES = 2_000_000  # distances between items of lists that are in memory at once


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


def _errors(ratings: npt.ArrayLike, predictions: npt.ArrayLike) -> Floats:
    r, p = np.asarray(ratings, dtype=np.float64), np.asarray(predictions, dtype=np.float64)
    if r.shape != p.shape or not r.size:
        raise InputError(
            f"ratings and predictions have shapes {r.shape} and {p.shape}; give one prediction each"
        )
    return p - r


def user_metrics(hits: npt.ArrayLike, n_relevant: npt.ArrayLike, n: int | None = None) -> dict[str, Floats]:
    """Return the metrics of each user's list, (n_users,) each; their means are the metrics of a recommender.

    Parameters
    ----------
    hits
        (n_users, length) whether the item in each place is relevant.
    n_relevant
        (n_users,) R, the number of items that are relevant for each user, at least 1.
    n
        The number of places to look at; all by default.

    Examples
    --------
    >>> values = user_metrics([[True, False, True], [False, False, False]], [2, 5])
    >>> {name: value.round(4).tolist() for name, value in values.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'ndcg': [0.9197, 0.0], 'recall': [1.0, 0.0], 'precision': [0.6667, 0.0], 'mrr': [1.0, 0.0],
     'hit_rate': [1.0, 0.0]}
    """
    h, relevant = np.asarray(hits, dtype=np.float64), np.asarray(n_relevant, dtype=np.int64)
    if h.ndim != 2 or relevant.shape != h.shape[:1]:
        raise InputError(
            f"hits and n_relevant have shapes {h.shape} and {relevant.shape}; give a row for each"
        )
    n = h.shape[1] if n is None else n
    if not 1 <= n <= h.shape[1]:
        raise InputError(f"n is {n!r}; give a whole number from 1 to {h.shape[1]}")
    if relevant.size and relevant.min() < 1:
        raise InputError(f"user {int(relevant.argmin())} has no relevant item; leave such users out")
    h = h[:, :n]
    total = h.sum(axis=1)
    return {
        "ndcg": h @ discounts(n) / ideal_dcg(relevant, n),
        "recall": total / relevant,
        "precision": total / n,
        "mrr": np.where(total > 0, 1 / (1 + h.argmax(axis=1)), 0.0),
        "hit_rate": (total > 0).astype(np.float64),
    }


def list_coverage(positions: Ints, n_items: int) -> float:
    """Return the share of all items that are in at least one list; -1 is an empty place.

    >>> list_coverage(np.array([[0, 1], [1, -1]]), 4)
    0.5
    """
    return len(np.unique(positions[positions >= 0])) / n_items


def popularity(positions: Ints, n_raters: Ints) -> float:
    """Return the median number of training ratings of the items in the lists; 0 if there are none.

    >>> popularity(np.array([[0, 1], [1, -1]]), np.array([9, 2]))
    2.0
    """
    counts = n_raters[positions[positions >= 0]]
    return float(np.median(counts)) if counts.size else 0.0


def average_popularity(positions: Ints, n_raters: Ints) -> float:
    """Return the mean number of training ratings of the items in the lists; 0 if there are none.

    >>> average_popularity(np.array([[0, 1], [1, -1]]), np.array([9, 3]))
    5.0
    """
    counts = n_raters[positions[positions >= 0]]
    return float(counts.mean()) if counts.size else 0.0


def gini(positions: Ints, n_items: int) -> float:
    """Return how unequally often items are listed: Gini's coefficient over all items; 0 without lists.

    >>> gini(np.array([[0], [0], [1]]), 3), gini(np.array([[0, 1, 2]]), 3)
    (0.4444444444444444, 0.0)
    """
    counts = np.sort(np.bincount(positions[positions >= 0], minlength=n_items))
    total = counts.sum() * n_items
    return float((2 * np.arange(1, n_items + 1) - n_items - 1) @ counts / total) if total else 0.0


def tail_share(positions: Ints, n_raters: Ints) -> float:
    """Return the share of the items in the lists that belong to the long tail; 0 without lists.

    The long tail are the items with the fewest training ratings that together have at most a fifth of them;
    equally many are in a hashed order.

    >>> tail_share(np.array([[0, 1], [1, 2]]), np.array([7, 1, 2]))
    0.5
    """
    order = np.lexsort((hashed(0, np.arange(len(n_raters))), n_raters))
    tail = np.empty(len(n_raters), bool)
    tail[order] = np.cumsum(n_raters[order]) <= TAIL * n_raters.sum()
    listed = tail[positions[positions >= 0]]
    return float(listed.mean()) if listed.size else 0.0


def novelty(positions: Ints, n_raters: Ints, n_users: int) -> float:
    """Return the mean self-information of the items in the lists, in bits; higher is less known.

    An item that c of n users rated in training has -log2 ((c + 1) / (n + 1)) bits; the added ones keep it
    finite for items that nobody rated.

    >>> novelty(np.array([[0, 1]]), np.array([7, 0]), 7)
    1.5
    """
    counts = n_raters[positions[positions >= 0]]
    return float(-np.log2((counts + 1) / (n_users + 1)).mean()) if counts.size else 0.0


def diversity(positions: Ints, geometry: ItemGeometry) -> float | None:
    """Return the mean distance between two items of a list, averaged over lists with two items or more.

    None if there is no such list.

    >>> geometry = ItemGeometry.from_vectors(["a", "b", "c"], [[1, 0], [1, 1], [0, 2]])
    >>> round(diversity(np.array([[0, 1, 2], [0, 2, -1], [0, -1, -1]]), geometry), 4)
    1.309
    """
    length = positions.shape[1]
    rows = np.flatnonzero((positions >= 0).sum(axis=1) > 1)
    at_once, total = max(1, BLOCK_ENTRIES // length**2), 0.0
    for some in slices(len(rows), at_once):
        block = positions[rows[some]]
        here = block >= 0
        pairs = here[:, :, None] & here[:, None, :]
        d = np.where(pairs, _distances(np.where(here, block, 0), geometry), 0.0)
        k = here.sum(axis=1)
        total += float((d.sum(axis=(1, 2)) / (k * (k - 1))).sum())
    return total / len(rows) if len(rows) else None


def _distances(block: Ints, geometry: ItemGeometry) -> Floats:
    """Return the distances between the items of each row, (rows, n, n); 0 on the diagonal."""
    if geometry.grid is not None:
        return np.asarray(geometry.grid[block[:, :, None], block[:, None, :]] * geometry.unit, np.float64)
    return np.stack([geometry.block(row, row) for row in block])


def is_hit(positions: Ints, users: Ints, relevant: Ints, n_items: int) -> Bools:
    """Return which places of the lists hold a relevant item.

    ``relevant`` are the sorted keys ``user * n_items + item`` of all relevant pairs, and ``users`` the
    positions of the users whose lists these are.
    """
    keys = np.where(positions >= 0, users[:, None] * n_items + positions, -1)
    return np.isin(keys, relevant)


def group_of(users: Ints) -> Ints:
    """Return the fixed random group, 0 to 19, of users by position."""
    return (hashed(GROUP_SEED, users) % np.uint64(N_GROUPS)).astype(np.int64)


def group_sums(
    users: Ints, columns: Iterable[Floats], digits: int
) -> tuple[tuple[int, ...], tuple[tuple[float, ...], ...]]:
    """Return how many entries each group of users has, and the sums of each column over them."""
    group = group_of(users)
    sums = (np.bincount(group, column, N_GROUPS).round(digits) for column in columns)
    return tuple(np.bincount(group, minlength=N_GROUPS).tolist()), tuple(tuple(one.tolist()) for one in sums)


def packed(values: Floats, users: Ints, n_users: int) -> str:
    """Return values from 0 to 1 of some users by position, as text: a byte for each user of the data.

    Values are rounded to 1/254, which moves the mean of 1,000 users by about 0.00004. Of more than
    :data:`MAX_PACKED` users, those with the smallest hashes are kept: always the same.

    >>> unpacked(packed(np.array([0.5, 1.0]), np.array([3, 1]), 4))
    array([nan, 1. , nan, 0.5])
    """
    kept = np.argsort(hashed(GROUP_SEED, users), kind="stable")[:MAX_PACKED]
    out = np.full(n_users, STEPS + 1, np.uint8)
    out[users[kept]] = np.rint(values[kept] * STEPS)
    return b64encode(compress(out.tobytes(), 9)).decode()


def unpacked(text: str) -> Floats:
    """Return the values of all users that :func:`packed` kept, NaN for the others."""
    steps = np.frombuffer(decompress(b64decode(text)), np.uint8)
    return np.where(steps > STEPS, np.nan, steps / STEPS)
