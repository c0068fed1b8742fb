"""The folder of a run: settings, one file per finished cell, and a lock while somebody is at work.

::

    experiment.json   settings, and digests of the data they were run on
    cells/*.json      finished cells: one method on one split, all K
    cells.jsonl       the same once all are done, one line each
    records.parquet   one row per (split, method, K), for analysis
    lock              held while a run is at work

A file is written under a temporary name and renamed: a kill leaves it there whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any

from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment
from prefmover.execution import atomic

__all__ = ["FORMAT", "Cell", "RunFolder"]

FORMAT = 1
Cell = dict[str, Any]

LISTS = ("k", "mae", "rmse", "coverage", "neighbors")
CELL: dict[str, Any] = {
    **dict.fromkeys(("key", "method", "label", "kind", "convention"), str),
    **dict.fromkeys(("repeat", "n_train", "n_test", "new_users", "new_items"), int),
    **dict.fromkeys(LISTS, list),
    "share": int | float,
    "groups": dict,
    "run": dict,
}
"""What a cell must have, with its type."""


class RunFolder:
    """A folder of records.

    Parameters
    ----------
    path
        Made if it is not there.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one run; a second is told so. A lock ends with its process, killed or not."""
        with atomic.writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            # Unbuffered: what a full disk refused would be tried again, and fail again, on closing.
            stream = (self.path / "lock").open("a+b", buffering=0)
        with stream:
            if not _acquire(stream):
                stream.seek(0)
                who = " ".join(stream.read().decode(errors="replace").split()) or "another process"
                raise InputError(f"{self.path}: {who} is at work here; wait for it, or choose another folder")
            with atomic.writing(self.path / "lock"):
                stream.truncate(0)
                stream.write(f"process {os.getpid()} on {_host()}\n".encode())
            for place in (self.path, self.path / "cells"):
                atomic.clear(place)
            yield

    def claim(self, experiment: Experiment, data: dict[str, Any]) -> None:
        """Write the settings, or check that those already here allow going on.

        Shares, repeats (not the number of folds), measures, controls and peers may grow; everything else must
        be the same, once there is a record.
        """
        file = self.path / "experiment.json"
        if file.exists() and self.cells():
            there = self._settings()
            before = Experiment.from_dict(there["settings"], str(file))
            fixed = {**experiment.fixed(), **data}
            found = {**before.fixed(), **there["data"]}
            changed = [name for name in fixed if fixed[name] != found.get(name)]
            if changed:
                name = changed[0]
                raise InputError(
                    f"{self.path} holds records with another {name} ({found.get(name)!r}, now "
                    f"{fixed[name]!r}); choose another folder"
                )
            experiment = before.joined(experiment)
        elif not file.exists() and self.cells():
            raise InputError(
                f"{self.path} holds records but not their experiment.json; choose another folder"
            )
        about = {"format": FORMAT, "settings": experiment.to_dict(), "data": data}
        atomic.write(file, json.dumps(about, indent=1, ensure_ascii=False).encode())

    def experiment(self) -> Experiment:
        """Return the settings of all runs so far."""
        return Experiment.from_dict(self._settings()["settings"], str(self.path / "experiment.json"))

    def about_data(self) -> dict[str, Any]:
        """Return what was written down about the data."""
        about: dict[str, Any] = self._settings()["data"]
        return about

    def _settings(self) -> dict[str, Any]:
        file = self.path / "experiment.json"
        if not file.exists():
            raise InputError(f"{self.path} has no experiment.json: it is not the folder of a run")
        there = _json(file.read_bytes(), str(file))
        if there.get("format") != FORMAT:
            raise InputError(f"{file} has format {there.get('format')!r}; this version reads {FORMAT}")
        if not isinstance(there.get("settings"), dict) or not isinstance(there.get("data"), dict):
            raise InputError(f"{file} lacks the settings or the data of its run; choose another folder")
        return there

    def cells(self) -> dict[str, Cell]:
        """Return all finished cells by key, sorted."""
        found: dict[str, Cell] = {}
        merged = self.path / "cells.jsonl"
        if merged.exists():
            # Not splitlines: a name may hold one of the rarer line ends.
            content = merged.read_bytes().removesuffix(b"\n")
            for number, line in enumerate(content.split(b"\n") if content else [], 1):
                cell = _cell(line, f"{merged}, line {number}")
                found[cell["key"]] = cell
        for file in (self.path / "cells").glob("*.json"):
            cell = _cell(file.read_bytes(), str(file))
            found.setdefault(cell["key"], cell)
        return dict(sorted(found.items()))

    def add(self, cell: Cell) -> None:
        """Write a finished cell."""
        with atomic.writing(self.path / "cells"):
            (self.path / "cells").mkdir(exist_ok=True)
        atomic.write(self.path / "cells" / f"{cell['key']}.json", _line(cell))

    def merge(self) -> None:
        """Put all finished cells into one file, and a flat table beside it."""
        from prefmover.evaluation.record import write_parquet

        cells = self.cells()
        atomic.write(self.path / "cells.jsonl", b"".join(_line(cell) for cell in cells.values()))
        for file in (self.path / "cells").glob("*.json"):
            file.unlink()
        with contextlib.suppress(OSError):
            (self.path / "cells").rmdir()
        write_parquet(cells.values(), self.path / "records.parquet")


def _line(cell: Cell) -> bytes:
    return (json.dumps(cell, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def _cell(text: bytes, where: str) -> Cell:
    """Return a finished cell; one that lacks what reports count on is refused."""
    cell = _json(text, where)
    for name, kind in CELL.items():
        if not isinstance(cell.get(name), kind):
            raise InputError(
                f"{where} is not a record: {name!r} is {cell.get(name)!r:.40}; delete it and run again"
            )
    if len({len(cell[name]) for name in LISTS}) > 1:
        raise InputError(
            f"{where} is not a record: {', '.join(LISTS)} differ in length; delete it and run again"
        )
    return cell


def _json(text: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} cannot be read ({error}); delete it and run again") from None
    if not isinstance(value, dict):
        raise InputError(f"{where} is not a record; delete it and run again")
    return value


def _acquire(stream: IO[bytes]) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            stream.seek(1 << 20)  # beyond the text, which others may read
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _host() -> str:
    import platform

    return platform.node() or "this machine"
