"""Exact nearest users of all users: the cascade against POT on every pair.

``python benchmarks/bench_search.py [--write]``: real data from the folder that PREFMOVER_DATA names. POT's time for all
pairs is estimated in the same run from ``ot.emd2`` and from its raw C++ entry on random pairs (blocks
gathered beforehand), one thread.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from ot.lp.emd_wrap import emd_c

import ot
from bench import arguments, dataset, publish, table
from prefmover import Dataset, NeighborIndex
from prefmover.data.ratings import one_user
from prefmover.measures.pmd import distances_from
from prefmover.search import SearchStats
from prefmover.search import _cascade as kernels
from prefmover.search.cascade import MIXED, _shape_prices
from prefmover.search.shard import Scratches, lay_out

POT_PIVOTS = 10_000_000


def pot_seconds(data: Dataset, n_pairs: int) -> tuple[float, float]:
    """Return POT's mean seconds a pair: ``ot.emd2``, and its raw entry."""
    everyone, geometry = data.preferences, data.require_geometry("PMD")
    rng = np.random.default_rng(7)
    raw = full = 0.0
    for _ in range(n_pairs):
        u, v = rng.choice(data.n_users, 2, replace=False)
        (i, p), (j, q) = (
            (everyone.indices[s], everyone.mass[s] / everyone.total[x])
            for x in (u, v)
            for s in [slice(everyone.indptr[x], everyone.indptr[x + 1])]
        )
        cost = geometry.block(i, j)
        start = time.perf_counter()
        emd_c(p, q, cost, POT_PIVOTS, 1)
        middle = time.perf_counter()
        ot.emd2(p, q, cost, numItermax=POT_PIVOTS)
        raw, full = raw + middle - start, full + time.perf_counter() - middle
    return full / n_pairs, raw / n_pairs


def timed(index: NeighborIndex, users: Any, k: int, n_threads: int) -> tuple[float, SearchStats]:
    start = time.perf_counter()
    neighbors = index.nearest(users, k, n_threads=n_threads)
    return time.perf_counter() - start, neighbors.stats


def shares(stats: SearchStats) -> list[str]:
    return [
        f"{getattr(stats, name) / stats.pairs:.2%}"
        for name in ("rwmd", "prices", "abandoned", "known", "solved")
    ]


def tightness(data: Dataset, n_queries: int) -> list[str]:
    """Return the mean of bound / exact over the near half of the candidates of a few queries."""
    p, geometry = data.preferences, data.require_geometry("PMD")
    shard, scratches = NeighborIndex(data).shard(with_table=True), Scratches()
    users, compact = shard.candidates(), shard.compact()
    rng = np.random.default_rng(3)
    ratios: list[tuple[float, float]] = []
    for u in rng.choice(data.n_users, n_queries, replace=False).tolist():
        row = slice(p.indptr[u], p.indptr[u + 1])
        items = p.indices[row].astype(np.int32)
        query = lay_out(geometry, items, p.mass[row], int(p.total[u]), u, np.inf, scratches)
        s = scratches.get(shard, geometry.n_items, items.size)
        kernels.bound_all(query, users, compact, s)
        rwmd = s.bound.copy()
        near = np.argsort(rwmd, kind="stable")
        near = near[near != u][: data.n_users // 2]
        s.alive[: near.size] = near
        _shape_prices(query, users, s, near[:MIXED])
        kernels.apply_prices(query, compact, s, near.size)
        sample = near[rng.choice(near.size, min(60, near.size), replace=False)]
        exact = distances_from(p, geometry, u, sample) / geometry.unit
        ratios.append((float((rwmd[sample] / exact).mean()), float((s.bound[sample] / exact).mean())))
    mean = np.mean(ratios, axis=0)
    return [f"{mean[0]:.3f}", f"{mean[1]:.3f}"]


def main() -> None:
    options = arguments(__doc__, k=10, queries=200)
    parts = []
    for name in options.datasets:
        data = dataset(name)
        ratings, geometry = data.ratings, data.require_geometry("PMD")
        full, raw = pot_seconds(data, options.pairs)
        n_pairs = ratings.n_users * (ratings.n_users - 1) / 2
        brute, brute_raw = full * n_pairs, raw * n_pairs
        parts.append(
            f"### {name}\n\n{ratings.n_users:,} users, {ratings.n_ratings:,} ratings, longest row "
            f"{np.diff(ratings.matrix.indptr).max():,}; item geometry *{geometry.name}*. POT on all {n_pairs:,.0f} pairs: "
            f"{brute:,.0f} s with `ot.emd2` ({full * 1e6:,.0f} µs per pair), {brute_raw:,.0f} s with its raw entry on "
            f"gathered blocks, estimated from {options.pairs:,} random pairs."
        )
        print(parts[-1], flush=True)
        warm = NeighborIndex(data)
        warm.nearest(ratings.users[:70], options.k)
        rows = []
        small = ratings.n_users <= 2000
        for n_threads in (1, 2) if small else (2,):
            index = NeighborIndex(data)
            seconds, stats = timed(index, None, options.k, n_threads)
            rows.append(
                [
                    f"all users, K={options.k}, {n_threads} thread{'s' * (n_threads > 1)}",
                    f"{seconds:,.1f}",
                    f"**{brute / seconds:,.0f}x**",
                    f"{brute_raw / seconds:,.0f}x",
                    *shares(stats),
                ]
            )
            print(rows[-1], {k: round(v, 1) for k, v in stats.seconds.items()}, flush=True)
        head = ["job", "s", "vs `ot.emd2`", "vs raw", "RWMD", "prices", "abandoned", "known", "solved"]
        parts.append(table(head, rows))
        rng = np.random.default_rng(11)
        some = ratings.users[
            np.sort(rng.choice(ratings.n_users, min(options.queries, ratings.n_users), False))
        ]
        index = NeighborIndex(data)
        index.shard(with_table=True)
        one, two = (min(timed(index, some, options.k, threads)[0] for _ in range(3)) for threads in (1, 2))
        facts = [
            [
                f"{len(some)} queries, 1 thread against 2, best of three",
                f"{one:.2f} s / {two:.2f} s = {one / two:.2f}x",
            ]
        ]
        print(facts[-1], flush=True)
        answer = []
        many = ratings.users[np.diff(ratings.matrix.indptr) >= 40]
        for user in rng.choice(many, 40, replace=False).tolist():
            items, values = ratings.row(ratings.user_position(user))
            some_20 = rng.choice(len(items), 20, replace=False)
            start = time.perf_counter()
            new = one_user(ratings, "new", items[some_20], values[some_20])
            warm.nearest(k=40, new=new, n_threads=1)
            answer.append(time.perf_counter() - start)
        new_user = "a new user with 20 ratings (of a user with 40 or more), 40 nearest, 1 thread, median"
        facts += [
            [new_user, f"{np.median(answer) * 1e3:.0f} ms"],
            ["the same, slowest of 40", f"{max(answer) * 1e3:.0f} ms"],
        ]
        print(facts[-2:], flush=True)
        rwmd, shared = tightness(data, 20)
        loaded, made, searched = peaks_alone(name, options.k)
        facts += [
            ["RWMD / exact distance, near half of the candidates of 20 queries", rwmd],
            ["bound with shared prices / exact distance", shared],
            ["peak memory with libraries: loading the ratings", f"{loaded:,} MB"],
            ["the item geometry", f"{made:,} MB"],
            ["all users, 2 threads", f"{searched:,} MB"],
        ]
        print(facts[-5:], flush=True)
        parts.append(table(["job", "result"], facts))
    publish("search", "Exact nearest users", parts, options)


PEAKS = """
import re, sys
from bench import dataset
from prefmover.search import nearest

def peak():
    megabytes = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
    open("/proc/self/clear_refs", "w").write("5")  # the next stage has a peak of its own
    return round(megabytes)

data = dataset(sys.argv[1])
loaded = peak()
data.require_geometry("PMD")
made = peak()
nearest(data, int(sys.argv[2]), n_threads=2)
print(loaded, made, peak())
"""


def peaks_alone(name: str, k: int) -> tuple[int, ...]:
    """Return the peaks, in MB, of loading, of the geometry and of the search of all users on two threads.

    They are those of a process of its own. (``ru_maxrss`` would begin with the memory of this one.)
    """
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PEAKS, name, str(k)],
        cwd=here,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return tuple(map(int, done.stdout.split()))


if __name__ == "__main__":
    main()
