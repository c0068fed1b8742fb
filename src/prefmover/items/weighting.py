"""Which feature blocks to use, by what they are worth on the user's own ratings.

Blocks are left out one at a time, as long as held-out ratings are predicted as well without one. That takes
seconds, and is the same every time. It sees only the ratings that it is given: in an experiment, the training
part of each split. Weights between 0 and 1, or above, gained nothing more (docs/explanation/geometry.md).

Vectors are judged by an item kernel, k(i, j) = exp(-d(i, j)), which needs no distances between users.

- **Ratings.** r_ui - μ - b_u has an offset of the item, shared by similar items (covariance
  ``similar_items`` k + ``item`` δ), and the user's taste (``taste`` k + ``user``), in units of the noise.
  Both are Gaussian processes, solved one after the other. The error is the mean absolute error of the
  held-out ratings.
- **Implicit feedback** has no ratings to predict. An item that was held out should be nearer to the user's
  others than items that the user has not chosen, drawn in proportion to their popularity, so that popularity
  itself wins nothing. The error is the share of pairs in the wrong order.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.data.ratings import Ratings
from prefmover.items.features import ItemVectors, aligned

__all__ = ["choose_weights"]

LOG = logging.getLogger(__name__)

GAIN = 2e-4  # relative decrease of the error; smaller ones are noise
N_USERS = 400
N_ITEMS = 1000  # items whose distances are computed for each trial
MAX_RATINGS = 100  # ratings of a user that are looked at
MIN_RATINGS = 5
SHARE = 0.2  # share of a user's ratings that is held out
MIN_HELD_OUT = 100  # fewer ratings say too little
N_OTHERS = 20  # items that each held-out interaction is compared with
DAMPING = 5.0  # added to the number of a user's ratings: the offset of a user with few is shrunk
COVARIANCE = {"similar_items": 0.25, "item": 0.25, "taste": 0.3, "user": 0.1}
LOCAL = 4.0  # the rate of the kernel for implicit feedback, where only near items count

Weights: TypeAlias = tuple[float, ...]


def choose_weights(
    vectors: Callable[[Weights], ItemVectors | None], weights: Weights, free: Sequence[int], ratings: Ratings
) -> tuple[Weights, list[tuple[float | None, float | None]]]:
    """Return the weights of feature blocks, 0 for blocks that gain nothing, and what each block is worth.

    ``vectors`` gives the vectors of all items for some weights (None if no block is left), ``free`` are the
    blocks that may be left out. Some of the **training** ratings are held out to judge them; if there are too
    few, the weights stay. A block is worth the errors with it and without it, None if they are unknown.
    """
    held_out = _HeldOut.sample(ratings)
    if held_out is None:
        LOG.info("too few ratings to choose the weights of feature blocks; they are %s", weights)
        return weights, [(None, None)] * len(weights)

    @cache
    def error(weights: Weights) -> float:
        found = vectors(weights)
        return np.inf if found is None else held_out.error(aligned(found, ratings.items))

    best = weights
    while fewer := [_with(best, k, 0.0) for k in free if best[k]]:
        candidate = min(fewer, key=error)
        if error(candidate) > error(best) * (1 + GAIN):
            break
        best = candidate
    both = [(error(_with(best, k, x)), error(_with(best, k, 0.0))) for k, x in enumerate(weights)]
    return best, [(with_it, None if without == np.inf else without) for with_it, without in both]


def _with(weights: Weights, k: int, weight: float) -> Weights:
    return (*weights[:k], weight, *weights[k + 1 :])


class _User(NamedTuple):
    """One user: positions of items in the sample, and what is left of the ratings without the mean."""

    known: Ints
    known_values: Floats
    held: Ints
    held_values: Floats
    others: Ints  # (held, N_OTHERS); empty for ratings


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """Ratings of a sample of users and items (by position), some of them held out.

    Counts and sums are those of the other ratings of each sampled item.
    """

    items: Ints
    implicit: bool
    users: list[_User]
    counts: Floats
    sums: Floats

    @classmethod
    def sample(cls, ratings: Ratings) -> _HeldOut | None:
        """Return held-out ratings, always the same; None if there are too few ratings."""
        random, R = np.random.default_rng(0), ratings.matrix
        counts = np.bincount(R.indices, minlength=R.shape[1])
        items = np.flatnonzero(counts)
        if len(items) > N_ITEMS:
            likely = np.sqrt(counts[items])
            items = np.sort(random.choice(items, N_ITEMS, replace=False, p=likely / likely.sum()))
        position = np.full(R.shape[1], -1)
        position[items] = np.arange(len(items))
        is_held, parts = np.zeros(R.nnz, bool), []
        for u in random.permutation(R.shape[0]):
            rows = np.arange(R.indptr[u], R.indptr[u + 1])
            rows = random.permutation(rows[position[R.indices[rows]] >= 0])[:MAX_RATINGS]
            if len(rows) >= MIN_RATINGS:
                n = max(1, round(SHARE * len(rows)))
                is_held[rows[:n]] = True
                parts.append((u, rows[n:], rows[:n]))
            if len(parts) == N_USERS:
                break
        if is_held.sum() < MIN_HELD_OUT:
            return None
        values = R.data if ratings.implicit else _without_user_means(ratings, ~is_held)
        at, popular = position[R.indices], counts[items] / counts[items].sum()
        users = []
        for u, known, held in parts:
            others = np.empty((len(held), 0), np.int64)
            if ratings.implicit:
                chosen = at[R.indptr[u] : R.indptr[u + 1]]
                p = popular.copy()
                p[chosen[chosen >= 0]] = 0.0
                if not p.any():
                    continue
                others = random.choice(len(items), (len(held), N_OTHERS), p=p / p.sum())
            users.append(_User(at[known], values[known], at[held], values[held], others))
        if not users:  # everybody has chosen everything
            return None
        n_known = np.bincount(R.indices[~is_held], minlength=R.shape[1])[items].astype(np.float64)
        sums = np.bincount(R.indices[~is_held], values[~is_held], minlength=R.shape[1])[items].astype(float)
        return cls(items, ratings.implicit, users, n_known, sums)

    def error(self, vectors: Floats) -> float:
        """Return the error for unit vectors of all items, in the order of the ratings."""
        X = vectors[self.items]
        S = np.clip(X @ X.T, 0.0, 1.0)
        np.fill_diagonal(S, 1.0)
        d = np.arccos(S.astype(np.float32)).astype(np.float64)
        return self._order_error(np.exp(-LOCAL * d)) if self.implicit else self._rating_error(np.exp(-d))

    def _rating_error(self, K: Floats) -> float:
        from scipy.linalg import cho_factor, cho_solve

        s = COVARIANCE
        A = s["similar_items"] * K
        A.flat[:: len(A) + 1] += s["item"]
        root = np.sqrt(self.counts)
        system = root[:, None] * A * root
        system.flat[:: len(A) + 1] += 1.0
        known = np.divide(self.sums, root, out=np.zeros_like(root), where=root > 0)
        offsets = A @ (root * cho_solve(cho_factor(system, lower=True), known))
        taste, errors = s["taste"] * K + s["user"], []
        for one in self.users:
            left = one.known_values - offsets[one.known]
            system = taste[np.ix_(one.known, one.known)]
            system.flat[:: len(system) + 1] += 1.0
            predicted = taste[np.ix_(one.held, one.known)] @ np.linalg.solve(system, left)
            errors.append(np.abs(one.held_values - offsets[one.held] - predicted))
        return float(np.concatenate(errors).mean())

    def _order_error(self, K: Floats) -> float:
        errors = []
        for one in self.users:
            scores = K[:, one.known] @ one.known_values
            ahead = scores[one.others] - scores[one.held][:, None]
            errors.append(((ahead > 0) + 0.5 * (ahead == 0)).ravel())
        return float(np.concatenate(errors).mean())


def _without_user_means(ratings: Ratings, known: np.ndarray) -> Floats:
    """Return all ratings less the mean and the users' damped offsets of those that are known."""
    R = ratings.matrix
    user = np.repeat(np.arange(R.shape[0]), np.diff(R.indptr))
    mean = R.data[known].mean()
    sums = np.bincount(user[known], R.data[known] - mean, minlength=R.shape[0])
    offsets = sums / (np.bincount(user[known], minlength=R.shape[0]) + DAMPING)
    return np.asarray(R.data - mean - offsets[user])
