"""Jaccard and JMSD: the overlap of the items that two users rated."""

from dataclasses import replace

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.execution.jit import LazyModule
from prefmover.measures.breakdown import Factor, PairBreakdown, UserPair
from prefmover.measures.corated import msd_breakdown, quotients_of_differences
from prefmover.measures.pairs import Pairs, Rows

_corated = LazyModule("prefmover.measures._corated")


def jaccard(pairs: Pairs) -> Rows:
    """Jaccard: J = n / |I_u ∪ I_v|; 0 for users without a co-rated item."""
    counts, n = pairs.counts(), co_rated_counts(pairs)
    return lambda users: jaccard_from_counts(n(users), counts[users], counts[pairs.others])


def jaccard_msd(pairs: Pairs) -> Rows:
    """JMSD: J · (1 - MSD); undefined for users without a co-rated item."""
    counts = pairs.counts()

    def quotient(users: Ints, s: Floats, n: Floats, most: float) -> tuple[Floats, Floats]:
        # J (1 - MSD) = (n W² - Σ (r_ui - r_vi)²) / (|I_u ∪ I_v| W²): whole numbers, one division.
        return n * most - s, (counts[users, None] + counts[pairs.others] - n) * most

    return quotients_of_differences(pairs, quotient)


def co_rated_counts(pairs: Pairs) -> Rows:
    """Return a function that gives n = |I_u ∩ I_v| for a block of users."""
    walk = pairs.walk()

    def rows(users: Ints) -> Floats:
        n = np.empty((len(users), len(pairs.others)))
        starts, stops, items, _, begins, indptr, others, _ = walk(users)
        _corated.count_rows(starts, stops, items, begins, indptr, others, n)
        return n

    return rows


def jaccard_from_counts(n: Floats, of_users: Ints, of_others: Ints) -> Floats:
    """Return n / |I_u ∪ I_v| from n, |I_u| and |I_v|; NaN where either user has rated nothing.

    >>> jaccard_from_counts(np.array([[2.0, 0.0]]), np.array([3]), np.array([3, 0]))
    array([[0.5, nan]])
    """
    union = of_users[:, None] + of_others - n
    rated = (of_users[:, None] > 0) & (of_others > 0)
    return np.divide(n, union, out=np.full_like(n, np.nan), where=rated)


def jaccard_breakdown(pair: UserPair) -> PairBreakdown:
    """Break Jaccard down into its two counts."""
    union = len(pair.first) + len(pair.second) - pair.n
    return PairBreakdown(pair.jaccard, [pair.n_factor, Factor("union", union, "items that either rated")], [])


def jmsd_breakdown(pair: UserPair) -> PairBreakdown:
    """Break JMSD down into Jaccard and MSD."""
    terms = msd_breakdown(pair)
    factors = [terms.factors[0], pair.jaccard_factor, *terms.factors[1:]]
    return replace(terms, value=pair.jaccard * (1 - terms.value), factors=factors)
