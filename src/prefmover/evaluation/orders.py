"""Orders of a user's ratings as reasons, what is left without some of them, and which items are related.

A rated item is *related* to the recommended one if fewer than 100 items are nearer in the item geometry, or
if at least 10 users like both (gave both their mean or more) and P(both) is more than 3 P(one) P(other).
That is counted here from scratch, not by the code that chooses reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from prefmover._typing import Bools, Floats, Ints
from prefmover.data.splits import hashed
from prefmover.dataset import Dataset
from prefmover.evaluation.explained import Explained, Linear, Listed
from prefmover.evaluation.removal import REMOVED, Outcome, outcome
from prefmover.execution.threads import slices

__all__ = ["ORDERS", "SEED", "WHOLE", "Orders", "Relations", "Removals"]

NEAREST, BOTH, LIFT = 100, 10, 3.0
SEED = 36
BLOCK = 100  # sets of ratings at a time

ORDERS = (
    "named",
    "said",
    "as-many-terms",
    "related-terms",
    "terms",
    "leave-one-out",
    "item-knn",
    "ease",
    "content",
    "popularity",
    "random",
)
"""The orders, as :mod:`prefmover.evaluation.reasons` explains them."""

WHOLE = ("named", "said", "as-many-terms")
"""Orders that are taken out whole, however long."""


class Relations:
    """Which items have to do with each other: near in the geometry, or liked by the same people."""

    def __init__(self, data: Dataset) -> None:
        from scipy.sparse import csr_array

        m, counts = data.ratings.matrix, np.diff(data.ratings.matrix.indptr)
        means = np.bincount(data.ratings.rows(), m.data, data.n_users) / np.maximum(counts, 1)
        liked = (m.data >= np.repeat(means, counts)).astype(np.float64)
        self.data, self.likes = data, csr_array((liked, m.indices, m.indptr), shape=m.shape).tocsc()
        self.n_likes: Floats = np.asarray(self.likes.sum(axis=0)).ravel()

    def related(self, item: int, others: Ints) -> Bools:
        """Return which of some items are related to an item."""
        both = np.asarray((self.likes[:, others].T @ self.likes[:, [item]]).toarray()).ravel()
        chance = LIFT * self.n_likes[item] * self.n_likes[others]
        together: Bools = (both >= BOTH) & (both * self.data.n_users > chance)
        if self.data.geometry is None:
            return together
        distances = self.data.geometry.block([item], None)[0]
        nearer = np.searchsorted(np.sort(distances), distances[others]) - 1
        return np.asarray(together | (nearer < NEAREST), bool)


class Removals:
    """One user's ratings, what is new to them, and outcomes of judged items without some of the ratings."""

    def __init__(self, subject: Explained, user: int, judged: list[Listed]) -> None:
        self.subject, self.user = subject, user
        self.items = [one.item for one in judged]
        self.rated, self.given = subject.data.ratings.row(user)
        self.new = np.ones(subject.data.n_items, bool)
        self.new[self.rated] = False
        self.known: dict[bytes, list[Outcome] | None] = {}

    def outcomes(self, removed: Ints) -> list[Outcome] | None:
        """Return what the judged items are without some ratings; None if nothing is left, or not known."""
        self.ask([removed])
        return self.known[_key(removed)]

    def ask(self, sets: Iterable[Ints]) -> None:
        """Find out what the judged items are without each of some sets of ratings."""
        new = {key: some for some in sets if (key := _key(some)) not in self.known}
        self.known |= dict.fromkeys(new)
        new = {key: some for key, some in new.items() if self.given[~np.isin(self.rated, some)].any()}
        keys = list(new)
        for block in slices(len(keys), BLOCK):
            scores = self.subject.scores(self.user, [new[key] for key in keys[block]])
            if scores is not None:
                for key, one in zip(keys[block], scores, strict=True):
                    self.known[key] = [outcome(one, item, self.new) for item in self.items]

    def without(self, k: int) -> Callable[[Ints], Outcome | None]:
        """Return what gives the outcome of a judged item without some ratings."""

        def found(removed: Ints) -> Outcome | None:
            after = self.outcomes(removed)
            return None if after is None else after[k]

        return found

    def alone(self, k: int) -> Callable[[Ints], Outcome | None]:
        """Return what gives the outcome of a judged item with some ratings only."""
        return lambda kept: self.without(k)(np.setdiff1d(self.rated, kept))

    @cached_property
    def one_by_one(self) -> list[list[Outcome] | None]:
        """What the judged items are without each of the ratings."""
        self.ask([self.rated[[k]] for k in range(len(self.rated))])
        return [self.outcomes(self.rated[[k]]) for k in range(len(self.rated))]

    def ask_orders(self, orders: list[dict[str, Ints]]) -> None:
        """Ask for what :func:`~prefmover.evaluation.removal.measured` looks at, all at once."""
        tops = [order[:removed] for some in orders for order in some.values() for removed in REMOVED]
        whole = [one[name] for one in orders for name in WHOLE if name in one]
        starts = [order[:size] for order in whole for size in range(len(order) + 1)]
        self.ask([*tops, *(np.setdiff1d(self.rated, top) for top in tops), *starts])


def _key(removed: Ints) -> bytes:
    return np.sort(removed).astype(np.int64).tobytes()


class Orders:
    """The orders of a user's ratings, for items."""

    def __init__(self, subject: Explained, relations: Relations) -> None:
        self.subject, self.data, self.relations = subject, subject.data, relations
        self.peers = {name: Linear(name).fit(self.data) for name in ("item-knn", "ease")}

    def of(self, user: Removals, judged: list[Listed]) -> list[dict[str, Ints]]:
        """Return the orders for each judged item."""
        data, rated, items = self.data, user.rated, np.array(user.items)
        terms, counts = self.subject.terms(user.user, items), data.ratings_per_item[rated]
        peers = {name: one.terms(user.user, items) for name, one in self.peers.items()}
        distances = None if data.geometry is None else data.geometry.block(items, rated)
        found = []
        for k, one in enumerate(judged):
            keys: dict[str, Any] = {} if terms is None else {"terms": -terms[:, k]}
            scores = [np.nan if after is None else after[k].score for after in user.one_by_one]
            keys["leave-one-out"] = np.array(scores)
            keys |= {name: -some[:, k] for name, some in peers.items()}
            if distances is not None:
                keys["content"] = distances[k]
            keys |= {"popularity": -counts, "random": hashed(SEED, rated + data.n_items * user.user)}
            orders = {name: rated[np.argsort(key, kind="stable")] for name, key in keys.items()}
            if terms is not None:
                most, added = orders["terms"], -np.sort(-terms[:, k])
                orders["as-many-terms"] = most[: len(one.own)]
                related = self.relations.related(one.item, most) & (added > 0)
                orders["related-terms"] = most[related]
            found.append({"named": one.own, "said": one.shown} | orders)
        return found
