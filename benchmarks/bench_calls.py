"""A loop of ``pmd`` calls next to ``distances`` of the same 1,000 pairs: asking for one pair costs one pair.

``python benchmarks/bench_calls.py [--write]``: real data from the folder that PREFMOVER_DATA names. Times are
those of the processor on one thread, so that other work on the machine does not count.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench import arguments, dataset, publish, table
from prefmover import distances, pmd

QUERIES, OTHERS = 20, 50


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def row(name: str) -> list[str]:
    data = dataset(name)
    chosen = np.random.default_rng(0).choice(data.ratings.users, QUERIES + OTHERS, replace=False).tolist()
    users, others = chosen[:QUERIES], chosen[QUERIES:]
    _ = pmd(data, users[0], others[0]).flows  # compiles the kernels, and makes geometry and masses
    together, expected = seconds(lambda: distances(data, users, others, n_threads=1))
    loop, one_by_one = seconds(lambda: [[pmd(data, u, v).distance for v in others] for u in users])
    assert np.array_equal(expected, one_by_one)
    flows, _ = seconds(lambda: [pmd(data, users[0], v).flows for v in others])
    n = QUERIES * OTHERS
    times = (together / n, loop / n, flows / OTHERS)
    return [name, *(f"{1e3 * one:.2f}" for one in times), f"**{loop / together:.2f}x**"]


def main() -> None:
    options = arguments(__doc__)
    head = [
        "data",
        "`distances`, ms per pair",
        "`pmd`, ms per call",
        "`pmd` with flows, ms",
        "`pmd` / `distances`",
    ]
    publish("calls", "One pair at a time", [table(head, [row(name) for name in options.datasets])], options)


if __name__ == "__main__":
    main()
