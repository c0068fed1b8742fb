"""Random transport problems: masses and costs of every kind that users have, and of some that nobody has."""

import numpy as np


def size(rng, largest=300):
    """Return a number of points: mostly a handful, now and then hundreds."""
    bound = rng.choice([12, 40, 120, largest], p=[0.93, 0.06, 0.008, 0.002])
    return int(rng.integers(1, min(bound, largest) + 1))


def shape(rng, largest=300):
    """Return rows and columns: any, one row, one column, or square."""
    n, m = size(rng, largest), size(rng, largest)
    kind = rng.integers(8)
    return (1, m) if kind == 0 else (n, 1) if kind == 1 else (n, n) if kind == 2 else (n, m)


def random_masses(rng, n):
    """Return n masses, not all zero: whole, halves, equal, few, huge, tiny, or over 24 orders."""
    kind = rng.integers(10)
    if kind <= 1:
        return rng.integers(1, 6, n)
    if kind <= 3:
        return rng.integers(1, 11, n) / 2
    if kind == 4:
        return np.ones(n, np.int64)
    if kind == 5:
        mass = rng.integers(0, 3, n)
        mass[rng.integers(n)] += 1
        return mass
    if kind == 6:
        return rng.integers(1, 2**31 // n, n)
    if kind == 7:
        return rng.random(n) * 1e-300 + 1e-308
    if kind == 8:
        return 10.0 ** rng.uniform(-12, 12, n)
    return rng.random(n) + 1e-9


def random_costs(rng, n, m):
    """Return (n, m) costs, not negative: metric or not, with ties, twins, zeros, near-parallel vectors."""
    kind = rng.integers(13)
    if kind == 0:
        return rng.random((n, m))
    if kind == 1:
        return rng.integers(0, 4, (n, m)).astype(float)
    if kind == 2:  # points on a line, many of them the same
        return np.abs(rng.integers(0, 6, n)[:, None] - rng.integers(0, 6, m)[None, :]).astype(float)
    if kind == 3:
        return angles(rng.random((n, 5)), rng.random((m, 5)))
    if kind == 4:  # vectors that are all but parallel
        base, near = rng.random(4), 10.0 ** rng.uniform(-9, -3)
        return angles(base + near * rng.normal(size=(n, 4)), base + near * rng.normal(size=(m, 4)))
    if kind == 5:  # few different points: twins at distance 0
        few = rng.random((3, 3))
        return angles(few[rng.integers(0, 3, n)], few[rng.integers(0, 3, m)])
    if kind == 6:  # of several orders of magnitude
        return 10.0 ** rng.uniform(-2, 2, (n, m))
    if kind == 7:
        return np.full((n, m), rng.random())
    if kind == 8:  # mostly free
        return rng.random((n, m)) * (rng.random((n, m)) < 0.2)
    if kind == 9:  # many optimal plans
        return np.multiply.outer(np.arange(n), np.arange(m)).astype(float)
    if kind == 10:
        return rng.random((n, m)) * 10.0 ** rng.choice([-290, -150, 150, 290])
    if kind == 11:
        return 2.0 ** rng.integers(0, 46, (n, m))
    return rng.integers(0, 2**46, (n, m)).astype(float)


def angles(X, Y):
    """Return the angles between rows of X and rows of Y."""
    X, Y = (A / np.linalg.norm(A, axis=1)[:, None] for A in (X, Y))
    return np.arccos(np.clip(X @ Y.T, -1.0, 1.0))


def random_problem(rng, largest=300):
    """Return masses p (n), q (m) and costs (n, m)."""
    n, m = shape(rng, largest)
    return random_masses(rng, n), random_masses(rng, m), random_costs(rng, n, m)
