"""The tasks: what the test part of a split asks, and how answers are checked and scored.

The task of rating is to predict the test ratings. The task of ranking is to recommend to the test users:
every item that a user has not rated in training is a candidate; there are no sampled negatives. An item that
the user rated in training, one that is not in the data, and one that is in the list already, take a place and
are never a hit. They are counted, and so are lists that are too short: nothing is repaired silently.

*Warm* users have training ratings, and the metrics of a record are theirs. *New* users have none: there is
nothing to learn about them, so every recommender by name gives them the most liked items
(:func:`~prefmover.evaluation.baselines.rankers.most_liked`). They are a group of their own. An object of a
caller answers for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ints, Progress
from prefmover.data.ratings import Ratings
from prefmover.data.splits import Split
from prefmover.errors import InputError
from prefmover.evaluation import metrics
from prefmover.evaluation.baselines.rankers import ByScores, relevant_from
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.reasons import ReasonsTask
from prefmover.evaluation.recommenders import Method
from prefmover.evaluation.record import Activity, ActivityGroup, Columns, Events, Groups, Task
from prefmover.execution.threads import slices
from prefmover.items.geometry import ItemGeometry
from prefmover.model import KNNRecommender
from prefmover.model.base_recommender import BaseRecommender
from prefmover.predict.knn import KNNPredictor
from prefmover.predict.predictor import clip
from prefmover.rank.tuning import sample_users

BLOCK_PLACES = 2_000_000  # of rankings of all items that are in memory at once

SPARSE = 10
"""Users with at most this many training ratings are the group "sparse"."""


class Predicted(NamedTuple):
    """Predictions of the test ratings of a split, for each K; (n_test, n_cuts) each."""

    cuts: tuple[int | None, ...]
    ratings: Floats
    n_neighbors: npt.NDArray[np.integer[Any]]
    solved: int | None = None  # pairs of users that were compared


@dataclass(frozen=True, eq=False)
class RatingTask:
    """The test ratings of a split; a neighbor average predicts them for every K in ``ks``."""

    split: Split
    ks: tuple[int, ...] = (40,)

    @property
    def n_judged(self) -> int:
        """The number of test ratings."""
        return self.split.n_test

    def ask(self, recommender: Any, method: Method, progress: Progress | None = None) -> Predicted:
        """Return the predictions of a fitted recommender."""
        split, predictor = self.split, getattr(recommender, "predictor_", None)
        if isinstance(predictor, KNNPredictor) and method.kind in ("measure", "control"):
            all_k = predictor.predict_all_k(split.users, split.items, self.ks, progress)  # from one search
            return Predicted(self.ks, clip(all_k.values, split.train.scale)[0], all_k.used, all_k.solved)
        answer = recommender.predict(split.test_pairs())
        ratings = self._checked(getattr(answer, "ratings", answer), method.label)
        used = np.asarray(getattr(answer, "n_neighbors", np.zeros(split.n_test, np.int64)))
        k = recommender.settings_["k"] if isinstance(recommender, KNNRecommender) else None
        return Predicted((k,), ratings[:, None], used[:, None])

    def _checked(self, answer: Any, label: str) -> Floats:
        """Return the result of a recommender's ``predict`` as numbers, one for each test rating."""
        try:
            ratings = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{label}: predict() did not return numbers ({error})") from None
        if ratings.shape != (self.split.n_test,):
            raise InputError(
                f"{label}: predict() returned shape {ratings.shape} for {self.split.n_test:,} pairs; "
                "return one rating for each"
            )
        if not np.isfinite(ratings).all():
            user, item = self.split.test_pairs()[int((~np.isfinite(ratings)).argmax())]
            raise InputError(f"{label}: predict() returned no number for user {user!r} and item {item!r}")
        return ratings

    def value(self, answer: Predicted, method: Method) -> float:
        """Return the mean absolute error at the first K."""
        return metrics.mae(self.split.ratings, answer.ratings[:, 0])

    def score(self, answer: Predicted, method: Method, geometry: ItemGeometry | None) -> dict[str, Any]:
        """Return the fields of a record that depend on the predictions."""
        true, columns, used = self.split.ratings, answer.ratings.T, answer.n_neighbors.T
        n, sums = metrics.group_sums(self.split.users, np.abs(columns - true), 3)
        return {
            "cuts": answer.cuts,
            "metrics": {
                "mae": _rounded(metrics.mae(true, column) for column in columns),
                "rmse": _rounded(metrics.rmse(true, column) for column in columns),
                "coverage": _rounded(metrics.coverage(column) for column in used),
                "neighbors": _rounded(float(column.mean()) for column in used),
            },
            "groups": Groups(n=n, sums=sums),
        }


class Parted(NamedTuple):
    """Lists of items by position, (n_users, n), and the lists of some of the items in the same rankings."""

    positions: Ints
    parts: tuple[Ints, ...] = ()


@dataclass(frozen=True, eq=False)
class RankingTask:
    """The test users of a split, and what is relevant for them."""

    train: Ratings
    users: Ints  # (n,) positions of the users with a relevant test item, ascending
    n_relevant: Ints  # (n,) how many relevant test items each has
    keys: Ints  # sorted user * n_items + item of the relevant test ratings
    threshold: float | None  # test ratings from here on are relevant; None if all are
    ns: tuple[int, ...] = (10,)  # lengths of the lists that are judged, ascending
    cold: Bools | None = None  # (n_items,) items whose own lists are judged, too, and those of the others

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
        task = cls(split.train, users, n_relevant, np.sort(keys), threshold, ns)
        if not len(task.warm):
            raise InputError(
                f"none of the {len(users):,} users with a relevant test rating has a training rating "
                f"({split.name}); give a larger share to train on",
                argument="train",
            )
        return task

    @cached_property
    def n_rated(self) -> Ints:
        """(n,) how many training ratings each user has."""
        return np.diff(self.train.matrix.indptr)[self.users]

    @property
    def warm(self) -> Ints:
        """Which of the users, by place in ``users``, have training ratings."""
        return np.flatnonzero(self.n_rated)

    def relevant_pairs(self) -> tuple[Ints, Ints]:
        """Return the positions of users and items of the relevant test ratings."""
        users, items = np.divmod(self.keys, self.train.n_items)
        return users, items

    def take(self, chosen: Ints) -> RankingTask:
        """Return the task for some of the users."""
        own = np.isin(self.keys // self.train.n_items, self.users[chosen])
        return replace(
            self, users=self.users[chosen], n_relevant=self.n_relevant[chosen], keys=self.keys[own]
        )

    def sampled(self, n: int) -> RankingTask:
        """Return the task for at most n of the warm users, drawn by a hash."""
        return self.take(np.searchsorted(self.users, sample_users(self.users[self.warm], n)))

    def of_items(self, some: Bools) -> RankingTask:
        """Return the task for some of the items; users without a relevant one are left out."""
        keys = self.keys[some[self.keys % self.train.n_items]]
        users, n_relevant = np.unique(keys // self.train.n_items, return_counts=True)
        return replace(self, users=users, n_relevant=n_relevant, keys=keys, cold=None)

    def ids(self) -> list[Any]:
        """Return the ids of the users."""
        ids: list[Any] = self.train.users[self.users].tolist()
        return ids

    def n_candidates(self) -> Ints:
        """Return the number of items that each user has not rated in training."""
        return self.train.n_items - self.n_rated

    @property
    def n_judged(self) -> int:
        """The number of users."""
        return len(self.users)

    def hits(self, positions: Ints) -> Bools:
        """Return which places of the users' lists hold a relevant item."""
        return metrics.is_hit(positions, self.users, self.keys, self.train.n_items)

    def ask(self, recommender: Any, method: Method, progress: Progress | None = None) -> Any:
        """Return the lists of a fitted recommender, as it gives them.

        The models of the package are asked for scores when they take part by name, so that all have the same
        fallback, and the same order of equal scores.
        """
        recommend: Callable[[list[Any], int], Any] = recommender.recommend
        if isinstance(recommender, BaseRecommender) and not method.recommender.startswith("object:"):
            ranker = recommender.ranker_
            by_scores = ByScores(lambda data: lambda users: ranker.block(users).total, None, self.threshold)
            recommend = by_scores.fit(recommender.data_).recommend
        elif isinstance(recommender, BaseRecommender):
            recommend = recommender.recommend_many
        if self.cold is None:
            return recommend(self.ids(), self.ns[-1])
        return self._in_parts(recommend, method.label, self.cold)

    def _in_parts(self, recommend: Callable[[list[Any], int], Any], label: str, cold: Bools) -> Parted:
        """Return the lists of all items, and those of warm and of cold items, from the same rankings."""
        ids, n, blocks = self.ids(), self.ns[-1], list[list[Ints]]()
        for some in slices(len(ids), max(1, BLOCK_PLACES // self.train.n_items)):
            answer = recommend(ids[some], self.train.n_items)
            ranking = _positions(answer, self.train, self.train.n_items, label)
            is_item = (ranking >= 0) & (ranking < len(cold))
            is_cold = cold[np.where(is_item, ranking, 0)]
            parts = [_first(ranking, is_item & (is_cold == one), n) for one in (False, True)]
            blocks.append([ranking[:, :n], *parts])
        every, *both = (np.concatenate(part) for part in zip(*blocks, strict=True))
        return Parted(every, tuple(both))

    def value(self, answer: Any, method: Method) -> float:
        """Return the mean nDCG of warm users at the first length."""
        hits = self.hits(check_lists(answer, self, self.ns[-1], method.label)[0])
        return float(metrics.user_metrics(hits, self.n_relevant, self.ns[0])["ndcg"][self.warm].mean())

    def score(self, answer: Any, method: Method, geometry: ItemGeometry | None) -> dict[str, Any]:
        """Return the fields of a record that depend on the lists."""
        positions, events = check_lists(answer, self, self.ns[-1], method.label)
        hits, train = self.hits(positions), self.train
        by_length = [metrics.user_metrics(hits, self.n_relevant, n) for n in self.ns]
        n_raters = np.bincount(train.matrix.indices, minlength=train.n_items)
        warm, new = self.warm, np.flatnonzero(self.n_rated == 0)
        lists = [positions[warm, :n] for n in self.ns]
        far = [
            None if geometry is None or n < 2 else metrics.diversity(some, geometry)
            for n, some in zip(self.ns, lists, strict=True)
        ]

        return {
            "cuts": self.ns,
            "relevant": self.threshold,
            "n_users": len(warm),
            "n_relevant": int(self.n_relevant[warm].sum()),
            "metrics": {
                **_means(by_length, warm),
                "catalog": _rounded(metrics.list_coverage(some, train.n_items) for some in lists),
                "gini": _rounded(metrics.gini(some, train.n_items) for some in lists),
                "popularity": tuple(metrics.popularity(some, n_raters) for some in lists),
                "average_popularity": _rounded(metrics.average_popularity(some, n_raters) for some in lists),
                "tail": _rounded(metrics.tail_share(some, n_raters) for some in lists),
                "novelty": _rounded(metrics.novelty(some, n_raters, train.n_users) for some in lists),
                "diversity": _rounded(far),
            },
            "activity": [
                self._group(name, by_length, warm[some]) for name, some in _by_activity(self.n_rated[warm])
            ],
            "parts": [] if self.cold is None else self._part_groups(answer, method.label, self.cold),
            "new": self._group("new", by_length, new) if len(new) else None,
            "events": events,
            "groups": self._groups(by_length, warm),
            "per_user": metrics.packed(by_length[0]["ndcg"][warm], self.users[warm], train.n_users),
        }

    def _part_groups(self, answer: Parted, label: str, cold: Bools) -> list[ActivityGroup]:
        """Return the metrics of the lists of warm items, and of cold items."""
        found = list[ActivityGroup]()
        names: tuple[Activity, ...] = ("warm items", "cold items")
        for name, lists, some in zip(names, answer.parts, (~cold, cold), strict=True):
            task = self.of_items(some)
            if task.n_judged:
                own = Parted(lists[np.searchsorted(self.users, task.users)])
                hits = task.hits(check_lists(own, task, self.ns[-1], label)[0])
                by_length = [metrics.user_metrics(hits, task.n_relevant, n) for n in self.ns]
                found.append(task._group(name, by_length, np.arange(task.n_judged)))
        return found

    def _group(self, name: Activity, by_length: list[dict[str, Floats]], some: Ints) -> ActivityGroup:
        return ActivityGroup(
            name=name,
            fewest=int(self.n_rated[some].min()),
            most=int(self.n_rated[some].max()),
            n_users=len(some),
            metrics=_means(by_length, some),
            groups=self._groups(by_length, some),
        )

    def _groups(self, by_length: list[dict[str, Floats]], some: Ints) -> Groups:
        n, sums = metrics.group_sums(self.users[some], [one["ndcg"][some] for one in by_length], 5)
        return Groups(n=n, sums=sums)


def check_lists(answer: Any, task: RankingTask, n: int, label: str) -> tuple[Ints, Events]:
    """Return the lists of a recommender, (n_users, n) positions, and what was wrong with them.

    A place without an item that can count has the position -1.
    ``answer`` has an attribute ``positions``, or is a sequence with, for each user, a sequence of item ids or
    of objects with an attribute ``item``. A list that is longer than n is cut off.
    """
    train, users = task.train, task.users
    raw = _positions(answer, train, n, label)
    if raw.ndim != 2 or len(raw) != len(users):
        raise InputError(
            f"{label}: recommend() returned {len(raw):,} lists for {len(users):,} users; give one each"
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
    wrong = {"rated": rated, "unknown": unknown, "repeated": repeated, "short": short}
    return positions, Events(**{name: int(places.sum()) for name, places in wrong.items()})


UNKNOWN = -2


def _positions(answer: Any, train: Ratings, n: int, label: str) -> Ints:
    raw = getattr(answer, "positions", None)
    return _from_ids(answer, train, n, label) if raw is None else np.asarray(raw, dtype=np.int64)


def _first(ranking: Ints, chosen: Bools, n: int) -> Ints:
    """Return the first n of the chosen places of each row, -1 where there are fewer.

    >>> _first(np.array([[4, 2, 7, 1]]), np.array([[False, True, False, True]]), 3)
    array([[ 2,  1, -1]])
    """
    order = np.argsort(~chosen, axis=1, kind="stable")[:, :n]
    return np.where(np.take_along_axis(chosen, order, axis=1), np.take_along_axis(ranking, order, axis=1), -1)


def _from_ids(answer: Any, train: Ratings, n: int, label: str) -> Ints:
    """Return lists of ids as positions; UNKNOWN for ids that are not in the data."""
    try:
        lists = [[getattr(one, "item", one) for one in own][:n] for own in answer]
    except TypeError:
        kind = type(answer).__name__
        raise InputError(
            f"{label}: recommend() returned {kind}; give a list of item ids for each user"
        ) from None
    flat = [item for own in lists for item in own]
    ids: dict[Any, None] = {}
    try:
        ids = dict.fromkeys(flat)
        found = train.item_index.get(list(ids)) if ids else np.empty(0, np.int64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{label}: recommend() returned something other than item ids ({error})") from None
    position = dict(zip(ids, np.where(found < 0, UNKNOWN, found).tolist(), strict=True))
    out = np.full((len(lists), n), -1, dtype=np.int64)
    for row, own in zip(out, lists, strict=True):
        row[: len(own)] = [position[item] for item in own]
    return out


def _repeated(positions: Ints) -> Bools:
    """Return which places hold an item that an earlier place of the same list holds."""
    order = np.argsort(positions, axis=1, kind="stable")
    ordered = np.take_along_axis(positions, order, axis=1)
    same = np.zeros(positions.shape, bool)
    same[:, 1:] = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    out = np.zeros_like(same)
    np.put_along_axis(out, order, same, axis=1)
    return out


def _rounded(values: Iterable[float | None]) -> tuple[float | None, ...]:
    return tuple(None if value is None else round(value, 8) for value in values)


def _means(by_length: list[dict[str, Floats]], some: Ints) -> Columns:
    return {name: _rounded(float(one[name][some].mean()) for one in by_length) for name in metrics.PER_USER}


def _by_activity(counts: Ints) -> list[tuple[Activity, Ints]]:
    """Return (name, users), given their numbers of training ratings: the sparse users, and four quarters.

    Users with as many ratings are in the same quarter, so that quarters can differ in size, or be empty.
    """
    edges = np.quantile(counts, [0.25, 0.5, 0.75], method="inverted_cdf")
    quarter = np.searchsorted(edges, counts, side="left")
    names: tuple[Activity, ...] = get_args(Activity)[:5]
    members = [np.flatnonzero(counts <= SPARSE), *(np.flatnonzero(quarter == k) for k in range(4))]
    return [(name, some) for name, some in zip(names, members, strict=True) if len(some)]


AnyTask: TypeAlias = RatingTask | RankingTask | ReasonsTask


def task_of(experiment: Experiment, split: Split, task: Task) -> AnyTask:
    """Return what the test part of a split asks for."""
    if task == "rating":
        return RatingTask(split, experiment.ks)
    if task == "reasons":
        return ReasonsTask(experiment.ns[-1], experiment.judged, experiment.refits)
    return RankingTask.of_split(split, experiment.relevant, experiment.ns)
