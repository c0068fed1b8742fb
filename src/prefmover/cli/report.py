"""``prefmover report``: the figures, tables and conclusions of a run."""

from typing import Annotated

import typer

from prefmover.cli.terminal import tell


def report(
    folder: Annotated[str, typer.Argument(help="The folder of a run, finished or not.")],
    out: Annotated[str, typer.Option("--out", "-o", help="Where to; FOLDER/report by default.")] = "",
) -> None:
    """Write one HTML page, the figures as PNG and SVG, and a summary, from the records of a run."""
    from prefmover.report import write_report

    written = write_report(folder, out or None)
    for name, path in written.items():
        if name != "report.html":
            tell(str(path))
    typer.echo(str(written["report.html"]))
