"""Data of the size that people have: 160,000 users x 60,000 items, and a million users.

``python benchmarks/bench_large.py [--write] [--share S] [--queries N] [--measured N] [--exact-queries N] [--sizes NAME ...]``.
The data sets of :data:`SIZES` are synthetic, with the skew of real ratings. ``--share .02`` makes all of them smaller (users
and items alike), so that a trial takes a minute.

Neighbors: the search among candidates runs for ``--queries`` random users (0 for all). Its exact samples are a fixed cost; the
rest is divided by the queries and extrapolated to all users, and the share that ran is printed. A query that runs with few
others costs more than one that runs with everybody, because few pairs are solved for both sides. ``--measured`` queries
are searched exactly, which gives the recall; ``--exact-queries`` others give the cost of an exact search. With
PREFMOVER_DATA, MovieLens-1M runs whole, exactly (unless ``--exact-queries`` says otherwise) and among candidates.
"""

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

from bench import arguments, dataset, publish, table
from prefmover import Dataset, NeighborIndex, datasets, nearest
from prefmover.execution.format import duration
from prefmover.search import candidates


class Size(NamedTuple):
    """The size of a data set: users, items, and the fewest, mean and most ratings of a user."""

    users: int
    items: int
    fewest: int
    mean: float
    most: int


SIZES = {
    "160k x 60k": Size(160_000, 60_000, 15, 66.25, 2000),  # 10.6 M ratings
    "1M x 20k": Size(1_000_000, 20_000, 5, 20.0, 500),  # 20 M ratings
}


def large(name: str, share: float = 1.0, seed: int = 0) -> Dataset:
    """Return a data set of :data:`SIZES`, or a share of its users and items."""
    size = SIZES[name]
    users, items = max(50, round(share * size.users)), max(100, round(share * size.items))
    most = min(size.most, items // 2)
    mean = min(size.mean, (size.fewest + most) / 2)
    return datasets.synthetic(users, items, ratings=(size.fewest, most), mean=mean, seed=seed)


def timed(work: Any) -> tuple[float, Any]:
    """Return the CPU seconds of a call, on all threads, and its value."""
    start = time.process_time()
    value = work()
    return time.process_time() - start, value


def random_users(data: Dataset, size: int) -> Any:
    """Return ids of random users; all for 0."""
    n = data.n_users
    return data.ratings.users[np.random.default_rng(3).choice(n, min(size or n, n), replace=False)]


def warm_up(k: int) -> None:
    """Compile."""
    small = datasets.synthetic(400, 120, ratings=(5, 9))
    nearest(small, k, method="candidates")
    nearest(Dataset(small.ratings, lazy(small)), k, range(90), method="candidates")


def lazy(data: Dataset) -> Any:
    """Return the geometry without a matrix of distances."""
    return type(data.geometry).from_vectors(data.geometry.items, data.geometry.vectors, budget=0)


def extrapolated(name: str, options: argparse.Namespace) -> list[str]:
    """Return a row of the table: all users of a synthetic data set."""
    making, data = timed(lambda: large(name, options.share))
    n, k = data.n_users, options.k
    print(f"{data.name}: {data.ratings!r}, made in {making:.0f} CPU s", flush=True)
    exact_users = random_users(data, options.exact_queries or 12)
    index = NeighborIndex(data)
    index.nearest(exact_users[:1], k)
    exact, _ = timed(lambda: index.nearest(exact_users, k))
    exact /= len(exact_users)
    users = random_users(data, options.queries)
    many = len(users)
    seconds, found = timed(lambda: nearest(data, k, users, method="candidates", recall=options.recall))
    print(f"{many:,} queries: {seconds:.0f} CPU s; {found!r}; {found.stats}", flush=True)
    fixed = exact * (min(candidates.MEASURED, many) + min(candidates.TUNED, many))
    each = max(seconds - fixed, 0.0) / many
    whole = seconds + (n - many) * each
    assert found.recall_ is not None
    return [
        name if options.share == 1 else f"{options.share:g} of {name}",
        f"{data.ratings.n_ratings / 1e6:.1f} M",
        f"{1e3 * exact:,.0f}",
        duration(exact * n),
        f"{1e3 * each:,.1f}",
        f"**{duration(whole)}**",
        f"{exact * n / whole:,.0f}x",
        f"{many / n:.1%}",
        str(found.recall_),
    ]


def whole(name: str, options: argparse.Namespace) -> str:
    """Return a sentence about a real data set, searched whole in both ways."""
    data, k = dataset(name), options.k
    index, users = NeighborIndex(data), random_users(data, options.exact_queries)
    index.nearest(users[:70], k)
    exact, _ = timed(lambda: NeighborIndex(data).nearest(users, k))
    exact *= data.n_users / len(users)
    seconds, found = timed(lambda: nearest(data, k, method="candidates", recall=options.real_recall))
    print(f"{name}: exact {exact:.0f} CPU s, candidates {seconds:.0f}; {found!r}; {found.stats}", flush=True)
    part = "" if len(users) == data.n_users else f", extrapolated from {len(users):,} queries"
    return (
        f"{name}, {k} nearest of all {data.n_users:,} users: exact {exact:,.0f} CPU s{part}; among candidates "
        f"**{seconds:,.0f} CPU s, {exact / seconds:.1f}x**, recall {found.recall_}, asked for {options.real_recall:g}; its "
        f"own samples included. {found.stats.solved / data.n_users:.1f} pairs are solved for each user."
    )


def neighbors(options: argparse.Namespace) -> None:
    """Write the section about neighbors."""
    candidates.MEASURED = options.measured or candidates.MEASURED
    candidates.TUNED = min(candidates.TUNED, candidates.MEASURED)
    warm_up(options.k)
    head = ["data", "ratings", "exact: ms a query", "for all", "candidates: ms a query", "for all", "gain", "share run",
            f"recall, asked for {options.recall:g}"]  # fmt: skip
    parts = []
    if rows := [extrapolated(name, options) for name in options.sizes.split(",") if name]:
        parts += [
            f"CPU time of the {options.k} nearest users of everybody, extrapolated from the share of users that ran:",
            table(head, rows),
        ]
    parts += [whole(name, options) for name in options.datasets]
    publish("large-neighbors", "Neighbors of everybody, among candidates", parts, options)


def main() -> None:
    options = arguments(
        __doc__, k=10, share=1.0, queries=3000, measured=0, exact_queries=0, recall=0.95, real_recall=0.98,
        sizes=",".join(SIZES),
    )  # fmt: skip
    options.datasets = [name for name in options.datasets if name == "ml-1m"]
    neighbors(options)


if __name__ == "__main__":
    main()
