r"""PMD-agreement: taste and agreement. PMD plus what two users think of the items that both rated.

.. math:: V(u, v) = D(u, v) + a\,(1 - P) + b \log\frac{1 + c}{J + c},
          \qquad P = \frac{n}{n + 20}\,\mathrm{PCC}

D is PMD, J is Jaccard's overlap, and PCC is the correlation of the co-rated ratings around the users' means.
P is shrunk: few co-rated items say little. An undefined correlation counts as 0. So V is defined wherever D
is, and for users without a co-rated item the second and third terms are constants.

An extension of this package, not a measure of the paper.
"""

from dataclasses import replace
from math import log, pi

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.dataset import Dataset
from prefmover.measures.breakdown import Factor, PairBreakdown, UserPair
from prefmover.measures.corated import co_rated_counts, jaccard_from_counts, pearson, pearson_breakdown
from prefmover.measures.pairs import Pairs, Rows
from prefmover.measures.pmd import pmd_breakdown, preference_mover
from prefmover.measures.ties import significant

# Chosen once, on held-out ratings of goodbooks and of a part of MovieLens-1M: docs/measures.md.
CORRELATION = 1.5
"""a: the weight of the correlation, in radians."""
OVERLAP = 0.5
"""b: the weight of the overlap, in radians."""
FLOOR = 0.3
"""c: the overlap that users without a co-rated item are treated as having."""
SHRINKAGE = 20
"""The number of co-rated items at which half of a correlation counts."""
LARGEST = pi / 2 + 2 * CORRELATION + OVERLAP * log((1 + FLOOR) / FLOOR)
"""What no value reaches with angles: many co-rated items with opposite ratings, and hardly any overlap."""


def scale(data: Dataset) -> float:
    """Return the distance of the geometry that stands for one radian: terms are as large as distances."""
    return data.require_geometry("PMD-agreement").farthest / (pi / 2)


def agreement(pairs: Pairs) -> Rows:
    """PMD-agreement: the transport and the term of agreement, added."""
    transport, term = preference_mover(pairs), agreement_term(pairs)

    def rows(users: Ints) -> Floats:
        with np.errstate(invalid="ignore"):  # NaN where the transport is undefined
            return np.asarray(transport(users) + term(users))

    return rows


def agreement_term(pairs: Pairs) -> Rows:
    """Return a function from users to what agreement adds to PMD, in the unit of the item distances."""
    factor, rows = scale(pairs.data), disagreement(pairs)
    return lambda users: significant(factor * rows(users))


def disagreement(pairs: Pairs) -> Rows:
    """Return a function from users to the second and third term of the formula: from 0 (they agree) up.

    It needs no item distances. As a measure of its own, it is the control that has no transport.
    """
    correlation, common, counts = pearson(pairs), co_rated_counts(pairs), pairs.counts()

    def rows(users: Ints) -> Floats:
        n = common(users)
        shrunk = np.nan_to_num(correlation(users), copy=False, nan=0.0)
        shrunk *= n / (n + SHRINKAGE)
        overlap = np.log((1 + FLOOR) / (jaccard_from_counts(n, counts[users], counts[pairs.others]) + FLOOR))
        return significant(CORRELATION * (1 - shrunk) + OVERLAP * overlap)

    return rows


def agreement_breakdown(pair: UserPair) -> PairBreakdown:
    """Break PMD-agreement down: the plan of PMD, and each co-rated item's part in the correlation."""
    taste = pmd_breakdown(pair, "exact")
    if taste.reason:
        return taste
    ratings = pearson_breakdown(pair)
    correlation = 0.0 if ratings.value != ratings.value else ratings.value
    shrunk = correlation * pair.n / (pair.n + SHRINKAGE)
    factor = scale(pair.data)
    opposed = factor * CORRELATION * (1 - shrunk)
    overlap = factor * OVERLAP * log((1 + FLOOR) / (pair.jaccard + FLOOR))
    factors = [
        *taste.factors,
        Factor("P", shrunk, f"correlation of the co-rated ratings, times n / (n + {SHRINKAGE})"),
        pair.jaccard_factor,
        Factor("a(1-P)", opposed, "added for what they disagree on"),
        Factor("b·log", overlap, "added for what only one of them rated"),
    ]
    return replace(taste, value=taste.value + opposed + overlap, factors=factors, agreement=ratings.flows)
