"""COS, PCC and MSD: what two users gave to the items they both rated.

All three are undefined (NaN) for users without a co-rated item.
"""

from collections.abc import Callable

import numpy as np

from prefmover.measures.distribution import user_means
from prefmover.measures.pairs import Floats, Index, Pairs, Rows

__all__ = ["MOST_STEPS", "cosine", "mean_squared_difference", "pearson", "squared_differences"]

MOST_STEPS = 1000
"""On scales of so many steps, sums of products over 90,000 co-rated items are exact in floating point."""


def cosine(pairs: Pairs) -> Rows:
    """COS: the cosine of the two rows of ratings, over co-rated items only (norms as well).

    One co-rated item with two positive ratings gives 1, whatever they are.
    """
    return _cosine_of(pairs, pairs.matrix.data)


def pearson(pairs: Pairs, *, means: str = "all-rated") -> Rows:
    """PCC: the correlation of co-rated ratings.

    Parameters
    ----------
    means
        ``"all-rated"``: each user's ratings are centered on the mean of all they rated (the usual
        definition in collaborative filtering). ``"co-rated"``: on the mean over the co-rated items of
        the pair (Pearson's own; Surprise's ``pearson``).

    Notes
    -----
    Undefined where a user's centered co-rated ratings are all zero: always for a single co-rated item
    with co-rated means, and for users who give one same rating to everything.
    """
    if means == "all-rated":
        return _cosine_of(pairs, centered_ratings(pairs))

    from prefmover.measures._corated import pearson_rows, whole_pearson_rows

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

    def rows(users: Index) -> Floats:
        total, n = differences(users)
        return np.divide(total, n, out=np.full_like(total, np.nan), where=n > 0)

    return rows


def squared_differences(pairs: Pairs) -> Callable[[Index], tuple[Floats, Floats]]:
    """Return a function that gives Σ ((r_ui - r_vi) / (highest - lowest))² over C, and n = |C|.

    Where all ratings are one same number the scale has no width, and the sum is 0.
    """
    from prefmover.measures._corated import difference_rows

    matrix, raters, scale = pairs.matrix, pairs.raters(), pairs.ratings.scale
    width = scale.highest - scale.lowest or 1.0

    def rows(users: Index) -> tuple[Floats, Floats]:
        total = np.empty((len(users), len(pairs.others)))
        n = np.empty_like(total)
        # fmt: off
        difference_rows(*pairs.spans(users), matrix.indices, matrix.data,
                        raters.begins, raters.indptr, raters.others, raters.values, total, n)
        # fmt: on
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


def _cosine_of(pairs: Pairs, values: Floats) -> Rows:
    from prefmover.measures._corated import cosine_rows

    return _filled_by(cosine_rows, pairs, values)


def _filled_by(kernel: Callable[..., None], pairs: Pairs, values: Floats) -> Rows:
    values.flags.writeable = False  # one type for Numba, one compilation
    raters = pairs.raters(values)

    def rows(users: Index) -> Floats:
        out = np.empty((len(users), len(pairs.others)))
        # fmt: off
        kernel(*pairs.spans(users), pairs.matrix.indices, values,
               raters.begins, raters.indptr, raters.others, raters.values, out)
        # fmt: on
        return out

    return rows
