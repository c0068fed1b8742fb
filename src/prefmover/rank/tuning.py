"""The settings of a ranking, chosen on held-out training ratings.

A fifth of the training ratings is held out, the rest is ranked with, and the mean nDCG@10 is compared. Every
trial fits the two sides that a fit would: to at most :data:`MAX_FITTED` users and the :data:`MAX_ITEMS` items
that have the most ratings, and it judges the lists of at most :data:`MAX_USERS` users. Small data are split
several times, and judged by nDCG@50, which is less a matter of chance.

The search begins with the defaults, and changes one setting at a time; a change is kept if it is better by a
margin. (A plain maximum would follow the last bits of products, which other processors add up in another
order.) It goes on in one direction while that helps, and a penalty that is never large enough leaves its side
out. With the last third of its budget, it tries each part of the model alone (the item side, the user side,
content, what most people like, taste factors). A part takes the place of the whole if it is better by a
larger margin, and the search goes on from there.

Scores of a trial are rounded before they are sorted (:data:`STEP`). So items whose scores are equal but for
rounding stay in the order of their positions, and another processor finds the same nDCG.

nDCG is the normalized discounted cumulative gain. A relevant item at place k gains 1 / log₂(1 + k). DCG@n is
the sum over the first n places, and nDCG@n divides it by the DCG of a list that begins with all relevant
items (K. Järvelin and J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM Transactions on
Information Systems 20(4), 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints, Progress, Singles
from prefmover.data.ratings import Ratings
from prefmover.data.splits import Split, hashed, random_split, take_part
from prefmover.dataset import Dataset
from prefmover.execution.threads import slices
from prefmover.measures import weight
from prefmover.predict.low_rank import LowRankKernel, user_kernel
from prefmover.predict.similarity import UserSimilarity, choose_landmarks
from prefmover.rank.item_side import ItemSide, Predictors
from prefmover.rank.ranker import LIKES, Likes, likes_from
from prefmover.rank.two_sided import (
    RankingSettings,
    everybody_adds,
    find_predictors,
    fit_factors,
    fit_user_side,
    mean_squared_like,
)

__all__ = [
    "TRIALS",
    "Choice",
    "HeldOut",
    "choose_settings",
    "discounts",
    "hold_out",
    "ideal_dcg",
    "most_rated",
    "ndcg",
    "relevant",
    "sample_users",
    "splits_and_length",
]

TRIALS = 30
MAX_FITTED, MAX_USERS, MAX_ITEMS = 20_000, 2000, 4000
LANDMARKS = 500  # users with whom all are compared in a trial
MARGIN = 0.001  # of the best nDCG
MARGIN_ALONE = 0.01  # the same for a part of the model alone
TRAIN_SHARE = 0.8
MIN_HELD_OUT = 100  # relevant held-out ratings; with fewer, the defaults are used
ENOUGH_HELD_OUT = 8000  # with fewer, ratings are split up to MAX_SPLITS times
MAX_SPLITS = 3
N, N_FEW = 10, 50  # nDCG@n; with few held-out ratings, a longer list is less a matter of chance
BLOCK_USERS = 256  # whose scores are in memory at once
SAMPLE_SEED = 21
STEP = 2.0**-14  # of scores, in units of a typical like: some hundred times the error of single precision

ALONE: tuple[dict[str, Any], ...] = (
    {"user_penalty": None, "factors": 0.0},
    {"item_penalty": None, "factors": 0.0},
    {"item_penalty": 50.0, "features": 1000.0, "user_penalty": None, "factors": 0.0},
    {"item_penalty": None, "user_penalty": None, "factors": 0.0, "popularity": 1.0},
    {"item_penalty": None, "user_penalty": None, "factors": 1.0},
)
"""The parts alone: the item side, the user side, content, the most liked items, taste factors."""

LADDERS: dict[str, tuple[Any, ...]] = {
    "item_penalty": (1.5, 5.0, 15.0, 50.0, 150.0, 500.0, 1500.0, 5000.0, None),
    "user_penalty": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, None),
    "factors": (0.0, 0.1, 0.3, 1.0, 3.0),
    "factor_penalty": (1.5, 3.0, 6.0, 12.0, 24.0, 48.0),
    "popularity": (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    "features": (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0),
    "discount": (0.0, 0.5, 1.0),
    "weight": tuple(f"exponential({rate})" for rate in (0.5, 1.5, 2.5, 4, 6, 9)),
}
"""The values of a setting, which a search walks up or down, in the order of trying."""


def relevant(ratings: Floats, scale: Any) -> Bools:
    """Return which ratings are likes: those three quarters up the scale or higher; all implicit feedback."""
    return np.ones(len(ratings), bool) if scale.liked_from is None else ratings >= scale.liked_from


class HeldOut(NamedTuple):
    """Training ratings to fit a trial to, and what its lists are judged by."""

    data: Dataset  # with the ratings to fit to
    users: Ints  # (n,) users whose lists are judged; all have ratings
    relevant: Bools  # (n, n_items) which items they are held out to like

    @classmethod
    def of_pairs(cls, data: Dataset, users: Ints, likers: Ints, items: Ints) -> HeldOut:
        """Return the part in which ``likers`` like ``items``; those not among ``users`` are left out."""
        hits = np.zeros((len(users), data.n_items), bool)
        own = np.isin(likers, users)
        hits[np.searchsorted(users, likers[own]), items[own]] = True
        return cls(data, users, hits)


class Choice(NamedTuple):
    """The settings that were chosen."""

    settings: RankingSettings
    trials: list[dict[str, Any]]  # all settings that were tried, with their nDCG; none if data are few


def splits_and_length(n_relevant: float) -> tuple[int, int]:
    """Return how often to split ratings of which so many are relevant and held out, and n of nDCG@n.

    >>> splits_and_length(50_000), splits_and_length(4_000), splits_and_length(500)
    ((1, 10), (2, 50), (3, 50))
    """
    n_splits = min(MAX_SPLITS, max(1, round(ENOUGH_HELD_OUT / max(n_relevant, 1))))
    return n_splits, N if n_relevant >= ENOUGH_HELD_OUT else N_FEW


def most_rated(split: Split, data: Dataset, known: Ratings) -> tuple[Split, Dataset]:
    """Return the part of a split, and of its data, with the items that have the most known ratings."""
    if data.n_items <= MAX_ITEMS:
        return split, data
    counts = np.bincount(known.matrix.indices, minlength=data.n_items)
    order = np.lexsort((hashed(SAMPLE_SEED, np.arange(data.n_items)), -counts))
    items = np.sort(order[:MAX_ITEMS])
    return take_part(split, items=items), data.take_items(items)


def sample_users(users: Ints, n: int) -> Ints:
    """Return at most n of some users, drawn by a hash."""
    return np.sort(users[np.argsort(hashed(SAMPLE_SEED, users), kind="stable")[:n]])


def hold_out(data: Dataset, seed: int) -> tuple[list[HeldOut], int]:
    """Return parts of the ratings to search on, none if data are few, and n of nDCG@n."""
    ratings = data.ratings
    expected = (1 - TRAIN_SHARE) * relevant(ratings.matrix.data, ratings.scale).sum()
    if expected < MIN_HELD_OUT:
        return [], N
    if ratings.n_users > MAX_FITTED:
        several = np.flatnonzero(np.diff(ratings.matrix.indptr) >= 2)
        ratings = ratings.take(users=sample_users(several, MAX_FITTED))
        expected = (1 - TRAIN_SHARE) * relevant(ratings.matrix.data, ratings.scale).sum()
    n_splits, n = splits_and_length(expected)
    parts = []
    for k in range(n_splits):
        split = random_split(ratings, TRAIN_SHARE, seed + k)
        split, cut = most_rated(split, data, split.train)
        liked = relevant(split.ratings, ratings.scale)
        likers, items = split.users[liked], split.items[liked]
        users = np.unique(likers[np.diff(split.train.matrix.indptr)[likers] > 0])
        known = cut.with_ratings(split.train)
        parts.append(HeldOut.of_pairs(known, sample_users(users, MAX_USERS), likers, items))
    return [part for part in parts if len(part.users)], n


def choose_settings(
    similarity: UserSimilarity,
    start: RankingSettings,
    parts: Sequence[HeldOut],
    n: int = N,
    *,
    seed: int = 0,
    n_trials: int = TRIALS,
    progress: Progress | None = None,
) -> Choice:
    """Return the settings with the highest mean nDCG@n over some parts; ``start`` itself without a part."""
    if not parts or not n_trials:
        return Choice(start, [])
    trials = [_Trials(similarity.with_data(part.data), part, seed) for part in parts]
    search = _Search(lambda s: float(np.mean([one.ndcg(s, n) for one in trials])), start, n_trials, progress)
    has_geometry = similarity.data.geometry is not None
    search.improves(start)
    search.climb(has_geometry, n_trials * 2 // 3)
    for part in ALONE:
        if has_geometry or not part.get("features"):
            search.improves(replace(start, **part), MARGIN_ALONE)
    search.climb(has_geometry, n_trials)
    if progress is not None:
        progress(n_trials, n_trials)
    return Choice(search.best, [{**asdict(one), "ndcg": value} for one, value in search.values.items()])


class _Search:
    """The settings that were tried, and the best of them; a search with a budget."""

    def __init__(
        self,
        judge: Callable[[RankingSettings], float],
        start: RankingSettings,
        n_trials: int,
        progress: Progress | None,
    ) -> None:
        self.judge, self.start, self.best, self.n_trials = judge, start, start, n_trials
        self.progress, self.values = progress, dict[RankingSettings, float]()

    def improves(self, candidate: RankingSettings, margin: float = MARGIN) -> bool:
        """Try settings, unless they are known or the budget is spent; return whether they are the best."""
        if candidate in self.values or len(self.values) == self.n_trials:
            return False
        self.values[candidate] = self.judge(candidate)
        if self.progress is not None:
            self.progress(len(self.values), self.n_trials)
        better = self.values[candidate] > self.values[self.best] * (1 + margin)
        if better:
            self.best = candidate
        return better

    def climb(self, has_geometry: bool, limit: int) -> None:
        """Change one setting at a time, until a whole round changes nothing, or the limit is reached."""
        before, has_rate = None, (self.start.weight or "").startswith("exponential")
        while before != self.best and len(self.values) < limit:
            before = self.best
            for taken in LIKES[LIKES.index(self.start.likes) :]:
                self.improves(replace(self.best, likes=taken))
            for name, ladder in LADDERS.items():
                if name in ("features", "discount") and self.best.item_penalty is None:
                    continue
                if name == "features" and not has_geometry:
                    continue
                if name == "weight" and (self.best.user_penalty is None or not has_rate):
                    continue
                if name == "factor_penalty" and not self.best.factors:
                    continue
                if len(self.values) < limit:
                    self.walk(name, ladder)

    def walk(self, name: str, ladder: tuple[Any, ...]) -> None:
        """Go up a ladder from the value of the best, then down, each as long as it improves."""
        for direction in (1, -1):
            at = _place(ladder, getattr(self.best, name)) + direction
            while 0 <= at < len(ladder) and self.improves(replace(self.best, **{name: ladder[at]})):
                at += direction


def _place(ladder: tuple[Any, ...], value: Any) -> int:
    """Return the place of a value on its ladder, or of the value nearest to it."""
    if value in ladder:
        return ladder.index(value)
    if isinstance(value, str):
        return len(ladder) // 2
    return int(np.argmin([abs(one - value) for one in ladder]))


class _Trials:
    """The trials on one part: what they share is computed once."""

    def __init__(self, similarity: UserSimilarity, part: HeldOut, seed: int) -> None:
        self.part, self.data, self.n_threads = part, part.data, similarity.n_threads
        landmarks = choose_landmarks(self.data.ratings, LANDMARKS, seed)
        self.compared = replace(similarity.calibrated(seed), landmarks=landmarks).compared()
        self.cache: dict[str, tuple[Any, Any]] = {}

    def ndcg(self, s: RankingSettings, n: int = N) -> float:
        """Return the mean nDCG@n of the judged users, with the two sides that a fit would have."""
        side = self._last(self._item_side, s.likes, s.item_penalty, s.discount, s.features)
        kernel, likes = self._last(self._kernel, s.weight), self._last(self._likes, s.likes)
        user_side = fit_user_side(likes, side, kernel, s.user_penalty, self.n_threads)
        popular = np.bincount(likes.indices, likes.data, likes.shape[1]).astype(np.float32)
        popular *= np.float32(everybody_adds(likes, s))
        unit = np.float32(mean_squared_like(likes) ** 0.5)
        factors = self._last(self._factors, s.factor_penalty) if s.factors else None
        step, values = np.float32(STEP) * unit, []
        for block in slices(len(self.part.users), BLOCK_USERS):
            users = self.part.users[block]
            rows = likes[users]
            scores = side.scores(rows)
            scores += user_side.own_scores(users, rows.toarray().astype(np.float32) - scores) + popular
            if factors is not None:
                scores += np.float32(s.factors) * unit * factors[block]
            scores[np.repeat(np.arange(len(users)), np.diff(rows.indptr)), rows.indices] = -np.inf
            values.append(ndcg(np.rint(scores / step), self.part.relevant[block], n))
        return float(np.concatenate(values).mean())

    def _last(self, make: Callable[..., Any], *key: Any) -> Any:
        """Return a function's value, which is computed unless it is that of the last call."""
        name = make.__name__
        if name not in self.cache or self.cache[name][0] != key:
            self.cache.pop(name, None)  # before the next one takes memory
            self.cache[name] = key, make(*key)
        return self.cache[name][1]

    def _likes(self, taken: Likes) -> Any:
        return likes_from(self.data.ratings, taken)

    def _factors(self, penalty: float) -> Singles:
        """Return the scores of taste factors for the judged users."""
        factors = fit_factors(self.data, penalty, self.n_threads)
        return factors.scores(self.data.ratings.matrix[self.part.users], n_threads=self.n_threads)

    def _predictors(self, taken: Likes, discount: float, features: float) -> Predictors:
        likes, geometry = self._last(self._likes, taken), self.data.geometry
        return find_predictors(likes, geometry, discount, features, self.n_threads)

    def _item_side(self, taken: Likes, penalty: float | None, *how: float) -> ItemSide:
        if penalty is None:
            return ItemSide.empty(self.data.n_items)
        unit = mean_squared_like(self._last(self._likes, taken))
        return self._last(self._predictors, taken, *how).regress(penalty * unit, self.n_threads)  # type: ignore[no-any-return]

    def _kernel(self, rule: str) -> LowRankKernel:
        return user_kernel(self.compared, weight(rule))


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
