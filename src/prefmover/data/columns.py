"""Columns of files by role: the names that they go by, and reading them from delimited text or Parquet."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from os import PathLike
from typing import Any

import numpy as np

from prefmover._typing import Floats
from prefmover.data.delimited import Delimited, file_bytes
from prefmover.data.ids import close_names, from_arrow
from prefmover.data.origin import Origin
from prefmover.data.parquet import open_parquet, read_parquet
from prefmover.errors import InputError

__all__ = ["Columns", "find_column", "find_similar", "find_usual", "plain_name", "read_columns", "read_pairs"]

LOG = logging.getLogger(__name__)

USUAL_NAMES = {
    role: tuple(names.split())
    for role, names in {
        "user": "user userid uid username viewer viewerid customer customerid reviewer reviewerid rater "
        "raterid member memberid account accountid who person reader readerid player playerid",
        "item": "item itemid iid movie movieid film filmid product productid asin book bookid isbn song "
        "songid track trackid artist artistid game gameid show showid business businessid recipe recipeid "
        "anime animeid article articleid what",
        "rating": "rating ratings stars star score starrating overall value grade",
        "title": "title name label",
        "year": "year releaseyear",
        "genres": "genres genre categories category",
        "tags": "tags tag keywords keyword labels",
        "text": "text description summary plot overview",
        "count": "count counts n weight",
    }.items()
}
"""By role, the names that are recognized, the likeliest first; compared by :func:`plain_name`."""

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})

CLOSE = 0.65
"""The share of two names that must agree for one to be a likely misspelling of the other."""

Roles = Mapping[str, str | int | None]
"""By role, the name of a column, its position from 0, or None for the usual names."""


def plain_name(name: str) -> str:
    """Return a column name for comparison: no case, no spaces, ``_``, ``-`` or ``.``.

    >>> plain_name("Movie_ID"), plain_name("star rating")
    ('movieid', 'starrating')
    """
    return re.sub(r"[-_ .]", "", name).casefold()


def find_usual(role: str, names: Sequence[str]) -> int | None:
    """Return the position of the column with a usual name of a role, or None.

    >>> find_usual("rating", ["who", "what", "Stars"])
    2
    """
    plain = [plain_name(name) for name in names]
    return next((plain.index(usual) for usual in USUAL_NAMES[role] if usual in plain), None)


def find_similar(role: str, names: Sequence[str]) -> int | None:
    """Return the position of the column with a usual name, or else of the only one with a usual word in it.

    For headers only: a row of data might well contain such a word.

    >>> find_similar("rating", ["Customer Name", "Film Title", "Your Rating"])
    2
    >>> find_similar("rating", ["critics rating", "audience rating"])  # ambiguous
    """
    usual = find_usual(role, names)
    if usual is not None:
        return usual
    words = [{word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)} for name in names]
    similar = [k for k, some in enumerate(words) if some & set(USUAL_NAMES[role])]
    return similar[0] if len(similar) == 1 else None


def find_column(name: str, names: Sequence[str], role: str, file: str = "the table") -> int:
    """Return the position of a column by its name, or raise an error that suggests one.

    >>> find_column("user", ["userId", "movieId", "rating"], "user")
    Traceback (most recent call last):
    prefmover.errors.InputError: the table has no column 'user'; the nearest is 'userId': pass
    user='userId' (columns: 'userId', 'movieId', 'rating')
    >>> find_column("user", ["Kunde", "FilmNr", "Sterne"], "user")  # no guess is better than a bad one
    Traceback (most recent call last):
    prefmover.errors.InputError: the table has no column 'user'; pass user= with the name of the user
    column (columns: 'Kunde', 'FilmNr', 'Sterne')
    """
    count = list(names).count(name)
    if count == 1:
        return list(names).index(name)
    listed = ", ".join(map(repr, names)) or "none"
    if count:
        raise InputError(f"{file} has {count} columns named {name!r} (columns: {listed})")
    remedy = f"pass {role}= with the name of the {role} column"
    for close in close_names(name, names, n=1):
        if SequenceMatcher(None, plain_name(name), plain_name(close)).ratio() >= CLOSE:
            remedy = f"the nearest is {close!r}: pass {role}={close!r}"
    raise InputError(f"{file} has no column {name!r}; {remedy} (columns: {listed})", argument=role)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns in memory or from a file, with their names and their origin.

    `are_texts` says that ids are text from a file, in which integers are still to be recognized.
    """

    values: tuple[Any, ...]
    names: tuple[str | int, ...]
    origin: Origin
    are_texts: bool = False


def read_columns(
    path: str | PathLike[str],
    roles: Roles,
    *,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> Columns:
    """Read columns from a file, in the order of ``roles``; see :meth:`prefmover.Ratings.read`.

    The column of the role "rating" becomes numbers.
    """
    data, file = file_bytes(path), str(path)
    if data.startswith(b"PAR1"):
        return _from_parquet(data, file, roles)
    n, is_header, expected = len(roles), partial(_has_names, roles), _listed(roles)
    table = Delimited.open(
        data,
        file,
        encoding=encoding,
        separator=separator,
        n_columns=n,
        is_header=is_header,
        expected=expected,
    )
    if header is None:
        header = _is_header(table.first, roles)
    positions = _positions(table.first, roles, file, header=header, hint=f" (separator {table.separator!r})")
    parsed = table.parse(dict.fromkeys(positions, "text"), header=header)
    names = tuple(table.first[p] if header else p + 1 for p in positions)
    if header:
        _log_names(file, names, roles)
    origin = table.origin(header=header)
    values = tuple(
        _numbers(parsed[p], origin, name, table.separator) if role == "rating" else parsed[p]
        for role, p, name in zip(roles, positions, names, strict=True)
    )
    return Columns(values, names, origin, are_texts=True)


def read_pairs(
    path: str | PathLike[str],
    *,
    user: str | None = None,
    item: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
) -> tuple[list[str], list[str]]:
    """Return the user and item columns of a file with a header, as text; other columns do not matter."""
    columns = read_columns(
        path, {"user": user, "item": item}, separator=separator, header=True, encoding=encoding
    )
    ids = []
    for column, name in zip(columns.values, columns.names, strict=True):
        ids.append(["" if value is None else str(value).strip() for value in column.to_pylist()])
        if "" in ids[-1]:
            row = columns.origin.at(ids[-1].index(""), name)
            raise InputError(f"{row}: the id is missing; fill it in or drop the row")
    return ids[0], ids[1]


def _from_parquet(data: bytes, file: str, roles: Roles) -> Columns:
    opened = open_parquet(data, file)
    available = opened.schema_arrow.names
    positions = _positions(available, roles, file, header=True)
    for role, position in zip(roles, positions, strict=True):
        find_column(available[position], available, role, file)  # raises if two columns have the name
    names = tuple(available[p] for p in positions)
    table = read_parquet(opened, file, names)
    _log_names(file, names, roles)
    return Columns(tuple(table.column(name) for name in names), names, Origin(file, "row"))


def _positions(names: Sequence[str], roles: Roles, file: str, *, header: bool, hint: str = "") -> list[int]:
    """Return the positions of the roles columns; without a header they are the first ones."""
    positions = []
    for k, (role, name) in enumerate(roles.items()):
        if isinstance(name, int):
            position = name
        elif header:
            match = find_similar(role, names) if name is None else None
            if match is None or list(names).count(names[match]) > 1:
                match = find_column(name or role, names, role, file)
            position = match
        elif name is not None:
            remedy = f"give its position: {role}=0, 1, 2, ..."
            raise InputError(f"{file} is read without a header and has no column {role}={name!r}; {remedy}")
        else:
            position = k
        if not 0 <= position < len(names):
            problem = (
                f"{file} has {len(names)} columns{hint} and no {role} column at position {position} (from 0)"
            )
            raise InputError(f"{problem}; pass separator= or {role}=", argument="separator")
        positions.append(position)
    if len(set(positions)) < len(positions):
        raise InputError(f"{file}: {_listed(roles)} must be different columns")
    return positions


def _has_names(roles: Roles, names: Sequence[str]) -> bool:
    """Whether one of the roles columns is among the names."""
    return any(
        find_usual(role, names) is not None if name is None else name in names
        for role, name in roles.items()
        if not isinstance(name, int)
    )


def _is_header(first: Sequence[str], roles: Roles) -> bool:
    """Whether the first line is a header.

    A line that has neither the names nor a rating in its position is a header with other names: the message
    about these helps more than "'stars' is not a number".
    """
    rating = roles["rating"]
    position = rating if isinstance(rating, int) else list(roles).index("rating")
    is_data = 0 <= position < len(first) and _is_number(first[position])
    is_named = any(isinstance(name, str) and name for name in roles.values())
    return is_named or _has_names(roles, first) or not is_data


def _listed(roles: Roles) -> str:
    *others, last = roles
    return f"{', '.join(others)} and {last}"


def _log_names(file: str, names: Sequence[str | int], roles: Roles) -> None:
    """Log the columns that are used, unless all of them were given."""
    if None in roles.values():
        used = ", ".join(f"{role} from {name!r}" for role, name in zip(roles, names, strict=True))
        LOG.info("%s: %s", file, used)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.casefold() in MISSING
    return "_" not in text  # 1_000 is a number in Python only


def _numbers(column: Any, origin: Origin, name: str | int, separator: str) -> Floats:
    """Return a column of text as numbers, NaN where one is missing."""
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
        if not is_number.all():
            row = int(np.argmin(is_number[codes]))
            text = listed[codes[row]]
            comma = "; write a decimal point instead of the comma" if re.fullmatch(r"\d+,\d+", text) else ""
            where = f"{origin.at(row, name)} (separator {separator!r})"
            raise InputError(f"{where}: {text!r} is not a number{comma}") from None
        values = np.array([float(t) if t.casefold() not in MISSING else np.nan for t in listed])
    return np.asarray(values[codes], dtype=np.float64)
