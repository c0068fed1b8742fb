"""The task of reasons: whether the ratings that an explanation names are why an item is recommended.

A recommender is fitted to the training ratings. Some users (200) with two ratings or more, drawn by a hash,
get a list of n items with reasons. The first :data:`JUDGED` items of each list are judged by removal
(:mod:`prefmover.evaluation.removal`), in several orders of the user's ratings
(:mod:`prefmover.evaluation.orders`):

=============  ==========================================================================================
named          the named reasons, in the order in which they are named
said           those that sentences name, at most two
as-many-terms  of the next order, as many as are named: the fair comparison for reasons that are few
terms          what each rating adds to the score, the largest first; not known of every recommender
related-terms  of them, those of related items: the most that related reasons can do
leave-one-out  what each rating alone takes from the score, the largest first: the bound at one removal
item-knn       the cosine of the two items' training ratings
ease           the weight of the rating in EASE
content        the distance of the two items, the nearest first
popularity     the number of training ratings of the rated item
random         a hash
=============  ==========================================================================================

A person who is named is removed as a reason, too: the model without what they add, against the person who
adds most, and a person at random. Refitted, the model is fitted once for each set that is removed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prefmover._typing import Bools, Floats, Ints, Progress
from prefmover.data.ratings import Ratings
from prefmover.data.splits import hashed
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.evaluation import metrics
from prefmover.evaluation.explained import Explained, Listed, OfModel, explained
from prefmover.evaluation.orders import ORDERS, SEED, WHOLE, Orders, Relations, Removals
from prefmover.evaluation.record import Columns, Groups, ReasonEvents, ReasonOrder, Reasons, TradePoint
from prefmover.evaluation.removal import MEASURES, REMOVED, Outcome, measured, outcome
from prefmover.items.geometry import ItemGeometry
from prefmover.model.base_recommender import BaseRecommender

__all__ = ["JUDGED", "ReasonsTask", "judge_reasons", "without_ratings"]

JUDGED = 1

ALONE = (9.0, 1.4, 1.2, 1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
"""Values of the trade that are recorded: from related ratings only, to the largest terms."""


def without_ratings(data: Dataset, user: int, removed: Ints | None) -> Dataset:
    """Return a data set without some ratings of a user, or without all of them."""
    from scipy.sparse import csr_array

    ratings, m = data.ratings, data.ratings.matrix
    gone = (ratings.rows() == user) & (True if removed is None else np.isin(m.indices, removed))
    entries = (m.data[~gone], (ratings.rows()[~gone], m.indices[~gone]))
    left = csr_array(entries, shape=m.shape)
    return data.with_ratings(Ratings(left, ratings.users, ratings.items, ratings.scale))


@dataclass
class _Tally:
    """The values of one order, of one judged item after the other."""

    values: list[Floats] = field(default_factory=list)  # (measures, Ke)
    sizes: list[float] = field(default_factory=list)  # removals after which the item is gone; infinite if not
    related: list[list[Bools]] = field(default_factory=lambda: [[], []])  # first two, first five
    users: list[int] = field(default_factory=list)

    def result(self, name: str, users: Iterable[int], *, per_user: bool = True) -> ReasonOrder:
        """Return the means."""
        shares = [np.concatenate(some) if some else np.empty(0) for some in self.related]
        values = np.array(self.values).reshape(-1, len(MEASURES), len(REMOVED))
        gone = [size for size in self.sizes if np.isfinite(size)]
        whose = np.array(self.users)
        each = {
            name: tuple(_mean(values[whose == u, MEASURES.index(name)], 4) for u in users)
            for name in ("del", "cdcg") if per_user
        }  # fmt: skip
        return ReasonOrder(
            name=name,
            metrics=_columns(values),
            success=_mean(np.isfinite(self.sizes)),
            size=_mean(np.array(gone)),
            related=tuple(map(_mean, shares)),
            per_user=each,
        )


def _columns(values: Floats) -> Columns:
    return {
        name: tuple(_mean(values[:, k, c]) for c in range(len(REMOVED))) for k, name in enumerate(MEASURES)
    }


def _mean(values: Any, digits: int = 6) -> float | None:
    known = np.asarray(values, np.float64)
    known = known[~np.isnan(known)]
    return round(float(known.mean()), digits) if known.size else None


@dataclass(frozen=True, eq=False)
class ReasonsTask:
    """The reasons of lists of n items, judged without refits and, for some users, with them."""

    n: int
    judged: int = 200
    refits: int = 0
    fitted: Dataset | None = None  # what the recommender was fitted to
    anew: Callable[[], Any] | None = None  # makes the same recommender, not fitted

    @property
    def n_judged(self) -> int:
        """The number of users, at most."""
        return self.judged

    def ask(self, recommender: Any, method: Any, progress: Progress | None = None) -> Explained:
        """Return a fitted recommender as it is judged."""
        assert self.fitted is not None
        return explained(recommender, self.fitted, method.label)

    def value(self, answer: Explained, method: Any) -> float:
        """Refuse to choose settings by reasons."""
        raise NotImplementedError

    def score(self, answer: Explained, method: Any, geometry: ItemGeometry | None) -> dict[str, Any]:
        """Return the fields of a record that depend on the reasons."""
        refit = self._refit(method) if self.refits else None
        return judge_reasons(answer, self.n, self.judged, refit, self.refits)

    def _refit(self, method: Any) -> Callable[[Dataset], Explained]:
        def refit(data: Dataset) -> Explained:
            assert self.anew is not None
            model = self.anew()
            if isinstance(model, BaseRecommender):
                model.fit(data, heads=["ranking"])
            else:
                model.fit(data)
            return explained(model, data, method.label)

        return refit


def judge_reasons(
    subject: Explained,
    n: int = 10,
    n_users: int = 200,
    refit: Callable[[Dataset], Explained] | None = None,
    n_refitted: int = 0,
) -> dict[str, Any]:
    """Return the fields of a record about the reasons of a fitted recommender.

    ``refit`` fits it anew to other data, for the first ``n_refitted`` of the judged users.
    """
    data, relations = subject.data, Relations(subject.data)
    orders = Orders(subject, relations)
    n_rated = np.diff(data.ratings.matrix.indptr)
    several = np.flatnonzero(n_rated >= 2)
    if not len(several):
        raise InputError("no user has two ratings, of which one could be removed; train on more ratings")
    drawn = several[np.argsort(hashed(SEED, several), kind="stable")].tolist()
    users, others = drawn[:n_users], drawn[n_users : 2 * n_users]
    start = time.perf_counter()
    lists = [subject.listed(user, n) for user in users]
    milliseconds = 1e3 * (time.perf_counter() - start) / len(users)
    tallies, effects = {name: _Tally() for name in ORDERS}, _Effects()
    people = {name: _Tally() for name in ("named", "largest", "random")}
    events = {"one_rating": int((n_rated == 1).sum()), "no_list": sum(not best for best in lists)}
    events |= dict.fromkeys(("unexplained", "nothing_left", "no_score"), 0)
    for user, best in zip(users, lists, strict=True):
        judged = best[:JUDGED]
        one = Removals(subject, user, judged)
        now = one.outcomes(np.empty(0, np.int64))
        if not judged or now is None:
            continue
        ordered = orders.of(one, judged)
        one.ask_orders(ordered)
        for k, by_name in enumerate(ordered):
            own, without = by_name["named"], one.without(k)
            events["unexplained"] += not len(own)
            events["nothing_left"] += len(own) == len(one.rated)
            events["no_score"] += now[k].score <= 0
            for name, order in by_name.items():
                tally = tallies[name]
                tally.users.append(user)
                tally.values.append(measured(order, now[k], len(one.rated), n, without, one.alone(k)))
                last = order if name in WHOLE else order[: REMOVED[-1]]
                tally.sizes.append(_size(last, without, n))
                for some, many in zip(tally.related, (2, 5), strict=True):
                    some.append(relations.related(one.items[k], order[:many]))
            effects.add(one, k, own, now[k])
        _judge_people(subject, one, judged, now, n, people)
    found = {name: tally for name, tally in tallies.items() if tally.values}
    results = [tally.result(name, users) for name, tally in found.items()]
    refitted = _refitted(subject, refit, users[:n_refitted], lists, orders, n) if refit else ()
    named = tallies["named"]
    return _fields(
        named, users, data,
        Reasons(
            n=n,
            users=tuple(users),
            n_judged=len(named.values),
            related=_related(lists, relations),
            **_counts(lists, n_rated[users]),
            **effects.shares(),
            milliseconds=round(milliseconds, 3),
            orders=tuple(results),
            people=tuple(t.result(name, users, per_user=False) for name, t in people.items() if t.values),
            refitted=refitted,
            n_refitted=n_refitted if refit else 0,
            trade=_trade(subject, relations, others, n),
            events=ReasonEvents(**events),
        ),
    )  # fmt: skip


def _trade(subject: Explained, relations: Relations, users: list[int], n: int) -> tuple[TradePoint, ...]:
    """Return what would be named, and what it does, if unrelated ratings were named more or less easily."""
    if not isinstance(subject, OfModel):
        return ()
    models, found = [subject.naming(alone) for alone in ALONE], [list[Any]() for _ in ALONE]
    for user in users:
        at_each = [model.listed(user, n) for model in models]
        one = Removals(subject, user, at_each[0][:1])
        now = one.outcomes(np.empty(0, np.int64))
        terms = subject.terms(user, np.array(one.items, np.int64))
        if now is None or not one.items:
            continue
        largest = one.rated[np.argsort(-terms[:, 0], kind="stable")]
        one.ask_orders([{"named": best[0].own, "terms": largest} for best in at_each])
        of = [one.without(0), one.alone(0)]
        bound = measured(largest, now[0], len(one.rated), n, *of)
        for values, best in zip(found, at_each, strict=True):
            values.append((measured(best[0].own, now[0], len(one.rated), n, *of), bound, best))
    points = []
    for alone, some in zip(ALONE, found, strict=True):
        if some:
            values, bounds, lists = (list(part) for part in zip(*some, strict=True))
            points.append(_point(alone, np.array(values), np.array(bounds), lists, relations))
    return tuple(points)


def _point(
    alone: float, values: Floats, bounds: Floats, lists: list[list[Listed]], relations: Relations
) -> TradePoint:
    behind = {}
    for name in ("del", "cdcg"):
        a, b = (some[:, MEASURES.index(name)] for some in (values, bounds))
        known = ~np.isnan(a - b)
        behind[name] = round(float(a[known].mean() / b[known].mean()) - 1, 6) if known.any() else None
    return TradePoint(
        alone=alone,
        users=len(lists),
        n_named=_mean([len(one.own) for best in lists for one in best]) or 0.0,
        related=_related(lists, relations),
        metrics=_columns(values),
        behind=behind,
    )


def _fields(named: _Tally, users: list[int], data: Dataset, reasons: Reasons) -> dict[str, Any]:
    values, whose = np.array(named.values), np.array(named.users)
    if not len(values) or np.isnan(values[:, 3]).all():
        raise InputError(
            "no rating could be removed: the recommender has no without(user, items); add it", argument="task"
        )
    cdcg = np.array([[_mean(values[whose == u, 3, k]) or 0.0 for u in users] for k in range(len(REMOVED))])
    n, sums = metrics.group_sums(np.array(users), cdcg, 5)
    return {
        "cuts": REMOVED,
        "n_users": len(users),
        "metrics": reasons.orders[0].metrics,
        "groups": Groups(n=n, sums=sums),
        "reasons": reasons,
    }


def _size(order: Ints, without: Callable[[Ints], Outcome | None], n: int) -> float:
    """Return how many removals, in an order, it takes until an item leaves the list; infinite if it stays."""
    for size in range(1, len(order) + 1):
        after = without(order[:size])
        if after is not None and after.place > n:
            return size
    return np.inf


def _counts(lists: list[list[Listed]], n_rated: Ints) -> dict[str, Any]:
    """Return how many reasons lists have."""
    named = [len(one.own) for best in lists for one in best]
    long = [
        any(len(one.shown) for one in best)
        for best, m in zip(lists, n_rated, strict=True)
        if m >= 5 <= len(best)
    ]
    return {
        "n_named": _mean(named) or 0.0,
        "explained": _mean(np.array(named) > 0) or 0.0,
        "lists": _mean(np.array(long)),
    }


def _related(lists: list[list[Listed]], relations: Relations) -> tuple[float | None, float | None]:
    """Return the share of ratings in sentences, and of all that are named, whose items are related."""
    found: list[list[Bools]] = [[], []]
    for one in (one for best in lists for one in best):
        for some, ratings in zip(found, (one.shown, one.own), strict=True):
            some.append(relations.related(one.item, ratings))
    shown, named = (_mean(np.concatenate([[], *some])) for some in found)
    return shown, named


class _Effects:
    """What each named rating does alone."""

    def __init__(self) -> None:
        self.lower: list[bool] = []
        self.later: list[bool] = []
        self.all_later: list[bool] = []
        self.any_later: list[bool] = []

    def add(self, user: Removals, k: int, own: Ints, now: Outcome) -> None:
        """Count the named ratings of a judged item."""
        for rating in own.tolist():
            after = user.one_by_one[int(np.searchsorted(user.rated, rating))]
            if after is not None:
                self.lower.append(after[k].score < now.score)
                self.later.append(after[k].place > now.place)
        self.any_later.append(any(one is not None and one[k].place > now.place for one in user.one_by_one))
        every = user.outcomes(own) if len(own) else None
        if every is not None:
            self.all_later.append(every[k].place > now.place)

    def shares(self) -> dict[str, Any]:
        """Return the shares without effect."""
        names = ("no_effect", "same_place", "all_same_place", "fixed_place")
        some = (self.lower, self.later, self.all_later, self.any_later)
        return {name: _mean(~np.array(one, bool)) for name, one in zip(names, some, strict=True)}


def _judge_people(
    subject: Explained,
    user: Removals,
    judged: list[Listed],
    now: list[Outcome],
    n: int,
    tallies: dict[str, _Tally],
) -> None:
    """Take out the first person named for each judged item, the one who adds most, and a random one."""
    for k, one in enumerate(judged):
        if not one.people:
            continue
        everybody = np.array(subject.like_minded(user.user, one.item))
        by_name = {
            "named": one.people[0],
            "largest": int(everybody[0]),
            "random": int(everybody[np.argmin(hashed(SEED, everybody))]),
        }
        scores = subject.without_people(user.user, np.array(list(by_name.values())))
        for at, name in enumerate(by_name):
            if scores is not None:
                _add_once(tallies[name], user.user, now[k], outcome(scores[at], one.item, user.new), n)


def _add_once(tally: _Tally, user: int, before: Outcome, after: Outcome, n: int) -> None:
    """Count one removal: the values are those of the first column."""
    values = np.full((len(MEASURES), len(REMOVED)), np.nan)
    scale = before.score if before.score > 0 else np.nan
    values[:, 0] = after.place <= n, after.score / scale, np.nan, 1 / np.log2(after.place + 1)
    tally.users.append(user)
    tally.values.append(values)
    tally.sizes.append(1.0 if after.place > n else np.inf)


def _refitted(
    subject: Explained,
    refit: Callable[[Dataset], Explained],
    users: list[int],
    lists: list[list[Listed]],
    orders: Orders,
    n: int,
) -> tuple[ReasonOrder, ...]:
    """Fit anew without all ratings that are named for a list's first item, and without as many others."""
    tallies, data = {name: _Tally() for name in ("named", "terms", "random", "person")}, subject.data
    for user, best in zip(users, lists, strict=False):
        judged = best[:1]
        one = Removals(subject, user, judged)
        now = one.outcomes(np.empty(0, np.int64))
        own = judged[0].own if judged else np.empty(0, np.int64)
        if now is None or not 0 < len(own) < len(one.rated):
            continue
        by_name = orders.of(one, judged)[0]
        sets = {name: by_name[name][: len(own)] for name in tallies if name in by_name}
        done = dict[bytes, Outcome]()
        for name, removed in sets.items():
            key = np.sort(removed).tobytes()
            if key not in done:
                anew = refit(without_ratings(data, user, removed))
                scores = anew.scores(user, [np.empty(0, np.int64)])
                assert scores is not None  # nothing is removed
                done[key] = outcome(scores[0], one.items[0], one.new)
            _add_once(tallies[name], user, now[0], done[key], n)
        if judged[0].people:
            anew = refit(without_ratings(data, judged[0].people[0], None))
            scores = anew.scores(user, [np.empty(0, np.int64)])
            assert scores is not None
            _add_once(tallies["person"], user, now[0], outcome(scores[0], one.items[0], one.new), n)
    return tuple(t.result(name, users, per_user=False) for name, t in tallies.items() if t.values)
