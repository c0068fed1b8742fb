"""Slow and obvious twins of predictions and metrics."""

import math

import numpy as np

from prefmover.data.splits import hashed
from prefmover.measures import find_measure, pairwise, weight


def predictions(data, split, measure, k, *, convention=None, shrinkage=0.0):
    """Predict each test rating separately: the paper's formula over the k closest raters."""
    train = split.train
    row = find_measure(measure)
    value = pairwise(data, row, convention=convention, n_threads=1)
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


def list_metrics(items, relevant, n):
    """Return the metrics of one user's list, item by item: ``items`` best first, ``relevant`` a set."""
    top = list(items)[:n]
    found = [rank for rank, item in enumerate(top, 1) if item in relevant]
    gain = sum(1 / math.log2(1 + rank) for rank in found)
    ideal = sum(1 / math.log2(1 + rank) for rank in range(1, min(len(relevant), n) + 1))
    return {
        "ndcg": gain / ideal,
        "recall": len(found) / len(relevant),
        "precision": len(found) / n,
        "mrr": 1 / found[0] if found else 0.0,
        "hit_rate": 1.0 if found else 0.0,
    }


def diversity(lists, distance):
    """Return the mean distance of two items of a list, averaged over lists with two items or more."""
    means = []
    for items in lists:
        pairs = [(i, j) for i in items for j in items if i < j]
        if pairs:
            means.append(sum(distance(i, j) for i, j in pairs) / len(pairs))
    return sum(means) / len(means)


def gini(counts):
    """Return the mean difference of two of the counts, over twice their mean."""
    total = sum(counts)
    pairs = [abs(a - b) for a in counts for b in counts]
    return sum(pairs) / len(pairs) / (2 * total / len(counts)) if total else 0.0


def tail(raters):
    """Return the least rated items, one after the other, while they have at most a fifth of all ratings."""
    items, ratings = set(), 0
    for item in sorted(range(len(raters)), key=lambda i: (raters[i], int(hashed(0, np.array([i]))[0]))):
        ratings += raters[item]
        if 5 * ratings > sum(raters):
            break
        items.add(item)
    return items
