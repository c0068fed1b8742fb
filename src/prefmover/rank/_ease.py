"""Kernels of the item side: sums of products of likes over users."""

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
