"""Output of results: JSON, tables and files."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, NamedTuple

import typer

from prefmover._format import CONTROL, printable
from prefmover.cli.terminal import note
from prefmover.errors import InputError
from prefmover.execution import atomic


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
            text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
            typer.echo("\n".join(CONTROL.sub(_escaped, line) for line in text.split("\n")))
        else:
            for line in [self.heading] if isinstance(self.heading, str) else self.heading:
                if line:
                    note(line)
            if self.lines:
                typer.echo("\n".join(map(printable, self.lines)))
        if self.exit_code:
            raise typer.Exit(self.exit_code)


def _escaped(match: re.Match[str]) -> str:
    return json.dumps(match[0], ensure_ascii=True)[1:-1]


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
        write_text("\n".join([*csv_lines(table), ""]), path)
        return
    from pyarrow import parquet

    buffer = BytesIO()
    parquet.write_table(table, buffer)
    atomic.write(path, buffer.getvalue())


def csv_lines(table: Any) -> list[str]:
    """Return a table as CSV, with quotes only where needed (Arrow quotes all text)."""
    out = StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(table.column_names)
    rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return out.getvalue().removesuffix("\n").split("\n")


def write_text(text: str | bytes, path: Path) -> None:
    """Write a file atomically."""
    atomic.write(path, text.encode() if isinstance(text, str) else text)
