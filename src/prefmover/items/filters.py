"""Conditions on items, such as "horror or thrillers of the eighties": from text or a dictionary to a mask."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from prefmover._typing import Bools
from prefmover.errors import InputError, close_names

if TYPE_CHECKING:
    from prefmover.items.catalog import Catalog

__all__ = ["matching", "parse_where"]

COLUMNS = ("year", "genre", "title")
CONDITION = re.compile(r"\s*([^<>=]*?[^<>=\s])\s*(<=|>=|[<>=])\s*(.*\S)\s*", re.DOTALL)
ALIASES = {"years": "year", "genres": "genre", "titles": "title"}


def parse_where(texts: str | Sequence[str]) -> dict[str, Any]:
    """Return conditions that were typed as COLUMN=VALUE, or year>=VALUE; all of them must hold.

    >>> parse_where(["year=1980..1999", "genre=Horror|Thriller"])
    {'year': (1980, 1999), 'genre': ['Horror', 'Thriller']}
    >>> parse_where("year=1994"), parse_where("year=..1960"), parse_where("title=star")
    ({'year': [1994]}, {'year': (None, 1960)}, {'title': ['star']})
    >>> parse_where("year >= 1990"), parse_where("year<1960")
    ({'year': (1990, None)}, {'year': (None, 1959)})
    """
    where: dict[str, Any] = {}
    for text in [texts] if isinstance(texts, str) else texts:
        match = CONDITION.fullmatch(text)
        if match is None:
            raise InputError(f"{text!r} is not a condition; give COLUMN=VALUE, such as genre=Horror|Thriller")
        column, sign, value = match.groups()
        column = ALIASES.get(column.casefold(), column.casefold())
        if sign != "=" and column != "year":
            raise InputError(f"{text!r}: {sign} is for years; give {column}={value}")
        if column in where:
            raise InputError(f"there are two conditions on {column}; give one, such as {column}={value}|...")
        where[column] = _years(value, sign) if column == "year" else [one.strip() for one in value.split("|")]
    return where


def _years(text: str, sign: str) -> Any:
    """Return the years in "1980..1999", "1980..", "..1999" or "1994|1995"; or those before or after one."""
    try:
        if sign != "=":
            year = int(text) + {">": 1, "<": -1}.get(sign, 0)
            return (year, None) if sign.startswith(">") else (None, year)
        if ".." in text:
            low, high = (int(end) if end.strip() else None for end in text.split(".."))
            return (low, high)
        return [int(part) for part in text.split("|")]
    except ValueError:
        raise InputError(
            f"year is {text!r}; give a year (1994), a range (1980..1999), or 1994|1996"
        ) from None


def matching(catalog: Catalog, where: Mapping[str, Any]) -> Bools:
    """Return which items meet all conditions; see :meth:`prefmover.items.catalog.Catalog.matching`."""
    if not isinstance(where, Mapping):
        raise InputError(
            f'where is of type {type(where).__name__}; give a dictionary, such as {{"year": 1994}}'
        )
    tests = {"year": _in_years, "genre": _has_genre, "title": _in_title}
    mask = np.ones(len(catalog), dtype=bool)
    for name, value in where.items():
        column = ALIASES.get(str(name).casefold(), str(name).casefold())
        if column not in tests:
            raise InputError(f"where: there is no column {name!r}; the columns are {', '.join(COLUMNS)}")
        mask &= tests[column](catalog, value)
    return mask


def _in_years(catalog: Catalog, value: Any) -> Bools:
    if not catalog.years.any():
        raise InputError("where: no item has a year; leave the condition on year out")
    known = catalog.years != 0
    if isinstance(value, tuple) and len(value) == 2:
        low, high = (None if end is None else _year(end) for end in value)
        if low is not None and high is not None and low > high:
            raise InputError(f"where: year is from {low} to {high}; give the earlier year first")
        ends = (-np.inf if low is None else low, np.inf if high is None else high)
        return np.asarray(known & (catalog.years >= ends[0]) & (catalog.years <= ends[1]))
    several = isinstance(value, Iterable) and not isinstance(value, str)
    return np.asarray(known & np.isin(catalog.years, [_year(one) for one in (value if several else [value])]))


def _year(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"where: {value!r} is not a year; give 1994, (1980, 1999) or a list of years")
    return int(value)


def _has_genre(catalog: Catalog, value: Any) -> Bools:
    genres = sorted({genre for some in catalog.genres for genre in some})
    if not genres:
        raise InputError("where: no item has a genre; leave the condition on genre out")
    known = {genre.casefold() for genre in genres}
    wanted = [text.strip().casefold() for text in _texts(value, "genre")]
    for one in wanted:
        if one not in known:
            close = close_names(one, genres) or genres[:12]
            raise InputError(f"where: no item has the genre {one!r}; there are {', '.join(map(repr, close))}")
    return np.array([any(g.casefold() in wanted for g in some) for some in catalog.genres], dtype=bool)


def _in_title(catalog: Catalog, value: Any) -> Bools:
    from prefmover.items.catalog import plain_title

    wanted = [plain_title(text) for text in _texts(value, "title")]
    if not all(wanted):
        raise InputError(f"where: title is {value!r}; give some letters or digits of it")
    return np.array([any(one in title for one in wanted) for title in catalog.plain_titles], dtype=bool)


def _texts(value: Any, column: str) -> list[str]:
    listed: list[Any] = (
        [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [None]
    )
    if not listed or not all(isinstance(one, str) and one.strip() for one in listed):
        raise InputError(f"where: {column} is {value!r}; give a text, or a list of texts")
    return listed
