"""Kernels of the item side: products of the columns of a sparse matrix, and regressions on a few of them."""

from prefmover.execution.jit import kernel


@kernel
def add_gram(indptr, indices, data, out):
    """Add the lower triangle of YᵀY to out (n_items, n_items); the columns of a row ascend."""
    for u in range(indptr.size - 1):
        first, last = indptr[u], indptr[u + 1]
        for s in range(first, last):
            row, value = out[indices[s]], data[s]
            for t in range(first, s + 1):
                row[indices[t]] += value * data[t]


@kernel
def regress(gram, predictors, products, penalty, tolerance, max_rounds, start, stop, A, left, out):
    """Set out[j] to the weights b ≥ 0 that minimize ½ bᵀ(G + λI)b - bᵀg.

    G is ``gram`` between the ``predictors`` of j, of which those below 0 are none; g are the ``products`` of
    j with these. One weight after the other is set to its best value (coordinate descent), until no weight
    changes by more than ``tolerance`` in a round. ``A`` (k, k) and ``left`` (k,) are workspace.
    """
    k = predictors.shape[1]
    for j in range(start, stop):
        some, b = predictors[j], out[j]
        n = 0
        while n < k and some[n] >= 0:
            n += 1
        for s in range(n):
            left[s], b[s] = products[j, s], 0.0
            row, column = gram[some[s]], A[s]
            for t in range(n):
                column[t] = row[some[t]]
            column[s] += penalty
        for _ in range(max_rounds):
            largest = 0.0
            for s in range(n):
                better = max(b[s] + left[s] / A[s, s], 0.0)
                change = better - b[s]
                if change != 0.0:
                    b[s] = better
                    column = A[s]
                    for t in range(n):
                        left[t] -= change * column[t]
                    largest = max(largest, abs(change))
            if largest <= tolerance:
                break
