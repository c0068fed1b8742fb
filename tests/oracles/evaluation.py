"""Slow and obvious twins of predictions and figures of merit."""

import math

import numpy as np

from prefmover.measures import find_measure, similarities, weight


def predictions(split, measure, k, *, geometry=None, convention=None, shrinkage=0.0):
    """Predict each test rating on its own: the paper's formula over the k closest raters."""
    train = split.train
    row = find_measure(measure)
    value = similarities(train, row, geometry=geometry, convention=convention, n_threads=1)
    rule = weight(row.weight)
    dense = {
        (u, int(i)): r
        for u in range(train.n_users)
        for i, r in zip(
            train.matrix.indices[train.matrix.indptr[u] : train.matrix.indptr[u + 1]],
            train.matrix.data[train.matrix.indptr[u] : train.matrix.indptr[u + 1]],
            strict=True,
        )
    }
    overall = sum(dense.values()) / len(dense)
    means = []
    for u in range(train.n_users):
        own = [r for (v, _), r in dense.items() if v == u]
        means.append(sum(own) / len(own) if own else overall)
    out, used = [], []
    for u, i in zip(split.users.tolist(), split.items.tolist(), strict=True):
        raters = [
            v for v in range(train.n_users) if v != u and (v, i) in dense and value[u, v] == value[u, v]
        ]
        raters.sort(key=lambda v: (-value[u, v] if row.larger_is_closer else value[u, v], v))
        top = total = 0.0
        for v in raters[:k]:
            w = float(rule(value[u, v]))
            top += w * (dense[v, i] - means[v])
            total += abs(w)
        spoken = total > 0
        guess = means[u] + top / (total + shrinkage) if spoken else means[u]
        out.append(min(max(guess, train.scale.lowest), train.scale.highest))
        used.append(len(raters[:k]) if spoken else 0)
    return np.array(out), np.array(used)


def ranked(users, scores):
    """Return, by user, places of the candidates from the highest score to the lowest (no ties)."""
    lists = {}
    for place, user in enumerate(users):
        lists.setdefault(user, []).append(place)
    return {u: sorted(places, key=lambda p: -scores[p]) for u, places in lists.items()}


def precision(n, users, scores, relevant):
    """Relevant among the first n over the length of the list, averaged over users."""
    shares = [
        sum(relevant[p] for p in places[:n]) / len(places[:n]) for places in ranked(users, scores).values()
    ]
    return sum(shares) / len(shares)


def recall(n, users, scores, relevant):
    """Relevant among the first n over all relevant, averaged over users who have any."""
    shares = [
        sum(relevant[p] for p in places[:n]) / sum(relevant[p] for p in places)
        for places in ranked(users, scores).values()
        if any(relevant[p] for p in places)
    ]
    return sum(shares) / len(shares)


def hits(n, users, scores, relevant):
    """Share of users with a relevant candidate who see one among the first n."""
    found = [
        any(relevant[p] for p in places[:n])
        for places in ranked(users, scores).values()
        if any(relevant[p] for p in places)
    ]
    return sum(found) / len(found)


def ndcg(n, users, scores, gains):
    """Discounted gain over the best possible, averaged over users who can have any."""

    def dcg(places):
        return sum(gains[p] / math.log2(rank + 2) for rank, p in enumerate(places[:n]))

    values = []
    for places in ranked(users, scores).values():
        ideal = dcg(sorted(places, key=lambda p: -gains[p]))
        if ideal > 0:
            values.append(dcg(places) / ideal)
    return sum(values) / len(values)
