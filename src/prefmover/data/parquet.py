"""Parquet files, which may be damaged or malicious: bytes in, checked Arrow columns out.

A few bytes of Parquet can stand for billions of equal rows, and its strings may be invalid UTF-8. Arrow
decodes both without an error. So sizes are compared with the machine's memory first, and text is checked.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from prefmover.errors import InputError
from prefmover.execution import memory

__all__ = ["open_parquet", "read_parquet"]

CELL_BYTES = 8  # least size of a value in memory


def open_parquet(data: bytes, file: str) -> Any:
    """Open a file and read its footer."""
    import pyarrow as pa
    from pyarrow import parquet

    with _damage(file):
        return parquet.ParquetFile(pa.BufferReader(data))


def read_parquet(opened: Any, file: str, columns: Sequence[str] | None = None) -> Any:
    """Return columns (all by default) as an Arrow table with valid text and offsets."""
    with _damage(file):
        metadata = opened.metadata
        names = metadata.schema.to_arrow_schema().names if columns is None else columns
        memory.require(
            abs(metadata.num_rows) * CELL_BYTES * len(names),
            f"{file}: its {metadata.num_rows:,} rows",
            "read a part of the file with pyarrow or polars",
        )
        table = opened.read(columns=columns)
        table.validate(full=True)
        return table


@contextmanager
def _damage(file: str) -> Iterator[None]:
    """Turn Arrow's errors about a damaged file into an InputError that names it."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{file} is a damaged Parquet file: {reason}; copy or write it again") from error
