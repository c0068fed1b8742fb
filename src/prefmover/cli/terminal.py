"""What all verbs share of the terminal: results on stdout, everything said about them on stderr."""

from __future__ import annotations

import logging
import sys
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
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("%(message)s"))
            logger.addHandler(handler)
        warnings.showwarning = _warning_line


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
    """Give a ``progress`` callback that draws a bar on stderr; None where nobody would see it.

    >>> with progress("distances") as callback:
    ...     callback is None  # no terminal here
    True
    """
    if STATE.quiet or not sys.stderr.isatty():
        yield None
        return
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
