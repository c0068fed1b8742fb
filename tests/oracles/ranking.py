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


def user_rows(Y, seen, discount):
    """The users' rows of Z: likes, less for who has many."""
    counts = seen.sum(axis=1)
    w = np.array([max(n, 1.0) ** -discount for n in counts])
    w *= counts.sum() / max((w * counts).sum(), 1e-12)
    return np.sqrt(w)[:, None] * Y


def feature_rows(Y, seen, features, vectors):
    """The rows of Z below the users': one for each feature, 0 for items without ratings."""
    return np.sqrt(features * (Y[seen] ** 2).mean()) * vectors.T * seen.any(axis=0)


def item_weights(Z, penalty, n_predictors=200, head=None):
    """Column j of B: the best weights of at least 0 for the items that have most in common with j."""
    from scipy.optimize import nnls

    m = Z.shape[1]
    B, head = np.zeros((m, m)), range(m) if head is None else head
    for j in range(m):
        closeness = {i: Z[:, i] @ Z[:, j] / max(np.linalg.norm(Z[:, i]), 1e-6) for i in head if i != j}
        H = sorted((i for i in closeness if closeness[i] > 0), key=lambda i: -closeness[i])[:n_predictors]
        if H:
            rows = np.concatenate([Z[:, H], np.sqrt(penalty) * np.eye(len(H))])
            B[H, j] = nnls(rows, np.concatenate([Z[:, j], np.zeros(len(H))]))[0]
    return B


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


def two_sides(Y, K, item_penalty, user_penalty, Z=None):
    """The scores of all users, item side and user side; each user's own row is left out of the user side."""
    items = Y @ item_weights(Y if Z is None else Z, item_penalty)
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
