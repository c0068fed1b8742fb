"""Reasons for recommendations: how many of the named films have to do with the film recommended.

``python benchmarks/bench_reasons.py [--write] [--users 200]``: the first films of each user's list, on real data
from the folder that PREFMOVER_DATA names. A film named as a reason ("because you gave it 5") is *related* to the
recommended one if it is among the 100 nearest in the item geometry, or liked together with it: at least 10 users
like both (gave both their mean or more), and P(both) is more than 3 P(one) P(other). This is counted here from
scratch, not by the code that chose the reasons. The control names the two ratings that add most, whatever they
are. Times are those of the processor.
"""

import time
from typing import Any

import numpy as np

from bench import arguments, dataset, publish, table
from prefmover import Recommender
from prefmover.dataset import Dataset

NEAREST, BOTH, LIFT = 100, 10, 3.0


class Relations:
    """Which items are near each other, and which are liked by the same people."""

    def __init__(self, data: Dataset) -> None:
        matrix = data.ratings.matrix.toarray()
        rated = matrix > 0
        means = matrix.sum(axis=1) / np.maximum(rated.sum(axis=1), 1)
        self.likes = rated & (matrix >= means[:, None])
        self.data, self.n_users = data, data.n_users

    def near(self, item: int, other: int) -> bool:
        """Return whether fewer than 100 items are nearer to an item."""
        assert self.data.geometry is not None
        distances = self.data.geometry.block([item], None)[0]
        return int((distances < distances[other]).sum() - 1) < NEAREST

    def liked_together(self, item: int, other: int) -> bool:
        """Return whether more people like both items than chance explains."""
        a, b = self.likes[:, item], self.likes[:, other]
        both = int((a & b).sum())
        return both >= BOTH and both * self.n_users > LIFT * a.sum() * b.sum()


def shares(relations: Relations, pairs: list[tuple[int, int]]) -> list[str]:
    """Return the number of pairs, and the shares that are near, liked together, and either."""
    near = np.array([relations.near(*pair) for pair in pairs])
    together = np.array([relations.liked_together(*pair) for pair in pairs])
    return [
        f"{len(pairs):,}",
        f"{near.mean():.1%}",
        f"{together.mean():.1%}",
        f"**{(near | together).mean():.1%}**",
    ]


def measure(name: str, n_users: int, n: int) -> tuple[list[list[str]], str]:
    data = dataset(name)
    model = Recommender().fit(data)
    items, users = data.ratings, data.ratings.users[:n_users].tolist()
    shown: list[tuple[int, int]] = []
    named: list[tuple[int, int]] = []
    strongest: list[tuple[int, int]] = []
    counts = {"own": 0, "people": 0, "any": 0, "against": 0}
    start = time.process_time()
    lists = [model.recommend(user, n) for user in users]
    with_reasons = time.process_time() - start
    start = time.process_time()
    for user in users:
        model.recommend(user, n, reasons=False)
    without = time.process_time() - start
    for user, best in zip(users, lists, strict=True):
        state = model._state(user)
        positions = items.item_positions([one.item for one in best])
        parts: Any = model.ranker_.terms(state, positions, np.empty(0, np.int64)).item_terms
        for k, one in enumerate(best):
            own = [(int(positions[k]), items.item_position(part.item)) for part in one.why.own]
            named += own
            shown += [(int(positions[k]), items.item_position(part.item)) for part in one.why.because]
            top = np.argsort(-parts[:, k])[:2]
            strongest += [(int(positions[k]), int(state.items[i])) for i in top]
            likes = [part for part in one.why.in_favor if part.value > 0]
            counts["own"] += bool(own)
            counts["people"] += bool(likes)
            counts["any"] += bool(own or likes)
            counts["against"] += bool(one.why.against)
    relations, total = Relations(data), sum(len(best) for best in lists)
    rows = [
        [name, "named in the sentences", *shares(relations, shown)],
        [name, "named in the explanations", *shares(relations, named)],
        [name, "control: the two that add most", *shares(relations, strongest)],
    ]
    facts = (
        f"{name}: {total:,} recommendations to {len(users):,} users. {counts['own'] / total:.1%} name an own rating, "
        f"{counts['people'] / total:.1%} a near user who likes the item, {counts['any'] / total:.1%} at least one of the two; "
        f"{counts['against'] / total:.1%} have somebody against, who is always shown. A list of {n} takes "
        f"{1e3 * without / len(users):.0f} CPU ms; with reasons, {1e3 * with_reasons / len(users):.0f} ms."
    )
    return rows, facts


def main() -> None:
    options = arguments(__doc__, datasets=["ml-100k"], users=200, n=10)
    found = [measure(name, options.users, options.n) for name in options.datasets]
    head = ["data", "films", "number", f"among the {NEAREST} nearest", "liked together", "either"]
    rows = [row for some, _ in found for row in some]
    about = (
        "How often the user's own ratings that are named as reasons are related to the recommended item. "
        f"Liked together: at least {BOTH} users gave both "
        f"their mean or more, and P(both) > {LIFT:g} P(one) P(other)."
    )
    publish("reasons", "Reasons", [about, table(head, rows), *(facts for _, facts in found)], options)


if __name__ == "__main__":
    main()
