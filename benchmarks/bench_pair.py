"""One pair at a time: our exact solver against POT's, on the same problems in the same run.

``python benchmarks/bench_pair.py [--write]``: sizes 5 to 400 on random angles, then 2,000 random user pairs of
MovieLens-100K and -1M (read from the folder that PREFMOVER_DATA names). One thread. Ours includes gathering
the cost block and canceling common mass; POT's raw C++ entry gets blocks gathered beforehand. Last, users with 5
to 15 ratings in bulk: one call of ``pairwise`` for all pairs, against POT pair by pair.
"""

import time

import numpy as np
from ot.lp.emd_wrap import emd_c

import ot
from bench import arguments, dataset, publish, table
from prefmover import Dataset, ItemGeometry, Ratings, pairwise, pmd
from prefmover.data.splits import random_split
from prefmover.measures import _pmd as kernels

SIZES = (5, 10, 20, 50, 100, 200, 400)
PAIRS = 2000
REPEATS = 3
POT_PIVOTS = 10_000_000


def random_users(size: int, users: int, seed: int) -> Dataset:
    """Return users with ``size`` ratings each, of 20-dimensional items that no other user rated."""
    rng = np.random.default_rng(seed)
    n = users * size
    geometry = ItemGeometry.from_vectors(np.arange(n), rng.exponential(size=(n, 20)), name="random")
    stars = rng.integers(1, 6, n)
    return Dataset(Ratings.from_arrays(np.repeat(np.arange(users), size), np.arange(n), stars), geometry)


def compare(data: Dataset, pairs: np.ndarray, emd2: bool) -> dict[str, float]:
    """Time both on every pair, alternating, and compare the values. Seconds."""
    everyone, geometry = data.preferences, data.require_geometry("PMD")
    longest = int(np.diff(everyone.indptr).max())
    users = kernels.UserMasses(everyone.indptr, everyone.indices, everyone.mass, everyone.total)
    ours, raw, full, out = (np.full((REPEATS, len(pairs)), np.inf) for _ in range(4))
    value, reference = np.empty(1), np.empty(len(pairs))
    for k, (u, v) in enumerate(pairs):
        (i, p), (j, q) = (
            (everyone.indices[s], everyone.mass[s] / everyone.total[x])
            for x in (u, v)
            for s in [slice(everyone.indptr[x], everyone.indptr[x + 1])]
        )
        cost, other = geometry.block(i, j), np.array([v])
        costs = kernels.ItemCosts(geometry.grid, i, geometry.unit, bool(geometry.is_metric))
        for r in range(REPEATS):
            start = time.perf_counter()
            kernels.distances_from(u, other, users, costs, longest, value)
            ours[r, k] = time.perf_counter() - start
            start = time.perf_counter()
            reference[k] = emd_c(p, q, cost, POT_PIVOTS, 1)[1]
            raw[r, k] = time.perf_counter() - start
            if emd2 and r == 0:
                start = time.perf_counter()
                ot.emd2(p, q, cost, numItermax=POT_PIVOTS)
                full[r, k] = time.perf_counter() - start
        out[:, k] = value[0]
    fastest_ours, fastest_raw = ours.min(axis=0), raw.min(axis=0)
    return {
        "ours": fastest_ours.mean(),
        "raw": fastest_raw.mean(),
        "emd2": full.min(axis=0).mean() if emd2 else np.nan,
        "median": float(np.median(fastest_raw) / np.median(fastest_ours)),
        "error": float(np.abs(out[0] - reference).max()),
    }


def bulk(data: Dataset, pairs: int) -> str:
    """Compare one call of ``pairwise`` between users with 5 to 15 ratings (a tenth of the data) with POT."""
    few = random_split(data.ratings, 0.1).train
    counts = np.diff(few.matrix.indptr)
    data = data.with_ratings(few.take(users=(counts >= 5) & (counts <= 15)))
    half = data.n_users // 2
    users, others = data.ratings.users[:half], data.ratings.users[half:]
    pairwise(data, "pmd", users[:2], others, n_threads=1)  # compiles the kernels
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        values = pairwise(data, "pmd", users, others, n_threads=1)
        seconds.append(time.perf_counter() - start)
    ours = min(seconds) / values.size
    rng = np.random.default_rng(2)
    some = np.stack(
        (rng.integers(0, half, pairs), half + rng.integers(0, data.n_users - half, pairs)), axis=1
    )
    pot = compare(data, some, emd2=True)
    return (
        f"In bulk, {half} x {data.n_users - half} users with 5 to 15 ratings of {data.name}, one thread: "
        f"{ours * 1e6:.1f} µs per pair, **{pot['emd2'] / ours:.0f}x** as fast as `ot.emd2` ({pot['emd2'] * 1e6:.0f} µs) and "
        f"{pot['raw'] / ours:.1f}x as fast as its raw entry ({pot['raw'] * 1e6:.0f} µs)."
    )


def row(name: str, result: dict[str, float]) -> list[str]:
    us = 1e6
    return [
        name,
        f"{result['ours'] * us:,.0f}",
        f"{result['raw'] * us:,.0f}",
        f"{result['emd2'] * us:,.0f}" if result["emd2"] == result["emd2"] else "",
        f"**{result['raw'] / result['ours']:.1f}x**",
        f"{result['median']:.1f}x",
        f"{result['emd2'] / result['ours']:.1f}x" if result["emd2"] == result["emd2"] else "",
        f"{result['error']:.0e}",
    ]


def call(name: str) -> list[str]:
    """Return the times of a loop of ``pmd`` next to ``pairwise`` of the same pairs; of the processor, one thread."""
    data = dataset(name)
    chosen = np.random.default_rng(0).choice(data.ratings.users, 70, replace=False).tolist()
    users, others = chosen[:20], chosen[20:]
    _ = pmd(data, users[0], others[0]).flows  # compiles the kernels, and makes geometry and masses
    times = []
    for work, n in (
        (lambda: pairwise(data, "pmd", users, others, n_threads=1), 1000),
        (lambda: [[pmd(data, u, v).distance for v in others] for u in users], 1000),
        (lambda: [pmd(data, users[0], v).flows for v in others], 50),
    ):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) / n)
    return [name, *(f"{1e3 * one:.2f}" for one in times), f"**{times[1] / times[0]:.2f}x**"]


def main() -> None:
    options = arguments(__doc__)
    rows = []
    for size in SIZES:
        data = random_users(size, users=min(12, 4000 // size), seed=size)
        rng = np.random.default_rng(size)
        n = 300 if size <= 100 else 60
        u = rng.integers(0, data.n_users, n)
        pairs = np.stack((u, (u + rng.integers(1, data.n_users, n)) % data.n_users), axis=1)
        rows.append(row(f"random, {size} x {size}", compare(data, pairs, emd2=True)))
        print(rows[-1], flush=True)
    text = []
    for name in options.datasets:
        data = dataset(name)
        ratings, geometry = data.ratings, data.require_geometry("PMD")
        rng = np.random.default_rng(1)
        u = rng.integers(0, ratings.n_users, options.pairs)
        pairs = np.stack((u, (u + rng.integers(1, ratings.n_users, len(u))) % ratings.n_users), axis=1)
        result = compare(data, pairs, emd2=True)
        rows.append(row(f"{name}, {len(pairs):,} random pairs", result))
        print(rows[-1], flush=True)
        text.append(
            f"{name}: item geometry *{geometry.name}*, {np.diff(ratings.matrix.indptr).mean():.0f} ratings per user on average."
        )
        if name == "ml-100k":
            start = time.perf_counter()
            pairwise(data, n_threads=2)
            seconds = time.perf_counter() - start
            n_pairs = ratings.n_users * (ratings.n_users - 1) / 2
            brute = result["emd2"] * n_pairs
            text.append(
                f"All {n_pairs:,.0f} pairs of {name} on two threads: {seconds:.1f} s, "
                f"{brute / (2 * seconds):.1f}x `ot.emd2` per core, "
                f"{result['raw'] * n_pairs / (2 * seconds):.1f}x its raw entry."
            )
            print(text[-1], flush=True)
            text.append(bulk(data, options.pairs))
            print(text[-1], flush=True)
    head = [
        "problem",
        "ours, µs",
        "POT raw, µs",
        "`ot.emd2`, µs",
        "raw / ours (means)",
        "(medians)",
        "emd2 / ours",
        "largest difference",
    ]
    names = [
        "data",
        "`pairwise`, ms per pair",
        "`pmd`, ms per call",
        "`pmd` with flows, ms",
        "`pmd` / `pairwise`",
    ]
    calls = table(names, [call(name) for name in options.datasets])
    publish("pair", "One exact distance", [table(head, rows), *text, "One call at a time:", calls], options)


if __name__ == "__main__":
    main()
