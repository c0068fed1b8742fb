"""``prefmover report``: the figures, tables and conclusions of a run."""

from typing import Annotated

import typer

from prefmover.cli.source import Json
from prefmover.cli.terminal import tell

EXAMPLES = ("prefmover report few", "prefmover report few --out elsewhere")


def report(
    folder: Annotated[str, typer.Argument(help="The folder of a run, finished or not.")],
    out: Annotated[str, typer.Option("--out", "-o", help="Where to; FOLDER/report by default.")] = "",
    json: Json = False,
) -> None:
    """Write one HTML page, the figures as PNG and SVG, and a summary, from the records of a run."""
    from prefmover.report import write_report

    written = write_report(folder, out or None)
    if json:
        from prefmover.cli.output import print_json

        print_json({name: str(path) for name, path in written.items()})
        return
    for name, path in written.items():
        if name != "report.html":
            tell(str(path))
    typer.echo(str(written["report.html"]))
