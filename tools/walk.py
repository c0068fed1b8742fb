"""The path of the tutorial's ratings through the package, as the interpreter takes it.

``python -m tools.walk`` runs the tutorial's command under :func:`sys.setprofile`, and prints the
functions of the package in the order of their first visits. A module takes part if one of its functions runs;
imports do not count. A change of file is a pair of modules: a function of the second is first called by the
first.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, reduce
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = str(ROOT / "src" / "prefmover")
COMMAND = ("recommend", "--ratings", "stars.csv", "--items", "books.csv", "--user", "ana")


@dataclass(frozen=True)
class Walk:
    """The functions of the package that ran, as (module, name), in the order of their first visits.

    ``changes`` are the pairs of modules (from, to) of these first visits. ``below`` counts, for each stop,
    the first visits that happened while it ran.
    """

    stops: tuple[tuple[str, str], ...]
    changes: frozenset[tuple[str, str]]
    below: tuple[int, ...]

    @property
    def modules(self) -> list[str]:
        """The modules whose functions ran, in the order of their first visits."""
        return list(dict.fromkeys(module for module, _ in self.stops))

    def main_stops(self, n: int = 25) -> list[tuple[str, str, str]]:
        """Return a function of each of the n modules of which most functions run, and what it does.

        The function is the public one below which most first visits happen. The first line of its docstring
        says what it does.
        """
        functions = Counter(module for module, _ in self.stops)
        best: dict[str, int] = {}
        for k, (module, name) in enumerate(self.stops):
            public = "<" not in name and not any(part.startswith("_") for part in name.split("."))
            if public and _summary(module, name) and self.below[k] > self.below[best.get(module, k)]:
                best[module] = k
            elif public and _summary(module, name):
                best.setdefault(module, k)
        ranked = sorted(best, key=lambda module: (-functions[module], best[module]))[:n]
        chosen = [self.stops[k] for k in sorted(best[module] for module in ranked)]
        return [(module, name, _summary(module, name)) for module, name in chosen]


def _summary(module: str, name: str) -> str:
    """Return the first line of a function's docstring, or "" if it has none."""
    value = reduce(getattr, name.split("."), import_module(f"prefmover.{module}"))
    lines = (getattr(value, "__doc__", None) or "").strip().splitlines()
    return re.sub(r"(:\w+:)?(`+)(.+?)\2", r"`\3`", lines[0].strip()) if lines else ""


@cache
def walk_elsewhere() -> Walk:
    """Return the walk of a new process, in which nothing is compiled yet and all kernels are interpreted."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "tools.walk", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return Walk(
        tuple(map(tuple, found["stops"])), frozenset(map(tuple, found["changes"])), tuple(found["below"])
    )


def tutorial_files() -> dict[str, str]:
    """Return the files that the tutorial tells its readers to save, by name."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", page, re.DOTALL))


def walk() -> Walk:
    """Run the tutorial's command once to import and compile, and once to watch."""
    from prefmover.cli import main

    seen: dict[tuple[str, str], int] = {}
    changes: set[tuple[str, str]] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and (module := _module(frame)) and not code.co_name.startswith("<"):
            stop = (module, code.co_qualname)
            if stop not in seen:
                callers = list(_callers(frame))
                changes.update((caller, module) for caller, _ in callers[:1] if caller != module)
                for caller in dict.fromkeys(callers):
                    seen[caller] = seen.get(caller, 0) + 1
                seen[stop] = 0

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
    return Walk(tuple(seen), frozenset(changes), tuple(seen.values()))


def _module(frame: FrameType) -> str:
    """Return the module of a frame within the package, or "" if it is not of the package."""
    name = frame.f_code.co_filename
    if not name.startswith(PACKAGE):
        return ""
    return name.removeprefix(PACKAGE + "/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def _callers(frame: FrameType) -> Iterator[tuple[str, str]]:
    """Yield the functions of the package that are running, the nearest caller first."""
    below = frame.f_back
    while below is not None:
        if (module := _module(below)) and not below.f_code.co_name.startswith("<"):
            yield module, below.f_code.co_qualname
        below = below.f_back


if __name__ == "__main__":
    walked = walk()
    if "--json" in sys.argv:
        print(json.dumps({"stops": walked.stops, "changes": sorted(walked.changes), "below": walked.below}))
    else:
        print(*(f"{module}:{name}" for module, name in walked.stops), sep="\n")
        print(f"{len(walked.modules)} modules, {len(walked.changes)} changes of file", file=sys.stderr)
