"""Origin: the source of rows, so that an error can name the file, the line and the column."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The source of rows.

    Parameters
    ----------
    file : str
        Name of the file, or "" for data in memory.
    unit : str
        Name of a row there: "line", "row" or "value".
    numbers : callable
        Converts positions of rows (from 0) to the numbers (from 1) that a person would count.

    Examples
    --------
    >>> Origin("a.csv", "line", lambda rows: [r + 2 for r in rows]).at(0, "rating")
    "a.csv, line 2, column 'rating'"
    """

    file: str = ""
    unit: str = "row"
    numbers: Callable[[Sequence[int]], list[int]] = lambda rows: [r + 1 for r in rows]

    def take(self, rows: Sequence[int] | npt.NDArray[Any]) -> "Origin":
        """Return the origin of some of the rows.

        >>> Origin("a.csv", "line").take([4, 7]).at(1)
        'a.csv, line 8'
        """
        return Origin(self.file, self.unit, lambda chosen: self.numbers([int(rows[k]) for k in chosen]))

    def at(self, row: int, column: str | int | None = None) -> str:
        """Return "file, line n, column 'c'" for one row."""
        number = f"{self.unit} {self.numbers([row])[0]:,}"
        return ", ".join(filter(None, [self.file, number, "" if column is None else f"column {column!r}"]))

    def both(self, row: int, other: int) -> str:
        """Return "file, lines n and m" for two rows."""
        a, b = self.numbers([row, other])
        return ", ".join(filter(None, [self.file, f"{self.unit}s {a:,} and {b:,}"]))
