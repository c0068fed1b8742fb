"""The weighted mean of neighbors' residuals for every K at once.

The K nearest raters for K = 5, 10, ... 60 are prefixes of one sorted list. A pair (user, item) therefore
costs one pass over the raters of the item, and one pass over the list with running sums.
"""

import numpy as np

from prefmover.execution.jit import kernel


@kernel
def average_rows(
    values,
    weights,
    larger_is_closer,
    users,
    first,
    items,
    rater_indptr,
    raters,
    residuals,
    shrinkage,
    ks,
    shift,
    used,
    contributing,
):
    """Average over the nearest raters, found in rows of a measure.

    Parameters
    ----------
    values, weights
        (rows, n_users) values of the measure, NaN where undefined, and the weights that go with them.
    larger_is_closer
        Whether larger values are closer.
    users, first, items
        The user of each row (-1 for a guest); the pairs of a row are ``items[first[row]:first[row + 1]]``.
    rater_indptr, raters, residuals
        The ratings by item (CSC): raters in ascending order, and the residuals of their ratings.
    shrinkage
        λ in Σ w e / (Σ |w| + λ).
    ks
        Ascending numbers of neighbors.
    shift, used, contributing
        (pairs, len(ks)) output: the mean, the number of neighbors it is taken over, and the number of those
        whose weight is not 0.
    """
    k = ks[-1]
    nearest = np.empty(k, np.int64)
    distance, weight_of, residual_of = np.empty(k), np.empty(k), np.empty(k)
    for row in range(users.size):
        value, weight, u = values[row], weights[row], users[row]
        for pair in range(first[row], first[row + 1]):
            i = items[pair]
            count = 0
            for e in range(rater_indptr[i], rater_indptr[i + 1]):
                v = raters[e]
                x = -value[v] if larger_is_closer else value[v]
                if v == u or x != x or (count == k and not x < distance[k - 1]):
                    continue
                # Raters come in ascending order, so the earlier one of equals stays first.
                rank = count if count < k else k - 1
                while rank > 0 and x < distance[rank - 1]:
                    distance[rank] = distance[rank - 1]
                    nearest[rank] = nearest[rank - 1]
                    rank -= 1
                distance[rank] = x
                nearest[rank] = e
                count = min(count + 1, k)
            for t in range(count):
                weight_of[t], residual_of[t] = weight[raters[nearest[t]]], residuals[nearest[t]]
            average_prefixes(weight_of, residual_of, count, shrinkage, ks, pair, shift, used, contributing)


@kernel
def average_lists(
    indptr,
    neighbors,
    weights,
    items,
    rater_indptr,
    raters,
    residuals,
    shrinkage,
    ks,
    shift,
    used,
    contributing,
):
    """Average over sorted lists of raters, one for each pair (CSR); other parameters as above."""
    weight_of, residual_of = np.empty(ks[-1]), np.empty(ks[-1])
    for pair in range(items.size):
        i = items[pair]
        low, high = rater_indptr[i], rater_indptr[i + 1]
        count = min(indptr[pair + 1] - indptr[pair], ks[-1])
        for t in range(count):
            e = low + np.searchsorted(raters[low:high], neighbors[indptr[pair] + t])
            weight_of[t], residual_of[t] = weights[indptr[pair] + t], residuals[e]
        average_prefixes(weight_of, residual_of, count, shrinkage, ks, pair, shift, used, contributing)


@kernel
def average_prefixes(weights, residuals, count, shrinkage, ks, pair, shift, used, contributing):
    """Write, for every K, the weighted mean of the residuals of the first K of ``count`` neighbors."""
    total, size, t, n = 0.0, 0.0, 0, 0
    for column in range(ks.size):
        while t < min(ks[column], count):
            total += weights[t] * residuals[t]
            size += abs(weights[t])
            n += weights[t] != 0.0
            t += 1
        shift[pair, column] = total / (size + shrinkage) if size > 0.0 else 0.0
        used[pair, column] = t if size > 0.0 else 0
        contributing[pair, column] = n
