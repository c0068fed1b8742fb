"""URP and NHSM: the way two users use the rating scale."""

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.execution.jit import LazyModule
from prefmover.measures.breakdown import Factor, PairBreakdown, UserPair, sigmoid
from prefmover.measures.corated import jaccard_from_counts
from prefmover.measures.pairs import Pairs, Rows
from prefmover.measures.ties import significant

_corated = LazyModule("prefmover.measures._corated")

MOST_LEVELS = 64
"""Up to this many levels of the scale, PSS is tabulated; above, ratings are treated as continuous."""


def urp(pairs: Pairs) -> Rows:
    """URP: 1 - sig(|μ_u - μ_v| · |σ_u - σ_v|), between 0 and ½; defined for all users with ratings.

    A user with one rating, or with the same rating throughout, has σ = 0. The value depends on the unit
    of the scale (half a star on 1-5 is one point on 2-10), as published.
    """
    from scipy.special import expit

    means, deviations = pairs.user_means(), pairs.user_deviations()

    def rows(users: Ints) -> Floats:
        gap = np.abs(means[users, None] - means[pairs.others])
        gap *= np.abs(deviations[users, None] - deviations[pairs.others])
        return significant(expit(np.negative(gap, out=gap), out=gap))

    return rows


def nhsm(pairs: Pairs, *, overlap: str = "product") -> Rows:
    """NHSM: [Σ_C PSS(r_ui, r_vi, μ_i)] · J' · URP; undefined for users without a co-rated item.

    PSS(a, b, μ) = (1 - sig|a - b|) · sig(|a - r_med| |b - r_med|) · (1 - sig|(a + b)/2 - μ|).

    With ``overlap="product"``, J' = n / (|I_u| |I_v|), as published; with ``"union"``, it is Jaccard's J.
    """
    counts, means = pairs.counts(), pairs.item_means()
    urp_rows = urp(pairs)
    values, codes = levels(pairs)
    codes.flags.writeable = False  # one type for Numba, one compilation
    walk = pairs.walk(codes)

    def rows(users: Ints) -> Floats:
        pss = np.empty((len(users), len(pairs.others)))
        n = np.empty_like(pss)
        _corated.pss_rows(*walk(users), values, means, pairs.ratings.scale.middle, pss, n)
        of_users, of_others = counts[users], counts[pairs.others]
        if overlap == "product":
            pss *= n / np.maximum(of_users[:, None] * of_others, 1)
        else:
            pss *= jaccard_from_counts(n, of_users, of_others)
        pss[n == 0] = np.nan
        return significant(pss * urp_rows(users))

    return rows


def levels(pairs: Pairs) -> tuple[Floats, Floats]:
    """Return the distinct ratings that occur, and for each rating its position among them.

    With more than :data:`MOST_LEVELS` of them: an empty array, and the ratings themselves.
    """
    values, codes = np.unique(pairs.matrix.data, return_inverse=True)
    if len(values) > MOST_LEVELS:
        return np.empty(0), pairs.matrix.data.copy()
    return values, codes.astype(np.float64)


def urp_breakdown(pair: UserPair) -> PairBreakdown:
    """Break URP down into means and deviations."""
    means = pair.mean(pair.u), pair.mean(pair.v)
    deviations = pair.deviation(pair.u), pair.deviation(pair.v)
    value = 1 - sigmoid(abs(means[0] - means[1]) * abs(deviations[0] - deviations[1]))
    factors = [
        Factor("μ_u", means[0], "first user's mean rating"),
        Factor("μ_v", means[1], "second user's mean rating"),
        Factor("sd_u", deviations[0], "standard deviation of the first user's ratings"),
        Factor("sd_v", deviations[1], "standard deviation of the second user's ratings"),
        Factor("URP", value, "1 - sig(|μ_u - μ_v| |sd_u - sd_v|)"),
    ]
    return PairBreakdown(value, factors, [])


def nhsm_breakdown(pair: UserPair, overlap: str) -> PairBreakdown:
    """Break NHSM down into PSS, overlap and URP."""
    if not pair.n:
        return pair.without_common_items()
    flows = pair.co_rated_flows(lambda i, a, b: pair.pss(a, b, pair.item_means[i]))
    total = sum(flow.value for flow in flows)
    urp_terms = urp_breakdown(pair)
    if overlap == "product":
        product = pair.n / (len(pair.first) * len(pair.second))
        overlap_factor = Factor("J'", product, "n / (|I_u| |I_v|)")
    else:
        overlap_factor = pair.jaccard_factor
    pss = Factor("ΣPSS", total, "proximity · significance · singularity, over the co-rated items")
    value = total * overlap_factor.value * urp_terms.value
    return PairBreakdown(value, [pair.n_factor, pss, overlap_factor, *urp_terms.factors], flows)
