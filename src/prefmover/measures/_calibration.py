"""Kernels of estimated distances: one-sided bounds between many users, and a polynomial of them."""

import numpy as np

from prefmover.execution.jit import kernel
from prefmover.measures.calibration import N_FEATURES


@kernel
def nearest(indptr, rows, grid, scratch, out):
    """Set out[x, k] = min over the items of user k of d(x, j), in units; 0 for a user without items.

    ``rows`` are the rows of ``grid`` (rows, n_items) of each user's items; ``scratch`` is (n_items,).
    """
    n_items = grid.shape[1]
    for k in range(indptr.size - 1):
        first, last = indptr[k], indptr[k + 1]
        for x in range(n_items):
            scratch[x] = grid[rows[first], x] if last > first else 0
        for t in range(first + 1, last):
            row = grid[rows[t]]
            for x in range(n_items):
                scratch[x] = min(scratch[x], row[x])
        for x in range(n_items):
            out[x, k] = scratch[x]


@kernel
def expected(indptr, items, share, nearest, out):
    """Set out[a, k] = Σ_x p_a(x) nearest[x, k]: each unit of a's preference goes to the nearest item of k."""
    width = out.shape[1]
    if width == 1:  # one column: the sum stays in a register
        for a in range(indptr.size - 1):
            total = np.float32(0.0)
            for t in range(indptr[a], indptr[a + 1]):
                total += share[t] * nearest[items[t], 0]
            out[a, 0] = total
        return
    for a in range(indptr.size - 1):
        for k in range(width):
            out[a, k] = 0.0
        for t in range(indptr[a], indptr[a + 1]):
            p, row = share[t], nearest[items[t]]
            for k in range(width):
                out[a, k] += p * row[k]


@kernel
def expected_from_one(items, share, indptr, others, grid, unit, out):
    """Set out[0, k] = Σ_x p(x) min over the items of user k of d(x, j): :func:`expected` of one user.

    A row of ``grid`` stays in the cache while all users look their items up.
    """
    for k in range(indptr.size - 1):
        out[0, k] = 0.0
    for s in range(items.size):
        p, row = share[s], grid[items[s]]
        for k in range(indptr.size - 1):
            first, last = indptr[k], indptr[k + 1]
            least = row[others[first]] if last > first else np.int32(0)
            for t in range(first + 1, last):
                least = min(least, row[others[t]])
            out[0, k] += p * np.float32(least * unit)


@kernel
def largest(indptr, at, cosines, out):
    """Set out[k, x] = max over the items of user k of cosines[item, x]; 1 for a user without items.

    ``at`` are the rows of ``cosines`` (items, strip) of each user's items.
    """
    width = out.shape[1]
    for k in range(indptr.size - 1):
        first, last = indptr[k], indptr[k + 1]
        best = out[k]
        for x in range(width):
            best[x] = cosines[at[first], x] if last > first else 1.0
        for t in range(first + 1, last):
            row = cosines[at[t]]
            for x in range(width):
                best[x] = row[x] if row[x] > best[x] else best[x]


@kernel
def spread(first, owner, share, nearest, start, out):
    """Add share[t] nearest[x] to out[owner[t], start:] for the entries t of each item x of a strip."""
    width = nearest.shape[1]
    for x in range(first.size - 1):
        row = nearest[x]
        for t in range(first[x], first[x + 1]):
            p, total = share[t], out[owner[t], start : start + width]
            for k in range(width):
                total[k] += p * row[k]


@kernel
def features(forward, backward, angle, log_a, log_b, f):
    """Set f (15) to the features of one pair; the order of the two users does not matter."""
    high, mean = max(forward, backward), (forward + backward) / 2
    few, many = min(log_a, log_b), max(log_a, log_b)
    f[0], f[1], f[2], f[3], f[4], f[5] = 1.0, high, mean, angle, few, many
    f[6], f[7], f[8], f[9], f[10] = high * high, mean * mean, angle * angle, few * few, many * many
    f[11], f[12], f[13], f[14] = high * angle, few * many, high * few, angle * few


@kernel
def design(forward, backward, angle, log_a, log_b, out):
    """Set out[n] to the features of the n-th pair."""
    for n in range(forward.size):
        features(forward[n], backward[n], angle[n], log_a[n], log_b[n], out[n])


@kernel
def estimate(coefficients, largest, forward, backward, angle, log_a, log_b, out):
    """Set out[a, b] to the estimated distance, from the lower bound up to the largest item distance."""
    f = np.empty(N_FEATURES)
    for a in range(out.shape[0]):
        for b in range(out.shape[1]):
            features(forward[a, b], backward[b, a], angle[a, b], log_a[a], log_b[b], f)
            value = 0.0
            for k in range(N_FEATURES):
                value += coefficients[k] * f[k]
            low = max(forward[a, b], backward[b, a])
            out[a, b] = min(max(value, low), largest)
