"""COS, PCC and MSD: the ratings that two users gave to the items they both rated.

All three are undefined (NaN) for users without a co-rated item.
"""

from collections.abc import Callable
from math import nan, sqrt

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.measures.breakdown import Factor, Flow, PairTerms, UserPair
from prefmover.measures.distribution import user_means
from prefmover.measures.pairs import Pairs, Rows

MOST_STEPS = 1000
"""On scales of up to this many steps, sums of products over 90,000 co-rated items are exact in floats."""


def cosine(pairs: Pairs) -> Rows:
    """COS: the cosine of the two rows of ratings, over co-rated items only (norms as well).

    One co-rated item with two positive ratings gives 1, whatever they are.
    """
    from prefmover.measures._corated import cosine_rows

    return _filled_by(cosine_rows, pairs, pairs.matrix.data)


def pearson(pairs: Pairs, *, means: str = "all-rated") -> Rows:
    """PCC: the correlation of co-rated ratings.

    With ``means="all-rated"``, each user's ratings are centered on the mean of all their ratings (the usual
    definition in collaborative filtering); with ``"co-rated"``, on the mean over the co-rated items of the
    pair (Pearson's definition; Surprise's ``pearson``). Undefined where a user's centered co-rated ratings
    are all zero: always for a single co-rated item with co-rated means, and for users who give the same
    rating to everything.
    """
    from prefmover.measures._corated import cosine_rows, pearson_rows, whole_pearson_rows

    if means == "all-rated":
        return _filled_by(cosine_rows, pairs, centered_ratings(pairs))
    scale, values = pairs.ratings.scale, pairs.matrix.data
    if scale.step == 0 or scale.highest - scale.lowest > MOST_STEPS * scale.step:
        return _filled_by(pearson_rows, pairs, values)
    # The correlation does not change with origin and unit.
    return _filled_by(whole_pearson_rows, pairs, np.rint((values - scale.lowest) / scale.step))


def mean_squared_difference(pairs: Pairs) -> Rows:
    """MSD: the mean over co-rated items of the squared difference of ratings, as a share of the scale.

    A distance: 0 for equal ratings, 1 for opposite ends of the scale everywhere.
    """
    differences = squared_differences(pairs)

    def rows(users: Ints) -> Floats:
        total, n = differences(users)
        return np.divide(total, n, out=np.full_like(total, np.nan), where=n > 0)

    return rows


def squared_differences(pairs: Pairs) -> Callable[[Ints], tuple[Floats, Floats]]:
    """Return a function that gives Σ ((r_ui - r_vi) / (highest - lowest))² over C, and n = |C|.

    Where all ratings are the same number, the scale has no width, and the sum is 0.
    """
    from prefmover.measures._corated import difference_rows

    walk, scale = pairs.walk(), pairs.ratings.scale
    width = scale.highest - scale.lowest or 1.0

    def rows(users: Ints) -> tuple[Floats, Floats]:
        total = np.empty((len(users), len(pairs.others)))
        n = np.empty_like(total)
        difference_rows(*walk(users), total, n)
        total /= width**2
        return total, n

    return rows


def centered_ratings(pairs: Pairs) -> Floats:
    """Return r_ui - μ_u for every rating."""
    data = pairs.matrix.data
    centered = data - np.repeat(user_means(pairs), pairs.counts())
    # A rating equal to its user's mean must center to 0, not to a remainder of rounding.
    centered[np.abs(centered) <= 1e-10 * np.abs(data).max(initial=0.0)] = 0.0
    return centered


def _filled_by(kernel: Callable[..., None], pairs: Pairs, values: Floats) -> Rows:
    values.flags.writeable = False  # one type for Numba, one compilation
    walk = pairs.walk(values)

    def rows(users: Ints) -> Floats:
        out = np.empty((len(users), len(pairs.others)))
        kernel(*walk(users), out)
        return out

    return rows


def cosine_breakdown(pair: UserPair) -> PairTerms:
    """Break COS down into its sums."""
    flows = pair.co_rated_flows(lambda i, a, b: a * b)
    return _normalized(pair, flows, [(pair.first[i], pair.second[i]) for i in pair.common], "r")


def pearson_breakdown(pair: UserPair, means: str = "all-rated") -> PairTerms:
    """Break PCC down into means and sums."""
    if not pair.n:
        return pair.without_common_items()
    if means == "all-rated":
        x, y = pair.mean(pair.u), pair.mean(pair.v)
        over = "of all their ratings"
    else:
        x, y = (float(np.mean([side[i] for i in pair.common])) for side in (pair.first, pair.second))
        over = "over the co-rated items"
    tiny = 1e-10 * pair.scale.highest

    def center(rating: float, mean: float) -> float:
        return 0.0 if abs(rating - mean) <= tiny else rating - mean

    centered = [(center(pair.first[i], x), center(pair.second[i], y)) for i in pair.common]
    flows = pair.co_rated_flows(lambda i, a, b: center(a, x) * center(b, y))
    terms = _normalized(pair, flows, centered, "(r-μ)")
    both = [Factor("μ_u", x, f"first user's mean {over}"), Factor("μ_v", y, f"second user's mean {over}")]
    return terms._replace(factors=[terms.factors[0], *both, *terms.factors[1:]])


def msd_breakdown(pair: UserPair) -> PairTerms:
    """Break MSD down into squared differences."""
    if not pair.n:
        return pair.without_common_items()
    width = pair.scale.highest - pair.scale.lowest or 1.0
    flows = pair.co_rated_flows(lambda i, a, b: ((a - b) / width) ** 2)
    value = sum(flow.value for flow in flows) / pair.n
    mean = Factor("MSD", value, f"mean of ((r_u - r_v) / {width:g})² over the co-rated items")
    return PairTerms(value, [pair.n_factor, mean], flows)


def _normalized(
    pair: UserPair, flows: list[Flow], sides: list[tuple[float, float]], symbol: str
) -> PairTerms:
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
        return PairTerms(nan, factors, flows, "a sum of squares is 0")
    return PairTerms(min(1.0, max(-1.0, xy / sqrt(xx * yy))), factors, flows)
