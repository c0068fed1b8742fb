"""A loop of ``pmd`` calls, next to ``distances`` of the same pairs: one pair must cost one pair.

Seconds are those of the processor, so that other work on the machine does not count.

PREFMOVER_DATA=... python benchmarks/bench_calls.py ml-1m
"""

import sys
import time

import numpy as np

import prefmover as pm

CALLS = 1000
MOST = 2.0  # the loop may take this multiple of the time of ``distances``


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "ml-1m"
    data = pm.datasets.load(name)
    chosen = np.random.default_rng(0).choice(data.ratings.users, 20 + CALLS // 20, replace=False).tolist()
    users, others = chosen[:20], chosen[20:]
    pm.pmd(data, users[0], others[0])  # compiles the kernels, and makes geometry and preferences

    start = time.process_time()
    together = pm.distances(data, users, others, n_threads=1)
    seconds = time.process_time() - start
    start = time.process_time()
    one_by_one = [[pm.pmd(data, u, v).distance for v in others] for u in users]
    loop = time.process_time() - start
    assert np.array_equal(together, one_by_one)
    start = time.process_time()
    _ = [pm.pmd(data, users[0], v).flows for v in others]
    flows = (time.process_time() - start) / len(others)

    print(f"{data!r}: {CALLS:,} pairs")
    print(f"distances     {seconds / CALLS * 1e3:6.3f} ms a pair, one thread")
    print(f"pmd           {loop / CALLS * 1e3:6.3f} ms a call, {loop / seconds:.2f} times as much")
    print(f"pmd and flows {flows * 1e3:6.3f} ms a call")
    if loop > MOST * seconds:
        raise SystemExit(f"a loop of pmd calls must take at most {MOST:g} times as long as distances")


if __name__ == "__main__":
    main()
