"""Jaccard and JMSD: how much of what two users rated is the same."""

import numpy as np

from prefmover.measures.corated import squared_differences
from prefmover.measures.pairs import Floats, Index, Pairs, Rows

__all__ = ["co_rated_counts", "jaccard", "jaccard_msd", "jaccard_of"]


def jaccard(pairs: Pairs) -> Rows:
    """Jaccard: J = n / |I_u ∪ I_v|; 0 for users without a co-rated item."""
    counts, n = pairs.counts(), co_rated_counts(pairs)
    return lambda users: jaccard_of(n(users), counts[users], counts[pairs.others])


def jaccard_msd(pairs: Pairs) -> Rows:
    """JMSD: J · (1 - MSD); undefined for users without a co-rated item."""
    counts, differences = pairs.counts(), squared_differences(pairs)

    def rows(users: Index) -> Floats:
        total, n = differences(users)
        likeness = 1.0 - np.divide(total, n, out=np.full_like(total, np.nan), where=n > 0)
        return jaccard_of(n, counts[users], counts[pairs.others]) * likeness

    return rows


def co_rated_counts(pairs: Pairs) -> Rows:
    """Return a function that gives n = |I_u ∩ I_v| for a block of users."""
    from prefmover.measures._corated import count_rows

    raters = pairs.raters()

    def rows(users: Index) -> Floats:
        n = np.empty((len(users), len(pairs.others)))
        # fmt: off
        count_rows(*pairs.spans(users), pairs.matrix.indices,
                   raters.begins, raters.indptr, raters.others, n)
        # fmt: on
        return n

    return rows


def jaccard_of(n: Floats, of_users: Index, of_others: Index) -> Floats:
    """Return n / |I_u ∪ I_v| from n, |I_u| and |I_v|; NaN where either user has rated nothing.

    >>> jaccard_of(np.array([[2.0, 0.0]]), np.array([3]), np.array([3, 0]))
    array([[0.5, nan]])
    """
    union = of_users[:, None] + of_others - n
    rated = (of_users[:, None] > 0) & (of_others > 0)
    return np.divide(n, union, out=np.full_like(n, np.nan), where=rated)
