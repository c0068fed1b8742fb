"""The task of ranking: test users, relevant items, and recommended lists, checked and scored.

Every item that a user has not rated in training is a candidate; there are no sampled negatives. An item that
the user rated in training, one that is not in the data, and one that is in the list already, take a place and
are never a hit. They are counted, and so are lists that are too short: nothing is repaired silently.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args

import numpy as np

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.ratings import Ratings
from prefmover.data.splits import Split, hashed
from prefmover.errors import InputError
from prefmover.evaluation import metrics
from prefmover.evaluation.baselines.rankers import relevant_from
from prefmover.evaluation.recommenders import Method
from prefmover.evaluation.record import Activity, ActivityGroup, Columns, Events, Groups
from prefmover.items.geometry import ItemGeometry
from prefmover.model.base_recommender import BaseRecommender

__all__ = ["CheckedLists", "RankingTask", "check_lists"]

SAMPLE_SEED = 21
SPARSE = 10
"""Users with at most this many training ratings are the group "sparse"."""


@dataclass(frozen=True, eq=False)
class RankingTask:
    """The test users of a split, and what is relevant for them.

    Attributes
    ----------
    train
        The training ratings.
    users
        (n,) positions of the users with a relevant test item, ascending.
    n_relevant
        (n,) how many relevant test items each has.
    keys
        Sorted keys ``user * n_items + item`` of the relevant test ratings.
    threshold
        Test ratings from here on are relevant; None if all are.
    ns
        Lengths of the lists that are judged, ascending.
    """

    train: Ratings
    users: Ints
    n_relevant: Ints
    keys: Ints
    threshold: float | None
    ns: tuple[int, ...] = (10,)

    @classmethod
    def of_split(
        cls, split: Split, relevant: float | None = None, ns: tuple[int, ...] = (10,)
    ) -> RankingTask:
        """Return the task that the test part of a split sets."""
        threshold = relevant_from(split.train.scale, relevant)
        chosen = np.ones(split.n_test, bool) if threshold is None else split.ratings >= threshold
        if not chosen.any():
            raise InputError(
                f"no test rating is {threshold:g} or higher ({split.name}); none is relevant. Give a lower "
                "relevant=, or a smaller share to train on",
                argument="relevant",
            )
        users, n_relevant = np.unique(split.users[chosen], return_counts=True)
        keys = split.users[chosen] * split.train.n_items + split.items[chosen]
        return cls(split.train, users, n_relevant, np.sort(keys), threshold, ns)

    def sample(self, n: int) -> Ints:
        """Return the indices of at most n of the users, ascending, drawn by a hash of their positions."""
        order = np.argsort(hashed(SAMPLE_SEED, self.users), kind="stable")
        return np.sort(order[:n])

    def take(self, chosen: Ints) -> RankingTask:
        """Return the task for some of the users."""
        own = np.isin(self.keys // self.train.n_items, self.users[chosen])
        return replace(
            self, users=self.users[chosen], n_relevant=self.n_relevant[chosen], keys=self.keys[own]
        )

    def ids(self) -> list[Any]:
        """Return the ids of the users."""
        ids: list[Any] = self.train.users[self.users].tolist()
        return ids

    def n_candidates(self) -> Ints:
        """Return the number of items that each user has not rated in training."""
        return self.train.n_items - np.diff(self.train.matrix.indptr)[self.users]

    @property
    def n_judged(self) -> int:
        """The number of users."""
        return len(self.users)

    def hits(self, positions: Ints) -> Any:
        """Return which places of the users' lists hold a relevant item."""
        return metrics.is_hit(positions, self.users, self.keys, self.train.n_items)

    def ask(self, recommender: Any, method: Method, progress: Progress | None = None) -> Any:
        """Return the lists of a fitted recommender, as it gives them."""
        if isinstance(recommender, BaseRecommender):
            return recommender.recommend_many(self.ids(), self.ns[-1])
        return recommender.recommend(self.ids(), self.ns[-1])

    def value(self, answer: Any, method: Method) -> float:
        """Return the mean nDCG at the first length."""
        hits = self.hits(check_lists(answer, self, self.ns[-1], method.label).positions)
        return float(metrics.user_metrics(hits, self.n_relevant, self.ns[0])["ndcg"].mean())

    def score(self, answer: Any, method: Method, geometry: ItemGeometry | None) -> dict[str, Any]:
        """Return the fields of a record that depend on the lists."""
        positions, events = check_lists(answer, self, self.ns[-1], method.label)
        hits, train = self.hits(positions), self.train
        by_length = [metrics.user_metrics(hits, self.n_relevant, n) for n in self.ns]
        n_raters = np.bincount(train.matrix.indices, minlength=train.n_items)
        columns: dict[str, list[float | None]] = {
            "catalog": [], "popularity": [], "novelty": [], "diversity": [],
        }  # fmt: skip
        for n in self.ns:
            some = positions[:, :n]
            far = None if geometry is None or n < 2 else metrics.diversity(some, geometry)
            columns["catalog"].append(round(metrics.list_coverage(some, train.n_items), 8))
            columns["popularity"].append(metrics.popularity(some, n_raters))
            columns["novelty"].append(round(metrics.novelty(some, n_raters, train.n_users), 8))
            columns["diversity"].append(None if far is None else round(far, 8))
        everyone = np.arange(len(self.users))
        activity = [
            ActivityGroup(
                name=name,
                fewest=int(counts.min()),
                most=int(counts.max()),
                n_users=len(some),
                metrics=_means(by_length, some),
                groups=self._groups(by_length, some),
            )
            for name, some, counts in _by_activity(np.diff(train.matrix.indptr)[self.users])
        ]
        return {
            "cuts": self.ns,
            "relevant": self.threshold,
            "n_users": len(self.users),
            "n_relevant": len(self.keys),
            "metrics": {**_means(by_length, everyone), **columns},
            "activity": activity,
            "events": events,
            "groups": self._groups(by_length, everyone),
        }

    def _groups(self, by_length: list[dict[str, Floats]], some: Ints) -> Groups:
        n, sums = metrics.group_sums(self.users[some], [one["ndcg"][some] for one in by_length], 5)
        return Groups(n=n, sums=sums)


class CheckedLists(NamedTuple):
    """Lists as item positions, -1 in places without an item that can count, and what was wrong."""

    positions: Ints
    events: Events


def check_lists(answer: Any, task: RankingTask, n: int, label: str) -> CheckedLists:
    """Return the lists of a recommender's ``recommend``: (n_users, n) positions.

    ``answer`` has an attribute ``positions``, or is a sequence with, for each user, a sequence of item ids or
    of objects with an attribute ``item``. A list that is longer than n is cut off.
    """
    train, users = task.train, task.users
    raw = getattr(answer, "positions", None)
    raw = _from_ids(answer, train, len(users), n, label) if raw is None else np.asarray(raw, dtype=np.int64)
    if raw.ndim != 2 or len(raw) != len(users):
        raise InputError(
            f"{label}: recommend() returned shape {raw.shape} for {len(users):,} users; give a list each"
        )
    positions = np.full((len(users), n), -1, dtype=np.int64)
    width = min(n, raw.shape[1])
    positions[:, :width] = raw[:, :width]
    unknown = (positions >= train.n_items) | (positions == UNKNOWN)
    length = ((positions >= 0) | (positions == UNKNOWN)).sum(axis=1)
    positions[unknown] = -1
    rated = np.isin(
        np.where(positions >= 0, users[:, None] * train.n_items + positions, -1),
        train.rows() * train.n_items + train.matrix.indices,
    )
    positions[rated] = -1
    repeated = _repeated(positions)
    positions[repeated] = -1
    short = length < np.minimum(n, task.n_candidates())
    counts = (int(one.sum()) for one in (rated, unknown, repeated, short))
    return CheckedLists(
        positions, Events(**dict(zip(("rated", "unknown", "repeated", "short"), counts, strict=True)))
    )


UNKNOWN = -2


def _from_ids(answer: Any, train: Ratings, n_users: int, n: int, label: str) -> Ints:
    """Return lists of ids as positions; UNKNOWN for ids that are not in the data."""
    try:
        lists = [[getattr(one, "item", one) for one in own][:n] for own in answer]
    except TypeError:
        kind = type(answer).__name__
        raise InputError(
            f"{label}: recommend() returned {kind}; give a list of item ids for each user"
        ) from None
    if len(lists) != n_users:
        raise InputError(
            f"{label}: recommend() returned {len(lists):,} lists for {n_users:,} users; give one each"
        )
    flat = [item for own in lists for item in own]
    ids: dict[Any, None] = {}
    try:
        ids = dict.fromkeys(flat)
        found = train.item_index.get(list(ids)) if ids else np.empty(0, np.int64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{label}: recommend() returned something other than item ids ({error})") from None
    position = dict(zip(ids, np.where(found < 0, UNKNOWN, found).tolist(), strict=True))
    out = np.full((n_users, n), -1, dtype=np.int64)
    for row, own in zip(out, lists, strict=True):
        row[: len(own)] = [position[item] for item in own]
    return out


def _repeated(positions: Ints) -> Any:
    """Return which places hold an item that an earlier place of the same list holds."""
    order = np.argsort(positions, axis=1, kind="stable")
    ordered = np.take_along_axis(positions, order, axis=1)
    same = np.zeros(positions.shape, bool)
    same[:, 1:] = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    out = np.zeros_like(same)
    np.put_along_axis(out, order, same, axis=1)
    return out


def _means(by_length: list[dict[str, Floats]], some: Ints) -> Columns:
    return {
        name: tuple(round(float(one[name][some].mean()), 8) for one in by_length) for name in metrics.PER_USER
    }


def _by_activity(counts: Ints) -> list[tuple[Activity, Ints, Ints]]:
    """Return (name, users, their numbers of training ratings): the sparse users, and four quarters.

    Users with as many ratings are in the same quarter, so that quarters can differ in size, or be empty.
    """
    edges = np.quantile(counts, [0.25, 0.5, 0.75], method="inverted_cdf")
    quarter = np.searchsorted(edges, counts, side="left")
    names: tuple[Activity, ...] = get_args(Activity)
    members = [np.flatnonzero(counts <= SPARSE), *(np.flatnonzero(quarter == k) for k in range(4))]
    return [(name, some, counts[some]) for name, some in zip(names, members, strict=True) if len(some)]
