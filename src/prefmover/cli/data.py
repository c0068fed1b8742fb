"""``prefmover data``: list, download and locate data sets."""

from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli.options import Json
from prefmover.cli.output import print_json
from prefmover.cli.terminal import note, progress

if TYPE_CHECKING:
    from prefmover.datasets.install import Installed

app = typer.Typer(help="List, download and locate data sets.", no_args_is_help=True, add_completion=False)

Name = Annotated[str, typer.Argument(help="Name of a data set; `prefmover data list` shows all.")]

EXAMPLES = {
    "list": ("prefmover data list", "prefmover data list --json"),
    "get": ("prefmover data get ml-100k",),
    "add": ("prefmover data add ml-1m --from ml-1m.zip", "prefmover data add ml-1m --from ml-1m --link"),
    "path": ("prefmover data path", "prefmover data path ml-100k"),
}

VERIFIED = {
    "hash": "verified by the publisher's hash",
    "contents": "verified by reading all files; the publisher gives no hash",
}


@app.callback()
def data() -> None:
    """List, download and locate data sets."""


@app.command("list")
def list_(json: Json = False) -> None:
    """List the data sets and their folders."""
    from prefmover.datasets import BUILT_IN, SOURCES, folders
    from prefmover.errors import InputError

    rows = [{"name": name, "title": "built in", "path": "built in"} for name in BUILT_IN]
    for known in SOURCES.values():
        try:
            files = folders.find(known)
            where = str(files.path) if files else ""
        except InputError as error:  # a damaged one must not hide the others
            where = f"unusable: {error}"
        rows.append({"name": known.name, "title": known.title, "path": where})
    if json:
        print_json(rows)
        return
    for row in rows:
        typer.echo(f"{row['name']:<16} {row['title']:<45} {row['path'] or 'not installed'}")
    note(
        "\n`prefmover data get NAME` downloads; `prefmover data add NAME --from PATH` copies files you have."
    )


@app.command()
def get(
    name: Name,
    force: Annotated[
        bool, typer.Option("--force", help="New download even if the data set is installed.")
    ] = False,
    json: Json = False,
) -> None:
    """Download a data set from its publisher."""
    from prefmover.datasets import install
    from prefmover.datasets.registry import BUILT_IN, find_source

    if name.casefold() not in BUILT_IN:
        known = find_source(name)
        note(f"{known.title}\nTerms: {known.terms}\nPlease cite: {known.citation}")
    with progress(f"{name}, bytes") as callback:
        installed = install.get(name, progress=callback, force=force)
    _report(installed, json)


@app.command()
def add(
    name: Name,
    origin: Annotated[
        str, typer.Option("--from", metavar="PATH", help="Publisher's zip archive, or a folder.")
    ],
    link: Annotated[bool, typer.Option("--link", help="Link instead of a copy.")] = False,
    json: Json = False,
) -> None:
    """Install a data set from an archive or a folder."""
    from prefmover.datasets import install

    _report(install.add(name, origin, link=link), json)


@app.command()
def path(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a data set; without it, the folder of all data sets.", show_default=False
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Print the path of a data set, or of the folder of all data sets."""
    from prefmover.datasets import BUILT_IN, folders
    from prefmover.datasets.registry import find_source
    from prefmover.errors import InputError

    if name.casefold() in BUILT_IN:
        raise InputError(f"{name} is built in; it has no folder")
    folder = str(folders.locate(find_source(name)).path) if name else str(folders.data_folder())
    if json:
        print_json({"name": name or None, "path": folder})
    else:
        typer.echo(folder)


def _report(installed: "Installed", json: bool) -> None:
    if json:
        from dataclasses import asdict

        print_json(asdict(installed))
        return
    typer.echo(installed.path)
    if installed.verified:
        digits = f" (sha256 {installed.sha256})" if installed.sha256 else ""
        note(f"{installed.name}: {VERIFIED[installed.verified]}{digits}")
    else:
        note(f"{installed.name} is already installed; --force downloads it again")
