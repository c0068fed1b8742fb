"""Results out: JSON, a table in a file, or lines."""

from __future__ import annotations

import math
from io import BytesIO
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
    from pyarrow import csv, parquet

    from prefmover import atomic

    buffer = BytesIO()
    if path is not None and path.suffix.casefold() == ".parquet":
        parquet.write_table(table, buffer)
    else:
        csv.write_csv(table, buffer, csv.WriteOptions(quoting_style="needed"))
    if path is None:
        typer.echo(buffer.getvalue().decode(), nl=False)
    else:
        atomic.write(path, buffer.getvalue())


def write_text(text: str | bytes, path: Path) -> None:
    """Write a file, whole or not at all."""
    from prefmover import atomic

    atomic.write(path, text.encode() if isinstance(text, str) else text)
