"""``prefmover report``: figures, tables and conclusions of an evaluation."""

from typing import Annotated

import typer

from prefmover.cli.options import Json
from prefmover.cli.terminal import note

EXAMPLES = ("prefmover report run", "prefmover report run --out report")


def report(
    folder: Annotated[str, typer.Argument(help="Folder of an evaluation, finished or not.")],
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Folder of the report.", show_default="FOLDER/report"
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Write an HTML page, the figures as PNG and SVG, and a summary, from the records of an evaluation."""
    from prefmover.report import write_report

    written = write_report(folder, out or None)
    if json:
        from prefmover.cli.output import print_json

        print_json({name: str(path) for name, path in written.items()})
        return
    for name, path in written.items():
        if name != "report.html":
            note(str(path))
    typer.echo(str(written["report.html"]))
