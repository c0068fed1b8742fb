"""Kernels of estimated distances: one-sided bounds between many users, and a polynomial of them."""

import math

import numpy as np

from prefmover.execution.jit import allocating_kernel, kernel

INDEPENDENT = 1e-16  # a column whose squared length shrinks to less than this share depends on others


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


@allocating_kernel
def nearest_by_cosines(indptr, at, cosines, one, out):
    """Set out[x, k] = the least angle between item x and the items of user k; 0 for a user without items.

    ``cosines`` (items, n) are inner products of vectors with the squared length ``one``, ``at`` the rows of
    each user's items.
    """
    n = out.shape[0]
    best = np.empty(n)
    for k in range(indptr.size - 1):
        first, last = indptr[k], indptr[k + 1]
        for x in range(n):
            best[x] = cosines[at[first], x] if last > first else one
        for t in range(first + 1, last):
            row = cosines[at[t]]
            for x in range(n):
                best[x] = max(best[x], row[x])
        for x in range(n):
            out[x, k] = angle(one, one, max(best[x], 0.0))


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


@allocating_kernel
def mean_directions(indptr, items, share, vectors, length, out):
    """Set out[a] to the direction of Σ_x p_a(x) vectors[x] as a vector of whole numbers of this length."""
    d = vectors.shape[1]
    for a in range(indptr.size - 1):
        total = np.zeros(d)
        for t in range(indptr[a], indptr[a + 1]):
            p, row = np.float64(share[t]), vectors[items[t]]
            for k in range(d):
                total[k] += p * row[k]
        size = 0.0
        for k in range(d):
            size += total[k] * total[k]
        if size > 1e-24:  # vectors that cancel have no direction
            scale = length / math.sqrt(size)
            for k in range(d):
                out[a, k] = np.rint(total[k] * scale)


@allocating_kernel
def squared_lengths(vectors):
    """Return the squared lengths of vectors of whole numbers."""
    out = np.zeros(vectors.shape[0])
    for a in range(vectors.shape[0]):
        for k in range(vectors.shape[1]):
            out[a] += vectors[a, k] * vectors[a, k]
    return out


@kernel
def angle(aa, bb, ab):
    """Return the angle between vectors a and b, given the inner products aa, bb and ab, from 0 to π.

    For unit vectors it is 2 arctan(|a - b| / |a + b|), which is accurate for near vectors; arccos(ab) is not
    (W. Kahan, "How futile are mindless assessments of roundoff", 2006, section 12). A vector of 0 has a right
    angle to every other. The arctangent is halved twice, arctan(t) = 2 arctan(t / (1 + √(1 + t²))), until its
    series ends early.
    """
    if aa == 0.0 or bb == 0.0:
        return math.pi / 2
    least, most = max(aa + bb - 2 * ab, 0.0), max(aa + bb + 2 * ab, 0.0)
    t = math.sqrt(min(least, most) / max(least, most))
    t = t / (1 + math.sqrt(1 + t * t))
    t = t / (1 + math.sqrt(1 + t * t))
    s = t * t  # at most tan²(π / 16) = .04
    series = 1 / 13 - s * (1 / 15 - s / 17)
    series = 1 - s * (1 / 3 - s * (1 / 5 - s * (1 / 7 - s * (1 / 9 - s * (1 / 11 - s * series)))))
    small = 8 * t * series
    return small if least <= most else math.pi - small


@allocating_kernel
def design(a, b, bound, means, logs, out):
    """Set out[n] to the features of the pair of users a[n], b[n]; ``bound`` has R of all users."""
    sizes = squared_lengths(means)
    for n in range(a.size):
        u, v = a[n], b[n]
        inner = 0.0
        for k in range(means.shape[1]):
            inner += means[u, k] * means[v, k]
        apart = angle(sizes[u], sizes[v], inner)
        features(np.float64(bound[u, v]), np.float64(bound[v, u]), apart, logs[u], logs[v], out[n])


@allocating_kernel
def least_squares(X, y):
    """Return the coefficients c with the least |Xc - y|, by Gram and Schmidt's method in a fixed order.

    A column that is a combination of the columns before it has the coefficient 0.
    """
    n, m = X.shape
    Q, R, target = np.zeros((m, n)), np.zeros((m, m)), np.zeros(m)
    for k in range(m):
        q = X[:, k].copy()
        whole = inner_product(q, q)
        for _ in range(2):  # a second pass removes what rounding left of the first
            for j in range(k):
                part = inner_product(Q[j], q)
                R[j, k] += part
                for i in range(n):
                    q[i] -= part * Q[j, i]
        rest = inner_product(q, q)
        if rest > INDEPENDENT * whole:
            R[k, k] = math.sqrt(rest)
            for i in range(n):
                Q[k, i] = q[i] / R[k, k]
            target[k] = inner_product(Q[k], y)
    c = np.zeros(m)
    for k in range(m - 1, -1, -1):
        if R[k, k] > 0:
            value = target[k]
            for j in range(k + 1, m):
                value -= R[k, j] * c[j]
            c[k] = value / R[k, k]
    return c


@kernel
def inner_product(x, y):
    """Return Σ x_i y_i, added from the first to the last."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@allocating_kernel
def times(X, c):
    """Return Xc, each row added from the first to the last."""
    out = np.empty(X.shape[0])
    for n in range(X.shape[0]):
        out[n] = inner_product(X[n], c)
    return out


@allocating_kernel
def estimate(coefficients, largest, forward, backward, inner, size_a, size_b, log_a, log_b, out):
    """Set out[a, b] to the estimated distance, from the lower bound up to the largest item distance.

    ``inner``, ``size_a`` and ``size_b`` are the inner products of the users' mean vectors.
    """
    f = np.empty(coefficients.size)
    for a in range(out.shape[0]):
        for b in range(out.shape[1]):
            there, back = np.float64(forward[a, b]), np.float64(backward[b, a])
            features(there, back, angle(size_a[a], size_b[b], inner[a, b]), log_a[a], log_b[b], f)
            out[a, b] = min(max(inner_product(coefficients, f), there, back), largest)
