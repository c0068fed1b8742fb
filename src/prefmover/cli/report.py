"""``prefmover report``: figures, tables and conclusions of an evaluation."""

from typing import Annotated

from typer import Argument

from prefmover.cli import Opt
from prefmover.cli.terminal import Output

EXAMPLES = ("prefmover report run", "prefmover report run --out report")


def report(
    folder: Annotated[str, Argument(help="Folder of an evaluation, finished or not.")],
    out: Annotated[
        str, Opt("Where the result goes: a folder; FOLDER/report by default.", "FOLDER", "-o")
    ] = "",
) -> Output:
    """Write an HTML page, the figures as PNG and SVG, and a summary, from the records of an evaluation."""
    from prefmover.report import write_report

    files = {name: str(path) for name, path in write_report(folder, out or None).items()}
    others = [path for name, path in files.items() if name != "report.html"]
    return Output(files, [files["report.html"]], others)
