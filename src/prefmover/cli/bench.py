"""``prefmover bench``: what this machine does in a minute, against POT where that is installed.

The benchmarks behind the figures in the docs are scripts under ``benchmarks/``; they take longer and use real
data. This one answers "is it fast here?".
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefmover.cli.source import Jobs, Json
from prefmover.cli.terminal import progress, tell

if TYPE_CHECKING:
    from prefmover.data.ratings import Ratings
    from prefmover.items.geometry import ItemGeometry

__all__ = ["bench"]

EXAMPLES = (
    "prefmover bench",
    "prefmover bench --users 30 --jobs 1 --json",
)


def bench(
    users: Annotated[
        int, typer.Option(min=2, max=800, help="Distances between halves of so many users are timed.")
    ] = 60,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Time exact distances and the search for neighbors on the built-in data.

    Each figure is the best of three runs, on one thread but for the search. POT gets the same problems, laid
    out beforehand; its values must agree.
    """
    from prefmover import datasets
    from prefmover.cli.output import print_json
    from prefmover.execution.threads import resolve_jobs

    data = datasets.load("cinema")
    chosen = data.ratings.users[:: max(1, data.ratings.n_users // users)][:users].tolist()
    with progress("timing") as callback:
        found = _measure(data.ratings, data.geometry, chosen, jobs, callback or (lambda done, total: None))
    found = {"data": str(data.ratings), "threads": resolve_jobs(jobs), **found}
    if json:
        print_json(found)
        return
    tell(f"{found['data']}; search on {found['threads']} threads, the rest on one")
    for line in _lines(found):
        typer.echo(line)


def _measure(
    ratings: Ratings, geometry: ItemGeometry, users: list[Any], jobs: int | None, step: Any
) -> dict[str, Any]:
    import numpy as np

    from prefmover.measures.pmd import distances
    from prefmover.search import NeighborIndex

    index = NeighborIndex(ratings, geometry)
    index.nearest(k=1, users=users[:1], n_threads=1)  # compiles, or loads what was compiled
    sides = users[::2], users[1::2]  # different ones: a pair is not solved twice
    ours, values = _best(lambda: distances(ratings, geometry, *sides, n_threads=1))
    step(1, 4)
    pairs = values.size
    found: dict[str, Any] = {"pairs": pairs, "distance_us": 1e6 * ours / pairs}
    theirs = _by_pot(ratings, geometry, *sides)
    step(2, 4)
    if theirs is not None:
        seconds, reference = theirs
        found["pot_us"] = 1e6 * seconds / pairs
        found["distance_ratio"] = seconds / ours
        found["largest_difference"] = float(np.abs(values - reference).max())
    one, _ = _best(lambda: NeighborIndex(ratings, geometry).nearest(k=10, users=users[:1], n_threads=1))
    step(3, 4)
    search, neighbors = _best(lambda: NeighborIndex(ratings, geometry).nearest(k=10, n_threads=jobs))
    step(4, 4)
    found |= {
        "one_user_ms": 1e3 * one,
        "everybody_s": search,
        "solved": neighbors.stats.solved / neighbors.stats.pairs,
    }
    if theirs is not None:
        n = ratings.n_users
        found["search_ratio"] = found["pot_us"] * 1e-6 * n * (n - 1) / 2 / search
    return found


def _best(work: Any) -> tuple[float, Any]:
    """Return the shortest time of three, and the result."""
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - start)
    return min(taken), result


def _by_pot(
    ratings: Ratings, geometry: ItemGeometry, users: list[Any], others: list[Any]
) -> tuple[float, Any] | None:
    """Return POT's time for all pairs, and its distances; None if it is not installed."""
    try:
        import ot
    except ImportError:
        tell('POT is not installed, so there is nothing to compare with: pip install "prefmover[peers]"')
        return None
    import numpy as np

    from prefmover.data.preferences import preferences
    from prefmover.items.geometry import align

    aligned, block = align(ratings, geometry)
    everyone = preferences(aligned)
    rows, columns = (
        [
            (everyone.indices[part], everyone.mass[part] / everyone.total[u])
            for u in aligned.user_positions(side)
            for part in [slice(everyone.indptr[u], everyone.indptr[u + 1])]
        ]
        for side in (users, others)
    )
    problems = [[(p, q, block.block(i, j)) for j, q in columns] for i, p in rows]
    return _best(lambda: np.array([[ot.emd2(*problem) for problem in row] for row in problems]))


def _lines(found: dict[str, Any]) -> list[str]:
    def against(ratio: str) -> str:
        return f"  {found[ratio]:.1f} times as fast" if ratio in found else ""

    lines = [f"one exact distance                 {found['distance_us']:10.1f} µs{against('distance_ratio')}"]
    if "pot_us" in found:
        lines.append(f"  the same by ot.emd2              {found['pot_us']:10.1f} µs")
        lines.append(f"  largest difference               {found['largest_difference']:10.1e}")
    lines += [
        f"10 nearest of one user             {found['one_user_ms']:10.1f} ms",
        f"10 nearest of everybody            {found['everybody_s']:10.2f} s {against('search_ratio')}",
        f"  share of pairs that were solved  {found['solved']:10.1%}",
    ]
    return lines
