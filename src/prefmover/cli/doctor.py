"""``prefmover doctor``: check the installation, and show how to fix it."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from typing import Any

import typer

from prefmover.cli.options import Json

__all__ = ["doctor", "examine", "requirements"]

FOR_DEVELOPERS = ("test", "lint", "docs", "fuzz")
"""Extras for the development of prefmover."""

EXAMPLES = ("prefmover doctor", "prefmover doctor --json")


def doctor(json: Json = False) -> None:
    """Show versions, threads, caches and data sets, and how to install what is missing."""
    from prefmover.cli.output import print_json

    report = examine()
    if json:
        print_json(report)
    else:
        typer.echo(_table(report))
    if not report["healthy"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """Return the report of ``prefmover doctor``, as JSON types."""
    needs = requirements()
    versions = {name: _version(name) for name in needs.pop("")}
    extras = {extra: {name: _version(name) for name in names} for extra, names in needs.items()}
    missing = [name for name, version in versions.items() if version is None]
    remedies = [f"pip install prefmover  # missing: {', '.join(missing)}"] if missing else []
    remedies += [
        f"pip install 'prefmover[{extra}]'  # {', '.join(n for n, v in names.items() if v is None)}"
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
        "healthy": not missing and bool(kernels["writable"]),
    }


def requirements() -> dict[str, list[str]]:
    """Return the packages that prefmover needs (under "") and those of each extra, from its metadata.

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
    from prefmover.execution.threads import resolve_threads

    return resolve_threads(None)


def _kernels() -> dict[str, Any]:
    """Return the cache of compiled kernels, and how many it holds."""
    try:
        from prefmover.execution.jit import kernel_folder

        folder = kernel_folder()
    except (ImportError, OSError) as error:
        return {
            "folder": None,
            "writable": False,
            "compiled": 0,
            "remedy": f"set NUMBA_CACHE_DIR to a writable folder: {error}",
        }
    return {
        "folder": str(folder),
        "writable": os.access(folder, os.W_OK),
        "compiled": sum(1 for _ in folder.rglob("*.nbc")),
    }


def _data() -> dict[str, Any]:
    """Return the folders of data sets, and the data sets in them."""
    from prefmover.datasets.folders import data_folders, find
    from prefmover.datasets.registry import SOURCES
    from prefmover.errors import InputError

    try:
        folders = data_folders()
        installed = {name: str(files.path) for name, source in SOURCES.items() if (files := find(source))}
    except InputError as error:
        return {"folders": [], "installed": {}, "remedy": str(error)}
    data: dict[str, Any] = {"folders": [str(folder) for folder in folders], "installed": installed}
    if not installed:
        data["remedy"] = "prefmover data get ml-100k, or set PREFMOVER_DATA to a folder of data sets"
    return data


def _table(report: dict[str, Any]) -> str:
    """Return the report as aligned text."""
    missing = "not installed"
    rows = [
        ("prefmover", report["prefmover"] or missing),
        ("python", f"{report['python']} on {report['platform']}"),
        ("threads", str(report["threads"])),
        *((name, version or missing) for name, version in report["versions"].items()),
    ]
    for extra, names in report["extras"].items():
        rows += [(name, f"{version or missing} (extra {extra!r})") for name, version in names.items()]
    kernels, data = report["kernels"], report["data"]
    rows.append(("compiled kernels", f"{kernels['folder']} ({kernels['compiled']})"))
    rows.append(("data folders", ", ".join(data["folders"]) or "-"))
    rows += list(data["installed"].items())
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {value}" for name, value in rows]
    if report["remedies"]:
        lines += ["", "To install what is missing:", *(f"  {remedy}" for remedy in report["remedies"])]
    return "\n".join(lines)
