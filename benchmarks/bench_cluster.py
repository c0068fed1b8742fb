"""The same search on Ray and on threads: speed-up, overhead, memory of a worker; and the model of the cost.

``python benchmarks/bench_cluster.py [--write] [--queries N] [--rounds N] [--users N] [--sample N] [--k K]``. Real data
(ml-1m, or ``--datasets``) from the folder that PREFMOVER_DATA names: ``--queries`` random users (0 for all), on n
threads and on n workers in turn, ``--rounds`` times. The speed of a shared machine changes within minutes, so only
neighboring runs can be compared. Then a synthetic set of ``--users`` users with 20 to 60 ratings (0 to skip it), of which
``--sample`` are queries; the rest is extrapolated. With ``--write``, the constants of the model go to
benchmarks/cost_model.json too.
"""

import datetime
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bench import arguments, dataset, machine, publish, table
from cost_model import FILE, Constants, estimate
from prefmover import NeighborIndex, Neighbors, datasets
from prefmover._format import duration
from prefmover.execution import Executor, LocalExecutor, RayExecutor
from prefmover.search.distributed import bytes_before, divide_users, search_blocks
from prefmover.search.result import NeighborPositions
from prefmover.search.shard import Shard, nearest_item_table

ITEMS = 3000
GROUPS = 4  # groups of queries, for the error of the mean
SIZES = (8, 4, 2)  # the model is fitted on an eighth, ... of the synthetic users, and checked on all


def same(a: Neighbors, b: Neighbors) -> bool:
    return bool(np.array_equal(a.neighbors, b.neighbors) and np.array_equal(a.values, b.values))


def some(n: int, size: int, seed: int) -> Any:
    """Return positions of ``size`` random users, sorted; all for 0."""
    return np.sort(np.random.default_rng(seed).choice(n, min(size or n, n), replace=False))


def timed(index: NeighborIndex, users: Any, k: int, **how: Any) -> tuple[float, Neighbors]:
    start = time.perf_counter()
    neighbors = index.nearest(users, k, **how)
    return time.perf_counter() - start, neighbors


class Memory:
    """The largest private (USS) and proportional (PSS) memory of Ray's workers, sampled every few seconds."""

    def __init__(self) -> None:
        self.private, self.proportional, self.last = 0.0, 0.0, 0.0

    def __call__(self, done: int, total: int) -> None:
        """Sample, as a progress callback."""
        if time.monotonic() - self.last < 5:  # sampling costs the worker time
            return
        self.last = time.monotonic()
        for folder in Path("/proc").iterdir():
            try:
                if (folder / "cmdline").read_bytes().startswith(b"ray::_perform"):
                    rollup = (folder / "smaps_rollup").read_text().splitlines()[1:]
                    held = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in rollup}
                    self.private = max(self.private, held["Private_Clean"] + held["Private_Dirty"])
                    self.proportional = max(self.proportional, held["Pss"])
            except (OSError, IndexError, KeyError):
                continue


@contextmanager
def workers(n: int, index: NeighborIndex, k: int) -> Iterator[tuple[RayExecutor, float]]:
    """Yield a cluster of n cores on this machine after a first search, and the seconds that took."""
    start = time.perf_counter()
    with RayExecutor("local", n_threads=n) as executor:
        index.nearest(index.data.ratings.users[: 64 * n], k, executor=executor)
        yield executor, time.perf_counter() - start


def speed(name: str, options: Any) -> list[str]:
    """Compare Ray with threads on real data."""
    data = dataset(name)

    index = NeighborIndex(data)
    users = data.ratings.users[some(data.n_users, options.queries, 11)]
    index.nearest(users[:70], options.k)  # compiles
    memory, rows = Memory(), []
    took: dict[int, dict[str, list[float]]] = {}
    for n in (1, 2):
        on_threads, on_ray = [], []
        with workers(n, index, options.k) as (executor, start):
            for _ in range(options.rounds):
                fresh = NeighborIndex(data)  # the table of nearest items is part of a search
                seconds, expected = timed(fresh, users, options.k, n_threads=n)
                on_threads.append(seconds)
                seconds, neighbors = timed(index, users, options.k, executor=executor, progress=memory)
                on_ray.append(seconds)
                assert same(neighbors, expected), "not the same neighbors"
                print(f"{n} threads {on_threads[-1]:.1f} s, {n} workers {on_ray[-1]:.1f} s", flush=True)
            tasks = executor.summary.tasks
        took[n] = {"threads": on_threads, "workers": on_ray}
        rows += [
            [f"{n} thread{'s' * (n > 1)}", *spread(on_threads), "-", "-"],
            [f"Ray, {n} worker{'s' * (n > 1)}", *spread(on_ray), f"{tasks}", f"{start:.1f}"],
        ]

    def gained(what: str) -> float:
        return float(np.median(took[1][what]) / np.median(took[2][what]))

    def overhead(n: int) -> str:
        ratios = 100 * (np.divide(took[n]["workers"], took[n]["threads"]) - 1)
        return f"{np.median(ratios):+.1f} % ({ratios.min():+.0f} to {ratios.max():+.0f})"

    grid, p = index.geometry.grid, data.preferences
    shared = (0 if grid is None else grid.nbytes) + sum(
        x.nbytes for x in (p.mass, p.indices, index.shard(with_table=False).table)
    )
    text = (
        f"Ray compared with threads, alternating, {options.rounds} times: **{overhead(2)} on two cores**, "
        f"{overhead(1)} on one. Two workers against one, medians: **{gained('workers'):.2f}x** (two threads against one: {gained('threads'):.2f}x). "
        f"The neighbors are the same to the last bit. A worker holds up to {memory.private:,.0f} MB of its own (USS; "
        f"{memory.proportional:,.0f} MB with its share of shared memory, PSS); geometry, users and table, "
        f"{shared / 2**20:,.0f} MB, are stored once in the object store."
    )
    head = ["", "s, median", "least", "most", "tasks", "s to start, including the first search"]
    return [f"### {name}, K={options.k}, {len(users):,} of {data.n_users:,} users", table(head, rows), text]


def spread(seconds: list[float]) -> list[str]:
    return [f"{x:.1f}" for x in (np.median(seconds), min(seconds), max(seconds))]


def stages(
    index: NeighborIndex, users: Any, k: int, executor: Executor
) -> tuple[dict[str, float], NeighborPositions]:
    """Return seconds by stage per query, without the table."""
    lists = search_blocks(index, users, k, executor, blocks=4 * executor.slots)
    return {stage: s / len(users) for stage, s in lists.stats.seconds.items()}, lists


def fitted(points: list[dict[str, float]]) -> Constants:
    """Return the constants that fit measurements at several sizes: least squares, relative errors."""
    n = np.array([p["users"] for p in points])
    shards, m = np.array([p["shards"] for p in points]), np.array([p["ratings"] for p in points])
    bounds = np.array([p["bounds"] for p in points])
    A = np.stack((shards, n * 2 * m), axis=1) / bounds[:, None]
    per_shard, bound = np.linalg.lstsq(A, np.ones(len(n)), rcond=None)[0]
    exact = np.array([p["exact"] for p in points]) / m**2
    growth, level = np.polyfit(np.log(n / n[-1]), np.log(exact), 1)
    entry = np.mean([p["layout"] / (p["shards"] * p["items"] * p["ratings"]) for p in points])
    tables = np.mean([p["table"] / (p["users"] * p["items"] * p["ratings"]) for p in points])
    today = f"{datetime.date.today().isoformat()}, {machine()[0]}"
    values = (tables, entry, max(per_shard, 0.0), bound, np.exp(level), n[-1], growth)
    return Constants(*(float(f"{value:.4g}") for value in values), measured=today)


def measured(index: NeighborIndex, sample: int, k: int, seed: int) -> dict[str, float]:
    """Return the seconds of one core per query, by stage, and the sizes that the model takes."""
    start, data = time.perf_counter(), index.data
    nearest_item_table(index.geometry, Shard.from_preferences(data.preferences), n_threads=1)
    seconds_table = time.perf_counter() - start
    shard_bytes = 2**29
    n, items = data.n_users, data.n_items
    stage, _ = stages(index, some(n, sample, seed), k, LocalExecutor(1, shard_bytes))
    return {
        "users": n,
        "items": items,
        "ratings": data.ratings.n_ratings / n,
        "shards": divide_users(bytes_before(data.preferences, 4 * items), shard_bytes).size - 1,
        "table": seconds_table,
        **stage,
    }


def synthetic(options: Any) -> tuple[list[str], Constants]:
    """Return the check of the model on synthetic users, and its constants."""
    points, rows = [], []
    for part in SIZES:
        data = datasets.synthetic(options.users // part, ITEMS, ratings=(20, 60), seed=part)
        points.append(measured(NeighborIndex(data), options.sample, options.k, part))
        print({name: round(value, 6) for name, value in points[-1].items()}, flush=True)
    before = fitted(points)
    data = datasets.synthetic(options.users, ITEMS, ratings=(20, 60))
    index = NeighborIndex(data)
    users = some(options.users, 2 * options.sample, 3)
    with RayExecutor("local", n_threads=2) as executor:
        index.nearest(data.ratings.users[users[:128]], options.k, executor=executor)
        groups = np.array_split(np.random.default_rng(1).permutation(users), GROUPS)
        runs = [stages(index, group, options.k, executor) for group in groups]
    seconds = np.array([sum(stage.values()) for stage, _ in runs])
    mean, error = seconds.mean(), seconds.std(ddof=1) / np.sqrt(GROUPS)
    solved = sum(lists.stats.solved for _, lists in runs) / len(users)
    model = estimate(options.users, data.ratings.n_ratings / options.users, ITEMS, cores=2, using=before)
    table_seconds = model.core_seconds["table"]
    whole = (options.users * mean + table_seconds) / 2
    points.append(measured(index, options.sample, options.k, 9))
    after = fitted(points)
    for p in points:
        model_stages = estimate(int(p["users"]), p["ratings"], ITEMS, queries=1, using=before).core_seconds
        predicted, actual = (sum(x[s] for s in ("layout", "bounds", "exact")) for x in (model_stages, p))
        rows.append(
            [f"{p['users']:,}", f"{p['shards']}", *(f"{1e3 * p[s]:.2f}" for s in ("layout", "bounds", "exact")),
             f"{1e3 * actual:.2f}", f"{1e3 * predicted:.2f}", f"{100 * (predicted / actual - 1):+.0f} %"]
        )  # fmt: skip
    head = ["users", "shards", "layout", "bounds", "exact", "ms per query, one core", "the model", "off by"]
    text = (
        f"{len(users):,} queries on Ray, two cores: {1e3 * mean:.1f} ± {1e3 * error:.1f} ms of a core per query (mean and "
        f"standard error over {GROUPS} groups), hence **{duration(whole)} ± {duration(options.users * error / 2)} for "
        f"all users on two cores**. The model, fitted on "
        f"{', '.join(f'{options.users // part:,}' for part in SIZES)} users alone, says {duration(model.seconds)}: "
        f"**{100 * (model.seconds / whole - 1):+.0f} %**. {solved:.1f} pairs were solved per query."
    )
    return [
        f"### {options.users:,} synthetic users, 20 to 60 ratings of {ITEMS:,} items, K={options.k}",
        text,
        table(head, rows),
        "The last row was not fitted. Constants from all rows, in seconds: "
        + ", ".join(f"`{name}` {value:.3g}" for name, value in asdict(after).items() if name != "measured")
        + ".",
    ], after


def main() -> None:
    real = ["ml-1m"] if os.environ.get("PREFMOVER_DATA") else []
    options = arguments(__doc__, k=10, queries=300, rounds=5, users=100_000, sample=300, datasets=real)
    parts = [part for name in options.datasets for part in speed(name, options)]
    if parts:
        publish("cluster", "The same search on Ray", parts, options)
    if options.users:
        parts, constants = synthetic(options)
        if options.write:
            FILE.write_text(json.dumps(asdict(constants), indent=1) + "\n", encoding="utf-8")
        publish("cost", "What a search costs as users grow", parts, options)


if __name__ == "__main__":
    main()
