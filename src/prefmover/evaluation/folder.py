"""The folder of a run: settings, one file per finished record, and a lock while a process writes.

::

    experiment.json   settings, and digests of the data
    cells/*.json      finished records: one recommender on one split, all K
    cells.jsonl       the same in one file, once all are finished
    records.parquet   one row per (split, recommender, K), for analysis
    lock              held by the process that writes

A file is written under a temporary name and then renamed: after a kill it is complete or not there.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.record import DataInfo, Record
from prefmover.execution import atomic

__all__ = ["FORMAT", "RunFolder", "record_table"]

FORMAT = 2


class RunFolder:
    """A folder of records.

    Parameters
    ----------
    path
        Created by the first run.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one run. The system releases the lock when the process ends, killed or not."""
        from filelock import FileLock, Timeout

        file = self.path / "lock"
        with atomic.writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file)
        try:
            with atomic.writing(file):
                lock.acquire(timeout=0)
        except Timeout:
            raise InputError(
                f"{self.path} is in use by {_holder(file)}; wait for it to end, or choose another folder"
            ) from None
        try:
            with contextlib.suppress(OSError):  # only information for others
                file.write_text(f"process {os.getpid()} on {platform.node() or 'this machine'}\n")
            for folder in (self.path, self.path / "cells"):
                atomic.clear(folder)
            yield
        finally:
            lock.release()

    def claim(self, experiment: Experiment, data: DataInfo) -> None:
        """Write the settings, or check that the existing records have the same settings.

        Shares, repeats (not the number of folds), recommenders, panels and title may differ: the folder then
        covers both runs.
        """
        file = self.path / "experiment.json"
        if self.records():
            if not file.exists():
                raise InputError(f"{self.path} holds records without experiment.json; choose another folder")
            earlier, there = self._read()
            new = experiment.fixed() | {f"data.{name}": value for name, value in data}
            old = earlier.fixed() | {f"data.{name}": value for name, value in there}
            for name, value in new.items():
                if value != old.get(name):
                    raise InputError(
                        f"{self.path} holds records with another {name} ({old.get(name)!r}, now {value!r}); "
                        "choose another folder"
                    )
            experiment = earlier.merged(experiment)
        content = {"format": FORMAT, "settings": experiment.to_dict(), "data": data.model_dump()}
        atomic.write(file, json.dumps(content, indent=1, ensure_ascii=False).encode())

    def experiment(self) -> Experiment:
        """Return the settings of all runs so far."""
        return self._read()[0]

    def data(self) -> DataInfo:
        """Return the identity of the data."""
        return self._read()[1]

    def _read(self) -> tuple[Experiment, DataInfo]:
        file = self.path / "experiment.json"
        if not file.exists():
            raise InputError(f"{self.path} has no experiment.json; give the folder of a run")
        content = _json(file.read_bytes(), str(file))
        if content.get("format") != FORMAT:
            raise InputError(f"{file} has format {content.get('format')!r}; this version reads {FORMAT}")
        settings, data = content.get("settings"), content.get("data")
        if not isinstance(settings, dict) or not isinstance(data, dict):
            raise InputError(f"{file} lacks the settings or the data of its run; choose another folder")
        try:
            return Experiment.from_dict(settings), DataInfo(**data)
        except InputError as error:
            raise InputError(f"{file}: {error}") from None

    def records(self) -> dict[str, Record]:
        """Return all finished records by key, sorted."""
        files = (self.path / "cells").glob("*.json")
        records = [_record(file.read_bytes(), str(file)) for file in files]
        merged = self.path / "cells.jsonl"
        if merged.exists():
            # Not splitlines: a name may hold one of the rarer line ends.
            content = merged.read_bytes().removesuffix(b"\n")
            lines = content.split(b"\n") if content else []
            records += [_record(line, f"{merged}, line {number}") for number, line in enumerate(lines, 1)]
        return dict(sorted({record.key: record for record in records}.items()))

    def add(self, record: Record) -> None:
        """Write a finished record."""
        with atomic.writing(self.path / "cells"):
            (self.path / "cells").mkdir(exist_ok=True)
        atomic.write(self.path / "cells" / f"{record.key}.json", _line(record))

    def merge(self) -> None:
        """Put all finished records into one file, and a flat table beside it."""
        import pyarrow as pa
        from pyarrow import parquet

        records = self.records()
        atomic.write(self.path / "cells.jsonl", b"".join(map(_line, records.values())))
        for file in (self.path / "cells").glob("*.json"):
            file.unlink()
        with contextlib.suppress(OSError):
            (self.path / "cells").rmdir()
        buffer = pa.BufferOutputStream()
        parquet.write_table(record_table(records.values()), buffer)
        atomic.write(self.path / "records.parquet", buffer.getvalue().to_pybytes())


def record_table(records: Iterable[Record]) -> Any:
    """Return a `pyarrow.Table` with one row per split, recommender and K."""
    import pyarrow as pa

    rows = [row for record in records for row in record.rows()]
    names = dict.fromkeys(name for row in rows for name in row)  # some records may lack the ranking metrics
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def _line(record: Record) -> bytes:
    return record.model_dump_json().encode() + b"\n"


def _record(content: bytes, source: str) -> Record:
    """Return a finished record; damaged ones are refused."""
    try:
        return Record(**_json(content, source))
    except InputError as error:
        if str(error).startswith(source):
            raise
        raise InputError(f"{source} is not a record: {error}; delete it and run again") from None


def _json(content: bytes, source: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} cannot be read ({error}); delete it and run again") from None
    if not isinstance(value, dict):
        raise InputError(f"{source} is not a JSON object; delete it and run again")
    return value


def _holder(lock: Path) -> str:
    with contextlib.suppress(OSError):
        return " ".join(lock.read_text(errors="replace").split()) or "another process"
    return "another process"
