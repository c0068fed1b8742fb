"""The path of the tutorial's ratings through the package, as the interpreter takes it.

``python -m tools.walk`` runs the tutorial's command under :func:`sys.setprofile`, and prints the
functions of the package in the order of their first visits. A module takes part if one of its functions runs;
imports do not count. A change of file is a pair of modules: a function of the second is first called by the
first.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = str(ROOT / "src" / "prefmover")
COMMAND = ("recommend", "--ratings", "stars.csv", "--items", "books.csv", "--user", "ana")


@dataclass(frozen=True)
class Walk:
    """The functions of the package that ran, as (module, name), in the order of their first visits.

    ``changes`` are the pairs of modules (from, to) of these first visits.
    """

    stops: tuple[tuple[str, str], ...]
    changes: frozenset[tuple[str, str]]

    @property
    def modules(self) -> list[str]:
        """The modules whose functions ran, in the order of their first visits."""
        return list(dict.fromkeys(module for module, _ in self.stops))


def tutorial_files() -> dict[str, str]:
    """Return the files that the tutorial tells its readers to save, by name."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", page, re.DOTALL))


def walk() -> Walk:
    """Run the tutorial's command once to import and compile, and once to watch."""
    from prefmover.cli import main

    seen: dict[tuple[str, str], None] = {}
    changes: set[tuple[str, str]] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and (module := _module(frame)) and not code.co_name.startswith("<"):
            caller = _caller(frame)
            if (stop := (module, code.co_qualname)) not in seen and caller not in ("", module):
                changes.add((caller, module))
            seen.setdefault(stop)

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in tutorial_files().items():
            Path(name).write_text(text, encoding="utf-8")
        for watcher in (None, watch):
            sys.setprofile(watcher)
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                    main(list(COMMAND))
            finally:
                sys.setprofile(None)
    return Walk(tuple(seen), frozenset(changes))


def _module(frame: FrameType) -> str:
    """Return the module of a frame within the package, or "" if it is not of the package."""
    name = frame.f_code.co_filename
    if not name.startswith(PACKAGE):
        return ""
    return name.removeprefix(PACKAGE + "/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def _caller(frame: FrameType) -> str:
    """Return the module of the nearest frame of the package below this one."""
    below = frame.f_back
    while below is not None and not _module(below):
        below = below.f_back
    return "" if below is None else _module(below)


if __name__ == "__main__":
    walked = walk()
    for module, name in walked.stops:
        print(f"{module}:{name}")
    print(f"{len(walked.modules)} modules, {len(walked.changes)} changes of file", file=sys.stderr)
