"""Kernels of the regression: sums and products of dense rows over the entries of a sparse matrix."""

import numpy as np

from prefmover.execution.jit import kernel


@kernel
def add_rows(indptr, indices, values, rows, start, stop, out):
    """Add Σ values[t] rows[indices[t]] over the entries t of row a to out[a], for start ≤ a < stop."""
    width = out.shape[1]
    for a in range(start, stop):
        total = out[a]
        for t in range(indptr[a], indptr[a + 1]):
            value, row = values[t], rows[indices[t]]
            for k in range(width):
                total[k] += value * row[k]


@kernel
def products(indptr, indices, left, right, more_left, more_right, start, stop, out):
    """Set out[t] = left[a] · right[i] + more_left[a] · more_right[i], i = indices[t].

    The entries t are those of rows start ≤ a < stop.
    """
    for a in range(start, stop):
        row, more = left[a], more_left[a]
        for t in range(indptr[a], indptr[a + 1]):
            out[t] = np.dot(row, right[indices[t]]) + np.dot(more, more_right[indices[t]])
