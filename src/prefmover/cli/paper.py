"""``prefmover paper``: the tables and figures of the paper, computed and compared with the printed ones."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli import Opt
from prefmover.cli.options import DATASET, DatasetName, Out, Report, Seed, Threads
from prefmover.cli.terminal import Output

if TYPE_CHECKING:
    from prefmover.paper.table_1 import Table1

app = typer.Typer(no_args_is_help=True, add_completion=False)

EXAMPLES = {
    "figures": (
        "prefmover paper figures --dataset cinema --panels c --repeats 1 --out figures",
        "prefmover paper figures --dataset ml-100k --out ml-100k-figures",
    ),
    "table-1": ("prefmover paper table-1", "prefmover paper table-1 --json"),
}

MARKS = {"rounded": "=", "truncated": "~", "differs": "x"}
HEAD = """\
Table 1(c) of the paper: printed, and computed under two sets of conventions
  published  each measure as defined in its publication (PMD: in the text of the paper)
  table-1    conventions reconstructed from the printed numbers
  = equal when rounded   ~ equal when truncated   x different   --- undefined

measure   pair       printed   published     table-1"""
COMMENTS = """\
The paper does not state the conventions behind its Table 1. With the published definitions of the
  measures some of the cells agree; with the conventions below all of them do. These conventions
  are inferred from the numbers: they show how the table may have been computed.
All other commands use the published definitions, and exact PMD over arccos(similarity), unless
  they are given --convention table-1. With arccos a distance can exceed 1, so 1 - PMD can be
  negative and is not a similarity. docs/measures.md lists the rules that turn a distance into a
  weight."""


@app.command()
def figures(
    out: Out,
    dataset: Annotated[DatasetName, DATASET] = "ml-100k",
    panels: Annotated[str, Opt("Panels, separated by commas; all by default.", "NAMES")] = "",
    repeats: Annotated[int | None, Opt("Random splits per share; 5 by default.", min=1)] = None,
    seed: Seed = 0,
    recommenders: Annotated[str, Opt("More recommenders, separated by commas.", "NAMES")] = "",
    threads: Threads = None,
    report: Report = True,
) -> Output:
    """Run the panels of Figure 3: twelve measures, and controls that the paper lacks, on the same splits.

    Finished parts are saved: after an interruption, run the same command again to resume.
    """
    from prefmover.cli.evaluate import run
    from prefmover.paper.figure_3 import RECOMMENDERS, figure_3

    chosen = [name.strip() for name in panels.split(",")] if panels else None
    more = [name.strip() for name in recommenders.split(",") if name.strip()]
    experiment = figure_3(dataset, chosen, repeats=repeats, seed=seed, recommenders=[*RECOMMENDERS, *more])
    return run(experiment, out, threads, report)


@app.command("table-1")
def table_1() -> Output:
    """Compute Table 1(c), twelve measures of four pairs of users, under two sets of conventions."""
    from prefmover.paper.table_1 import table_1 as compute_table_1

    table = compute_table_1()
    return Output(table.to_dict(), _lines(table))


def _lines(table: Table1) -> list[str]:
    from prefmover.paper.table_1 import PRESETS

    lines, last = HEAD.splitlines(), None
    for cell in table.cells:
        label, last = (cell.label if cell.measure != last else ""), cell.measure
        published, rebuilt = (_shown(cell.computed[preset]) for preset in PRESETS)
        marks = [MARKS[cell.agreement(preset)] for preset in PRESETS]
        pair = " & ".join(cell.users)
        lines.append(
            f"{label:<9} {pair:<9} {cell.printed:>8} {published:>11} {marks[0]} {rebuilt:>9} {marks[1]}"
        )
    lines.append("")
    for preset in PRESETS:
        n = table.counts(preset)
        lines.append(
            f"{preset:<9}  {n['rounded'] + n['truncated']} of {len(table.cells)} cells agree "
            f"({n['rounded']} rounded, {n['truncated']} only truncated), {n['differs']} differ"
        )
    lines += ["", *COMMENTS.splitlines()]
    for name, doubt in table.doubts().items():
        text = f"{table.label(name)}: {' '.join(doubt.split())}"
        lines += wrap(text, 96, subsequent_indent="  ", break_long_words=False)
    return lines


def _shown(value: float) -> str:
    # Distances lie on a grid of 2^-25: 0.79999999 is 0.8. Adding 0 turns -0 into 0.
    return "---" if value != value else f"{round(value, 5) + 0:.5f}".rstrip("0").rstrip(".")
