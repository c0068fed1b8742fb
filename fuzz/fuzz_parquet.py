"""Parquet files of ratings and of items: bytes as they come, and tables of strange types."""

import io
import tempfile
from pathlib import Path

import oracle

oracle.load()

import pyarrow as pa
import pyarrow.parquet as pq

from prefmover import FileOptions, Ratings
from prefmover.data.preferences import check_rows
from prefmover.items.table import ItemFiles

TYPES = (
    *(pa.int64(), pa.int8(), pa.uint64(), pa.float64(), pa.float32(), pa.float16(), pa.string(), pa.binary()),
    *(pa.bool_(), pa.date32(), pa.timestamp("ns"), pa.decimal128(10, 2), pa.large_string(), pa.string_view()),
    *(pa.list_(pa.float64()), pa.list_(pa.string()), pa.dictionary(pa.int8(), pa.string()), pa.null()),
    pa.struct([("a", pa.int64())]),
)
NAMES = ("user", "item", "rating", "item", "vector", "tags", "title", "year", "x", "")
VALUES = (
    0,
    1,
    -1,
    5,
    2**62,
    None,
    4.5,
    float("nan"),
    float("inf"),
    "a",
    "",
    "2",
    "1999",
    b"\xff",
    True,
    [1.0],
    ["a"],
)


def strange_table(choices: oracle.Choices) -> bytes:
    """Return a Parquet file with columns of chosen types and values; those that do not fit are null."""
    n = choices.below(6)
    names, columns = [], []
    for _ in range(1 + choices.below(5)):
        kind, column = choices.pick(TYPES), []
        for _ in range(n):
            value = choices.pick(VALUES)
            try:
                pa.array([value], kind)
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                value = None
            column.append(value)
        names.append(choices.pick(NAMES))
        columns.append(pa.array(column, kind))
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, names=names), out)
    return out.getvalue()


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    kind = choices.below(4)
    try:
        content = strange_table(choices) if kind < 2 else choices.rest()
    except (pa.ArrowException, ValueError):
        return  # what Arrow will not write, nobody can send us
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        path.write_bytes(content)
        if kind % 2:
            _ = ItemFiles.read(path).geometry
        else:
            ratings = Ratings.read(path, FileOptions(duplicates="last"))
            check_rows(ratings.matrix)
            ratings[ratings.users[0]]


def seeds() -> list[bytes]:
    table = pa.table({"user": ["a", "b"], "item": [1, 2], "rating": [4.5, 2.0]})
    items = pa.table({"item": [1, 2], "title": ["x", "y"], "vector": [[1.0, 0.0], [0.5, 1.0]]})
    inputs = [b"\x00\x02\x02\x06\x01", b"\x01\x03\x02\x06\x09\x00", bytes(range(80))]
    for head, content in ((b"\x02", table), (b"\x03", items)):
        for compression in ("none", "snappy", "gzip", "zstd"):
            out = io.BytesIO()
            pq.write_table(content, out, compression=compression)
            inputs.append(head + out.getvalue())
    return inputs


if __name__ == "__main__":
    oracle.main("parquet", target, seeds())
