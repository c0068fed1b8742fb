"""``prefmover paper``: the paper's own tables and figures, computed and compared with what it says."""

from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli.evaluate import Out, Peers, Report
from prefmover.cli.source import Jobs, Json

if TYPE_CHECKING:
    from prefmover.paper.table_1 import Table1

app = typer.Typer(
    help="The paper's own tables and figures, computed and compared with what it says.",
    no_args_is_help=True,
    add_completion=False,
)

EXAMPLES = {
    "figures": (
        "prefmover paper figures --dataset cinema --panels c --repeats 1 --out figures",
        "prefmover paper figures --dataset ml-100k --out ml-100k-figures",
    ),
    "table-1": ("prefmover paper table-1", "prefmover paper table-1 --json"),
}

MARKS = {"rounded": "=", "truncated": "~", "differs": "x"}


@app.callback()
def paper() -> None:
    """Compute the paper's own tables and figures and compare them with what it says."""


@app.command()
def figures(
    out: Out,
    dataset: Annotated[
        str, typer.Option("--dataset", "-d", help="ml-100k (a-c) or ml-1m (d-f).")
    ] = "ml-100k",
    panels: Annotated[str, typer.Option(help="Some of the panels, with commas; all by default.")] = "",
    repeats: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Random splits; the paper has five.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the splits.")] = 0,
    peers: Peers = None,
    jobs: Jobs = None,
    report: Report = True,
    json: Json = False,
) -> None:
    """Run the panels of Figure 3: twelve measures and the controls that the paper lacks, on the same splits.

    Finished parts are never computed again: stop it when you like, and give the same command to go on.
    """
    from prefmover.cli.evaluate import run
    from prefmover.evaluation.experiment import parse_names
    from prefmover.paper.figure_3 import figure_3

    names = [name.strip() for name in panels.split(",")] if panels else None
    others = parse_names("peers", peers or "none")
    run(figure_3(dataset, names, repeats=repeats, seed=seed, peers=others), out, jobs, report, json)


@app.command("table-1")
def table_1(json: Json = False) -> None:
    """Compute Table 1(c), 12 measures on 4 pairs of users, under two sets of conventions."""
    from prefmover.paper.table_1 import table_1 as load

    table = load()
    if json:
        from json import dumps

        typer.echo(dumps(table.to_dict(), indent=2))
    else:
        typer.echo(_text(table))


def _text(table: "Table1") -> str:
    lines = [
        "Table 1(c) of the paper: printed, and computed under two sets of conventions",
        "  published  each measure as its own publication defines it (PMD: the paper's text)",
        "  table-1    a reconstruction, found by trying what gives the printed numbers",
        "  = agrees rounded   ~ agrees cut off   x does not agree   --- undefined",
        "",
        f"{'measure':<9} {'pair':<9} {'printed':>8} {'published':>11}   {'table-1':>9}",
    ]
    last = None
    for cell in table.cells:
        label, last = (cell.label if cell.measure != last else ""), cell.measure
        published, rebuilt = (_shown(cell.computed(preset)) for preset in ("published", "table-1"))
        marks = [MARKS[cell.agreement(preset)] for preset in ("published", "table-1")]
        pair = " & ".join(cell.users)
        lines.append(
            f"{label:<9} {pair:<9} {cell.printed:>8} {published:>11} {marks[0]} {rebuilt:>9} {marks[1]}"
        )
    lines += ["", *(_count(table, preset) for preset in ("published", "table-1")), "", *_in_words(table)]
    return "\n".join(lines)


def _shown(value: float) -> str:
    # From a grid of 2^-25: 0.79999999 is 0.8. Adding 0 turns -0 into 0.
    return "---" if value != value else f"{round(value, 5) + 0:.5f}".rstrip("0").rstrip(".")


def _count(table: "Table1", preset: str) -> str:
    n = table.counts(preset)
    agree = n["rounded"] + n["truncated"]
    return (
        f"{preset:<9}  {agree} of {len(table.cells)} cells agree "
        f"({n['rounded']} rounded, {n['truncated']} only cut off), {n['differs']} do not"
    )


def _in_words(table: "Table1") -> list[str]:
    from textwrap import wrap

    paragraphs = [
        (
            "What this means. The paper does not state the conventions behind its Table 1. Under the "
            "measures' published definitions a part of the cells comes out; under the conventions below "
            "all of them do. Those are inferred from the numbers, so they show how the table may have "
            "been made, not how it was."
        ),
        (
            "Every other command uses the published definitions, and exact PMD over arccos(similarity), "
            "unless convention table-1 is asked for. With arccos a distance can exceed 1, so 1-PMD can be "
            "negative: it is not a similarity. See docs/measures.md for the ways to turn a distance into "
            "a weight."
        ),
        *(f"{table.label(name)}: {' '.join(doubt.split())}" for name, doubt in table.doubts().items()),
    ]
    return [
        line for text in paragraphs for line in wrap(text, 96, subsequent_indent="  ", break_long_words=False)
    ]
