"""Results out: JSON, a table in a file, or lines."""

from __future__ import annotations

import math
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import typer

from prefmover.errors import InputError

__all__ = ["check_writable", "print_json", "write_table", "write_text"]

TABLES = (".csv", ".parquet")


def print_json(value: Any) -> None:
    """Print a value as JSON; NaN becomes null, which JSON has."""
    from json import dumps

    typer.echo(dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_writable(path: str, endings: tuple[str, ...] = TABLES, option: str = "--out") -> Path:
    """Return the path of a file to write; complain before the work, not after it."""
    place = Path(path)
    if place.suffix.casefold() not in endings:
        raise InputError(f"{option} is {path!r}; give a file that ends in {' or '.join(endings)}")
    if place.is_dir():
        raise InputError(f"{option} is {path!r}, which is a folder; name a file in it")
    if not place.parent.is_dir():
        raise InputError(f"{option}: there is no folder {place.parent}; make it first")
    return place


def write_table(table: Any, path: Path | None) -> None:
    """Write an Arrow table to a CSV or Parquet file, whole or not at all; to stdout as CSV for None."""
    from prefmover.execution import atomic

    if path is not None and path.suffix.casefold() == ".parquet":
        from pyarrow import parquet

        buffer = BytesIO()
        parquet.write_table(table, buffer)
        atomic.write(path, buffer.getvalue())
    elif path is not None:
        atomic.write(path, _csv(table).encode())
    else:
        typer.echo(_csv(table), nl=False)


def _csv(table: Any) -> str:
    """Return a table as CSV, quoted only where it must be (Arrow quotes all text)."""
    import csv

    out = StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return out.getvalue()


def write_text(text: str | bytes, path: Path) -> None:
    """Write a file, whole or not at all."""
    from prefmover.execution import atomic

    atomic.write(path, text.encode() if isinstance(text, str) else text)
