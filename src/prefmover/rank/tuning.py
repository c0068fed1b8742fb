"""The settings of a ranking, chosen on held-out training ratings.

A fifth of the training ratings is held out, the rest is ranked with, and the mean nDCG@10 is compared. One
setting is changed at a time, beginning with the defaults, and a change is kept if it is better by a margin.
(A plain maximum would follow the last bits of products, which other processors add up in another order.)
Penalties of ridge regressions do not grow with the number of users, so a sample of the users is enough. Small
data are split several times, and judged by nDCG@50, which is less a matter of chance.

Scores of a trial are rounded before they are sorted (:data:`STEP`). So items whose scores are equal but for
rounding stay in the order of their positions, and another processor finds the same nDCG.

nDCG is the normalized discounted cumulative gain. A relevant item at place k gains 1 / log₂(1 + k). DCG@n is
the sum over the first n places, and nDCG@n divides it by the DCG of a list that begins with all relevant
items (K. Järvelin and J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM Transactions on
Information Systems 20(4), 2002).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints, Progress, Singles
from prefmover.data.ratings import Ratings
from prefmover.data.splits import random_split
from prefmover.execution.threads import slices
from prefmover.predict.similarity import UserSimilarity
from prefmover.predict.solver import sum_rows
from prefmover.rank.ease import SimilarContent
from prefmover.rank.ranker import likes_from
from prefmover.rank.two_sided import RankingSettings, mean_squared_like, row_angles, user_weights

__all__ = ["Choice", "choose_settings", "discounts", "ideal_dcg", "ndcg", "relevant", "sample_users"]

SAMPLE = 1500  # users
MARGIN = 0.0005  # of a mean nDCG
ENTRIES = 30_000_000  # users x items that they have rated; beyond it, fewer users are taken
TRAIN_SHARE = 0.8
MIN_HELD_OUT = 100  # relevant held-out ratings; with fewer, the defaults are used
ENOUGH_HELD_OUT = 8000  # with fewer, ratings are split up to MAX_SPLITS times
MAX_SPLITS = 3
N, N_FEW = 10, 50  # nDCG@n; with few held-out ratings, a longer list is less a matter of chance
BLOCK_USERS, BLOCK_ITEMS = 128, 1024  # users, or items, whose scores are in memory at once
RANK = 320  # directions of the kernel of users that are kept apart
STEP = 2.0**-14  # of scores, in units of a typical like: some hundred times the error of single precision

CHANGES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("user_penalty", (1.0, 10.0, 30.0, 100.0)),
    ("weight", ("exponential(1.5)", "exponential(4)", "exponential(6)")),
    ("content", (0.0, 0.1, 1.0, 3.0)),
    ("item_penalty", (75.0, 250.0, 2500.0, 10000.0)),
    ("user_penalty", (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)),
    ("overlap", (1.0,)),
    ("item_penalty", (250.0, 750.0, 2500.0)),
    ("content", (0.1, 0.3, 1.0)),
)
"""The changes to try, in this order. A weight without a rate stays."""


def relevant(ratings: Floats, scale: Any) -> Bools:
    """Return which ratings are likes: those three quarters up the scale or higher; all implicit feedback."""
    return np.ones(len(ratings), bool) if scale.liked_from is None else ratings >= scale.liked_from


class Choice(NamedTuple):
    """The settings that were chosen."""

    settings: RankingSettings
    trials: list[dict[str, Any]]  # all settings that were tried, with their nDCG; none if data are few
    content: SimilarContent | None = None  # the weights of similar content that the trials used, for the fit


def choose_settings(
    similarity: UserSimilarity, start: RankingSettings, seed: int, progress: Progress | None = None
) -> Choice:
    """Return the best settings; ``start`` itself if data are few."""
    ratings = sample_users(similarity.data.ratings, seed)
    expected = (1 - TRAIN_SHARE) * relevant(ratings.matrix.data, ratings.scale).sum()
    if expected < MIN_HELD_OUT:
        return Choice(start, [])
    n_splits = min(MAX_SPLITS, max(1, round(ENOUGH_HELD_OUT / expected)))
    n = N if expected >= ENOUGH_HELD_OUT else N_FEW
    parts: list[_HeldOut] = []
    for k in range(n_splits):
        parts.append(_HeldOut(similarity, ratings, seed + k, parts[-1].content if parts else None))
    content = parts[-1].content
    changes = [(name, value) for name, values in CHANGES for value in values]
    total, values, best = 1 + len(changes), dict[RankingSettings, float](), start

    def judge(candidate: RankingSettings) -> None:
        values[candidate] = float(np.mean([part.ndcg(candidate, n) for part in parts]))
        if progress is not None:
            progress(len(values), total)

    judge(start)
    has_rate = (start.weight or "").startswith("exponential")
    for name, value in changes:
        candidate = replace(best, **{name: value})
        unused = (name == "content" and content is None) or (name == "weight" and not has_rate)
        if candidate == best or unused:
            continue
        if candidate not in values:
            judge(candidate)
        if values[candidate] > values[best] + MARGIN:
            best = candidate
    if progress is not None:
        progress(total, total)
    return Choice(best, [{**asdict(one), "ndcg": mean} for one, mean in values.items()], content)


def sample_users(ratings: Ratings, seed: int) -> Ratings:
    """Return the ratings of some users, or of all if they are few.

    A sample is of users with two ratings or more, one to rank with and one to hold out, if there are any.
    """
    everybody = np.arange(ratings.n_users)
    if ratings.n_users > SAMPLE:
        several = np.flatnonzero(np.diff(ratings.matrix.indptr) >= 2)
        everybody = several if len(several) else everybody
    n = min(SAMPLE, len(everybody))
    chosen = np.random.default_rng(seed).choice(everybody, n, replace=False)
    some = ratings if n == ratings.n_users else ratings.take(users=np.sort(chosen))
    n_rated = len(np.unique(some.matrix.indices))
    if n * n_rated <= ENTRIES:
        return some
    return ratings.take(users=np.sort(chosen[: max(1, ENTRIES // n_rated)]))


class _HeldOut:
    """A split of the ratings, with everything about it that settings share."""

    def __init__(
        self, similarity: UserSimilarity, ratings: Ratings, seed: int, content: SimilarContent | None
    ) -> None:
        split = random_split(ratings, TRAIN_SHARE, seed)
        train = similarity.with_data(similarity.data.with_ratings(split.train)).calibrated(seed)
        everyone, liked = np.arange(ratings.n_users), relevant(split.ratings, ratings.scale)
        rated = np.unique(ratings.matrix.indices)  # other items have no likes and are never relevant
        hits = np.zeros((ratings.n_users, len(rated)), bool)
        hits[split.users[liked], np.searchsorted(rated, split.items[liked])] = True
        self.scored = np.flatnonzero(hits.any(axis=1))
        self.relevant = hits[self.scored]
        self.likes = likes_from(train.data.ratings)[:, rated]
        self.mean_square = mean_squared_like(self.likes)
        self.values = train.estimated_values(everyone, everyone)
        self.self_values = train.self_values(everyone)
        self.angles = row_angles(self.likes, self.likes)
        geometry, self.content = train.data.geometry, None
        self.similar = np.zeros(self.likes.shape, np.float32)
        if geometry is not None:
            self.content = SimilarContent.fit(geometry, rated.astype(np.int64), train.n_threads, content)
            weights = self.content.weights
            weights = weights if len(rated) == geometry.n_items else weights[rated][:, rated]
            singles = self.likes.astype(np.float32)
            for block in slices(len(self.similar), BLOCK_USERS):
                self.similar[block] = (singles[block] @ weights).toarray()
            # A fitted ranking has similar content of rated items only, and means over rated items. The others
            # are all held-out items here, so similar content would seem to find them.
            seen = (np.bincount(self.likes.indices, minlength=len(rated)) > 0).astype(np.float32)
            covered = seen @ weights
            self.similar *= np.divide(seen, covered, out=np.zeros_like(seen), where=covered > 0)
        # One decomposition of YYᵀ serves all penalties of the item side (see `_left`).
        spectrum, self.basis = np.linalg.eigh((self.likes @ self.likes.T).toarray())
        self.spectrum = np.maximum(spectrum, 0.0)
        self.by_item = self.likes.astype(np.float32).tocsc()
        self.n_threads = train.n_threads
        self.cache: dict[str, tuple[Any, Any]] = {}

    def ndcg(self, s: RankingSettings, n: int = N) -> float:
        """Return the mean nDCG@n of the users with relevant held-out ratings.

        With R = Y - YB - c·similar, what the item side leaves, scores are YB + c·similar + K (K + λI)⁻¹ R.
        Only items without a like count: there Y is 0, and the item side is -R. With K = V diag(s) Vᵀ, and the
        same eigenvalue b in all directions but V, K (K + λI)⁻¹ R = κR + V diag(s / (s + λ) - κ) VᵀR, where
        κ = b / (b + λ). So the scores are V diag(s / (s + λ) - κ) VᵀR - (1 - κ) R.
        """
        bulk, spectrum, vectors = self._last(self._kernel, s.weight, s.overlap)
        left = self._last(self._left, s.item_penalty)
        projected = self._last(self._projected, s.weight, s.overlap, s.item_penalty)
        if s.content:
            projected = projected - s.content * self._last(self._projected_content, s.weight, s.overlap)
        kept = bulk / (bulk + s.user_penalty)
        shrink = spectrum / (spectrum + s.user_penalty) - kept
        values, step = [], np.float32(STEP * self.mean_square**0.5)
        for block in slices(len(self.scored), BLOCK_USERS):
            users = self.scored[block]
            scores = (vectors[users] * shrink) @ projected
            own = left[users]  # less the item side where a user has no rating; others are never in the list
            if s.content:
                own -= s.content * self.similar[users]
            own *= 1 - kept
            scores -= own
            rows = self.likes[users]  # a stored like may be 0, so no nonzero()
            scores[np.repeat(np.arange(len(users)), np.diff(rows.indptr)), rows.indices] = -np.inf
            values.append(ndcg(np.rint(scores / step), self.relevant[block], n))
        return float(np.concatenate(values).mean())

    def _last(self, make: Callable[..., Any], *key: Any) -> Any:
        """Return a function's value, which is computed unless it is that of the last call."""
        name = make.__name__
        if name not in self.cache or self.cache[name][0] != key:
            self.cache.pop(name, None)  # before the next one takes memory
            self.cache[name] = key, make(*key)
        return self.cache[name][1]

    def _kernel(self, weight: str, overlap: float) -> tuple[np.float32, Singles, Singles]:
        """Return the kernel of all users: its largest eigenvalues, their vectors, and the mean of the others.

        Small eigenvalues are close to each other: all but the largest :data:`RANK` become their mean.
        """
        settings = RankingSettings(weight=weight, overlap=overlap)
        K = user_weights(self.values, self.self_values, self.self_values, self.angles, settings)
        np.fill_diagonal(K, 1.0)
        spectrum, vectors = np.linalg.eigh((K + K.T) / 2)
        spectrum, first = np.maximum(spectrum, 0.0).astype(np.float32), max(0, len(spectrum) - RANK)
        bulk = spectrum[:first].mean() if first else np.float32(0.0)
        return bulk, spectrum[first:], np.ascontiguousarray(vectors[:, first:], np.float32)

    def _left(self, item_penalty: float) -> Singles:
        """Return Y - YB, what the item side (:mod:`prefmover.rank.ease`) leaves of the likes.

        With G = (YYᵀ + λI)⁻¹ it is λ GY / (1 - c'), c'_j = Σ_u Y_uj (GY)_uj.
        """
        penalty, by_item = item_penalty * self.mean_square, self.by_item
        G = ((self.basis / (self.spectrum + penalty)) @ self.basis.T).astype(np.float32)
        out = np.empty(self.likes.shape, np.float32)
        for block in slices(out.shape[1], BLOCK_ITEMS):
            some = by_item[:, block]
            part = sum_rows(some, G, n_threads=self.n_threads)  # (items, users)
            items = np.repeat(np.arange(len(part)), np.diff(some.indptr))
            captured = np.bincount(items, some.data * part[items, some.indices], len(part))
            part *= (penalty / (1 - captured)).astype(np.float32)[:, None]
            out[:, block] = part.T
        return out

    def _projected(self, weight: str, overlap: float, item_penalty: float) -> Singles:
        """Return what the item side leaves, in the basis of the eigenvectors."""
        vectors: Singles = self._last(self._kernel, weight, overlap)[2]
        return np.asarray(vectors.T @ self._last(self._left, item_penalty))

    def _projected_content(self, weight: str, overlap: float) -> Singles:
        """Return what similar content says, in the basis of the eigenvectors."""
        return np.asarray(self._last(self._kernel, weight, overlap)[2].T @ self.similar)


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
