"""Data of the size that people have: 160,000 users x 60,000 items, and a million users.

``python benchmarks/bench_large.py [--write] [--share S] [--users-share S] [--queries N] [--measured N] [--exact-queries N]
[--sizes NAME,NAME]``. The data sets of :data:`SIZES` are synthetic, with the skew of real ratings. ``--share .02`` makes all of them
smaller (users and items alike), so that a trial takes a minute. Of the million users, a tenth is made, with all items, and the
rest is extrapolated; ``--users-share`` says how many of all sizes.

Neighbors: the search among candidates runs for ``--queries`` random users (0 for all). Its exact samples are a fixed cost; the
rest is divided by the queries and extrapolated to all users, and the share that ran is printed. With a share of the users, the
part that grows with the number of users is extrapolated too: the scores of vectors, measured by themselves, and the exact
samples. A query that runs with few others costs more than one that runs with everybody, because few pairs are solved for both
sides. ``--measured`` queries are searched exactly, which gives the recall; ``--exact-queries`` others give the cost of an
exact search. With PREFMOVER_DATA, MovieLens-1M runs whole, exactly (unless ``--exact-queries`` says otherwise) and among
candidates; ``--datasets`` without names leaves it out.

``--write`` puts the section into docs/benchmarks.md. The constants of ``candidates_model.json`` are set by hand.
"""

import argparse
import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bench import arguments, dataset, publish, table
from prefmover import Dataset, NeighborIndex, datasets, nearest
from prefmover._format import duration
from prefmover.search import candidates
from prefmover.search.shortlist import embed, nearest_vectors


class Size(NamedTuple):
    """The size of a data set: users, items, the fewest, mean and most ratings of a user, the share of users made."""

    users: int
    items: int
    fewest: int
    mean: float
    most: int
    made: float


SIZES = {
    "160k x 60k": Size(160_000, 60_000, 15, 66.25, 2000, 1.0),  # 10.6 M ratings
    "1M x 20k": Size(1_000_000, 20_000, 5, 20.0, 500, 0.1),  # 20 M ratings
}


def large(name: str, share: float = 1.0, users_share: float = 1.0, seed: int = 0) -> Dataset:
    """Return a data set of :data:`SIZES`, or a share of its users and items, or of its users alone."""
    size = SIZES[name]
    users = max(50, round(share * users_share * size.users))
    items = max(100, round(share * size.items))
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


class Watch:
    """Prints how far a search is, at most twice a minute."""

    def __init__(self, what: str) -> None:
        self.what, self.last = what, time.perf_counter()

    def __call__(self, done: int, total: int) -> None:
        """Print the number of queries that a step has finished."""
        if time.perf_counter() - self.last > 30:
            self.last = time.perf_counter()
            print(f"{self.what}: {done:,} of {total:,}", flush=True)


def seconds_of_vectors(data: Dataset) -> float:
    """Return the CPU seconds of a query that grow with the number of users: scores of vectors, and the best."""
    embedding = embed(data.preferences, data.geometry, 0)
    users = np.random.default_rng(4).choice(data.n_users, 40)
    work = partial(nearest_vectors, m=1000)
    work(embedding.scores(0))
    seconds, _ = timed(lambda: [work(embedding.scores(u)) for u in users.tolist()])
    return seconds / len(users)


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
    made = options.users_share or SIZES[name].made
    making, data = timed(lambda: large(name, options.share, made))
    n, k = data.n_users, options.k
    print(f"{data.name}: {data.ratings!r}, made in {making:.0f} CPU s", flush=True)
    exact_users = random_users(data, options.exact_queries or 12)
    index = NeighborIndex(data)
    index.nearest(exact_users[:1], k)
    exact, _ = timed(lambda: index.nearest(exact_users, k))
    exact /= len(exact_users)
    print(f"{name}: an exact query takes {1e3 * exact:,.0f} CPU ms", flush=True)
    users = random_users(data, options.queries)
    many = len(users)
    asked = {"method": "candidates", "recall": options.recall, "progress": Watch(name)}
    seconds, found = timed(lambda: nearest(data, k, users, **asked))
    print(f"{many:,} queries: {seconds:.0f} CPU s; {found!r}; {found.stats}", flush=True)
    sampled = min(candidates.MEASURED, many) + min(candidates.TUNED, many)
    each = max(seconds - exact * sampled, 0.0) / many
    grown, every = 1.0, n
    if made < 1:
        every = round(options.share * SIZES[name].users)
        grown = every / n
        each += (grown - 1) * seconds_of_vectors(data)
        exact *= grown
    whole = exact * sampled + every * each
    assert found.recall is not None
    part = "" if options.share == 1 else f"{options.share:g} of "
    return [
        f"{part}{name}" if grown == 1 else f"{part}{name}, from {made:g} of the users",
        f"{data.ratings.n_ratings / 1e6:.1f} M",
        f"{1e3 * exact:,.0f}",
        duration(exact * every),
        f"{1e3 * each:,.1f}",
        f"**{duration(whole)}**",
        f"{exact * every / whole:,.0f}x",
        f"{100 * many / every:.2g} %",
        str(found.recall),
    ]


def whole(name: str, options: argparse.Namespace) -> str:
    """Return a sentence about a real data set, searched whole in both ways."""
    data, k = dataset(name), options.k
    index, users = NeighborIndex(data), random_users(data, options.exact_queries)
    index.nearest(users[:70], k)
    exact, _ = timed(lambda: NeighborIndex(data).nearest(users, k))
    exact *= data.n_users / len(users)
    print(f"{name}: exact {exact:.0f} CPU s", flush=True)
    asked = {"method": "candidates", "recall": options.real_recall, "progress": Watch(name)}
    seconds, found = timed(lambda: nearest(data, k, **asked))
    print(f"{name}: exact {exact:.0f} CPU s, candidates {seconds:.0f}; {found!r}; {found.stats}", flush=True)
    part = "" if len(users) == data.n_users else f", extrapolated from {len(users):,} queries"
    return (
        f"{name}, {k} nearest of all {data.n_users:,} users: exact {exact:,.0f} CPU s{part}; among candidates "
        f"**{seconds:,.0f} CPU s, {exact / seconds:.1f}x**, recall {found.recall}, asked for {options.real_recall:g}; its "
        f"own samples included. {found.stats.solved / data.n_users:.1f} pairs are solved for each user."
    )


def neighbors(options: argparse.Namespace) -> None:
    """Write the section about neighbors."""
    candidates.MEASURED = options.measured or candidates.MEASURED
    candidates.TUNED = min(candidates.TUNED, candidates.MEASURED)
    warm_up(options.k)
    head = ["data", "ratings", "exact: ms per query", "exact, all", "candidates: ms per query", "candidates, all", "gain", "share run",
            f"recall, asked for {options.recall:g}"]  # fmt: skip
    parts = []
    if rows := [extrapolated(name, options) for name in options.sizes.split(",") if name]:
        parts.append(
            f"CPU time of the {options.k} nearest users of all users, extrapolated from the share of queries that ran, and "
            "from the share of the users among whom they are searched, where one is given:"
        )
        parts.append(table(head, rows))
    parts += [whole(name, options) for name in options.datasets]
    publish("large-neighbors", "Neighbors of all users, among candidates", parts, options)


def main() -> None:
    options = arguments(
        __doc__, k=10, share=1.0, users_share=0.0, queries=3000, measured=0, exact_queries=0, recall=0.95, real_recall=0.98,
        sizes=",".join(SIZES),
    )  # fmt: skip
    options.datasets = [name for name in options.datasets if name == "ml-1m"]
    neighbors(options)


if __name__ == "__main__":
    main()
