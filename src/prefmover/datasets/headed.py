"""Tables whose first line names the columns: some of them, in any order, whatever else there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prefmover.data.delimited import Delimited, Kind
from prefmover.data.ids import from_arrow
from prefmover.data.origin import Origin
from prefmover.datasets.archive import Files
from prefmover.errors import InputError

__all__ = ["read_headed", "refuse_repeats"]


def read_headed(
    files: Files,
    name: str,
    kinds: Mapping[str, Kind],
    *,
    separator: str = ",",
    encoding: str = "utf-8",
    optional: Mapping[str, Kind] | None = None,
) -> tuple[dict[str, Any], Origin]:
    """Return columns of a file by name: numbers as NumPy arrays, text as lists; and the origin of the rows.

    Columns of ``kinds`` must be there, those of ``optional`` may be missing. Fields may be quoted if they are
    separated by commas.
    """
    file = files.where(name)
    table = Delimited.open(
        files.read(name),
        file,
        encoding=encoding,
        separator=separator,
        quotes=separator == ",",
        expected=separator.join(kinds),
    )
    missing = [column for column in kinds if column not in table.first]
    if missing:
        shown = ", ".join(table.first)[:80]
        raise InputError(f"{file}, line 1 lacks the column {missing[0]!r}; it has {shown!r}")
    wanted = dict(kinds) | {c: kind for c, kind in (optional or {}).items() if c in table.first}
    positions = {table.first.index(column): kind for column, kind in wanted.items()}
    parsed = table.parse(positions, header=True, names=table.first)
    columns: dict[str, Any] = {}
    for (column, kind), whole in zip(wanted.items(), parsed.values(), strict=True):
        columns[column] = whole.to_pylist() if kind == "text" else from_arrow(whole.combine_chunks())
    return columns, table.origin(header=True)


def refuse_repeats(ids: Any, what: str, origin: Origin) -> None:
    """Raise an error if an id occurs twice.

    >>> refuse_repeats([7, 8, 7], "book", Origin("books.csv", "line"))
    Traceback (most recent call last):
    prefmover.errors.InputError: books.csv, line 3: book 7 is listed a second time
    """
    first = np.unique(ids, return_index=True)[1]
    if len(first) < len(ids):
        k = int(np.setdiff1d(np.arange(len(ids)), first)[0])
        raise InputError(f"{origin.at(k)}: {what} {ids[k]} is listed a second time")
