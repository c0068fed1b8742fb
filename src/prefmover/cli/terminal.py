"""What all verbs share of the terminal: results on stdout, everything said about them on stderr."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["STATE", "State", "error_line", "progress", "tell"]


@dataclass(slots=True)
class State:
    """The options that come before the verb."""

    debug: bool = False
    quiet: bool = False

    def listen(self) -> None:
        """Send the package's log and its warnings to stderr, one line each."""
        logger = logging.getLogger("prefmover")
        logger.setLevel(logging.ERROR if self.quiet else logging.INFO)
        if not logger.handlers:
            logger.addHandler(_Log(logging.INFO))
        warnings.showwarning = _warning_line


class _Log(logging.Handler):
    """The log on stderr, whatever that is at the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr)


STATE = State()


def tell(text: str) -> None:
    """Say something on stderr, unless --quiet."""
    if not STATE.quiet:
        print(text, file=sys.stderr)


def error_line(text: str) -> None:
    """Say what went wrong on stderr, in one line."""
    print(f"prefmover: error: {' '.join(text.split())}", file=sys.stderr)


def _warning_line(message: Warning | str, *_: object, **__: object) -> None:
    tell(f"prefmover: warning: {message}")


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Give a ``progress`` callback: a bar on a terminal, a line now and then elsewhere, None if --quiet.

    Nothing is shown of work that is done within a second.
    """
    if STATE.quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar(label) as callback:
            yield callback
    else:
        yield _Lines(label)


class _Lines:
    """Progress where there is no terminal: the first line after a second, the next ones ever later."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.start = time.monotonic()
        self.wait = 1.0

    def __call__(self, done: int, total: int) -> None:
        taken = time.monotonic() - self.start
        if taken >= self.wait and done < total:
            # The heaviest parts come first: an estimate from a few of them would frighten people.
            left = f", about {taken * (total - done) / done:.0f} s to go" if done >= 0.05 * total else ""
            tell(f"{self.label}: {done:,} of {total:,} ({done / total:.0%}){left}")
            self.wait = taken + min(max(taken, 2.0), 60.0)


@contextmanager
def _bar(label: str) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
