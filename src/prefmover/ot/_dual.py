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


@kernel
def row_minimum(c, g, i, m):
    """Return min_j (c_ij - g_j)."""
    narrow = c.dtype.type
    least = narrow(c[i, 0] - g[0])
    for j in range(1, m):
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
    """Set g_j = min_i (c_ij - f_i) and nearest_j to the first row that attains it."""
    narrow = c.dtype.type
    for j in range(m):
        g[j] = narrow(c[0, j] - f[0])
        nearest[j] = 0
    for i in range(1, n):
        f_i = f[i]
        for j in range(m):
            reduced = narrow(c[i, j] - f_i)
            nearest[j] = np.int32(i) if reduced < g[j] else nearest[j]
            g[j] = min(g[j], reduced)


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
