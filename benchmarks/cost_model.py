"""A model of the cost of a search, with constants that ``bench_cluster.py`` measures.

Every query meets every user, but most of them only through a bound:

======  ====================================================================================
table   once: distances from all items to a user, per item and rating of the user
layout  per query and shard: distances from all items to the query's, and shared prices
bounds  per pair of users, and rating of either
exact   per query: the pairs that bounds do not rule out. Their number hardly grows with the
        users, since the nearest are nearer among more users
======  ====================================================================================

So the cost per query is a constant plus a multiple of the number of users. At ``all_pairs_until`` the second
is as large as the first. From ten times as many users on, most of the time goes into users who are far away,
and it pays to generate candidates first (docs/guide/cluster.md).

>>> million = estimate(1_000_000, 40, 3_000, cores=100)
>>> list(million.core_seconds)
['table', 'layout', 'bounds', 'exact']
>>> million.shards
24
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prefmover._format import duration, size
from prefmover.errors import InputError

__all__ = ["CandidateConstants", "Constants", "Estimate", "candidates", "constants", "estimate"]

FILE = Path(__file__).with_name("cost_model.json")
CANDIDATES = Path(__file__).with_name("candidates_model.json")
SCREENED = 600  # candidates of a user at recall .95


@dataclass(frozen=True, slots=True)
class Constants:
    """Seconds of one core, as ``bench_cluster.py`` measures and writes them.

    Attributes
    ----------
    table
        Per item and rating of a user, once.
    entry
        Per item and rating of the query, for each shard.
    shard
        Per query and shard besides.
    bound
        Per pair of users and rating of either of them.
    exact
        Per query among ``users`` users, for one rating each; times the ratings of both. Grows as
        n^``growth``.
    measured
        Date and machine.
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
    """Return the constants of the last measurement."""
    return Constants(**json.loads(FILE.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost of a search.

    Attributes
    ----------
    core_seconds
        Seconds of one core, by stage.
    seconds
        Seconds on all cores, if they are kept busy.
    shards
        Number of shards of the users.
    shared_bytes
        Size of the users, their tables and the geometry, over the object stores of all nodes.
    all_pairs_until
        Number of users at which bounds for all pairs cost as much as the exact part and one shard's layout.
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
            f"{size(self.shared_bytes)} in {self.shards} shards"
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
    queries: int | None = None,
    shard_bytes: int = 2**29,
    using: Constants | None = None,
) -> Estimate:
    """Return the estimated cost of the exact 10 nearest users of all users.

    Parameters
    ----------
    users, ratings_per_user, items
        The size of the data.
    cores
        Number of cores of the cluster.
    queries
        Number of queries; all users by default.
    shard_bytes
        As in :class:`~prefmover.execution.RayExecutor`.
    using
        Constants of another machine.
    """
    if min(users, items, cores) < 1 or ratings_per_user <= 0:
        raise InputError("users, items, cores and ratings_per_user must be positive")
    c, queries = using or constants(), users if queries is None else queries
    data = users * (12 * ratings_per_user + 16 + 4 * items)
    shards = max(1, math.ceil(data / shard_bytes))
    layout = shards * (items * ratings_per_user * c.entry + c.shard)
    exact = ratings_per_user**2 * c.exact * (users / c.users) ** c.growth
    pair = 2 * ratings_per_user * c.bound
    stages = {
        "table": users * items * ratings_per_user * c.table,
        "layout": queries * layout,
        "bounds": queries * users * pair,
        "exact": queries * exact,
    }
    return Estimate(
        stages,
        sum(stages.values()) / cores,
        shards,
        int(data + 4 * items**2),
        int((exact + layout / shards) / pair),
    )


@dataclass(frozen=True, slots=True)
class CandidateConstants:
    """Seconds of one core of a search among candidates, set by hand from runs such as ``bench_large.py``.

    Attributes
    ----------
    score
        Per query, user and coordinate of a vector.
    query
        Per query.
    angle
        Per rating of the query, item of its candidates and coordinate, for distances from vectors.
    pair
        Per query and square of the mean number of ratings: estimates, bounds and exact distances.
    sampled
        Queries that are searched exactly, for the effort and the recall.
    measured
        Date, machine and data.
    """

    score: float
    query: float
    angle: float
    pair: float
    sampled: int
    measured: str


def candidates(
    users: int,
    ratings_per_user: float,
    items: int,
    *,
    coordinates: int = 32,
    cores: int = 1,
    k: int = 10,
    using: CandidateConstants | None = None,
) -> Estimate:
    """Return the estimated cost of the 10 nearest of all users among candidates, at recall .95.

    ``shared_bytes`` is the memory of a node: users, vectors of users and items. The driver holds the lists,
    another 38 entries of 16 bytes for each user.

    >>> million = candidates(1_000_000, 20, 20_000, cores=64)
    >>> list(million.core_seconds)
    ['sample', 'vectors', 'pairs']
    """
    c = using or CandidateConstants(**json.loads(CANDIDATES.read_text(encoding="utf-8")))
    exact = estimate(users, ratings_per_user, items, queries=min(c.sampled, users))
    near = min(
        items, SCREENED / 2 * ratings_per_user
    )  # half of the candidates' items are rated by others of them
    layout = ratings_per_user * near * coordinates * c.angle
    stages = {
        "sample": exact.total - exact.core_seconds["table"],
        "vectors": users * users * coordinates * c.score,
        "pairs": users * (c.query + layout + ratings_per_user**2 * c.pair),
    }
    held = users * (20 * ratings_per_user + 24 + 2 * coordinates) + 12 * items * coordinates
    lists = 16 * users * (3 * k + 8)
    return Estimate(stages, sum(stages.values()) / cores, 1, int(held + lists), users)
