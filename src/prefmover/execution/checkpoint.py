"""Long jobs in blocks: any executor runs them, and a folder keeps the parts that are finished.

::

    _search.json         what the job depends on, and the number of its parts
    part-00000.parquet   user, and the columns of the job

Parts of another job are refused. A part is written under a temporary name and renamed, so a killed run
leaves it whole or not at all. All parts together are the result, for any reader of Parquet.
"""

import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from prefmover._typing import Ids, Ints, Progress
from prefmover.errors import InputError
from prefmover.execution import atomic
from prefmover.execution.executor import Done, Executor, LocalExecutor, Task

FORMAT = 2

Part = TypeVar("Part")
Call: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]
Calls: TypeAlias = Generator[Call, Done, Part]
"""The tasks of a block, one after the other: yields a function and its arguments, receives what the task
returned, and returns the part."""


class Checkpoint(ABC, Generic[Part]):
    """A folder of finished parts of one job for some users, by id.

    A subclass names the job and writes its parts as Arrow tables with a column ``user``.
    """

    job: ClassVar[str]
    """The name of the job, in messages and in the name of its description."""
    inputs: ClassVar[str]
    """What the result depends on, in words."""

    def __init__(self, folder: str | PathLike[str], users: Ids) -> None:
        self.path, self.users = Path(folder), users

    def claim(self, description: dict[str, Any], parts: int, n_bytes: int = 0) -> int:
        """Write the description of the job, or check that it is the same; return the number of parts.

        Raise an error first if the parts of a new job need more space than the disk has.
        """
        header = self.path / f"_{self.job}.json"
        if not header.exists():
            atomic.require_disk(self.path, n_bytes, f"a checkpoint of {self.job}")
        with atomic.translate_os_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            atomic.remove_stale_files(self.path)
        if not header.exists():
            if any(self.path.glob("part-*")):
                raise InputError(f"{self.path} has finished parts but no {header.name}; empty the folder")
            text = json.dumps({"format": FORMAT, **description, "parts": parts}, indent=1)
            atomic.write(header, text.encode())
            return parts
        try:
            saved = json.loads(header.read_text(encoding="utf-8"))
            parts = int(saved.pop("parts", 1))
        except (ValueError, TypeError, AttributeError):
            raise InputError(f"{header} cannot be read; empty the folder to start again") from None
        if saved != {"format": FORMAT, **description}:
            raise InputError(
                f"{self.path} has parts of another job (different {self.inputs}); "
                "choose another folder, or empty it to start again"
            )
        return parts

    def save(self, number: int, part: Part, rows: Ints) -> None:
        """Write a finished part: that of the users at positions ``rows``."""
        from pyarrow import parquet

        buffer = BytesIO()
        parquet.write_table(self._to_table(part, rows), buffer)
        atomic.write(self._file(number), buffer.getvalue())

    @abstractmethod
    def _to_table(self, part: Part, rows: Ints) -> Any:
        """Return a part as an Arrow table."""

    @abstractmethod
    def _from_table(self, table: Any, rows: Ints) -> Part:
        """Return the part in a table; raise a ValueError unless the job could have made it."""

    def _file(self, number: int) -> Path:
        return self.path / f"part-{number:05d}.parquet"

    def read(self, number: int, rows: Ints) -> Part | None:
        """Return a part: that of the users at positions ``rows``; None if it is not finished."""
        import pyarrow as pa
        from pyarrow import parquet

        file = self._file(number)
        if not file.exists():
            return None
        try:
            content = parquet.ParquetFile(pa.BufferReader(file.read_bytes()))
            if content.metadata.num_rows != len(rows):  # before a small file of many rows takes the memory
                raise ValueError("its users are not those of this part")
            table = content.read()
            table.validate(full=True)
            if table["user"].to_pylist() != self.users[rows].tolist():
                raise ValueError("its users are not those of this part")
            return self._from_table(table, rows)
        except (OSError, ValueError, KeyError, TypeError, OverflowError, pa.ArrowException) as error:
            raise InputError(f"{file} is damaged ({error}); delete it and run again") from error


def run_blocks(
    executor: Executor,
    blocks: Sequence[Ints],
    start: Callable[[Mapping[int, Part]], Callable[[int], Calls[Part]]],
    *,
    tasks_per_block: int = 1,
    checkpoint: Checkpoint[Part] | None = None,
    progress: Progress | None = None,
) -> list[Part]:
    """Return the part of each block of rows; those that the checkpoint has are read, the others run.

    ``start`` is called once, if a part is missing, with those that are there. It begins the run, shares what
    many tasks read, and returns a function from the number of a block to its tasks. The progress is counted
    in rows, for which it takes the number of tasks of a block.
    """
    parts: dict[int, Part] = {}
    if checkpoint is not None:
        saved = ((number, checkpoint.read(number, rows)) for number, rows in enumerate(blocks))
        parts = {number: part for number, part in saved if part is not None}
    waiting = deque(number for number in range(len(blocks)) if number not in parts)
    if not waiting:
        return [parts[number] for number in range(len(blocks))]
    calls_of = start(parts)
    executor.summary.resumed = len(parts)
    in_progress: dict[int, Calls[Part]] = {}
    ready: deque[tuple[int, Call]] = deque()
    total, serial = sum(map(len, blocks)), count()
    finished = tasks_per_block * sum(len(blocks[number]) for number in parts)

    def report(before: int, done: int, _: int = 0) -> None:
        if progress is not None:
            progress(min((before + done) // tasks_per_block, total), total)

    def next_task() -> Task | None:
        if waiting and not ready:
            number = waiting.popleft()
            in_progress[number] = calls_of(number)
            ready.append((number, next(in_progress[number])))
        if not ready:
            return None
        number, (function, arguments) = ready.popleft()
        return Task((number, next(serial)), function, arguments, partial(report, finished))

    report(finished, 0)
    for done in executor.run(next_task):
        number = done.key[0]
        try:
            ready.append((number, in_progress[number].send(done)))
        except StopIteration as end:
            parts[number] = end.value
            del in_progress[number]
            if checkpoint is not None:
                checkpoint.save(number, end.value, blocks[number])
        finished += len(blocks[number])
        report(finished, 0)
    if not isinstance(executor, LocalExecutor):
        executor.summary.log()
    return [parts[number] for number in range(len(blocks))]
