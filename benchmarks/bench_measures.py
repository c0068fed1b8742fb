"""Every measure between all pairs of users: time and peak memory; COS, PCC and MSD against Surprise.

``python benchmarks/bench_measures.py [--datasets ml-100k ml-1m] [--pmd-rows 8] [--write]``. Data come from
the folder that PREFMOVER_DATA names. Rows are computed block by block and dropped, as search and prediction use
them, on all cores. PMD and its extensions are timed on some rows only: search does not need all pairs, see its benchmark.
"""

import ctypes
import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench import arguments, dataset, publish, table
from prefmover import MEASURES, Dataset, pairwise
from prefmover.execution.threads import resolve_threads
from prefmover.measures.pairs import BLOCK_ROWS, value_blocks


def memory(field: str) -> float:
    """Return a line of this process's memory use, in MB: ``VmHWM`` is the peak, ``VmRSS`` now."""
    text = Path("/proc/self/status").read_text()
    return int(text.split(f"{field}:")[1].split()[0]) / 1024


def peak_of(work: Callable[[], Any]) -> float:
    """Return how many MB the peak of some work was above what was in use before."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was freed before and kept would hide what is taken now
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # from here on a new peak
    work()
    return memory("VmHWM") - before


def all_rows(data: Dataset, name: str, convention: str, users: Any) -> None:
    for _ in value_blocks(data, MEASURES[name], convention, users, np.arange(data.n_users)):
        pass


def peak_of_blocks(data: Dataset, name: str, convention: str) -> float:
    """Return the peak of all pairs: it is reached within two blocks, and the rest need not be run."""
    users = np.arange(min(data.n_users, 8 if name.startswith("pmd") else 2 * BLOCK_ROWS))
    return peak_of(lambda: all_rows(data, name, convention, users))


def measure_rows(data: Dataset, pmd_rows: int) -> list[list[str]]:
    """Time every convention that differs from the others of its measure."""
    rows, n = [], data.n_users
    for name, row in MEASURES.items():
        for convention in row.distinct_conventions():
            if not row.conventions[convention].practical:
                continue
            users = np.arange(n)
            all_rows(data, name, convention, users[:2])  # compile
            if name.startswith("pmd"):
                users = np.random.default_rng(0).choice(users, min(pmd_rows, n), replace=False)
            start = time.perf_counter()
            all_rows(data, name, convention, users)
            seconds = time.perf_counter() - start
            note = "" if len(users) == n else f" ({len(users)} rows)"
            rate = f"{len(users) * n / seconds / 1e6:.3g}"
            peak = f"{peak_of_blocks(data, name, convention):.0f}"
            rows.append([row.label, convention, f"{seconds:.2f}{note}", rate, peak])
            print(*rows[-1], flush=True)
    return rows


def best(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least seconds of three runs (of one, if that takes long), and the result."""
    seconds = np.inf
    for _ in range(3):
        start = time.perf_counter()
        result = work()
        seconds = min(seconds, time.perf_counter() - start)
        if seconds > 5:
            break
    return seconds, result


def surprise_rows(data: Dataset) -> list[list[str]]:
    """Time Surprise's similarity functions and ours, whole matrices, and compare the values."""
    from surprise import similarities as surprise

    ratings = data.ratings
    columns = ratings.matrix.tocsc()
    raters = {
        i: list(
            zip(
                columns.indices[columns.indptr[i] : columns.indptr[i + 1]].tolist(),
                columns.data[columns.indptr[i] : columns.indptr[i + 1]].tolist(),
                strict=True,
            )
        )
        for i in range(ratings.n_items)
    }
    width = ratings.scale.highest - ratings.scale.lowest
    rows = []
    for name, convention, theirs in (
        ("cos", "published", surprise.cosine),
        ("pcc", "co-rated-means", surprise.pearson),
        ("msd", "published", surprise.msd),
    ):
        seconds, expected = best(lambda f=theirs: f(ratings.n_users, raters, 1))
        ours = {}
        for threads in (1, resolve_threads(None)):
            ours[threads], values = best(
                lambda n=name, c=convention, t=threads: pairwise(data, n, convention=c, n_threads=t)
            )
        if name == "msd":
            values = 1 / (1 + values * width**2)
        np.fill_diagonal(expected, np.nan)  # always 1 in Surprise
        gap = np.nanmax(np.abs(values - expected))
        rows.append(
            [
                f"{MEASURES[name].label}, {convention}",
                f"{seconds:.2f}",
                *(f"{own:.2f} ({seconds / own:.1f}x)" for own in ours.values()),
                f"{gap:.0e}",
            ]
        )
        print(*rows[-1], flush=True)
    return rows


def main() -> None:
    options = arguments(__doc__, pmd_rows=8)
    if not options.datasets:
        print("PREFMOVER_DATA does not name a folder with MovieLens: nothing to measure")
        return
    threads, load = resolve_threads(None), os.getloadavg()[0]
    parts = [f"Load average before the run: {load:.1f} (other work on the machine slows these runs)."]
    for name in options.datasets:
        data = dataset(name)
        ratings = data.ratings
        size = f"{ratings.n_users:,} users, {ratings.n_items:,} items, {ratings.n_ratings:,} ratings"
        parts += [
            f"### {name}: {size}",
            f"All pairs, block by block, {threads} threads. Item geometry: {data.require_geometry('PMD').name}.",
            "Peak memory is above that of the loaded data, from a second pass over two blocks of rows.",
            table(
                ["measure", "convention", "seconds", "million pairs/s", "peak MB"],
                measure_rows(data, options.pmd_rows),
            ),
            "The same numbers from Surprise, whole matrices in memory, seconds:",
            table(
                ["measure", "Surprise", "1 thread", f"{threads} threads", "largest difference"],
                surprise_rows(data),
            ),
        ]
    publish("measures", "Measures between all pairs of users", parts, options)


if __name__ == "__main__":
    main()
