"""``prefmover bench``: the speed of this machine, within a minute, against POT if that is installed.

The scripts under ``benchmarks/`` are behind the figures in the documentation; they take longer and use real
data.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from prefmover._format import counted
from prefmover.cli.options import Threads
from prefmover.cli.output import Output
from prefmover.cli.source import describe
from prefmover.cli.terminal import note

if TYPE_CHECKING:
    from prefmover._typing import Floats
    from prefmover.dataset import Dataset

EXAMPLES = ("prefmover bench", "prefmover bench --users 30 --threads 1 --json")


def bench(
    users: Annotated[
        int, Option(metavar="N", min=2, max=800, help="Number of users; one half is compared with the other.")
    ] = 60,
    threads: Threads = None,
) -> Output:
    """Time exact distances and the search for neighbors on the built-in data.

    Each time is the best of three runs. Only the search for all users has several threads. POT solves the
    same problems, prepared beforehand, and its values must agree.
    """
    import numpy as np

    from prefmover import datasets
    from prefmover.execution.threads import resolve_threads
    from prefmover.measures.pmd import distances
    from prefmover.search import NeighborIndex

    data = datasets.load("cinema")
    chosen = data.ratings.users[:: max(1, data.n_users // users)][:users].tolist()
    halves = chosen[::2], chosen[1::2]
    NeighborIndex(data).nearest(chosen[:1], k=1, n_threads=1)  # compiles, or loads the compiled kernels
    seconds, values = _best(lambda: distances(data, *halves, n_threads=1))
    one, _ = _best(lambda: NeighborIndex(data).nearest(chosen[:1], k=10, n_threads=1))
    search, neighbors = _best(lambda: NeighborIndex(data).nearest(k=10, n_threads=threads))
    solved = neighbors.stats.solved / neighbors.stats.pairs
    results = {
        "data": describe(data.ratings),
        "threads": resolve_threads(threads),
        "pairs": values.size,
        "distance_us": 1e6 * seconds / values.size,
        "one_user_ms": 1e3 * one,
        "all_users_s": search,
        "solved": solved,
    }
    lines = [
        f"one exact distance       {results['distance_us']:10.1f} µs",
        f"10 nearest of one user   {results['one_user_ms']:10.1f} ms",
        f"10 nearest of all users  {search:10.2f} s, {solved:.1%} of pairs solved",
    ]
    if pot := _pot(data, *halves):
        pot_us, all_pairs = 1e6 * pot[0] / values.size, data.n_users * (data.n_users - 1) / 2
        results |= {
            "pot_us": pot_us,
            "distance_ratio": pot[0] / seconds,
            "search_ratio": pot_us * 1e-6 * all_pairs / search,
            "largest_difference": float(np.abs(values - pot[1]).max()),
        }
        lines += [
            f"one distance by ot.emd2  {pot_us:10.1f} µs, {results['distance_ratio']:.1f} times as long",
            f"all pairs by ot.emd2     {results['search_ratio']:10.1f} times as long as the search",
            f"largest difference       {results['largest_difference']:10.1e}",
        ]
    heading = f"{results['data']}; {counted(results['threads'], 'thread')} for the search of all users"
    return Output(results, lines, heading)


def _best(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest time of three, and the result."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def _pot(data: Dataset, users: list[Any], others: list[Any]) -> tuple[float, Floats] | None:
    """Return POT's time for all pairs, and its distances; None if it is not installed."""
    import numpy as np

    try:
        import ot
    except ImportError:
        note('POT is not installed, so there is no comparison: pip install "prefmover[peers]"')
        return None
    geometry, mass = data.require_geometry("prefmover bench"), data.preferences

    def distribution(user: int) -> tuple[Any, Any]:
        part = slice(mass.indptr[user], mass.indptr[user + 1])
        return mass.indices[part], mass.mass[part] / mass.total[user]

    rows, columns = ([distribution(u) for u in data.ratings.user_positions(side)] for side in (users, others))
    problems = [[(p, q, geometry.block(i, j)) for j, q in columns] for i, p in rows]
    return _best(lambda: np.array([[ot.emd2(*problem) for problem in row] for row in problems]))
