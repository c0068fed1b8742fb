"""Slow and obvious twins of the predictors."""

import numpy as np

from prefmover.predict.centering import ITEM_SHRINKAGE, USER_SHRINKAGE


def knn(ratings, values, larger_is_closer, weight, u, i, k, centering, shrinkage=0.0, among="raters"):
    """The K-nearest-neighbor prediction of one pair, by the formula; None if no neighbor has a weight.

    ``values`` is the dense matrix of the measure.
    """
    dense = {(v, j): x for v, j, x in zip(*coordinates(ratings), ratings.matrix.data, strict=True)}
    others = [v for v in range(ratings.n_users) if v != u and not np.isnan(values[u, v])]
    if among == "raters":
        others = [v for v in others if (v, i) in dense]
    others.sort(key=lambda v: (-values[u, v] if larger_is_closer else values[u, v], v))
    neighbors = [v for v in others[:k] if (v, i) in dense]
    baseline, spread = baselines(ratings, centering)
    top = bottom = 0.0
    for v in neighbors:
        w = float(weight(np.array([values[u, v]]))[0])
        top += w * (dense[v, i] - baseline(v, i)) / spread(v)
        bottom += abs(w)
    if not any(weight(np.array([values[u, v]]))[0] for v in neighbors):
        return None
    return baseline(u, i) + spread(u) * top / (bottom + shrinkage)


def baselines(ratings, centering):
    """The baseline and the spread by the table of centerings, as functions."""
    rows = [
        ratings.matrix.data[ratings.matrix.indptr[u] : ratings.matrix.indptr[u + 1]]
        for u in range(ratings.n_users)
    ]
    if centering == "none":
        return (lambda u, i: 0.0), (lambda u: 1.0)
    if centering in ("mean", "z-score"):
        spread = (lambda u: rows[u].std() or 1.0) if centering == "z-score" else (lambda u: 1.0)
        return (lambda u, i: rows[u].mean()), spread
    b_u, b_i, mean = ridge_biases(ratings)
    return (lambda u, i: mean + b_u[u] + b_i[i]), (lambda u: 1.0)


def ridge_biases(ratings):
    """The biases as one least-squares problem, solved directly."""
    n, m = ratings.n_users, ratings.n_items
    u, i = coordinates(ratings)
    X = np.zeros((ratings.n_ratings, n + m))
    X[np.arange(len(u)), u] = 1
    X[np.arange(len(i)), n + i] = 1
    mean = ratings.matrix.data.mean()
    penalty = np.diag([USER_SHRINKAGE] * n + [ITEM_SHRINKAGE] * m)
    b = np.linalg.solve(X.T @ X + penalty, X.T @ (ratings.matrix.data - mean))
    return b[:n], b[n:], mean


def gaussian_process(ratings, distance, K, covariance):
    """The kernel predictor by its definition: one dense system over all ratings; all users x items."""
    u, i = coordinates(ratings)
    s = covariance
    item_kernel = np.eye(ratings.n_items) if distance is None else np.exp(-s.item_rate * distance)

    def k(u, i, v, j):
        same_user, same_item = u[:, None] == v[None, :], i[:, None] == j[None, :]
        similar_items, similar_users = item_kernel[np.ix_(i, j)], K[np.ix_(u, v)]
        return (
            s.level
            + s.user * same_user
            + s.item * same_item
            + s.similar_items * similar_items
            + s.taste * same_user * similar_items
            + similar_users * (s.neighbors * same_item + s.shared_taste * similar_items)
        )

    mean = ratings.matrix.data.mean()
    alpha = np.linalg.solve(k(u, i, u, i) + np.eye(len(u)), ratings.matrix.data - mean)
    every_u, every_i = (x.ravel() for x in np.indices(ratings.matrix.shape))
    return (mean + k(every_u, every_i, u, i) @ alpha).reshape(ratings.matrix.shape)


def coordinates(ratings):
    return ratings.rows(), ratings.matrix.indices.astype(np.int64)
