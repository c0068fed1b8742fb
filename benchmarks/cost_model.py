"""How long a search will take: a model of its cost, with constants that a benchmark measures.

Every asker meets every reference user, but most of them only through a bound:

======  ====================================================================================
table   once: distances from all items to a user, per item and rating of the user
layout  per asker and shard: distances from all items to the asker's, and prices for the crowd
bounds  per pair of users, and rating of either
exact   per asker: the pairs that bounds do not rule out. They hardly grow in number with the
        users, since the more there are, the nearer are the nearest
======  ====================================================================================

So the cost per asker is a constant plus a multiple of the number of users; at ``all_pairs_until`` the second
is as large as the first, and from ten times that on, most of the time goes into people who are nowhere
near: then candidates are to be generated first (docs/guide/cluster.md).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prefmover.errors import InputError

__all__ = ["Constants", "Estimate", "constants", "estimate"]

FILE = Path(__file__).with_name("constants.json")


@dataclass(frozen=True, slots=True)
class Constants:
    """Seconds of one core; measured by ``benchmarks/bench_cluster.py``, which writes them down.

    Attributes
    ----------
    table
        Per item and rating of a reference user, once.
    entry
        Per item and rating of the asker, for each shard.
    shard
        Per asker and shard besides.
    bound
        Per pair of users and rating of either of them.
    exact
        Per asker among ``users`` users, for one rating each; times the ratings of both. Grows as
        n^``growth``.
    measured
        When, and on what.
    """

    table: float
    entry: float
    shard: float
    bound: float
    exact: float
    users: float
    growth: float
    measured: str


@cache
def constants() -> Constants:
    """Return the constants that were measured last."""
    return Constants(**json.loads(FILE.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a search of the nearest users will take.

    Attributes
    ----------
    core_seconds
        In all, by stage.
    seconds
        On so many cores, if they are kept busy.
    shards
        That the reference users are cut into.
    shared_bytes
        Of the reference users, their tables and the geometry, over the object stores of all nodes.
    all_pairs_until
        Users at which bounds for all pairs cost as much as the exact part and one shard's layout.
    """

    core_seconds: dict[str, float]
    seconds: float
    shards: int
    shared_bytes: int
    all_pairs_until: int

    def __str__(self) -> str:
        parts = ", ".join(f"{stage} {s / self.total:.0%}" for stage, s in self.core_seconds.items())
        return (
            f"{duration(self.seconds)} ({duration(self.total)} of one core: {parts}), "
            f"{self.shared_bytes / 1e9:,.1f} GB in {self.shards} shards"
        )

    @property
    def total(self) -> float:
        """Seconds of one core."""
        return sum(self.core_seconds.values())


def estimate(
    users: int,
    ratings_per_user: float,
    items: int,
    *,
    cores: int = 1,
    askers: int | None = None,
    shard_bytes: int = 2**29,
    using: Constants | None = None,
) -> Estimate:
    """Return how long the exact 10 nearest users of everybody take.

    Parameters
    ----------
    users, ratings_per_user, items
        The size of the data.
    cores
        Of the cluster.
    askers
        How many ask; all users by default.
    shard_bytes
        As in :class:`~prefmover.execution.RayExecutor`.
    using
        Constants of another machine.

    Examples
    --------
    >>> million = estimate(1_000_000, 40, 3_000, cores=100)
    >>> list(million.core_seconds)
    ['table', 'layout', 'bounds', 'exact']
    >>> million.shards
    24
    """
    if min(users, items, cores) < 1 or ratings_per_user <= 0:
        raise InputError("users, items, cores and ratings_per_user must be positive")
    c, asking = using or constants(), users if askers is None else askers
    data = users * (12 * ratings_per_user + 16 + 4 * items)
    shards = max(1, math.ceil(data / shard_bytes))
    layout = shards * (items * ratings_per_user * c.entry + c.shard)
    exact = ratings_per_user**2 * c.exact * (users / c.users) ** c.growth
    pair = 2 * ratings_per_user * c.bound
    stages = {
        "table": users * items * ratings_per_user * c.table,
        "layout": asking * layout,
        "bounds": asking * users * pair,
        "exact": asking * exact,
    }
    return Estimate(
        stages,
        sum(stages.values()) / cores,
        shards,
        int(data + 4 * items**2),
        int((exact + layout / shards) / pair),
    )


def duration(seconds: float) -> str:
    """Return a duration for people.

    >>> [duration(s) for s in (40, 7200, 400_000, 1e9)]
    ['40 s', '2.0 h', '4.6 days', '32 years']
    """
    for unit, name in ((365.25 * 86400, "years"), (86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.{0 if name == 'years' else 1}f} {name}"
    return f"{seconds:.0f} s"
