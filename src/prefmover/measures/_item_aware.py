"""HUSM's double sum over all pairs of items, for one user against many."""

import numpy as np

from prefmover.execution.jit import allocating_kernel, kernel


@allocating_kernel
def husm_rows(starts, stops, items, codes, similarity, factor, lift, lift_t, indptr, cells, out):
    """Add to out[k, v] the sum Σ_i Σ_j s(i, j) PSS(r_ui, r_vj) over u's items i and v's items j.

    The singularity factor 1 - sig|p + q|, with p = (a - μ_i)/2 and q = (b - μ_j)/2, needs no exponential:
    with t = e^p e^q it is min(t, 1) / (1 + t). So a user's items are summed up first, into one number for
    each item j and each level b of its rating, and each v only picks the entries of v's ratings.

    Parameters
    ----------
    starts, stops, items, codes
        The query's ratings: row of ``similarity``, level.
    similarity
        (rows, columns) s(i, j).
    factor
        (levels, levels) (1 - sig|a - b|) · sig(|a - r_med| |b - r_med|).
    lift, lift_t
        (levels, rows) e^((a - μ_i)/2), and (levels, columns) the same for the columns' items.
    indptr, cells
        The others' ratings as positions in the (levels, columns) table of sums.
    """
    n_levels, n_columns = lift_t.shape
    sums = np.empty((n_levels, n_columns))
    flat = sums.reshape(-1)
    for k in range(starts.size):
        sums[:] = 0.0
        for e in range(starts[k], stops[k]):
            i, a = items[e], codes[e]
            near = similarity[i]
            for b in range(n_levels):
                _add_terms(sums[b], near, factor[a, b], lift[a, i], lift_t[b])
        for v in range(indptr.size - 1):
            total = 0.0
            for e in range(indptr[v], indptr[v + 1]):
                total += flat[cells[e]]
            out[k, v] += total


@kernel
def _add_terms(sums, near, factor, lift, lift_t):
    for j in range(sums.size):
        t = lift * lift_t[j]
        capped = t if t < 1.0 else 1.0
        sums[j] += near[j] * factor * capped / (1.0 + t)


@kernel
def husm_pairs(starts, stops, items, a, means, similarity, indptr, columns, b, means_t, middle, out):
    """Add the same sum for ratings with many levels, term by term."""
    for k in range(starts.size):
        for v in range(indptr.size - 1):
            total = 0.0
            for e in range(starts[k], stops[k]):
                i, x = items[e], a[e]
                for f in range(indptr[v], indptr[v + 1]):
                    j, y = columns[f], b[f]
                    proximity = 1.0 / (1.0 + np.exp(abs(x - y)))
                    significance = 1.0 / (1.0 + np.exp(-abs(x - middle) * abs(y - middle)))
                    singularity = 1.0 / (1.0 + np.exp(abs((x + y) / 2.0 - (means[i] + means_t[j]) / 2.0)))
                    total += similarity[i, j] * proximity * significance * singularity
            out[k, v] += total
