"""``prefmover data``: which data sets there are, and how to get them here."""

from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli.source import Json
from prefmover.cli.terminal import progress, tell

if TYPE_CHECKING:
    from prefmover.datasets.install import Installed

app = typer.Typer(help="List, download and locate data sets.", no_args_is_help=True, add_completion=False)

Name = Annotated[str, typer.Argument(help="Such as ml-1m; `prefmover data list` shows all.")]

EXAMPLES = {
    "list": ("prefmover data list", "prefmover data list --json"),
    "get": ("prefmover data get ml-100k",),
    "add": ("prefmover data add ml-1m --from ml-1m.zip", "prefmover data add ml-1m --from ml-1m --link"),
    "path": ("prefmover data path", "prefmover data path ml-100k"),
}

VERIFIED = {
    "hash": "its hash is the publisher's",
    "contents": "read to the end and checked by its contents, not by a published hash",
}


@app.callback()
def data() -> None:
    """List, download and locate data sets."""


@app.command("list")
def list_(json: Json = False) -> None:
    """List the data sets and where they are."""
    from prefmover.datasets import BUILT_IN, SOURCES, folders
    from prefmover.errors import InputError

    rows = [{"name": name, "title": "built in", "path": "built in"} for name in BUILT_IN]
    for known in SOURCES.values():
        try:
            files = folders.find(known)
            where = str(files.path) if files else ""
        except InputError as error:  # one that is damaged should not hide the others
            where = f"unusable: {error}"
        rows.append({"name": known.name, "title": known.title, "path": where})
    if json:
        from json import dumps

        typer.echo(dumps(rows, indent=2))
        return
    for row in rows:
        typer.echo(f"{row['name']:<16} {row['title']:<45} {row['path'] or 'not here'}")
    tell("\n`prefmover data get NAME` downloads, `prefmover data add NAME --from PATH` takes a copy.")


@app.command()
def get(
    name: Name,
    force: Annotated[bool, typer.Option("--force", help="Download again even if it is here.")] = False,
    json: Json = False,
) -> None:
    """Download a data set from its publisher."""
    from prefmover.datasets import install
    from prefmover.datasets.registry import BUILT_IN, source

    if name.casefold() not in BUILT_IN:
        known = source(name)
        tell(f"{known.title}\nTerms: {known.terms}\nPlease cite: {known.citation}")
    with progress(f"{name}, bytes") as callback:
        done = install.get(name, progress=callback, force=force)
    _report(done, json)


@app.command()
def add(
    name: Name,
    origin: Annotated[str, typer.Option("--from", help="The publisher's zip archive, or a folder.")],
    link: Annotated[bool, typer.Option("--link", help="Link to it instead of copying.")] = False,
    json: Json = False,
) -> None:
    """Install a data set from a copy that you have."""
    from prefmover.datasets import install

    _report(install.add(name, origin, link=link), json)


@app.command()
def path(
    name: Annotated[str, typer.Argument(help="A data set; none for the folder they are installed in.")] = "",
    json: Json = False,
) -> None:
    """Print where a data set is, or where data sets are installed."""
    from prefmover.datasets import BUILT_IN, folders
    from prefmover.datasets.registry import source
    from prefmover.errors import InputError

    if name.casefold() in BUILT_IN:
        raise InputError(f"{name} is built in and has no folder")
    place = str(folders.locate(source(name)).path) if name else str(folders.data_folder())
    if json:
        from json import dumps

        typer.echo(dumps({"name": name or None, "path": place}))
    else:
        typer.echo(place)


def _report(done: "Installed", json: bool) -> None:
    if json:
        from dataclasses import asdict
        from json import dumps

        typer.echo(dumps(asdict(done), indent=2))
        return
    typer.echo(done.path)
    if done.verified:
        digits = f" (sha256 {done.sha256})" if done.sha256 else ""
        tell(f"{done.name}: {VERIFIED[done.verified]}{digits}")
    else:
        tell(f"{done.name} is already here; --force downloads it again")
