"""``prefmover demo``: the paper's worked example, from ratings to flows."""

from __future__ import annotations

import typer

__all__ = ["demo"]


def demo() -> None:
    """Work through the example of the paper, from ratings to flows.

    Six users, five films, four pairs of users: what each pair's distance is, and what moves where. Two of the
    pairs have rated nothing in common.
    """
    from prefmover.measures.pmd import pmd
    from prefmover.paper.table_1 import table_1

    table = table_1()
    ratings, geometry = table.ratings(), table.geometry
    typer.echo("Ratings (Table 1a of the paper)")
    for user in ratings.users:
        rated = ", ".join(f"{item} {rating:g}" for item, rating in ratings.of(user).items())
        typer.echo(f"  {user}: {rated}")
    answers = [pmd(ratings, geometry, u, v) for case in table.settings["cases"] for u, v in case["pairs"]]
    for answer in answers:
        typer.echo(f"\n{answer.u} and {answer.v}: distance {answer.distance:.6f}")
        for flow in answer.flows:
            if flow.distance:
                typer.echo(
                    f"  {flow.mass:6.1%} moves from {flow.source} to {flow.target}, "
                    f"{flow.distance:.4f} away: {flow.share:.0%} of the distance"
                )
            else:
                typer.echo(f"  {flow.mass:6.1%} stays at {flow.source}")
    proved = sum(answer.transport.certificate.valid for answer in answers)
    typer.echo(f"\nProved optimal by their certificates: {proved} of {len(answers)} distances.")
