"""The terminal and files: results go to stdout; notes, warnings, errors and progress go to stderr.

**Ctrl-C works within a second, during any computation.** Python handles an interrupt between two bytecodes of
the main thread, and a compiled kernel can run for hours in between. A second thread therefore receives the
signal at once. It gives the main thread a moment to clean up, and then ends the process. That is safe at any
time: files are written under temporary names and renamed when they are complete.
"""

from __future__ import annotations

import csv
import json
import logging
import math
import os
import re
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from io import BytesIO, StringIO
from os import PathLike
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

import typer

from prefmover._format import CONTROL, counted, printable
from prefmover.errors import InputError
from prefmover.execution import atomic

INTERRUPTED = 130
PATIENCE = 0.6  # seconds


@dataclass(slots=True)
class State:
    """The options in front of the verb."""

    debug: bool = False
    quiet: bool = False
    source_of: Callable[[str], Any] = lambda name: None

    def is_from_file(self, name: str) -> bool:
        """Whether an option has its value from --config, which has options for several verbs."""
        return getattr(self.source_of(name), "name", "") == "DEFAULT_MAP"

    def listen(self) -> None:
        """Send the package's log and its warnings to stderr, one line each."""
        logger = logging.getLogger("prefmover")
        logger.setLevel(logging.ERROR if self.quiet else logging.INFO)
        if not logger.handlers:
            logger.addHandler(_Log(logging.INFO))
        warnings.showwarning = lambda message, *_, **__: note(f"prefmover: warning: {message}")


class _Log(logging.Handler):
    """Writes the log to the current stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        print(printable(self.format(record)), file=sys.stderr)


STATE = State()


def note(text: str) -> None:
    """Print a note on stderr, in one line, unless --quiet."""
    if not STATE.quiet:
        print(printable(text), file=sys.stderr)


def error_line(text: str) -> None:
    """Print an error on stderr, in one line."""
    print(f"prefmover: error: {printable(' '.join(text.split()))}", file=sys.stderr)


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Open a ``progress`` callback: a bar on a terminal, occasional lines elsewhere, None with --quiet."""
    if STATE.quiet:
        yield None
        return
    with _bar(label) if sys.stderr.isatty() else nullcontext(_Lines(label).steps) as steps:
        stopped = threading.Event()

        def speak() -> None:
            while not stopped.wait(2.0):
                steps.show()

        threading.Thread(target=speak, daemon=True).start()
        try:
            yield steps
        finally:
            stopped.set()


@contextmanager
def _bar(label: str) -> Iterator[_Steps]:
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)  # the time that has passed shows that it moves
        yield _Steps(lambda steps: bar.update(
            task, description=steps.text(label), completed=steps.done, total=steps.total or None
        ))  # fmt: skip


@contextmanager
def resumable(folder: str | PathLike[str] | None) -> Iterator[None]:
    """After Ctrl-C, note that the same command resumes the work whose finished parts are in a folder."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is not None:
            note(f"finished parts are saved in {folder}; run the same command again to resume")
        raise


class _Steps:
    """A ``progress`` callback that remembers how far the work is, and what it is at (see ``Stages``)."""

    def __init__(self, show: Callable[[_Steps], None]) -> None:
        self.done, self.total, self.stage = 0, 0, ""
        self._show = show

    def __call__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        self.show()

    def show(self) -> None:
        """Show it, whether or not a step was done."""
        self._show(self)

    def text(self, label: str) -> str:
        """Return a label with the stage, and with what the work waits for."""
        stage = "compiling" if _compiling() and _compiling().now else self.stage
        return f"{label}: {stage}" if stage else label


def _compiling() -> Any:
    """Return what knows whether kernels are being compiled; None before there are any."""
    return getattr(sys.modules.get("prefmover.execution.jit"), "COMPILING", None)


class _Lines:
    """Progress without a terminal: a line after a second, then every few seconds, and later every minute.

    A line is printed even if nothing was reported in the meantime. It tells the time that is left if steps
    are being done about as fast as before; else the time that has passed.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.start = time.monotonic()
        self.wait = 1.0
        self.at_step = 0, 0.0  # the last step that was done, and when
        self.compiled = self._compiled()
        self.steps = _Steps(lambda steps: self.tell())

    def _compiled(self) -> float:
        return float(_compiling().seconds) if _compiling() else 0.0

    def tell(self) -> None:
        """Print a line if it is time."""
        taken, done, total = time.monotonic() - self.start, self.steps.done, self.steps.total
        worked = taken - self._compiled() + self.compiled
        if done != self.at_step[0]:
            self.at_step = done, worked
        if taken < self.wait or done >= total > 0:
            return
        self.wait = taken + (4.0 if taken < 60 else 60.0)
        # The heaviest parts come first, so an early estimate would be far too long.
        left = self.at_step[1] * total / done - worked if done >= 0.05 * total > 0 else 0.0
        words = f"about {left:.0f} s left" if left >= 1 else f"{taken:.0f} s"
        far = f"{done:,} of {total:,} ({done / total:.0%}), {words}" if total else words
        note(f"{self.steps.text(self.label)}: {far}")


class Output(NamedTuple):
    """The result of a verb: a heading for stderr and lines for stdout, or data with ``--json``.

    A line break within a line is printed as an escape, since it comes from an id or a title. Large data are
    given as a function that returns them.
    """

    data: Any
    lines: Sequence[str]
    heading: str | Sequence[str] = ""
    exit_code: int = 0

    def print(self, as_json: bool) -> None:
        """Print the data or the lines, and end the command if the exit code is not 0."""
        if as_json:  # NaN becomes null
            data = _plain(self.data() if callable(self.data) else self.data)
            plain = (sys.stdout.encoding or "utf-8").casefold() not in ("utf-8", "utf8")
            text = json.dumps(data, indent=2, ensure_ascii=plain, allow_nan=False)
            typer.echo("\n".join(CONTROL.sub(_escape, line) for line in text.split("\n")))
        else:
            for line in [self.heading] if isinstance(self.heading, str) else self.heading:
                if line:
                    note(line)
            if self.lines:
                typer.echo("\n".join(map(printable, self.lines)))
        if self.exit_code:
            raise typer.Exit(self.exit_code)


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_writable(
    path: str, endings: tuple[str, ...] = (".csv", ".parquet"), option: str = "--out"
) -> Path | None:
    """Return the path of a file to write, checked before the work starts; None without a path."""
    if not path:
        return None
    file = Path(path)
    if file.suffix.casefold() not in endings:
        raise InputError(f"{option} is {path!r}; give a file name that ends in {' or '.join(endings)}")
    if file.is_dir():
        raise InputError(f"{option} is {path!r}, which is a folder; give the name of a file")
    if not file.parent.is_dir():
        raise InputError(f"{option}: there is no folder {file.parent}; create it first")
    return file


def check_folder(path: str) -> Path:
    """Return the path of a folder to write, checked before the work starts."""
    if Path(path).is_file():
        raise InputError(f"--out is {path!r}, which is a file; give a folder")
    return Path(path)


def write_table(table: Any, path: Path) -> None:
    """Write an Arrow table to a CSV or Parquet file, atomically."""
    if path.suffix.casefold() == ".csv":
        atomic.write(path, "\n".join([*csv_lines(table), ""]).encode())
        return
    from pyarrow import parquet

    buffer = BytesIO()
    parquet.write_table(table, buffer)
    atomic.write(path, buffer.getvalue())


def write_rows(
    table: Any, file: Path, noun: str, n_users: int, how: str = "", parts: Path | None = None
) -> Output:
    """Write a table of what some users get, remove the parts that it was made of, and note its size."""
    write_table(table, file)
    if parts:
        rmtree(parts, ignore_errors=True)
    note(f"{counted(table.num_rows, noun)} for {counted(n_users, 'user')}{how}")
    return Output({"file": str(file), "users": n_users, "rows": table.num_rows}, [str(file)])


def csv_lines(table: Any) -> list[str]:
    """Return a table as CSV, with quotes only where needed (Arrow quotes all text)."""
    out = StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return out.getvalue().removesuffix("\n").split("\n")


def read_text(path: str, option: str = "") -> str:
    """Return the text of a file; errors begin with the option that names it."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{option}there is no file {path}") from None
    except UnicodeDecodeError:
        raise InputError(f"{option}{path} is not UTF-8") from None
    except OSError as error:
        raise InputError(f"{option}{path} cannot be read: {error.strerror}") from None


@contextmanager
def prompt_interrupts() -> Iterator[None]:
    """End the process soon after an interrupt, even if the main thread is busy.

    This does nothing outside of the main thread, or where Python's own handler was replaced.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    interrupted = threading.Event()
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(receiver, interrupted), daemon=True).start()
    try:
        yield
    finally:
        # After an interrupt the watch continues: threads that still compute would delay the exit.
        if not interrupted.is_set():
            signal.set_wakeup_fd(before)
            sender.close()


def _watch(receiver: socket.socket, interrupted: threading.Event) -> None:
    while number := receiver.recv(1):
        default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if number[0] == signal.SIGINT and default:  # not while a server handles it
            break
    else:
        receiver.close()
        return
    interrupted.set()
    receiver.settimeout(PATIENCE)
    try:
        while (number := receiver.recv(1)) and number[0] != signal.SIGINT:  # a second Ctrl-C does not wait
            pass
    except TimeoutError:
        pass
    if sys.stderr.isatty():
        os.write(2, b"\x1b[?25h")  # a progress bar hides the cursor
    os._exit(INTERRUPTED)
