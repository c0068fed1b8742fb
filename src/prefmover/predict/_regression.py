"""Kernels of the regression: sums and products of dense rows over the entries of a sparse matrix."""

import numpy as np

from prefmover.execution.jit import kernel


@kernel
def sum_rows(indptr, indices, values, rows, start, stop, out):
    """Set out[a] = Σ values[t] rows[indices[t]] over the entries t of row a, for start ≤ a < stop."""
    width = out.shape[1]
    for a in range(start, stop):
        total = out[a]
        for k in range(width):
            total[k] = 0.0
        for t in range(indptr[a], indptr[a + 1]):
            value, row = values[t], rows[indices[t]]
            for k in range(width):
                total[k] += value * row[k]


@kernel
def products(indptr, indices, left, right, start, stop, out):
    """Set out[t] = left[a] · right[indices[t]] for the entries t of rows start ≤ a < stop."""
    for a in range(start, stop):
        row = left[a]
        for t in range(indptr[a], indptr[a + 1]):
            out[t] = np.dot(row, right[indices[t]])
