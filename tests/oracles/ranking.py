"""Slow and obvious twins of the ranking: each number by its definition, one at a time."""

import numpy as np


def likes(ratings):
    """Likes as a dense matrix: r - mean / 2 for ratings, the strength for implicit feedback."""
    Y = np.zeros(ratings.matrix.shape)
    for u in range(ratings.n_users):
        items, values = ratings.row(u)
        for i, r in zip(items, values, strict=True):
            Y[u, i] = r if ratings.scale.implicit else r - values.mean() / 2
    return Y


def rows(Y, seen, discount, features, vectors=None):
    """Z: each user's likes, less for who has many, and a row for each feature of the items with ratings."""
    counts = seen.sum(axis=1)
    w = np.array([max(n, 1.0) ** -discount for n in counts])
    w *= counts.sum() / max((w * counts).sum(), 1)
    Z = [np.sqrt(w[u]) * Y[u] for u in range(len(Y))]
    if vectors is not None and features:
        unit = (Y[seen] ** 2).mean()
        Z += [np.sqrt(features * unit) * column * seen.any(axis=0) for column in vectors.T]
    return np.array(Z)


def item_weights(Y, penalty):
    """EASE: column j of B is the ridge regression of column j of Y on all others."""
    m = Y.shape[1]
    B = np.zeros((m, m))
    for j in range(m):
        others = [i for i in range(m) if i != j]
        X = Y[:, others]
        B[others, j] = np.linalg.solve(X.T @ X + penalty * np.eye(m - 1), X.T @ Y[:, j])
    return B


def content_weights(distance, rated, n_nearest=300):
    """The weights of similar content: column j has the nearest rated items other than j."""
    c = np.zeros(distance.shape)
    for j in rated:
        others = sorted((i for i in rated if i != j), key=lambda i: (distance[i, j], i))[:n_nearest]
        w = {i: np.exp(-4 * distance[i, j]) for i in others if np.cos(distance[i, j]) > 1e-6}
        for i in w:
            c[i, j] = w[i] / sum(w.values())
    return c


def kernel_ridge(K, R, penalty):
    """K (K + λI)⁻¹ R by a dense solve."""
    return K @ np.linalg.solve(K + penalty * np.eye(len(K)), R)


def without_own_row(K, R, penalty, u):
    """The score of user u by a regression that is fitted without u: (parts of the others, their sum)."""
    others = [v for v in range(len(K)) if v != u]
    A = np.linalg.solve(K[np.ix_(others, others)] + penalty * np.eye(len(others)), R[others])
    parts = np.zeros_like(R)
    parts[others] = K[u, others][:, None] * A
    return parts, parts.sum(axis=0)


def popularity(Y, seen, weight):
    """What everybody else adds: the most liked item gets the weight, in units of a like."""
    p = weight * np.sqrt((Y[seen] ** 2).mean()) / np.abs(Y.sum(axis=0)).max()
    return np.array([p * (Y.sum(axis=0) - row) for row in Y])


def two_sides(Y, K, item_penalty, user_penalty, content=0.0, Z=None):
    """The scores of all users, item side and user side; each user's own row is left out of the user side."""
    items = Y @ (item_weights(Y if Z is None else Z, item_penalty) + content)
    users = [without_own_row(K, Y - items, user_penalty, u)[1] for u in range(len(Y))]
    return items, np.array(users)


def ndcg(scores, relevant, n):
    """The nDCG@n of one user."""
    best = sorted(range(len(scores)), key=lambda i: -scores[i])[:n]
    gained = sum(1 / np.log2(place + 2) for place, i in enumerate(best) if relevant[i])
    return gained / sum(1 / np.log2(place + 2) for place in range(min(n, sum(relevant))))


def marginal_relevance(scores, similarity, n, delta):
    """The n items that maximal marginal relevance picks one after the other; scores are in [0, 1]."""
    picked = []
    while len(picked) < min(n, len(scores)):
        left = [j for j in range(len(scores)) if j not in picked]
        worth = {
            j: (1 - delta) * scores[j] - delta * max((similarity[i, j] for i in picked), default=0.0)
            for j in left
        }
        picked.append(max(left, key=lambda j: (worth[j], -j)))
    return picked
