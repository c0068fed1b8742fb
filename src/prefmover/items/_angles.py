"""Kernels for ground distances: angles and lengths between vectors, and the triangle inequality.

Sums run over the coordinates in order, with one accumulator per pair, so that d(i, j) has the same bits as
d(j, i), in a small block or in a large one (a BLAS product guarantees neither).
"""

import math

import numpy as np

from prefmover.execution.jit import allocating_kernel, kernel

# Above this cosine the angle is computed from the chord, because arccos would lose digits.
NEARLY_PARALLEL = 1.0 - 1e-3
# A part of a unit, 1e-10 rad: more than the rounding error of an angle (up to 15,000 dimensions). If computed
# angles obey the triangle inequality within the slack, ⌈angle + slack⌉ obeys it exactly.
SLACK = 2.0**-8
STRIP = 512  # columns at a time


@allocating_kernel
def angle_grid(rows, columns, vectors, transposed, unit, most, out):
    """Fill out[a, b] = ⌈angle(rows[a], columns[b]) / unit + slack⌉, or ``most`` if it is less.

    If ``most`` is no more than a right angle, negative cosines are not looked at.
    ``vectors`` (n, d) has unit rows, or zero rows for items without features; ``transposed`` (d, c)
    holds the vectors of ``columns`` as columns. Vectors that are equal to the last bit are at distance 0.
    """
    d, c = transposed.shape
    cosine = np.empty(STRIP)
    used, x = np.zeros(d + 3, np.int64), np.zeros(d + 3)
    cut_off = most * unit < 2.0
    for a in range(rows.size):
        i = rows[a]
        n_used = 0
        for k in range(d):  # many features are zero
            if vectors[i, k] != 0.0:
                used[n_used], x[n_used] = k, vectors[i, k]
                n_used += 1
        x[n_used : n_used + 3] = 0.0  # padding: these products are zero
        for start in range(0, c, STRIP):
            stop = min(start + STRIP, c)
            width = stop - start
            cosine[:] = 0.0
            for s in range(0, n_used, 4):
                x0, x1, x2, x3 = x[s], x[s + 1], x[s + 2], x[s + 3]
                t0, t1 = transposed[used[s], start:stop], transposed[used[s + 1], start:stop]
                t2, t3 = transposed[used[s + 2], start:stop], transposed[used[s + 3], start:stop]
                for b in range(width):
                    cosine[b] = cosine[b] + x0 * t0[b] + x1 * t1[b] + x2 * t2[b] + x3 * t3[b]
            for b in range(width):
                j = columns[start + b]
                if i == j:
                    out[a, start + b] = 0
                elif cosine[b] <= 0.0 and cut_off:
                    out[a, start + b] = most
                else:
                    near = abs(cosine[b]) < NEARLY_PARALLEL
                    angle = math.acos(cosine[b]) if near else chord(vectors, i, j, d, cosine[b] < 0.0)
                    steps = 0 if angle < 0.0 else math.ceil(angle / unit + SLACK)
                    out[a, start + b] = min(steps, most)


@kernel
def chord(vectors, i, j, d, opposite):
    """Return the angle from the length of the chord (to the opposite vector), or -1 for equal vectors."""
    square, equal = 0.0, True
    for k in range(d):
        other = -vectors[j, k] if opposite else vectors[j, k]
        square += (vectors[i, k] - other) ** 2
        equal &= vectors[i, k] == vectors[j, k]
    angle = 2.0 * math.asin(0.5 * math.sqrt(square))
    return -1.0 if equal else math.pi - angle if opposite else angle


@allocating_kernel
def euclidean_grid(rows, columns, vectors, transposed, unit, most, out):
    """Fill out[a, b] = ⌈|x - y| / unit + slack⌉ for the vectors of rows[a] and columns[b]; 0 for equal ones.

    The slack is more than three rounding errors of a length, in up to 30,000 dimensions.
    """
    d, c = transposed.shape
    square = np.empty(STRIP)
    for a in range(rows.size):
        x = vectors[rows[a]]
        for start in range(0, c, STRIP):
            stop = min(start + STRIP, c)
            width = stop - start
            square[:] = 0.0
            for k in range(d):
                x_k, line = x[k], transposed[k, start:stop]
                for b in range(width):
                    square[b] += (x_k - line[b]) ** 2
            for b in range(width):
                steps = math.ceil(math.sqrt(square[b]) / unit + SLACK) if square[b] > 0.0 else 0
                out[a, start + b] = min(steps, most)


@kernel
def broken_triangle(grid):
    """Return (i, k, j) with d(i, j) > d(i, k) + d(k, j), or (-1, -1, -1) if there is none."""
    n = grid.shape[0]
    for i in range(n):
        for k in range(n):
            detour = grid[i, k]
            broken = False
            for j in range(n):
                broken |= grid[i, j] > detour + grid[k, j]
            if broken:
                for j in range(n):
                    if grid[i, j] > detour + grid[k, j]:
                        return i, k, j
    return -1, -1, -1
