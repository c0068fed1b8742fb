"""Kernels of the regression: sums and products over the entries of a sparse matrix.

Row a has the entries begin[a] ≤ t < end[a]. A call takes the rows start ≤ a < stop.
"""

import numpy as np
from numba.extending import overload

from prefmover.execution import jit
from prefmover.execution.jit import kernel


@kernel
def add_rows(begin, end, indices, values, rows, start, stop, out):
    """Add Σ values[t] rows[indices[t]] over the entries t of row a to out[a]."""
    width = out.shape[1]
    for a in range(start, stop):
        total, first, last = out[a], begin[a], end[a]
        fours = last - (last - first) % 4
        for t in range(first, fours, 4):
            value_0, value_1, value_2, value_3 = values[t], values[t + 1], values[t + 2], values[t + 3]
            row_0, row_1 = rows[indices[t]], rows[indices[t + 1]]
            row_2, row_3 = rows[indices[t + 2]], rows[indices[t + 3]]
            for k in range(width):
                total[k] += value_0 * row_0[k] + value_1 * row_1[k] + value_2 * row_2[k] + value_3 * row_3[k]
        for t in range(fours, last):
            value, row = values[t], rows[indices[t]]
            for k in range(width):
                total[k] += value * row[k]


def dot(a, b):
    """Return Σ a[k] b[k], summed in any order, without a call of BLAS."""
    return np.dot(a, b)


@overload(dot, jit_options=jit.ANY_ORDER)
def _dot(a, b):
    def loop(a, b):
        total = np.float32(0.0)
        for k in range(a.size):
            total += a[k] * b[k]
        return total

    return loop


@kernel
def products(begin, end, indices, alpha, own, same, base, rest, by_item, left, right, start, stop, out):
    """Set out[t] = (1 + own[a] rest[i] + same[a]) alpha[t] + base[a] + by_item[i] + left[a] · right[i].

    i is indices[t].
    """
    for a in range(start, stop):
        row = left[a]
        for t in range(begin[a], end[a]):
            i = indices[t]
            itself = (1.0 + own[a] * rest[i] + same[a]) * alpha[t]
            out[t] = itself + base[a] + by_item[i] + np.dot(row, right[i])


@kernel
def many_products(begin, end, indices, alpha, own, same, base, rest, by_item, left, right, start, stop, out):
    """As :func:`products`, but always compiled: the last bits are not those of BLAS."""
    for a in range(start, stop):
        row = left[a]
        for t in range(begin[a], end[a]):
            i = indices[t]
            itself = (1.0 + own[a] * rest[i] + same[a]) * alpha[t]
            out[t] = itself + base[a] + by_item[i] + dot(row, right[i])


@kernel
def sum_entries(begin, end, values, start, stop, out):
    """Set out[a] = Σ values[t]."""
    for a in range(start, stop):
        total = 0.0
        for t in range(begin[a], end[a]):
            total += values[t]
        out[a] = total


@kernel
def sum_numbers(begin, end, indices, numbers, start, stop, out):
    """Set out[a] = Σ numbers[indices[t]]."""
    for a in range(start, stop):
        total = 0.0
        for t in range(begin[a], end[a]):
            total += numbers[indices[t]]
        out[a] = total


@kernel
def subtract(begin, end, indices, values, of_row, of_column, scale, start, stop, out):
    """Set out[t] = (values[t] - of_row[a] - of_column[indices[t]]) scale."""
    for a in range(start, stop):
        for t in range(begin[a], end[a]):
            out[t] = (values[t] - of_row[a] - of_column[indices[t]]) * scale
