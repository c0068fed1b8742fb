r"""A map: users or items as points in the plane, such that near ones are near.

Distances between people's tastes do not fit into a plane, so a map keeps neighborhoods rather than
distances, in the way of PaCMAP (Wang, Huang, Rudin and Shaposhnik 2021). Three kinds of pairs act on the
points, by the scaled distance :math:`\tilde d = 1 + \lVert y_i - y_j \rVert^2`:

- neighbors attract each other, with the loss :math:`\tilde d / (10 + \tilde d)`;
- pairs at a middle distance attract each other at first, :math:`\tilde d / (10000 + \tilde d)`, which gives
  the map its large shape;
- other pairs repel each other, :math:`1 / (1 + \tilde d)`.

The start is classical multidimensional scaling. Distances between many users are estimates
(:mod:`~prefmover.measures.estimates`); a map is a picture, and claims no more.
"""

from __future__ import annotations

import numpy as np

from prefmover._typing import Floats, Ints, Progress
from prefmover.items.geometry import ItemGeometry
from prefmover.predict.similarity import UserSimilarity

MOST_POINTS = 7_000  # the distances between all points are in memory once
NEAR, MIDDLE, FAR = 10, 5, 20  # pairs of each point
PHASES = ((100, 2.0, None, 1.0), (100, 3.0, 3.0, 1.0), (150, 1.0, 0.0, 1.0))
"""Steps, and the weights of near, middle and far pairs; the middle ones fade during the first phase."""
FIRST_MIDDLE, LAST_MIDDLE = 1000.0, 3.0
RATE, BETA_1, BETA_2 = 1.0, 0.9, 0.999


def user_map(similarity: UserSimilarity, progress: Progress) -> tuple[Ints, Floats]:
    """Return the users with ratings, of more than 7,000 those with the most, and their points."""
    users = _most(np.diff(similarity.data.ratings.matrix.indptr))
    if similarity.calibration is None:
        similarity = similarity.calibrated()
    D = similarity.estimated_values(users, users).astype(np.float32)
    if similarity.measure.larger_is_closer:
        D = np.float32(np.nanmax(D)) - D if not np.isnan(D).all() else np.ones_like(D)
    np.nan_to_num(D, copy=False, nan=float(np.nanmax(D)) if not np.isnan(D).all() else 1.0)
    return users, embed(D, progress)


def item_map(geometry: ItemGeometry, n_ratings: Ints, progress: Progress) -> tuple[Ints, Floats]:
    """Return the rated items, of more than 7,000 those with the most ratings, and their points."""
    items = _most(n_ratings)
    return items, embed(geometry.block(items, items).astype(np.float32), progress)


def _most(counts: Ints) -> Ints:
    return np.sort(np.argsort(-counts, kind="stable")[: min(MOST_POINTS, int((counts > 0).sum()))])


def embed(D: np.ndarray, progress: Progress = lambda done, total: None) -> Floats:
    """Return (n, 2) points in the unit square for an (n, n) matrix of distances.

    >>> corner = embed(np.array([[0, 1, 9], [1, 0, 9], [9, 9, 0]], np.float32))
    >>> near, far = np.linalg.norm(corner[0] - corner[1]), np.linalg.norm(corner[0] - corner[2])
    >>> bool(near < far)
    True
    """
    n = len(D)
    if n < 4:
        return _in_square(_classical(D))
    pairs = _pairs(D, np.random.default_rng(0))
    y = _classical(D)
    y *= 1e-2 / max(float(y.std()), 1e-12)
    first, second = np.zeros_like(y), np.zeros_like(y)
    total, step = sum(phase[0] for phase in PHASES), 0
    for length, near, middle, far in PHASES:
        for k in range(length):
            progress(step, total)
            step += 1
            fade = k / max(length - 1, 1)
            w = FIRST_MIDDLE * (1 - fade) + LAST_MIDDLE * fade if middle is None else middle
            gradient = _gradient(y, pairs, (near, w, far))
            first = BETA_1 * first + (1 - BETA_1) * gradient
            second = BETA_2 * second + (1 - BETA_2) * gradient**2
            rate = RATE * np.sqrt(1 - BETA_2**step) / (1 - BETA_1**step)
            y -= rate * first / (np.sqrt(second) + 1e-7)
    return _in_square(y)


def _pairs(D: np.ndarray, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
    """Return near, middle and far pairs, each as (i, j)."""
    n = len(D)
    k = min(NEAR, n - 1)
    masked = D.copy()
    np.fill_diagonal(masked, np.inf)
    near = np.argpartition(masked, k - 1, axis=1)[:, :k]
    everyone = np.arange(n)
    middle = np.empty((n, MIDDLE), np.int64)
    for column in range(MIDDLE):
        some = rng.integers(0, n, (n, 6))
        order = np.argsort(masked[everyone[:, None], some], axis=1)
        middle[:, column] = some[everyone, order[:, 1]]  # the second nearest of six
    far = rng.integers(0, n, (n, FAR))
    out = []
    for table in (near, middle, far):
        i, j = np.repeat(everyone, table.shape[1]), table.ravel().astype(np.int64)
        out.append((i[i != j], j[i != j]))
    return out


def _gradient(y: Floats, pairs: list[tuple[Ints, Ints]], weights: tuple[float, float, float]) -> Floats:
    n, out = len(y), np.zeros_like(y)
    for kind, ((i, j), weight) in enumerate(zip(pairs, weights, strict=True)):
        if weight == 0:
            continue
        difference = y[i] - y[j]
        d = 1.0 + (difference**2).sum(axis=1)
        if kind == 2:
            pull = -weight * 2.0 / (1.0 + d) ** 2
        else:
            scale = 10.0 if kind == 0 else 10_000.0
            pull = weight * 2.0 * scale / (scale + d) ** 2
        for axis in range(2):
            force = pull * difference[:, axis]
            out[:, axis] += np.bincount(i, force, n) - np.bincount(j, force, n)
    return out


def _classical(D: np.ndarray) -> Floats:
    """Return the first two axes of classical multidimensional scaling, by subspace iteration."""
    n = len(D)
    if n == 1:
        return np.zeros((1, 2))
    B = D.astype(np.float32) ** 2
    rows = B.mean(axis=1, keepdims=True)
    B -= rows
    B -= rows.T - rows.mean()
    B *= -0.5
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, min(4, n))))[0].astype(np.float32)
    for _ in range(30):
        Q = np.linalg.qr(B @ Q)[0]
    values, vectors = np.linalg.eigh((Q.T @ B @ Q).astype(np.float64))
    best = np.argsort(-values)[:2]
    y: Floats = (Q.astype(np.float64) @ vectors[:, best]) * np.sqrt(np.maximum(values[best], 0))
    return y if y.shape[1] == 2 else np.column_stack([y, np.zeros(n)])


def _in_square(y: Floats) -> Floats:
    """Return points scaled into the unit square, in the same proportions, around its middle."""
    low, high = y.min(axis=0), y.max(axis=0)
    size = max(float((high - low).max()), 1e-12)
    out: Floats = 0.5 + (y - (low + high) / 2) / size
    return out
