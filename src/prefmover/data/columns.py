"""Columns of users, items and ratings, found by their names: in text, Parquet, JSON Lines or data frames."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import islice
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from prefmover._typing import Bools, Floats, Ints
from prefmover.data.delimited import BLOCK, BadLines, Delimited, Origin, file_bytes
from prefmover.data.file_options import (
    Feedback,
    FileOptions,
    find_column,
    find_ratings,
    find_similar,
    find_usual,
)
from prefmover.data.ids import MISSING_ID, from_arrow
from prefmover.errors import InputError
from prefmover.execution import memory

__all__ = ["Columns", "frame_columns", "numbers", "open_arrow", "read_columns", "read_pairs"]

LOG = logging.getLogger(__name__)

CELL_BYTES = 8  # least size of a value of Parquet in memory

OBJECT, DEEP = re.compile(rb"\s*(\{.*\}\s*)?$"), 1000  # a line, and its brackets: Arrow crashes on very many

FAR = 20  # times the median, beyond which whole numbers are counts

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})

Roles = Mapping[str, str | int | None]
"""By role, the name of a column, its position from 0, or None for the usual names."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns in memory or from a file, with their names and their origin.

    `are_texts` says that ids are text from a file, in which integers are still to be recognized. `implicit`
    says that the column of ratings has counts, or is None because every row is one interaction;
    `guessed` that the caller did not name it.
    """

    values: tuple[Any, ...]
    names: tuple[str | int | None, ...]
    origin: Origin
    are_texts: bool = False
    implicit: bool = False
    guessed: bool = False

    def take(self, keep: Bools) -> Columns:
        """Return some of the rows; messages still name them by their place in the source."""
        rows = np.flatnonzero(keep)
        return replace(
            self, values=tuple(_taken(c, rows) for c in self.values), origin=self.origin.take(rows)
        )


def _taken(column: Any, rows: Ints) -> Any:
    if column is None or hasattr(column, "take"):
        return None if column is None else column.take(rows)
    listed = list(column)
    return [listed[row] for row in rows]


def read_columns(path: str | PathLike[str], roles: Roles, options: FileOptions) -> Columns:
    """Read columns from a file, in the order of ``roles``; see :meth:`prefmover.Ratings.read`.

    The column of the role "rating" becomes numbers; it is None if every row is one interaction.
    """
    bad = BadLines(str(path), options.on_bad_lines)
    data, file = file_bytes(path), str(path)
    if (arrow := open_arrow(data, file)) is not None:
        columns = _from_arrow(arrow, file, roles, options.feedback)
    else:
        columns = _from_text(data, file, roles, bad, options)
    columns = columns if bad.are_errors else _complete(columns, bad)
    bad.report()
    return columns


def _from_text(data: bytes, file: str, roles: Roles, bad: BadLines, options: FileOptions) -> Columns:
    table = Delimited.open(
        data, file, encoding=options.encoding, separator=options.separator, n_columns=len(roles),
        is_header=partial(_has_names, roles), expected=_listed(roles),
    )  # fmt: skip
    header = _is_header(table, roles) if options.header is None else options.header
    hint = f" (separator {table.separator!r}: {table.separator.join(table.first)[:60]!r})"
    is_number = partial(_starts_with_numbers, table)
    positions, implicit = _positions(
        table.first, roles, options.feedback, is_number, file, header=header, hint=hint
    )
    parsed = table.parse({p: "code" for p in positions if p is not None}, header=header, bad=bad)
    names = tuple(None if p is None else table.first[p] if header else p + 1 for p in positions)
    origin = table.origin(header=header, only_even=not bad.are_errors)
    values = [None if p is None else parsed[p] for p in positions]
    guessed = roles.get("rating", 0) is None
    if "rating" in roles and values[-1] is not None:  # the last role
        found = _parsed_numbers(values[-1], origin, names[-1], table.separator, strict=bad.are_errors)
        if guessed and not (header or options.feedback or options.scale):
            implicit = _are_counts(found, file, names[-1])
        values[-1] = found
    _log_names(file, names, roles, table.first if header else (), implicit=implicit)
    return Columns(tuple(values), names, origin, are_texts=True, implicit=implicit, guessed=guessed)


def _are_counts(values: Floats, file: str, column: str | int | None) -> bool:
    """Whether the values of a column without a name are counts: whole, and a few far larger than most.

    >>> _are_counts(np.array([1.0, 2, 2, 3, 1, 1, 540]), "plays.tsv", 3)
    True
    """
    whole = values[values % 1 == 0]
    usual, most = (float(np.median(whole)), float(whole.max())) if len(whole) else (0.0, 0.0)
    if len(whole) < len(values) or whole.min() < 0 or most <= max(100, FAR * usual):
        return False
    LOG.info(
        "%s, column %s: whole numbers up to %s, half of them at most %s: taken for counts, not ratings "
        "(feedback=, --feedback explicit)", file, column, f"{most:,.0f}", f"{usual:,.0f}",
    )  # fmt: skip
    return True


def _complete(columns: Columns, bad: BadLines) -> Columns:
    """Return the rows in which nothing is missing; the others are bad lines."""
    import pyarrow.compute as pc

    keep = np.ones(len(columns.values[0]), dtype=bool)
    for column, name in zip(columns.values, columns.names, strict=True):
        if column is None:
            continue
        if isinstance(column, np.ndarray):
            missing = np.isnan(column)
        elif columns.are_texts:
            encoded = column.combine_chunks()
            texts = pc.match_substring_regex(encoded.dictionary, MISSING_ID)
            missing = np.array(texts.to_pylist(), dtype=bool)[from_arrow(encoded.indices)]
        else:
            nulls = pc.is_null(column, nan_is_null=True)
            missing = np.array(nulls.to_pylist(), dtype=bool)
        rows = np.flatnonzero(missing & keep)
        if len(rows):
            is_number = column is columns.values[-1] and len(columns.values) > 2
            problem = "there is no number" if is_number else "the id is missing"
            bad.add(f"{columns.origin.at(int(rows[0]), name)}: {problem}", len(rows))
        keep &= ~missing
    return columns if keep.all() else columns.take(keep)


def read_pairs(path: str | PathLike[str], options: FileOptions | None = None) -> tuple[list[str], list[str]]:
    """Return the user and item columns of a file with a header, as text; other columns do not matter."""
    options = options or FileOptions()
    roles = {"user": options.user, "item": options.item}
    columns = read_columns(path, roles, FileOptions(header=True, encoding=options.encoding))
    ids = []
    for column, name in zip(columns.values, columns.names, strict=True):
        ids.append(["" if value is None else str(value).strip() for value in column.to_pylist()])
        if "" in ids[-1]:
            row = columns.origin.at(ids[-1].index(""), name)
            raise InputError(f"{row}: the id is missing; fill it in or drop the row")
    return ids[0], ids[1]


def _from_arrow(arrow: ArrowFile, file: str, roles: Roles, feedback: Feedback | None) -> Columns:
    import pyarrow as pa

    schema, available = arrow.schema, arrow.schema.names

    def is_number(position: int) -> bool:
        kind = schema.types[position]
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))

    positions, implicit = _positions(available, roles, feedback, is_number, file)
    names = tuple(None if p is None else available[p] for p in positions)
    for role, name in zip(roles, names, strict=True):
        if name is not None:
            find_column(name, available, role, file)  # raises if two columns have the name
    table = arrow.read([name for name in names if name is not None])
    _log_names(file, names, roles, available, implicit=implicit)
    values = tuple(None if name is None else table.column(name) for name in names)
    guessed = roles.get("rating", 0) is None
    return Columns(values, names, Origin(file, arrow.unit), implicit=implicit, guessed=guessed)


def _positions(
    names: Sequence[str],
    roles: Roles,
    feedback: Feedback | None,
    is_number: Callable[[int], bool],
    file: str,
    *,
    header: bool = True,
    hint: str = "",
) -> tuple[list[int | None], bool]:
    """Return the positions of the columns of roles, and whether the ratings are implicit feedback.

    Without a header, the columns are the first ones. There may be no column of ratings.
    """
    positions: list[int | None] = []
    implicit = feedback == "implicit"
    for k, (role, name) in enumerate(roles.items()):
        position: int | None
        if isinstance(name, int):
            position = name
        elif header and role == "rating":
            others = [p for p in positions if p is not None]
            position, implicit = find_ratings(names, name, feedback, others, is_number, file)
        elif header:
            position = find_similar(role, names) if name is None else None
            if position is None and name is None and role == "item":  # an export of titles
                position = find_usual("title", names)
            if position is None or list(names).count(names[position]) > 1:
                position = find_column(name or role, names, role, file)
        elif name is not None:
            remedy = f"give its position: {role}=0, 1, 2, ..."
            raise InputError(f"{file} is read without a header and has no column {role}={name!r}; {remedy}")
        elif role == "rating" and len(names) == k and feedback != "explicit":
            position, implicit = None, True
        else:
            position = k
        if position is not None and not 0 <= position < len(names):
            where = f"at position {position} (from 0)"
            problem = f"{file} has {len(names)} columns{hint} and no {role} column {where}"
            raise InputError(f"{problem}; pass separator= or {role}=", argument="separator")
        positions.append(position)
    if len(set(positions)) < len(positions):
        raise InputError(f"{file}: {_listed(roles)} must be different columns")
    return positions, implicit


def _has_names(roles: Roles, names: Sequence[str]) -> bool:
    return any(
        find_usual(role, names) is not None if name is None else name in names
        for role, name in roles.items()
        if not isinstance(name, int)
    )


def _is_header(table: Delimited, roles: Roles) -> bool:
    """Whether the first line is a header.

    A line that has neither the names nor a rating in its position is a header with other names: the message
    about these helps more than "'stars' is not a number". Without a rating, a header is a line above numbers
    that has none.
    """
    first, rating = table.first, roles["rating"]
    if any(isinstance(name, str) and name for name in roles.values()) or _has_names(roles, first):
        return True
    position = rating if isinstance(rating, int) else list(roles).index("rating")
    if 0 <= position < len(first):
        return not _is_number(first[position])
    return any(not _is_number(name) and _starts_with_numbers(table, k) for k, name in enumerate(first))


def _starts_with_numbers(table: Delimited, position: int) -> bool:
    rows = [fields for _, fields in islice(table.rows(), 1, 21) if position < len(fields)]
    texts = [fields[position].strip() for fields in rows]
    return any(texts) and all(map(_is_number, texts))


def _listed(roles: Roles) -> str:
    *others, last = roles
    return f"{', '.join(others)} and {last}"


def _log_names(
    file: str, names: Sequence[str | int | None], roles: Roles, header: Sequence[str], *, implicit: bool
) -> None:
    """Log the columns that are used, and the others, unless all of them were given."""
    if None not in roles.values():
        return
    used = []
    for role, name in zip(roles, names, strict=True):
        shown = f"column {name}" if isinstance(name, int) else repr(name)
        if name is None:
            used.append("no ratings or counts: every row is one interaction")
        else:
            used.append(f"{'count' if role == 'rating' and implicit else role} from {shown}")
    others = [repr(name) for name in header if name not in names and name.strip()]
    if others:
        used.append(f"other columns: {', '.join(others[:12])}{', ...' if len(others) > 12 else ''}")
    LOG.info("%s: %s", file, ", ".join(used))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.casefold() in MISSING
    return "_" not in text  # 1_000 is a number in Python only


def _parsed_numbers(
    column: Any, origin: Origin, name: str | int | None, separator: str, *, strict: bool
) -> Floats:
    """Return a column of text as numbers, NaN where one is missing; other text is an error, or NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = column.dictionary_encode().combine_chunks()
    codes = from_arrow(encoded.indices)
    texts = pc.utf8_trim_whitespace(encoded.dictionary)
    try:
        values = from_arrow(texts.cast(pa.float64()))
    except pa.ArrowInvalid:
        listed = texts.to_pylist()
        is_number = np.array([_is_number(text) for text in listed])
        if strict and not is_number.all():
            row = int(np.argmin(is_number[codes]))
            text = listed[codes[row]]
            comma = "; write a decimal point instead of the comma" if re.fullmatch(r"\d+,\d+", text) else ""
            where = f"{origin.at(row, name)} (separator {separator!r})"
            others = "; correct the line, or pass on_bad_lines='skip' to leave such lines out"
            remedy = comma or (others if is_number.any() else "")
            raise InputError(f"{where}: {text!r} is not a number{remedy}", argument="on_bad_lines") from None
        known = (ok and text.casefold() not in MISSING for text, ok in zip(listed, is_number, strict=True))
        values = np.array([float(text) if ok else np.nan for text, ok in zip(listed, known, strict=True)])
    return np.asarray(values[codes], dtype=np.float64)


def numbers(values: Any, origin: Origin, name: str | int | None) -> Floats:
    """Return ratings as float64, NaN where one is missing; anything but a number is an error.

    Floats of 4 bytes become the decimal number that they stand for:

    >>> numbers(np.array([3.7], dtype=np.float32), Origin(), "rating").tolist()
    [3.7]
    """
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values.copy()  # Arrow would import pandas, which is slow
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        try:
            values = pa.array(values, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            number = int | float | np.number | None
            others = [k for k, value in enumerate(values) if not isinstance(value, number)]
            if others:
                raise _not_a_number(values[others[0]], others[0], origin, name) from None
            raise InputError(f"the ratings cannot be read as numbers: {values!r:.80}") from None
    kind = values.type
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        exact = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        decimal = np.round(exact * 1e6) / 1e6
        narrow = np.float16 if pa.types.is_float16(kind) else np.float32
        return np.asarray(np.where(decimal.astype(narrow) == exact.astype(narrow), decimal, exact))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return np.array(values.cast(pa.float64(), safe=False), dtype=np.float64)
    k = next((k for k, value in enumerate(values) if value.is_valid), 0)
    raise _not_a_number(values[k].as_py(), k, origin, name)


def _not_a_number(value: Any, row: int, origin: Origin, name: str | int | None) -> InputError:
    problem = f"{value!r} is a {type(value).__name__}, not a number; convert the column"
    return InputError(f"{origin.at(row, name)}: {'the rating is missing' if value is None else problem}")


def frame_columns(frame: Any, user: str, item: str, rating: str | None, feedback: Feedback | None) -> Columns:
    """Return the columns of a frame; without the name of one of ratings, a usual name is recognized.

    Only the columns that are used are collected from a lazy frame.
    """
    import narwhals as nw

    try:
        native: Any = nw.from_native(frame)
    except TypeError:
        remedy = "Ratings.from_arrays takes three lists, Ratings.from_csr a sparse matrix"
        raise InputError(f"expected a data frame, got {type(frame).__name__}; {remedy}") from None
    schema = native.collect_schema()
    names, dtypes = schema.names(), schema.dtypes()
    roles = {"user": user, "item": item, "rating": rating}
    positions, implicit = _positions(names, roles, feedback, lambda k: dtypes[k].is_numeric(), "the frame")
    used = [None if k is None else names[k] for k in positions]
    chosen = native.select(*(name for name in used if name is not None))
    if isinstance(chosen, nw.LazyFrame):
        chosen = chosen.collect()
    values = tuple(None if name is None else _to_arrow(chosen[name]) for name in used)
    return Columns(values, tuple(used), Origin(), implicit=implicit, guessed=rating is None)


def _to_arrow(series: Any) -> Any:
    """Return a narwhals series as an Arrow array, or as a list if Arrow does not support its values."""
    import pyarrow as pa

    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        return series.to_list()


class ArrowFile(NamedTuple):
    """A file that Arrow reads: its schema, how it reads columns, and what a row is called."""

    schema: Any
    read: Callable[[Sequence[str]], Any]
    unit: str


def open_arrow(data: bytes, file: str) -> ArrowFile | None:
    """Open Parquet, or JSON Lines (an object on each line); None for other text."""
    import pyarrow as pa

    if data.startswith(b"PAR1"):
        from pyarrow import parquet

        with _damage(file, "a damaged Parquet file"):
            opened = parquet.ParquetFile(pa.BufferReader(data))
        return ArrowFile(opened.schema_arrow, partial(_read_parquet, opened, file), "row")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if re.match(rb"\s*\[\s*\{", data):
        remedy = "write one object on each line (JSON Lines), or CSV"
        raise InputError(f"{file} is one list in JSON; {remedy}: pandas.read_json(...).to_csv(...)")
    if not re.match(rb"\s*\{.*\}\s*(\n|$)", data):
        return None
    from pyarrow import json

    for k, line in enumerate(BytesIO(data), 1):
        if not OBJECT.match(line) or (len(line) > DEEP and line.count(b"{") + line.count(b"[") > DEEP):
            problem = f"is not an object in JSON, or has more than {DEEP:,} brackets"
            raise InputError(f"{file}, line {k:,} {problem}; write one object on each line")
    with _damage(file, "not JSON Lines, an object on each line"):
        table = json.read_json(pa.BufferReader(data), json.ReadOptions(block_size=BLOCK))
    return ArrowFile(table.schema, table.select, "line")


def _read_parquet(opened: Any, file: str, columns: Sequence[str]) -> Any:
    """Return columns as an Arrow table with valid text and offsets."""
    with _damage(file, "a damaged Parquet file"):
        metadata = opened.metadata
        memory.require(
            abs(metadata.num_rows) * CELL_BYTES * len(columns),
            f"{file}: its {metadata.num_rows:,} rows",
            "read a part of the file with pyarrow or polars",
        )
        table = opened.read(columns=columns)
        table.validate(full=True)
        return table


@contextmanager
def _damage(file: str, what: str) -> Iterator[None]:
    """Turn Arrow's errors about a damaged file into an InputError that names it."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{file} is {what}: {reason}; copy or write it again") from error
