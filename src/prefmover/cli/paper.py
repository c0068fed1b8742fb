"""``prefmover paper``: the tables and figures of the paper, computed and compared with the printed ones."""

from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli.evaluate import Out, Report
from prefmover.cli.options import DatasetName, Json, Threads

if TYPE_CHECKING:
    from prefmover.paper.table_1 import Table1

app = typer.Typer(
    help="Reproduce the tables and figures of the paper.",
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
    """Reproduce the tables and figures of the paper."""


@app.command()
def figures(
    out: Out,
    dataset: Annotated[
        DatasetName,
        typer.Option(
            "--dataset", "-d", case_sensitive=False, help="Data set; the paper has ml-100k and ml-1m."
        ),
    ] = "ml-100k",
    panels: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="Panels, separated by commas.", show_default="all of the data set"
        ),
    ] = "",
    repeats: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Random splits per share.", show_default="5")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the first split.")] = 0,
    recommenders: Annotated[
        str, typer.Option(metavar="NAMES", help="More recommenders, separated by commas.", show_default=False)
    ] = "",
    threads: Threads = None,
    report: Report = True,
    json: Json = False,
) -> None:
    """Run the panels of Figure 3: twelve measures, and controls that the paper lacks, on the same splits.

    Finished parts are saved: after an interruption, run the same command again to resume.
    """
    from prefmover.cli.evaluate import run
    from prefmover.paper.figure_3 import RECOMMENDERS, figure_3

    chosen = [name.strip() for name in panels.split(",")] if panels else None
    more = [name.strip() for name in recommenders.split(",") if name.strip()]
    experiment = figure_3(dataset, chosen, repeats=repeats, seed=seed, recommenders=[*RECOMMENDERS, *more])
    run(experiment, out, threads, report, json)


@app.command("table-1")
def table_1(json: Json = False) -> None:
    """Compute Table 1(c), twelve measures of four pairs of users, under two sets of conventions."""
    from prefmover.paper.table_1 import table_1 as load

    table = load()
    if json:
        from prefmover.cli.output import print_json

        print_json(table.to_dict())
    else:
        typer.echo(_text(table))


def _text(table: "Table1") -> str:
    lines = [
        "Table 1(c) of the paper: printed, and computed under two sets of conventions",
        "  published  each measure as defined in its publication (PMD: in the text of the paper)",
        "  table-1    conventions reconstructed from the printed numbers",
        "  = equal when rounded   ~ equal when truncated   x different   --- undefined",
        "",
        f"{'measure':<9} {'pair':<9} {'printed':>8} {'published':>11}   {'table-1':>9}",
    ]
    last = None
    for cell in table.cells:
        label, last = (cell.label if cell.measure != last else ""), cell.measure
        published, rebuilt = (_shown(cell.computed[preset]) for preset in ("published", "table-1"))
        marks = [MARKS[cell.agreement(preset)] for preset in ("published", "table-1")]
        pair = " & ".join(cell.users)
        lines.append(
            f"{label:<9} {pair:<9} {cell.printed:>8} {published:>11} {marks[0]} {rebuilt:>9} {marks[1]}"
        )
    lines += ["", *(_count(table, preset) for preset in ("published", "table-1")), "", *_comments(table)]
    return "\n".join(lines)


def _shown(value: float) -> str:
    # Distances lie on a grid of 2^-25: 0.79999999 is 0.8. Adding 0 turns -0 into 0.
    return "---" if value != value else f"{round(value, 5) + 0:.5f}".rstrip("0").rstrip(".")


def _count(table: "Table1", preset: str) -> str:
    n = table.counts(preset)
    agree = n["rounded"] + n["truncated"]
    return (
        f"{preset:<9}  {agree} of {len(table.cells)} cells agree "
        f"({n['rounded']} rounded, {n['truncated']} only truncated), {n['differs']} differ"
    )


def _comments(table: "Table1") -> list[str]:
    from textwrap import wrap

    paragraphs = [
        (
            "The paper does not state the conventions behind its Table 1. With the published definitions of "
            "the measures some of the cells agree; with the conventions below all of them do. These "
            "conventions are inferred from the numbers: they show how the table may have been computed."
        ),
        (
            "All other commands use the published definitions, and exact PMD over arccos(similarity), unless "
            "they are given --convention table-1. With arccos a distance can exceed 1, so 1 - PMD can be "
            "negative and is not a similarity. docs/measures.md lists the rules that turn a distance into a "
            "weight."
        ),
        *(f"{table.label(name)}: {' '.join(doubt.split())}" for name, doubt in table.doubts().items()),
    ]
    return [
        line for text in paragraphs for line in wrap(text, 96, subsequent_indent="  ", break_long_words=False)
    ]
