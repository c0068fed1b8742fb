"""Lines that cannot be used: an error by default, or left out and counted."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass, field

from prefmover.data.file_options import OnBadLines, check_choice
from prefmover.errors import BadLinesWarning, InputError

__all__ = ["BadLines", "OnBadLines"]

LOG = logging.getLogger(__name__)

SHOWN = 3


@dataclass(slots=True)
class BadLines:
    """The bad lines of one file.

    >>> bad = BadLines("a.csv", "skip")
    >>> bad.add("a.csv, line 3 has 2 columns where 3 are expected")
    >>> bad.n
    1
    >>> BadLines("a.csv").add("a.csv, line 3 has 2 columns where 3 are expected")
    Traceback (most recent call last):
    prefmover.errors.InputError: a.csv, line 3 has 2 columns where 3 are expected; correct the line, or pass
    on_bad_lines='skip' to leave such lines out
    """

    file: str
    mode: OnBadLines = "error"
    n: int = 0
    reasons: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_choice("on_bad_lines", self.mode, OnBadLines, optional=False)

    @property
    def are_errors(self) -> bool:
        """Whether a bad line is an error."""
        return self.mode == "error"

    def add(self, reason: str, n: int = 1) -> None:
        """Count n bad lines, or raise an error with the reason, which names the first one."""
        if self.are_errors:
            remedy = "correct the line, or pass on_bad_lines='skip' to leave such lines out"
            raise InputError(f"{reason}; {remedy}", argument="on_bad_lines")
        self.n += n
        if len(self.reasons) < SHOWN:
            self.reasons.append(reason.removeprefix(f"{self.file}, "))

    def report(self) -> None:
        """Log or warn how many lines were left out."""
        if not self.n:
            return
        more = "; ..." if self.n > len(self.reasons) else ""
        lines = "1 bad line is" if self.n == 1 else f"{self.n:,} bad lines are"
        text = f"{self.file}: {lines} left out: {'; '.join(self.reasons)}{more}"
        if self.mode == "warn":
            warnings.warn(text, BadLinesWarning, stacklevel=5)
        else:
            LOG.info("%s", text)
