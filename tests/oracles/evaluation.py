"""Slow and obvious twins of predictions and metrics."""

import math

import numpy as np

from prefmover.measures import find_measure, similarities, weight


def predictions(data, split, measure, k, *, convention=None, shrinkage=0.0):
    """Predict each test rating separately: the paper's formula over the k closest raters."""
    train = split.train
    row = find_measure(measure)
    value = similarities(data, row, convention=convention, n_threads=1)
    rule = weight(row.weight)
    users, items = train.rows().tolist(), train.matrix.indices.tolist()
    known = dict(zip(zip(users, items, strict=True), train.matrix.data.tolist(), strict=True))
    overall = sum(known.values()) / len(known)
    means = []
    for u in range(train.n_users):
        ratings = [r for (v, _), r in known.items() if v == u]
        means.append(sum(ratings) / len(ratings) if ratings else overall)
    out, used = [], []
    for u, i in zip(split.users.tolist(), split.items.tolist(), strict=True):
        raters = [
            v for v in range(train.n_users) if v != u and (v, i) in known and value[u, v] == value[u, v]
        ]
        raters.sort(key=lambda v: (-value[u, v] if row.larger_is_closer else value[u, v], v))
        top = total = 0.0
        for v in raters[:k]:
            w = float(rule(value[u, v]))
            top += w * (known[v, i] - means[v])
            total += abs(w)
        prediction = means[u] + top / (total + shrinkage) if total > 0 else means[u]
        out.append(min(max(prediction, train.scale.lowest), train.scale.highest))
        used.append(len(raters[:k]) if total > 0 else 0)
    return np.array(out), np.array(used)


def ranked(users, scores):
    """Return, by user, the positions of the candidates from the highest score to the lowest (no ties)."""
    lists = {}
    for position, user in enumerate(users):
        lists.setdefault(user, []).append(position)
    return {u: sorted(positions, key=lambda p: -scores[p]) for u, positions in lists.items()}


def precision(n, users, scores, relevant):
    """Relevant among the first n over the length of the list, averaged over users."""
    shares = [
        sum(relevant[p] for p in positions[:n]) / len(positions[:n])
        for positions in ranked(users, scores).values()
    ]
    return sum(shares) / len(shares)


def recall(n, users, scores, relevant):
    """Relevant among the first n over all relevant, averaged over users who have any."""
    shares = [
        sum(relevant[p] for p in positions[:n]) / sum(relevant[p] for p in positions)
        for positions in ranked(users, scores).values()
        if any(relevant[p] for p in positions)
    ]
    return sum(shares) / len(shares)


def hit_rate(n, users, scores, relevant):
    """Share of users with a relevant candidate among the first n, of those who have any."""
    hits = [
        any(relevant[p] for p in positions[:n])
        for positions in ranked(users, scores).values()
        if any(relevant[p] for p in positions)
    ]
    return sum(hits) / len(hits)


def ndcg(n, users, scores, gains):
    """Discounted gain over the best possible, averaged over users who can have any."""

    def dcg(positions):
        return sum(gains[p] / math.log2(rank + 2) for rank, p in enumerate(positions[:n]))

    values = []
    for positions in ranked(users, scores).values():
        ideal = dcg(sorted(positions, key=lambda p: -gains[p]))
        if ideal > 0:
            values.append(dcg(positions) / ideal)
    return sum(values) / len(values)
