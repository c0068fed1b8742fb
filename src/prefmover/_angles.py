"""Kernels on item distances: angles between unit vectors, and the triangle inequality.

Sums run over the coordinates in order, one accumulator per pair, so that d(i, j) has the same bits
as d(j, i), in a small block or in a large one (a BLAS product promises neither).
"""

import math

import numpy as np

from prefmover._jit import kernel

# Below this cosine arccos keeps 12 digits; above it, the chord does.
NEARLY_PARALLEL = 1.0 - 1e-6
# Angles that rounding alone can produce between parallel vectors.
PARALLEL = 2.0**-36
STRIP = 512


@kernel
def angle_grid(rows, columns, vectors, transposed, unit, out):
    """Fill out[a, b] = ceil(angle(rows[a], columns[b]) / unit), angles cut off at a right angle.

    ``vectors`` (n, d) has unit rows, or zero rows for items without features; ``transposed`` (d, c)
    holds the vectors of ``columns`` as columns.
    """
    d, c = transposed.shape
    cosine = np.empty(STRIP)
    right_angle = math.ceil(0.5 * math.pi / unit)
    for a in range(rows.size):
        i = rows[a]
        for start in range(0, c, STRIP):
            stop = min(start + STRIP, c)
            cosine[:] = 0.0
            for k in range(d):
                x = vectors[i, k]
                if x != 0.0:
                    for b in range(start, stop):
                        cosine[b - start] += x * transposed[k, b]
            for b in range(start, stop):
                j = columns[b]
                x = cosine[b - start]
                if i == j:
                    out[a, b] = 0
                elif x <= 0.0:
                    out[a, b] = right_angle
                else:
                    if x < NEARLY_PARALLEL:
                        angle = math.acos(x)
                    else:
                        square = 0.0
                        for k in range(d):
                            square += (vectors[i, k] - transposed[k, b]) ** 2
                        angle = 2.0 * math.asin(0.5 * math.sqrt(square))
                    out[a, b] = 0 if angle < PARALLEL else math.ceil(angle / unit)


@kernel
def broken_triangle(grid):
    """Return (i, k, j) with d(i, j) > d(i, k) + d(k, j), or (-1, -1, -1) when there is none."""
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
