"""``prefmover bench``: the speed of this machine, within a minute, against POT if that is installed.

The benchmarks behind the figures in the documentation are scripts under ``benchmarks/``; they take longer and
use real data.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefmover.cli.options import Json, Threads
from prefmover.cli.terminal import note, progress

if TYPE_CHECKING:
    from prefmover._typing import Floats
    from prefmover.dataset import Dataset

__all__ = ["bench"]

EXAMPLES = (
    "prefmover bench",
    "prefmover bench --users 30 --threads 1 --json",
)


def bench(
    users: Annotated[
        int,
        typer.Option(
            metavar="N", min=2, max=800, help="Number of users; one half is compared with the other."
        ),
    ] = 60,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Time exact distances and the search for neighbors on the built-in data.

    Each time is the best of three runs. Only the search for all users has several threads. POT solves the
    same problems, prepared beforehand, and its values must agree.
    """
    from prefmover import datasets
    from prefmover.cli.output import print_json
    from prefmover.execution.threads import resolve_threads

    data = datasets.load("cinema")
    chosen = data.ratings.users[:: max(1, data.n_users // users)][:users].tolist()
    with progress("timing") as callback:
        times = _measure(data, chosen, threads, callback or (lambda done, total: None))
    results = {"data": str(data.ratings), "threads": resolve_threads(threads), **times}
    if json:
        print_json(results)
        return
    note(f"{results['data']}; {results['threads']} threads for the search of all users, one for the rest")
    for line in _lines(results):
        typer.echo(line)


def _measure(
    data: Dataset, users: list[Any], threads: int | None, step: Callable[[int, int], None]
) -> dict[str, Any]:
    import numpy as np

    from prefmover.measures.pmd import distances
    from prefmover.search import NeighborIndex

    NeighborIndex(data).nearest(users[:1], k=1, n_threads=1)  # compiles, or loads the compiled kernels
    halves = users[::2], users[1::2]
    seconds, values = _best(lambda: distances(data, *halves, n_threads=1))
    step(1, 4)
    pairs = values.size
    results: dict[str, Any] = {"pairs": pairs, "distance_us": 1e6 * seconds / pairs}
    pot = _pot(data, *halves)
    step(2, 4)
    if pot is not None:
        pot_seconds, reference = pot
        results["pot_us"] = 1e6 * pot_seconds / pairs
        results["distance_ratio"] = pot_seconds / seconds
        results["largest_difference"] = float(np.abs(values - reference).max())
    one, _ = _best(lambda: NeighborIndex(data).nearest(users[:1], k=10, n_threads=1))
    step(3, 4)
    search, neighbors = _best(lambda: NeighborIndex(data).nearest(k=10, n_threads=threads))
    step(4, 4)
    results |= {
        "one_user_ms": 1e3 * one,
        "all_users_s": search,
        "solved": neighbors.stats.solved / neighbors.stats.pairs,
    }
    if pot is not None:
        all_pairs = data.n_users * (data.n_users - 1) / 2
        results["search_ratio"] = results["pot_us"] * 1e-6 * all_pairs / search
    return results


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
    try:
        import ot
    except ImportError:
        note('POT is not installed, so there is no comparison: pip install "prefmover[peers]"')
        return None
    import numpy as np

    geometry, mass = data.require_geometry("prefmover bench"), data.preferences
    rows, columns = (
        [
            (mass.indices[part], mass.mass[part] / mass.total[u])
            for u in data.ratings.user_positions(side)
            for part in [slice(mass.indptr[u], mass.indptr[u + 1])]
        ]
        for side in (users, others)
    )
    problems = [[(p, q, geometry.block(i, j)) for j, q in columns] for i, p in rows]
    return _best(lambda: np.array([[ot.emd2(*problem) for problem in row] for row in problems]))


def _lines(results: dict[str, Any]) -> list[str]:
    def ratio(name: str) -> str:
        return f"  {results[name]:.1f} times as fast as POT" if name in results else ""

    lines = [f"one exact distance           {results['distance_us']:10.1f} µs{ratio('distance_ratio')}"]
    if "pot_us" in results:
        lines.append(f"  the same by ot.emd2        {results['pot_us']:10.1f} µs")
        lines.append(f"  largest difference         {results['largest_difference']:10.1e}")
    lines += [
        f"10 nearest of one user       {results['one_user_ms']:10.1f} ms",
        f"10 nearest of all users      {results['all_users_s']:10.2f} s {ratio('search_ratio')}",
        f"  share of pairs solved      {results['solved']:10.1%}",
    ]
    return lines
