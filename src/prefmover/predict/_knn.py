"""The weighted mean of neighbors' residuals for every K at once.

The K nearest raters for K = 5, 10, ... 60 are prefixes of one sorted list. A pair (user, item) therefore
costs one pass over the raters of the item, and one pass over the list with running sums.
"""

import numpy as np

from prefmover.execution.jit import allocating_kernel, kernel


@allocating_kernel
def nearest_raters(values, larger_is_closer, users, first, items, item_indptr, raters, nearest, counts):
    """Find the nearest raters of items in rows of a measure.

    Parameters
    ----------
    values, larger_is_closer
        (rows, n_users) values of the measure, NaN where undefined; whether larger ones are closer.
    users, first, items
        The user of each row (-1 for a guest); the pairs of a row are ``items[first[row]:first[row + 1]]``.
    item_indptr, raters
        The ratings by item (CSC): raters in ascending order.
    nearest, counts
        (pairs, k) and (pairs,) output: positions in ``raters``, nearest first, and their number.
    """
    k = nearest.shape[1]
    distance = np.empty(k)
    for row in range(users.size):
        value, u = values[row], users[row]
        for pair in range(first[row], first[row + 1]):
            i, count = items[pair], 0
            for e in range(item_indptr[i], item_indptr[i + 1]):
                v = raters[e]
                x = -value[v] if larger_is_closer else value[v]
                if v == u or x != x or (count == k and not x < distance[k - 1]):
                    continue
                # Raters come in ascending order, so the earlier one of equals stays first.
                rank = count if count < k else k - 1
                while rank > 0 and x < distance[rank - 1]:
                    distance[rank] = distance[rank - 1]
                    nearest[pair, rank] = nearest[pair, rank - 1]
                    rank -= 1
                distance[rank] = x
                nearest[pair, rank] = e
                count = min(count + 1, k)
            counts[pair] = count


@kernel
def average(indptr, entries, weights, residuals, shrinkage, ks, shift, used, contributing):
    """Average the residuals of the first K neighbors in lists, for every K.

    Parameters
    ----------
    indptr, entries, weights
        The list of each pair (CSR): positions in ``residuals``, -1 for a neighbor without a rating of the
        item, and the weights of the neighbors.
    residuals, shrinkage
        The residuals e of all ratings, and λ in Σ w e / (Σ |w| + λ).
    ks
        Ascending numbers of neighbors.
    shift, used, contributing
        (pairs, len(ks)) output: the mean, the number of neighbors it is taken over, and the number of those
        whose weight is not 0.
    """
    for pair in range(indptr.size - 1):
        total, size, n_used, n_contributing, t = 0.0, 0.0, 0, 0, indptr[pair]
        for column in range(ks.size):
            while t < min(indptr[pair] + ks[column], indptr[pair + 1]):
                if entries[t] >= 0:
                    total += weights[t] * residuals[entries[t]]
                    size += abs(weights[t])
                    n_used += 1
                    n_contributing += weights[t] != 0.0
                t += 1
            shift[pair, column] = total / (size + shrinkage) if size > 0.0 else 0.0
            used[pair, column] = n_used if size > 0.0 else 0
            contributing[pair, column] = n_contributing
