"""Predictions for every K at once, from the raters of each test item in order of closeness.

The K nearest raters for K = 5, 10, ... 60 are beginnings of one sorted list. So a test rating costs one
pass over the item's raters, and one over the list with running sums.
"""

import numpy as np

from prefmover._jit import kernel


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
        Ascending numbers of neighbours.
    shift, used
        (n_pairs, len(ks)) written: what to add to the base, and by how many neighbours it is made.
    """
    k = ks[-1]
    near = np.empty(k, np.int64)
    far = np.empty(k)
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
            total, size, at = 0.0, 0.0, 0
            for t in range(count):
                w = weight[raters[near[t]]]
                total += w * residuals[near[t]]
                size += abs(w)
                if t + 1 == ks[at]:
                    answer(total, size, t + 1, shrinkage, pair, at, shift, used)
                    at += 1
            for rest in range(at, ks.size):
                answer(total, size, count, shrinkage, pair, rest, shift, used)


@kernel
def predict_lists(
    indptr, neighbors, weights, items, raters_first, raters, residuals, shrinkage, ks, shift, used
):
    """Predict from sorted lists of neighbours (CSR by test rating); other arguments as above."""
    for pair in range(items.size):
        i = items[pair]
        low, high = raters_first[i], raters_first[i + 1]
        total, size, at = 0.0, 0.0, 0
        count = min(indptr[pair + 1] - indptr[pair], ks[-1])
        for t in range(count):
            e = low + np.searchsorted(raters[low:high], neighbors[indptr[pair] + t])
            w = weights[indptr[pair] + t]
            total += w * residuals[e]
            size += abs(w)
            if t + 1 == ks[at]:
                answer(total, size, t + 1, shrinkage, pair, at, shift, used)
                at += 1
        for rest in range(at, ks.size):
            answer(total, size, count, shrinkage, pair, rest, shift, used)


@kernel
def answer(total, size, count, shrinkage, pair, at, shift, used):
    """Note the weighted mean of ``count`` neighbours as the prediction for the at-th K."""
    shift[pair, at] = total / (size + shrinkage) if size > 0.0 else 0.0
    used[pair, at] = count if size > 0.0 else 0
