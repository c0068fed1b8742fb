"""How long a search will take: a model of its cost, with constants that a benchmark measures.

Every asker meets every reference user, in three ways. The *bounds* cost so much per pair and rating of
the two. The *pairs looked at*, whom the bounds do not rule out, are few, and hardly grow in number: their
share falls about as fast as users are added. And there is a *layout* for each asker and shard, of the
distances from all items to the asker's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from prefmover.errors import InputError

__all__ = ["CONSTANTS", "Constants", "Estimate", "estimate"]


@dataclass(frozen=True, slots=True)
class Constants:
    """Seconds of one core; measured by ``benchmarks/bench_cluster.py``, printed in docs/benchmarks.md.

    Attributes
    ----------
    bound
        A pair's bounds, per rating of the asker times rating of the reference user.
    entry
        An entry of the layout: one item times one rating of the asker.
    visit
        A pair looked at more closely, per rating of the one times rating of the other.
    visits
        Pairs looked at per asker, among ``visits_at`` users; they grow as n^``growth``.
    """

    bound: float = 1.5e-10
    entry: float = 2.0e-9
    visit: float = 3.0e-8
    visits: float = 300.0
    visits_at: float = 6040.0
    growth: float = 0.5


CONSTANTS = Constants()


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a search of everybody's nearest users will take.

    Attributes
    ----------
    core_seconds
        In all, by stage.
    seconds
        On so many cores, if they are kept busy.
    bytes
        Of the reference users and the geometry, in every object store that holds all of them.
    shards
        That the reference users are cut into.
    """

    core_seconds: dict[str, float]
    seconds: float
    bytes: int
    shards: int

    def __str__(self) -> str:
        parts = ", ".join(f"{stage} {100 * s / self.total:.0f} %" for stage, s in self.core_seconds.items())
        return f"{_time(self.seconds)} ({_time(self.total)} of one core: {parts}), {self.bytes / 1e9:,.1f} GB"

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
    constants: Constants = CONSTANTS,
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
        As in :class:`~prefmover.cluster.RayExecutor`.

    Examples
    --------
    >>> hour = estimate(1_000_000, 40, 5_000, cores=1000)
    >>> hour.shards
    2
    """
    if min(users, items, cores) < 1 or ratings_per_user <= 0:
        raise InputError("users, items, cores and ratings_per_user must be positive")
    c, n = constants, users if askers is None else askers
    data = users * (12 * ratings_per_user + 16)
    shards = max(1, math.ceil(data / shard_bytes))
    product = ratings_per_user**2
    stages = {
        "layout": n * shards * items * ratings_per_user * c.entry,
        "bounds": n * users * product * c.bound,
        "exact": n * c.visits * (users / c.visits_at) ** c.growth * product * c.visit,
    }
    return Estimate(stages, sum(stages.values()) / cores, int(data + 4 * items**2), shards)


def _time(seconds: float) -> str:
    """Return a duration for people.

    >>> _time(40), _time(7200), _time(400_000), _time(1e9)
    ('40 s', '2.0 h', '4.6 days', '32 years')
    """
    for unit, name in ((365.25 * 86400, "years"), (86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.{0 if name == 'years' else 1}f} {name}"
    return f"{seconds:.0f} s"
