"""Output of results: JSON, tables and files."""

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
    """Print a value as JSON; NaN becomes null."""
    from json import dumps

    typer.echo(dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_writable(path: str, endings: tuple[str, ...] = TABLES, option: str = "--out") -> Path:
    """Return the path of a file to write, checked before the work starts."""
    file = Path(path)
    if file.suffix.casefold() not in endings:
        raise InputError(f"{option} is {path!r}; give a file name that ends in {' or '.join(endings)}")
    if file.is_dir():
        raise InputError(f"{option} is {path!r}, which is a folder; give the name of a file")
    if not file.parent.is_dir():
        raise InputError(f"{option}: there is no folder {file.parent}; create it first")
    return file


def write_table(table: Any, path: Path | None) -> None:
    """Write an Arrow table to a CSV or Parquet file, atomically; without a path, print it as CSV."""
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
    """Return a table as CSV with quotes only where needed (Arrow quotes all text)."""
    import csv

    out = StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return out.getvalue()


def write_text(text: str | bytes, path: Path) -> None:
    """Write a file atomically."""
    from prefmover.execution import atomic

    atomic.write(path, text.encode() if isinstance(text, str) else text)
