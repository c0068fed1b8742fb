"""COS, PCC, MSD, Jaccard and JMSD: the items that both users rated, and their ratings.

All but Jaccard are undefined (NaN) for users without a co-rated item.
"""

from collections.abc import Callable
from dataclasses import replace
from math import nan, sqrt

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.execution.jit import LazyModule
from prefmover.measures.breakdown import Factor, Flow, PairBreakdown, UserPair
from prefmover.measures.pairs import Pairs, Rows
from prefmover.measures.ties import WholeRatings, on_grid, whole_ratings

_corated = LazyModule("prefmover.measures._corated")


def cosine(pairs: Pairs) -> Rows:
    """COS: the cosine of the two rows of ratings, over co-rated items only (norms as well).

    One co-rated item with two positive ratings gives 1, whatever they are.
    """
    whole = whole_ratings(pairs, lambda w: w.longest * w.highest**2)
    values = pairs.matrix.data if whole is None else whole.values
    return _filled_by(_corated.cosine_rows, pairs, values, exact=whole is not None)


def pearson(pairs: Pairs, *, means: str = "all-rated") -> Rows:
    """PCC: the correlation of co-rated ratings.

    With ``means="all-rated"``, each user's ratings are centered on the mean of all their ratings (the usual
    definition in collaborative filtering); with ``"co-rated"``, on the mean over the co-rated items of the
    pair (Pearson's definition; Surprise's ``pearson``). Undefined where a user's centered co-rated ratings
    are all zero: always for a single co-rated item with co-rated means, and for users who give the same
    rating to everything.
    """
    # The correlation does not change with the origin and the unit of either user's ratings.
    if means == "all-rated":
        whole = whole_ratings(pairs, lambda w: w.longest**3 * w.width**2)
        values = _centered(pairs) if whole is None else _centered_whole(pairs, whole)
        return _filled_by(_corated.cosine_rows, pairs, values, exact=whole is not None)
    whole = whole_ratings(pairs, lambda w: w.longest**2 * w.width**2)
    if whole is None:
        return _filled_by(_corated.pearson_rows, pairs, pairs.matrix.data, exact=False)
    return _filled_by(_corated.whole_pearson_rows, pairs, whole.values - whole.lowest, exact=True)


def mean_squared_difference(pairs: Pairs) -> Rows:
    """MSD: the mean over co-rated items of the squared difference of ratings, as a share of the scale.

    A distance: 0 for equal ratings, 1 for opposite ends of the scale everywhere.
    """
    return quotients_of_differences(pairs, lambda users, s, n, most: (s, n * most))


def quotients_of_differences(
    pairs: Pairs, quotient: Callable[[Ints, Floats, Floats, float], tuple[Floats, Floats]]
) -> Rows:
    """Return a quotient of s = Σ_C (r_ui - r_vi)² and n = |C|; NaN where n is 0.

    ``quotient(users, s, n, most)`` returns numerator and denominator. The most that a term of s can be is
    (highest - lowest)², or 1 where all ratings are the same number. On a scale with steps all are whole
    numbers.
    """
    whole, scale = whole_ratings(pairs, lambda w: w.longest * w.width**2), pairs.ratings.scale
    most = float(whole.width if whole is not None else scale.highest - scale.lowest or 1.0) ** 2
    walk = pairs.walk(pairs.matrix.data if whole is None else whole.values)

    def rows(users: Ints) -> Floats:
        s = np.empty((len(users), len(pairs.others)))
        n = np.empty_like(s)
        _corated.difference_rows(*walk(users), s, n)
        above, below = quotient(users, s, n, most)
        value = np.divide(above, below, out=np.full_like(s, np.nan), where=n > 0)
        return on_grid(value) if whole is None else value

    return rows


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


def _centered_whole(pairs: Pairs, whole: WholeRatings) -> Floats:
    """Return |I_u| (r_ui - μ_u) for every rating: a whole number."""
    n, owner = pairs.counts(), pairs.ratings.rows()
    values = whole.values - whole.lowest
    total = np.bincount(owner, values, minlength=len(n))
    centered: Floats = values * n[owner] - total[owner]
    return centered


def _centered(pairs: Pairs) -> Floats:
    """Return r_ui - μ_u for every rating."""
    data, n = pairs.matrix.data, pairs.counts()
    centered = data - np.repeat(pairs.user_means(), n)
    # A rating equal to its user's mean must center to 0, not to a remainder of rounding.
    largest = np.zeros(len(n))
    np.maximum.at(largest, pairs.ratings.rows(), data)
    centered[np.abs(centered) <= 1e-10 * np.repeat(largest, n)] = 0.0
    return centered


def _filled_by(kernel: Callable[..., None], pairs: Pairs, values: Floats, *, exact: bool) -> Rows:
    values.flags.writeable = False  # one type for Numba, one compilation
    walk = pairs.walk(values)

    def rows(users: Ints) -> Floats:
        out = np.empty((len(users), len(pairs.others)))
        kernel(*walk(users), out)
        return out if exact else on_grid(out)

    return rows


def cosine_breakdown(pair: UserPair) -> PairBreakdown:
    """Break COS down into its sums."""
    flows = pair.co_rated_flows(lambda i, a, b: a * b)
    return _normalized(pair, flows, [(pair.first[i], pair.second[i]) for i in pair.common], "r")


def pearson_breakdown(pair: UserPair, means: str = "all-rated") -> PairBreakdown:
    """Break PCC down into means and sums."""
    if not pair.n:
        return pair.without_common_items()
    if means == "all-rated":
        x, y = pair.mean(pair.u), pair.mean(pair.v)
        over = "of all their ratings"
    else:
        x, y = (float(np.mean([side[i] for i in pair.common])) for side in (pair.first, pair.second))
        over = "over the co-rated items"

    def center(ratings: dict[int, float], i: int, mean: float) -> float:
        tiny = 1e-10 * max(ratings.values())
        return 0.0 if abs(ratings[i] - mean) <= tiny else ratings[i] - mean

    centered = {i: (center(pair.first, i, x), center(pair.second, i, y)) for i in pair.common}
    flows = pair.co_rated_flows(lambda i, a, b: centered[i][0] * centered[i][1])
    terms = _normalized(pair, flows, [*centered.values()], "(r-μ)")
    both = [Factor("μ_u", x, f"first user's mean {over}"), Factor("μ_v", y, f"second user's mean {over}")]
    return replace(terms, factors=[terms.factors[0], *both, *terms.factors[1:]])


def msd_breakdown(pair: UserPair) -> PairBreakdown:
    """Break MSD down into squared differences."""
    if not pair.n:
        return pair.without_common_items()
    width = pair.scale.highest - pair.scale.lowest or 1.0
    flows = pair.co_rated_flows(lambda i, a, b: ((a - b) / width) ** 2)
    value = sum(flow.value for flow in flows) / pair.n
    mean = Factor("MSD", value, f"mean of ((r_u - r_v) / {width:g})² over the co-rated items")
    return PairBreakdown(value, [pair.n_factor, mean], flows)


def jaccard_breakdown(pair: UserPair) -> PairBreakdown:
    """Break Jaccard down into its two counts."""
    union = len(pair.first) + len(pair.second) - pair.n
    return PairBreakdown(pair.jaccard, [pair.n_factor, Factor("union", union, "items that either rated")], [])


def jmsd_breakdown(pair: UserPair) -> PairBreakdown:
    """Break JMSD down into Jaccard and MSD."""
    terms = msd_breakdown(pair)
    factors = [terms.factors[0], pair.jaccard_factor, *terms.factors[1:]]
    return replace(terms, value=pair.jaccard * (1 - terms.value), factors=factors)


def _normalized(
    pair: UserPair, flows: list[Flow], sides: list[tuple[float, float]], symbol: str
) -> PairBreakdown:
    if not pair.n:
        return pair.without_common_items()
    xy = sum(flow.value for flow in flows)
    xx, yy = sum(a * a for a, _ in sides), sum(b * b for _, b in sides)
    factors = [
        pair.n_factor,
        Factor(f"Σ{symbol}{symbol}", xy, "sum of products over the co-rated items"),
        Factor(f"Σ{symbol}²_u", xx, "first user's sum of squares"),
        Factor(f"Σ{symbol}²_v", yy, "second user's sum of squares"),
    ]
    if not xx * yy > 0:
        return PairBreakdown(nan, factors, flows, "a sum of squares is 0")
    return PairBreakdown(min(1.0, max(-1.0, xy / sqrt(xx * yy))), factors, flows)
