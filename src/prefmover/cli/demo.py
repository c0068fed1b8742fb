"""``prefmover demo``: like-minded viewers in the built-in data, and why they are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from prefmover.datasets.catalogue import Catalogue
    from prefmover.measures.pmd import UserTransport
    from prefmover.ratings import Ratings

__all__ = ["demo"]

VIEWER = "petra-h"


def demo(viewer: str = typer.Option(VIEWER, help="A viewer of the built-in data.")) -> None:
    """Find like-minded viewers in the built-in data, and show why they are alike.

    The viewers are simulated, the films are real. Nearest viewers are exact; the last lines say how few
    of the transport problems had to be solved for everybody's.
    """
    import time

    from prefmover import datasets
    from prefmover.measures.pmd import pmd
    from prefmover.search import nearest

    data = datasets.load("cinema")
    ratings, geometry, films = data.ratings, data.geometry, data.items
    ratings.user_index(viewer)
    typer.echo(f"{data.name}: {ratings} (simulated viewers)\n")
    _show_ratings(viewer, ratings, films)
    start = time.perf_counter()
    found = nearest(ratings, geometry, k=8)
    seconds = time.perf_counter() - start
    near = found.of(viewer)
    typer.echo(f"\nNearest to {viewer}, of {ratings.n_users - 1} others:")
    shared = {other.id: ratings.of(viewer).keys() & ratings.of(other.id).keys() for other in near}
    for other in near:
        n = len(shared[other.id])
        common = "no film in common" if n == 0 else f"{n} film{'s' * (n > 1)} in common"
        typer.echo(f"  {other.distance:.4f}  {other.id:<12} {common}")
    stranger = min(near, key=lambda other: (len(shared[other.id]), other.distance))
    answer = pmd(ratings, geometry, viewer, stranger.id)
    _show_flows(answer, films)
    stats = found.stats
    typer.echo(
        f"\nThe 8 nearest of all {ratings.n_users} viewers took {seconds:.1f} s: of {stats.pairs:,} pairs, "
        f"{stats.solved / stats.pairs:.1%} were solved, the others ruled out by bounds. The answer is exact."
    )


def _show_ratings(viewer: str, ratings: Ratings, films: Catalogue) -> None:
    rated = sorted(ratings.of(viewer).items(), key=lambda pair: -pair[1])
    typer.echo(f"{viewer} rated {len(rated)} films, best first:")
    for film, stars in rated[:8]:
        typer.echo(f"  {stars:>3g}  {_title(films, film)}")
    if len(rated) > 8:
        typer.echo(f"       and {len(rated) - 8} more")


def _show_flows(answer: UserTransport, films: Catalogue) -> None:
    typer.echo(f"\nWhy {answer.v}? Turning {answer.u}'s taste into theirs takes work {answer.distance:.4f}:")
    for flow in sorted(answer.flows, key=lambda flow: -flow.mass)[:8]:
        source, target = _title(films, flow.source), _title(films, flow.target)
        if flow.source == flow.target:
            typer.echo(f"  {flow.mass:6.1%} stays at {source}")
        else:
            typer.echo(f"  {flow.mass:6.1%} {source} ↔ {target}, {flow.distance:.2f} apart")
    proof = answer.transport.certificate
    typer.echo(
        f"  Proof that no plan is cheaper: this one costs {proof.primal:.9f}, and prices show that none "
        f"can cost less than {proof.dual:.9f}."
    )


def _title(films: Catalogue, film: Any) -> str:
    return films.label(film)
