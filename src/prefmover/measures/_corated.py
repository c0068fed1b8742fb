"""Sums over the items that two users both rated, for one user against many.

All walk the same way: for each item of the query, for each rater of that item, add to the rater's cell.
That touches each co-rated item of each pair once, and nothing else. ``starts`` and ``stops`` bound the
query's ratings; ``indptr``, ``others`` are the raters of each item, and ``begins`` has the position in them
where a rating's walk begins: at the item's first rater, or, if only half of a symmetric result is needed, at
the query itself.
"""

import numpy as np

from prefmover.execution.jit import allocating_kernel, kernel
from prefmover.measures._pmd import product


@kernel
def count_rows(starts, stops, items, begins, indptr, others, out):
    """Fill out[k, v] with n, the number of co-rated items."""
    for k in range(starts.size):
        row = out[k]
        row[:] = 0.0
        for e in range(starts[k], stops[k]):
            i = items[e]
            for r in range(begins[e], indptr[i + 1]):
                row[others[r]] += 1.0


@kernel
def cosine(xy, xx, yy):
    """Return xy / √(xx · yy); NaN where the denominator is 0.

    Of whole numbers below 2^53 it is rounded once: 1/√2 and 3/√18 give the same bits.
    """
    square, square_low = product(xx, yy)
    norm = np.sqrt(square)
    if not norm > 0.0:
        return np.nan
    near, near_low = product(norm, norm)
    norm_low = ((square - near) - near_low + square_low) / (2.0 * norm)
    value = xy / norm
    back, back_low = product(value, norm)
    value += ((xy - back) - back_low - value * norm_low) / norm
    return min(1.0, max(-1.0, value))


@allocating_kernel
def cosine_rows(starts, stops, items, a, begins, indptr, others, b, out):
    """Fill out[k, v] with Σab / sqrt(Σa² Σb²) over co-rated items; NaN where the denominator is 0."""
    sums = np.empty((out.shape[1], 3))
    for k in range(starts.size):
        sums[:] = 0.0
        for e in range(starts[k], stops[k]):
            i, x = items[e], a[e]
            xx = x * x
            for r in range(begins[e], indptr[i + 1]):
                cell, y = sums[others[r]], b[r]
                cell[0] += x * y
                cell[1] += xx
                cell[2] += y * y
        for v in range(out.shape[1]):
            out[k, v] = cosine(sums[v, 0], sums[v, 1], sums[v, 2])


@allocating_kernel
def whole_pearson_rows(starts, stops, items, a, begins, indptr, others, b, out):
    """Fill out[k, v] as :func:`pearson_rows`, for integers, whose sums are exact in one pass."""
    sums = np.empty((out.shape[1], 6))
    for k in range(starts.size):
        sums[:] = 0.0
        for e in range(starts[k], stops[k]):
            i, x = items[e], a[e]
            xx = x * x
            for r in range(begins[e], indptr[i + 1]):
                cell, y = sums[others[r]], b[r]
                cell[0] += 1.0
                cell[1] += x
                cell[2] += y
                cell[3] += x * y
                cell[4] += xx
                cell[5] += y * y
        for v in range(out.shape[1]):
            n, x, y, xy, xx, yy = sums[v]
            out[k, v] = cosine(n * xy - x * y, n * xx - x * x, n * yy - y * y)


@allocating_kernel
def pearson_rows(starts, stops, items, a, begins, indptr, others, b, out):
    """Fill out[k, v] with the correlation of the co-rated ratings, centered on their two means.

    Two passes, means first: sums of squares around 0 would lose small differences of nearly equal ratings.
    """
    sums = np.empty((out.shape[1], 3))
    means = np.empty((out.shape[1], 3))
    largest = np.empty((out.shape[1], 2))
    for k in range(starts.size):
        means[:] = 0.0
        sums[:] = 0.0
        largest[:] = 0.0
        for e in range(starts[k], stops[k]):
            i, x = items[e], a[e]
            for r in range(begins[e], indptr[i + 1]):
                cell, most = means[others[r]], largest[others[r]]
                cell[0] += x
                cell[1] += b[r]
                cell[2] += 1.0
                most[0] = max(most[0], x)
                most[1] = max(most[1], b[r])
        for v in range(out.shape[1]):
            means[v, 0] /= means[v, 2]
            means[v, 1] /= means[v, 2]
        for e in range(starts[k], stops[k]):
            i = items[e]
            for r in range(begins[e], indptr[i + 1]):
                v = others[r]
                x, y, cell = a[e] - means[v, 0], b[r] - means[v, 1], sums[v]
                # A rating equal to the mean must center to 0, not to a remainder of rounding.
                x = x if abs(x) > 1e-10 * largest[v, 0] else 0.0
                y = y if abs(y) > 1e-10 * largest[v, 1] else 0.0
                cell[0] += x * y
                cell[1] += x * x
                cell[2] += y * y
        for v in range(out.shape[1]):
            out[k, v] = cosine(sums[v, 0], sums[v, 1], sums[v, 2])


@kernel
def difference_rows(starts, stops, items, a, begins, indptr, others, b, out, n_out):
    """Fill out[k, v] with Σ(a - b)² over co-rated items and n_out[k, v] with their number."""
    for k in range(starts.size):
        row, count = out[k], n_out[k]
        row[:] = 0.0
        count[:] = 0.0
        for e in range(starts[k], stops[k]):
            i, x = items[e], a[e]
            for r in range(begins[e], indptr[i + 1]):
                v, d = others[r], x - b[r]
                row[v] += d * d
                count[v] += 1.0


@allocating_kernel
def pss_rows(starts, stops, items, a, begins, indptr, others, b, levels, means, middle, out, n_out):
    """Fill out[k, v] with Σ PSS(a, b, μ_i) over co-rated items and n_out[k, v] with their number.

    With few levels, ``a`` and ``b`` are codes into ``levels`` and PSS is evaluated once for each of the
    query's ratings and each level; with ``levels`` empty they are the ratings themselves.
    """
    table = np.empty(levels.size)
    for k in range(starts.size):
        row, count = out[k], n_out[k]
        row[:] = 0.0
        count[:] = 0.0
        for e in range(starts[k], stops[k]):
            i = items[e]
            if levels.size > 0:
                x = levels[int(a[e])]
                for q in range(levels.size):
                    table[q] = _pss(x, levels[q], means[i], middle)
                for r in range(begins[e], indptr[i + 1]):
                    row[others[r]] += table[int(b[r])]
                    count[others[r]] += 1.0
            else:
                for r in range(begins[e], indptr[i + 1]):
                    row[others[r]] += _pss(a[e], b[r], means[i], middle)
                    count[others[r]] += 1.0


@kernel
def _pss(a, b, mean, middle):
    # 1 - sig(x) = 1 / (1 + e^x): an overflowing exponential gives 0, which is the limit.
    proximity = 1.0 / (1.0 + np.exp(abs(a - b)))
    significance = 1.0 / (1.0 + np.exp(-abs(a - middle) * abs(b - middle)))
    singularity = 1.0 / (1.0 + np.exp(abs((a + b) / 2.0 - mean)))
    return proximity * significance * singularity
