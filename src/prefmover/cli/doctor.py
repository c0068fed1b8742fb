"""``prefmover doctor``: is everything here that prefmover needs, and if not, how to get it."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from typing import Any

import typer

from prefmover.cli.source import Json

__all__ = ["doctor", "examine", "requirements"]

FOR_DEVELOPERS = ("test", "lint", "docs", "fuzz")
"""Extras of those who work on prefmover itself."""

EXAMPLES = ("prefmover doctor", "prefmover doctor --json")


def doctor(json: Json = False) -> None:
    """Show versions, threads, caches and data, and how to get what is missing."""
    from prefmover.cli.output import print_json

    found = examine()
    if json:
        print_json(found)
    else:
        typer.echo(_table(found))
    if not found["healthy"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """Return what ``prefmover doctor`` shows, as JSON types."""
    needs = requirements()
    versions = {name: _version(name) for name in needs.pop("")}
    extras = {extra: {name: _version(name) for name in names} for extra, names in needs.items()}
    lacking = [name for name, version in versions.items() if version is None]
    remedies = [f"pip install prefmover: {', '.join(lacking)} is missing"] if lacking else []
    remedies += [
        f"pip install 'prefmover[{extra}]': {', '.join(n for n, v in names.items() if v is None)}"
        for extra, names in extras.items()
        if None in names.values()
    ]
    kernels = _kernels()
    data = _data()
    remedies += [r for r in (kernels.pop("remedy", None), data.pop("remedy", None)) if r]
    return {
        "prefmover": _version("prefmover"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "threads": _threads(),
        "versions": versions,
        "extras": extras,
        "kernels": kernels,
        "data": data,
        "remedies": remedies,
        "healthy": not lacking and bool(kernels["writable"]),
    }


def requirements() -> dict[str, list[str]]:
    """Return the packages that prefmover needs (under ""), and those of each extra, from its metadata.

    >>> "numpy" in requirements()[""], requirements()["plot"]
    (True, ['matplotlib'])
    """
    out: dict[str, list[str]] = {"": []}
    for line in metadata.requires("prefmover") or ():
        name, extra = re.match(r"[\w.-]+", line), re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if name and (extra is None or extra[1] not in FOR_DEVELOPERS):
            out.setdefault(extra[1] if extra else "", []).append(name[0])
    return out


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _threads() -> int:
    from prefmover.execution.threads import resolve_jobs

    return resolve_jobs(None)


def _kernels() -> dict[str, Any]:
    """Return where compiled kernels are kept, and whether there are any yet."""
    try:
        from prefmover.execution.jit import cache_folder

        folder = cache_folder()
    except (ImportError, OSError) as error:
        return {
            "folder": None,
            "writable": False,
            "compiled": 0,
            "remedy": f"set NUMBA_CACHE_DIR to a folder that can be written to: {error}",
        }
    return {
        "folder": str(folder),
        "writable": os.access(folder, os.W_OK),
        "compiled": sum(1 for _ in folder.rglob("*.nbc")),
    }


def _data() -> dict[str, Any]:
    """Return where data sets are looked for, and which are there."""
    from prefmover.datasets.folders import data_folders, find
    from prefmover.datasets.registry import SOURCES
    from prefmover.errors import InputError

    try:
        folders = data_folders()
        found = {name: str(files.path) for name, source in SOURCES.items() if (files := find(source))}
    except InputError as error:
        return {"folders": [], "found": {}, "remedy": str(error)}
    data: dict[str, Any] = {"folders": [str(folder) for folder in folders], "found": found}
    if not found:
        data["remedy"] = "prefmover data get ml-100k, or set PREFMOVER_DATA to a folder that has data sets"
    return data


def _table(found: dict[str, Any]) -> str:
    """Return the findings as aligned text."""
    missing = "not installed"
    rows = [
        ("prefmover", found["prefmover"] or missing),
        ("python", f"{found['python']} on {found['platform']}"),
        ("threads", str(found["threads"])),
        *((name, version or missing) for name, version in found["versions"].items()),
    ]
    for extra, names in found["extras"].items():
        rows += [(name, f"{version or missing} (extra {extra!r})") for name, version in names.items()]
    kernels, data = found["kernels"], found["data"]
    rows.append(("compiled code", f"{kernels['folder']} ({kernels['compiled']} kernels)"))
    rows.append(("data folders", ", ".join(data["folders"]) or "-"))
    rows += list(data["found"].items())
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {value}" for name, value in rows]
    if found["remedies"]:
        lines += ["", "To get what is missing:", *(f"  {remedy}" for remedy in found["remedies"])]
    return "\n".join(lines)
