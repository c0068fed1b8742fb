"""Parquet files that may be damaged, or made to do damage: bytes in, checked Arrow columns out.

A few bytes of Parquet can stand for billions of equal rows, and strings in it need not be UTF-8. Arrow
decodes both without a word; so sizes are compared with the machine's memory first, and text is checked.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from prefmover.errors import InputError
from prefmover.execution import memory

__all__ = ["open_parquet", "read_parquet"]

CELL = 8  # bytes that a value takes in memory, at least


def open_parquet(data: bytes, file: str) -> Any:
    """Return the opened file, of which only the footer has been read."""
    import pyarrow as pa
    from pyarrow import parquet

    with _damage(file):
        return parquet.ParquetFile(pa.BufferReader(data))


def read_parquet(opened: Any, file: str, columns: Sequence[str] | None = None) -> Any:
    """Return columns (all by default) as an Arrow table; text is UTF-8, and every offset in range."""
    with _damage(file):
        about = opened.metadata
        names = about.schema.to_arrow_schema().names if columns is None else columns
        memory.require(
            abs(about.num_rows) * CELL * len(names),
            f"{file}: its {about.num_rows:,} rows",
            "read a part of it with pyarrow or polars",
        )
        table = opened.read(columns=columns)
        table.validate(full=True)
        return table


@contextmanager
def _damage(file: str) -> Iterator[None]:
    """Turn everything that Arrow says about a damaged file into an InputError that names it."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"{file} is a damaged Parquet file: {said}; copy or write it again") from error
