"""The folder of a run: settings, one file per finished record, and a lock while a process writes.

::

    experiment.json   settings, and digests of the data
    records/*.json    finished records: one recommender on one split, all K, or lists of all lengths
    records.jsonl.gz  the same in one file, once all are finished
    records.parquet   one row per (split, recommender, K or length of lists), for analysis
    lock              held by the process that writes

A file is written under a temporary name and then renamed: after a kill it is complete or not there.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import operator
import os
import platform
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field

from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.record import METRICS, DataInfo, FrozenModel, Record
from prefmover.execution import atomic

Parsed = TypeVar("Parsed")


class RunContent(FrozenModel):
    """The content of ``experiment.json``."""

    format: Literal[3] = Field(description="Version of the files")
    settings: Experiment = Field(description="Settings of all runs so far")
    data: DataInfo = Field(description="Identity of the data")


class RunFolder:
    """A folder of records; the first run creates it."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one run. The system releases the lock when the process ends, killed or not."""
        from filelock import FileLock, Timeout

        file, note = self.path / "lock", self.path / "holder"  # some versions of filelock empty their file
        with atomic.translate_os_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file)
        try:
            with atomic.translate_os_errors(file):
                lock.acquire(timeout=0)
        except Timeout:
            holder = "another process"
            with contextlib.suppress(OSError):
                holder = " ".join(note.read_text(encoding="utf-8", errors="replace").split()) or holder
            raise InputError(
                f"{self.path} is in use by {holder}; wait for it to end, or choose another folder"
            ) from None
        try:
            with contextlib.suppress(OSError):  # only information for others
                holder = f"process {os.getpid()} on {platform.node() or 'this machine'}\n"
                note.write_text(holder, encoding="utf-8")
            for folder in (self.path, self.path / "records"):
                atomic.remove_stale_files(folder)
            yield
        finally:
            with contextlib.suppress(OSError):
                note.unlink()
            lock.release()

    def claim(self, experiment: Experiment, data: DataInfo) -> None:
        """Write the settings, or check that the existing records have the same settings.

        Shares, repeats (not the number of folds), recommenders, panels and title may differ: the folder then
        covers both runs.
        """
        file = self.path / "experiment.json"
        if self.records():
            earlier = self.content()
            old = earlier.settings.fixed() | {f"data.{name}": value for name, value in earlier.data}
            new = experiment.fixed() | {f"data.{name}": value for name, value in data}
            for name, value in new.items():
                same = _about_equal if name == "data.distances" else operator.eq
                if not same(value, old.get(name)):
                    raise InputError(
                        f"{self.path} holds records with another {name} ({old.get(name)!r}, now {value!r}); "
                        "choose another folder"
                    )
            experiment = earlier.settings.merged(experiment)
        content = RunContent(format=3, settings=experiment, data=data)
        atomic.write(file, content.model_dump_json(indent=1).encode())

    def content(self) -> RunContent:
        """Return the settings of all runs so far, and the identity of the data."""
        file = self.path / "experiment.json"
        if not file.exists():
            raise InputError(f"{self.path} has no experiment.json; give the folder of a run")
        return _parsed(RunContent, file.read_bytes(), str(file))

    def records(self) -> dict[str, Record]:
        """Return all finished records by key, sorted."""
        files = (self.path / "records").glob("*.json")
        records = [_parsed(Record, file.read_bytes(), str(file)) for file in files]
        merged = self.path / "records.jsonl.gz"
        if merged.exists():
            try:
                content = gzip.decompress(merged.read_bytes()).removesuffix(b"\n")
            except (OSError, EOFError, zlib.error) as error:
                raise _damaged(merged, error) from None
            # Not splitlines: a name may hold one of the rarer line ends.
            lines = content.split(b"\n") if content else []
            records += [_parsed(Record, line, f"{merged}, line {n}") for n, line in enumerate(lines, 1)]
        return dict(sorted({record.key: record for record in records}.items()))

    def add(self, record: Record) -> None:
        """Write a finished record."""
        with atomic.translate_os_errors(self.path / "records"):
            (self.path / "records").mkdir(exist_ok=True)
        atomic.write(self.path / "records" / f"{record.key}.json", _line(record))

    def merge(self) -> None:
        """Put all finished records into one file, and a flat table beside it."""
        import pyarrow as pa
        from pyarrow import parquet

        records = self.records()
        lines = b"".join(map(_line, records.values()))
        atomic.write(self.path / "records.jsonl.gz", gzip.compress(lines, mtime=0))
        for file in (self.path / "records").glob("*.json"):
            file.unlink()
        with contextlib.suppress(OSError):
            (self.path / "records").rmdir()
        buffer = pa.BufferOutputStream()
        parquet.write_table(record_table(records.values()), buffer)
        atomic.write(self.path / "records.parquet", buffer.getvalue().to_pybytes())


def record_table(records: Iterable[Record]) -> Any:
    """Return a `pyarrow.Table` with one row per split, recommender and K, or length of lists."""
    import pyarrow as pa

    rows = [row for record in records for row in record.rows()]
    names = dict.fromkeys(name for row in rows for name in row)  # the two tasks have columns of their own
    numbers = {name for some in METRICS.values() for name in some}  # also where all are missing
    return pa.table({
        name: pa.array([row.get(name) for row in rows], pa.float64() if name in numbers else None)
        for name in names
    })  # fmt: skip


def _about_equal(one: Any, other: Any) -> bool:
    """Return whether two strings of numbers have the same numbers, but for a step of the last digit.

    >>> _about_equal("0.1000 1.5708", "0.0999 1.5708"), _about_equal("0.1000", "0.2000")
    (True, False)
    """
    first, second = str(one).split(), str(other).split()
    try:
        steps = [abs(float(a) - float(b)) for a, b in zip(first, second, strict=True)]
    except ValueError:  # other lengths, or a digest of an earlier version
        return bool(one == other)
    return max(steps, default=0.0) < 1.5e-4


def _line(record: Record) -> bytes:
    return record.model_dump_json().encode() + b"\n"


def _parsed(model: Callable[..., Parsed], content: bytes, source: str) -> Parsed:
    """Return a model from JSON; damaged content is refused."""
    try:
        return model(**json.loads(content))
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(source, error) from None


def _damaged(source: str | Path, error: Exception) -> InputError:
    return InputError(f"{source} is damaged: {error}; delete it, or choose another folder")
