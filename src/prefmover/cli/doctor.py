"""``prefmover doctor``: check the installation, and show how to fix it."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from typing import Annotated, Any

from prefmover.cli import Opt
from prefmover.cli.terminal import Output, progress
from prefmover.datasets.registry import SOURCES
from prefmover.errors import InputError, install_command

FOR_DEVELOPERS = ("test", "lint", "docs", "dist", "fuzz")
"""Extras for the development of prefmover."""

EXAMPLES = ("prefmover doctor", "prefmover doctor --json")


def doctor(
    warm: Annotated[bool, Opt("Compile now what the first large job would compile.", "--warm")] = False,
) -> Output:
    """Show versions, threads, caches and data sets, and how to install what is missing."""
    if warm:
        _compile()
    from prefmover.datasets.folders import data_folders, find
    from prefmover.execution.threads import resolve_threads

    needs = requirements()
    versions = {name: _version(name) for name in needs.pop("")}
    extras = {extra: {name: _version(name) for name in names} for extra, names in needs.items()}
    remedies = []
    for extra, names in (("", versions), *extras.items()):
        if missing := [name for name, version in names.items() if version is None]:
            remedies.append(f"{install_command(extra)}  # missing: {', '.join(missing)}")
    kernels: dict[str, Any] = {"folder": None, "writable": False, "compiled": 0}
    try:
        from prefmover.execution.jit import kernel_folder

        folder = kernel_folder()
        compiled = sum(1 for _ in folder.rglob("*.nbc"))
        kernels = {"folder": str(folder), "writable": os.access(folder, os.W_OK), "compiled": compiled}
    except (ImportError, OSError) as error:
        remedies.append(f"set NUMBA_CACHE_DIR to a writable folder: {error}")
    data: dict[str, Any] = {"folders": [], "installed": {}}
    try:
        data["folders"] = [str(folder) for folder in data_folders()]
        data["installed"] = {name: str(at.path) for name, source in SOURCES.items() if (at := find(source))}
        if not data["installed"]:
            remedies.append("prefmover data get ml-100k  # or set PREFMOVER_DATA to a folder of data sets")
    except InputError as error:
        remedies.append(str(error))
    report = {
        "prefmover": _version("prefmover"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "threads": resolve_threads(None),
        "versions": versions,
        "extras": extras,
        "kernels": kernels,
        "data": data,
        "remedies": remedies,
        "healthy": None not in versions.values() and kernels["writable"],
    }
    return Output(report, _lines(report), exit_code=0 if report["healthy"] else 1)


def _compile() -> None:
    """Compile what fits, lists and searches need, by doing some of each."""
    from prefmover.datasets.synthesis import synthetic
    from prefmover.execution import jit
    from prefmover.model import Recommender

    jit.interpret_nothing()
    with progress("compiling") as callback:
        model = Recommender().fit(synthetic(400, 120, ratings=(10, 30)), progress=callback)
        model.neighbors(0, 5)
        model.recommend(model.guest({0: 5.0, 1: 3.0}))
        model.recommend_all(5)


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


def _lines(report: dict[str, Any]) -> list[str]:
    """Return the report as aligned text."""
    kernels, data = report["kernels"], report["data"]
    rows = {
        "prefmover": report["prefmover"],
        "python": f"{report['python']} on {report['platform']}",
        "threads": report["threads"],
        **{name: version or "not installed" for name, version in report["versions"].items()},
    }
    for extra, names in report["extras"].items():
        rows |= {name: f"{version or 'not installed'} (extra {extra!r})" for name, version in names.items()}
    rows["compiled kernels"] = f"{kernels['folder']} ({kernels['compiled']})"
    rows["data folders"] = ", ".join(data["folders"]) or "-"
    rows |= data["installed"]
    width = max(map(len, rows))
    lines = [f"{name:<{width}}  {value}" for name, value in rows.items()]
    if report["remedies"]:
        lines += ["", "To install what is missing:", *(f"  {remedy}" for remedy in report["remedies"])]
    return lines
