"""One query against all users: bounds first, exact distances last.

::

    RWMD, all users ─ prices for the crowd ─ a few solved ─ prices for the survivors ─ in order of bound:
      one pass        (one set of prices       (how near       (again, while that     dual steps on the pair,
                       bounds everybody)        is near?)       pays)                 abandoned or solved

The crowd is the mean of the likeliest users left. The prices that maximize the *sum* of their bounds are
those of the transport from the query to that mean; it is solved on the items that carry most of it.
"""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prefmover.search import _cascade as kernels
from prefmover.search._cascade import Lists, Query, Scratch, Users

__all__ = ["CROWD_ITEMS", "WidePairError", "cascade"]

Index = npt.NDArray[np.int64]

CROWD = 256  # how many of the likeliest users shape the prices
CROWD_ITEMS = 512  # and how many items they are shaped on
PAYS = 16  # users that new prices must rule out for another round
FEW = 40  # users for whom prices do not pay


@dataclass(frozen=True, slots=True)
class WidePairError(Exception):
    """The pair with user v needs 64 bits."""

    v: int


def cascade(
    query: Query, users: Users, lists: Lists, solve_first: int, s: Scratch
) -> tuple[int, list[int], dict[str, float]]:
    """Fill the lists with the query's nearest users.

    Parameters
    ----------
    solve_first
        How many pairs to solve before the survivors are counted.

    Returns
    -------
    solved
        How many pairs were solved; they are left in the scratch, for the other side's query.
    counts
        Users by the step that dealt with them, as in :class:`~prefmover.search.SearchStats`.
    seconds
        Time by stage.
    """
    begin = time.perf_counter()
    counts = np.zeros(kernels.PIVOTS + 1, np.int64)
    kernels.bound_everybody(query, users, s)
    n = kernels.enlist(query, users, lists, s, counts)
    n = kernels.drop(query, lists, s, n, kernels.RWMD, counts)
    _sort(s, n)
    if n > FEW:
        _shape_prices(query, users, s, s.alive[: min(n, CROWD)])
        front = min(n, 2 * CROWD)
        kernels.apply_prices(query, users, s, front)
        _sort(s, front)
    bounded = time.perf_counter()
    head = min(n, solve_first)
    solved = _visit(query, users, lists, head, 0, s, counts)
    s.alive[: n - head] = s.alive[head:n].copy()
    n = kernels.drop(query, lists, s, n - head, kernels.RWMD, counts)
    if n > FEW:
        kernels.apply_prices(query, users, s, n)
        n = kernels.drop(query, lists, s, n, kernels.PRICES, counts)
    dropped = PAYS
    while n > FEW and dropped >= PAYS:
        _sort(s, n)
        _shape_prices(query, users, s, s.alive[: min(n, CROWD)])
        kernels.apply_prices(query, users, s, n)
        left = kernels.drop(query, lists, s, n, kernels.PRICES, counts)
        n, dropped = left, n - left
    _sort(s, n)
    solved = _visit(query, users, lists, n, solved, s, counts)
    seconds = {"bounds": bounded - begin, "exact": time.perf_counter() - bounded}
    return solved, counts.tolist(), seconds


def _sort(s: Scratch, n: int) -> None:
    """Sort the alive by bound; equal bounds stay in user order."""
    alive = np.sort(s.alive[:n])
    s.alive[:n] = alive[np.argsort(s.bound[alive], kind="stable")]


def _shape_prices(query: Query, users: Users, s: Scratch, crowd: Index) -> None:
    """Find prices that are good, on the whole, for some users."""
    kernels.mix(users, crowd, s.crowd)
    popular = np.flatnonzero(s.crowd)
    if popular.size > CROWD_ITEMS:
        popular = np.sort(popular[np.argpartition(s.crowd[popular], -CROWD_ITEMS)[-CROWD_ITEMS:]])
    kernels.shape_prices(query, popular, s)


def _visit(query: Query, users: Users, lists: Lists, n: int, solved: int, s: Scratch, counts: Index) -> int:
    reached: int = kernels.visit(query, users, lists, n, solved, s, counts)
    if reached < 0:
        raise WidePairError(-1 - reached)
    return reached
