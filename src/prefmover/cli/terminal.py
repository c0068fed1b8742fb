"""The terminal: results go to stdout; notes, warnings, errors and progress go to stderr."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike

from prefmover._format import printable


@dataclass(slots=True)
class State:
    """The options in front of the verb."""

    debug: bool = False
    quiet: bool = False

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
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

        columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        yield _Lines(label)


@contextmanager
def resumable(folder: str | PathLike[str] | None) -> Iterator[None]:
    """After Ctrl-C, note that the same command resumes the work whose finished parts are in a folder."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is not None:
            note(f"finished parts are saved in {folder}; run the same command again to resume")
        raise


class _Lines:
    """Progress without a terminal: the first line after a second, the next ones at growing intervals."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.start = time.monotonic()
        self.wait = 1.0

    def __call__(self, done: int, total: int) -> None:
        taken = time.monotonic() - self.start
        if taken >= self.wait and done < total:
            # The heaviest parts come first, so an early estimate would be far too long.
            left = f", about {taken * (total - done) / done:.0f} s left" if done >= 0.05 * total else ""
            note(f"{self.label}: {done:,} of {total:,} ({done / total:.0%}){left}")
            self.wait = taken + min(max(taken, 2.0), 60.0)
