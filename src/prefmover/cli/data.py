"""``prefmover data``: list, download and locate data sets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli import Opt
from prefmover.cli.terminal import Output, note, progress
from prefmover.datasets.registry import BUILT_IN, SOURCES, find_source
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.datasets import install

app = typer.Typer(no_args_is_help=True, add_completion=False)

Name = Annotated[str, typer.Argument(help="Name of a data set; `prefmover data list` shows all.")]

EXAMPLES = {
    "list": ("prefmover data list", "prefmover data list --json"),
    "get": ("prefmover data get ml-100k", "prefmover data get movietweetings"),
    "add": ("prefmover data add ml-1m --from ml-1m.zip", "prefmover data add ml-1m --from ml-1m --link"),
    "path": ("prefmover data path", "prefmover data path ml-100k"),
}

VERIFIED = {
    "hash": "verified by the publisher's hash",
    "contents": "verified by reading all files; the publisher gives no hash",
}


@app.command("list")
def list_() -> Output:
    """List the data sets and their folders."""
    from prefmover.datasets import folders

    rows = [{"name": name, "title": "built in", "path": "built in"} for name in BUILT_IN]
    for known in SOURCES.values():
        try:
            files = folders.find(known)
            where = str(files.path) if files else ""
        except InputError as error:  # a damaged one must not hide the others
            where = f"unusable: {error}"
        rows.append({"name": known.name, "title": known.title, "path": where})
    lines = [f"{row['name']:<16} {row['title']:<45} {row['path'] or 'not installed'}" for row in rows]
    heading = "`prefmover data get NAME` downloads; `prefmover data add NAME --from PATH` copies your files"
    return Output(rows, lines, heading)


@app.command()
def get(
    name: Name, force: Annotated[bool, Opt("New download even if the data set is installed.")] = False
) -> Output:
    """Download a data set from its publisher."""
    from prefmover.datasets import install

    _show_terms(name)
    with progress(f"{name}, bytes") as callback:
        return _describe(install.get(name, progress=callback, force=force))


@app.command()
def add(
    name: Name,
    origin: Annotated[str, Opt("Publisher's zip archive, or a folder.", "PATH", "--from")],
    link: Annotated[bool, Opt("Link instead of a copy.")] = False,
) -> Output:
    """Install a data set from an archive or a folder."""
    from prefmover.datasets import install

    if Path(origin).expanduser().exists():
        _show_terms(name)
    return _describe(install.add(name, origin, link=link))


@app.command()
def path(
    name: Annotated[
        str, typer.Argument(help="Name of a data set; without it, the folder of all data sets.")
    ] = "",
) -> Output:
    """Print the path of a data set, or of the folder of all data sets."""
    from prefmover.datasets import folders

    if name.casefold() in BUILT_IN:
        raise InputError(f"{name} is built in; it has no folder")
    folder = str(folders.locate(find_source(name)).path) if name else str(folders.data_folder())
    return Output({"name": name or None, "path": folder}, [folder])


def _show_terms(name: str) -> None:
    if name.casefold() not in BUILT_IN:
        known = find_source(name)
        for line in (known.title, f"terms: {known.terms}", f"please cite: {known.citation}"):
            note(line)


def _describe(installed: install.Installed) -> Output:
    heading = f"{installed.name} is already installed; --force downloads it again"
    if installed.verified:
        digits = f" (sha256 {installed.sha256})" if installed.sha256 else ""
        heading = f"{installed.name}: {VERIFIED[installed.verified]}{digits}"
    return Output(asdict(installed), [str(installed.path)], heading)
