"""Dual ascent: cheap, certified lower bounds on a transport problem, and good prices to start from.

The dual of  min Σ W_ij c_ij  over couplings W of p and q  is

    max Σ_i p_i f_i + Σ_j q_j g_j   subject to   f_i + g_j ≤ c_ij.

For any f, the best g is its c-transform  g_j = min_i (c_ij - f_i); every f thus gives a lower bound.
Costs and prices are integers, so the prices are feasible exactly. The value of a bound is a sum of floats,
with an error of about n + m units in the last place. Differences are cast back to the type of the cost:
32-bit minima run on all lanes of the processor, and NumPy-style promotion would widen them.
"""

import numpy as np

from prefmover.execution.jit import kernel

LONG = 64  # numbers in a row from which four rows at a time are faster than one


@kernel
def row_minimum(c, g, i, m):
    """Return min_j (c_ij - g_j)."""
    narrow = c.dtype.type
    least = narrow(c[i, 0] - g[0])
    for j in range(m):  # from 0, not from 1: vectors then begin where the row does
        least = min(least, narrow(c[i, j] - g[j]))
    return least


@kernel
def row_argminimum(c, g, i, m, least):
    """Return the last j with c_ij - g_j = least."""
    narrow = c.dtype.type
    last = np.int32(0)
    for j in range(m):
        last = max(last, np.int32(j) if narrow(c[i, j] - g[j]) == least else np.int32(0))
    return last


@kernel
def transform_columns(c, f, n, m, g, nearest):
    """Set g_j = min_i (c_ij - f_i) and nearest_j to the first row that attains it.

    Long rows are taken four at a time: g and nearest are then read and written a quarter as often.
    """
    narrow = c.dtype.type
    ahead = n & 3 if m >= LONG else n  # rows taken one by one
    for j in range(m):
        g[j] = narrow(c[0, j] - f[0])
        nearest[j] = 0
    for i in range(1, ahead):
        f_i = f[i]
        for j in range(m):
            reduced = narrow(c[i, j] - f_i)
            nearest[j] = np.int32(i) if reduced < g[j] else nearest[j]
            g[j] = min(g[j], reduced)
    for i in range(ahead, n, 4):
        row_0, row_1, row_2, row_3 = c[i], c[i + 1], c[i + 2], c[i + 3]
        f_0, f_1, f_2, f_3 = f[i], f[i + 1], f[i + 2], f[i + 3]
        k_0, k_1, k_2, k_3 = np.int32(i), np.int32(i + 1), np.int32(i + 2), np.int32(i + 3)
        for j in range(m):
            d_0, d_1 = narrow(row_0[j] - f_0), narrow(row_1[j] - f_1)
            d_2, d_3 = narrow(row_2[j] - f_2), narrow(row_3[j] - f_3)
            first, last = min(d_0, d_1), min(d_2, d_3)
            of_first, of_last = k_1 if d_1 < d_0 else k_0, k_3 if d_3 < d_2 else k_2
            best, of_best = min(first, last), of_last if last < first else of_first
            nearest[j] = of_best if best < g[j] else nearest[j]
            g[j] = min(g[j], best)


@kernel
def copy(source, n, target):
    """Copy the first n entries; slices would do the same, but Numba compiles them slowly."""
    for i in range(n):
        target[i] = source[i]


@kernel
def dual_value(f, g, p, q, n, m):
    """Return Σ p_i f_i + Σ q_j g_j, in floats: with large masses it does not fit 64 bits."""
    value = 0.0
    for i in range(n):
        value += np.float64(p[i]) * f[i]
    for j in range(m):
        value += np.float64(q[j]) * g[j]
    return value


@kernel
def ascend(c, p, q, n, m, steps, rate, enough, f, g, best_f, nearest, excess):
    """Raise the dual bound by subgradient steps from the column prices g; return the best value.

    A row whose mass p_i exceeds the demand of the columns nearest to it is raised, and a row with more demand
    than mass is lowered, in proportion to the imbalance, by steps that shrink as 1/(1 + t) from ``rate``
    times the mean cost.
    Stops early once the bound exceeds ``enough``. On return f and g are the best prices seen.
    """
    for i in range(n):
        f[i] = row_minimum(c, g, i, m)
    total = 0.0
    for i in range(n):
        total += p[i]
    best = -np.inf
    first_step = 0.0
    for t in range(steps + 1):
        transform_columns(c, f, n, m, g, nearest)
        value = dual_value(f, g, p, q, n, m)
        if value > best:
            best = value
            copy(f, n, best_f)
        if t == steps or best > enough:
            break
        if t == 0:
            first_step = rate * max(best, 0.0) / total
        copy(p, n, excess)
        for j in range(m):
            excess[nearest[j]] -= q[j]
        step = first_step / (1.0 + t)
        for i in range(n):
            imbalance = np.float64(excess[i]) / np.float64(p[i])
            f[i] += c.dtype.type(step * max(-2.0, min(1.0, imbalance)))
    copy(best_f, n, f)
    transform_columns(c, f, n, m, g, nearest)
    return best
