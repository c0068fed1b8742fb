"""Reasons by removal, the slow way: dictionaries of scores, sorted lists, one measure after the other."""

import math


def place(scores, item):
    """Return the place of an item, from 1; of equal scores, the first key is first."""
    return 1 + sorted(scores, key=lambda one: -scores[one]).index(item)


def measures(order, rated, item, score, n, removed):
    """Return pos, del, ins and cdcg without the first ratings of an order; None where nothing is left.

    ``score`` returns the scores of all new items, in their order, given a set of rated items.
    """
    top, every = set(order[:removed]), set(rated)
    if top == every:
        return None
    before, after = score(every), score(every - top)
    kept = score(top)[item] if top else 0.0
    where = place(after, item)
    return {
        "pos": float(where <= n),
        "del": after[item] / before[item],
        "ins": kept / before[item],
        "cdcg": 1 / math.log2(where + 1),
    }


def related(data, item, other):
    """Return whether fewer than 100 items are nearer, or three times as many like both as by chance."""
    distances = dict(data.geometry.near(item, data.n_items))
    if sum(d < distances[other] for d in distances.values()) < 100:
        return True
    likes = []
    for user in data.ratings.users.tolist():
        given = data.ratings[user]
        mean = sum(given.values()) / len(given)
        likes.append({one for one, r in given.items() if r >= mean})
    both, a, b = (sum(some <= own for own in likes) for some in ({item, other}, {item}, {other}))
    return both >= 10 and both * len(likes) > 3 * a * b
