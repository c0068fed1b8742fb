"""Predictions for every K at once, from the raters of each test item in order of closeness.

The K nearest raters for K = 5, 10, ... 60 are beginnings of one sorted list. So a test rating costs one
pass over the item's raters, and one over the list with running sums.
"""

import numpy as np

from prefmover.execution.jit import kernel


@kernel
def predict_rows(
    values, weights, larger, users, first, items, raters_first, raters, residuals, shrinkage, ks, shift, used
):
    """Predict some users' test items from rows of a measure.

    Parameters
    ----------
    values, weights
        (rows, n_users) the measure, NaN where undefined, and the weight that goes with each value.
    larger
        Whether larger values are closer.
    users, first, items
        The row's user; its test ratings are ``items[first[row]:first[row + 1]]``.
    raters_first, raters, residuals
        The training ratings by item (CSC): raters ascending, and what each gave beyond expectation.
    shrinkage
        λ in Σ w e / (Σ |w| + λ).
    ks
        Ascending numbers of neighbors.
    shift, used
        (n_pairs, len(ks)) written: what to add to the base, and by how many neighbors it is made.
    """
    k = ks[-1]
    near = np.empty(k, np.int64)
    far, say, said = np.empty(k), np.empty(k), np.empty(k)
    for row in range(users.size):
        value, weight, u = values[row], weights[row], users[row]
        for pair in range(first[row], first[row + 1]):
            i = items[pair]
            count = 0
            for e in range(raters_first[i], raters_first[i + 1]):
                v = raters[e]
                x = -value[v] if larger else value[v]
                if v == u or x != x or (count == k and not x < far[k - 1]):
                    continue
                # Raters come in ascending order: an equal one that came before stays before.
                place = count if count < k else k - 1
                while place > 0 and x < far[place - 1]:
                    far[place] = far[place - 1]
                    near[place] = near[place - 1]
                    place -= 1
                far[place] = x
                near[place] = e
                count = min(count + 1, k)
            for t in range(count):
                say[t], said[t] = weight[raters[near[t]]], residuals[near[t]]
            answer(say, said, count, shrinkage, ks, pair, shift, used)


@kernel
def predict_lists(
    indptr, neighbors, weights, items, raters_first, raters, residuals, shrinkage, ks, shift, used
):
    """Predict from sorted lists of neighbors (CSR by test rating); other arguments as above."""
    say, said = np.empty(ks[-1]), np.empty(ks[-1])
    for pair in range(items.size):
        i = items[pair]
        low, high = raters_first[i], raters_first[i + 1]
        count = min(indptr[pair + 1] - indptr[pair], ks[-1])
        for t in range(count):
            e = low + np.searchsorted(raters[low:high], neighbors[indptr[pair] + t])
            say[t], said[t] = weights[indptr[pair] + t], residuals[e]
        answer(say, said, count, shrinkage, ks, pair, shift, used)


@kernel
def answer(say, said, count, shrinkage, ks, pair, shift, used):
    """Note, for every K, the mean of what the first K of ``count`` neighbors said, weighted by their say."""
    total, size, t = 0.0, 0.0, 0
    for at in range(ks.size):
        while t < min(ks[at], count):
            total += say[t] * said[t]
            size += abs(say[t])
            t += 1
        shift[pair, at] = total / (size + shrinkage) if size > 0.0 else 0.0
        used[pair, at] = t if size > 0.0 else 0
