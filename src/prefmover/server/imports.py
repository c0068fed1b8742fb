"""Ratings that people export from Letterboxd or IMDb, matched with the items of a data set."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from prefmover.data.scale import Scale
from prefmover.dataset import Dataset
from prefmover.datasets.matching import match
from prefmover.errors import InputError
from prefmover.items.catalog import Catalog, parse_year, split_year

__all__ = ["ExportedRating", "ImportedRatings", "read_export"]

MOST_ROWS = 20_000
TITLES = ("name", "title", "original title")
RATINGS = {"your rating": (1.0, 10.0), "rating10": (1.0, 10.0), "rating": (0.5, 5.0)}
"""Columns of ratings, and their scales: IMDb's from 1 to 10, Letterboxd's from half a star to 5."""


class ExportedRating(NamedTuple):
    """A row of an export: title, year (0 if unknown), and the rating on the data's scale."""

    title: str
    year: int
    rating: float


@dataclass(frozen=True, slots=True)
class ImportedRatings:
    """The content of an export.

    Attributes
    ----------
    origin
        ``"IMDb"``, ``"Letterboxd"`` or ``"a file"``.
    ratings
        Ratings by item id, on the scale of the data; newest first where the export has dates.
    unmatched
        Rows whose title and year are not in the data.
    n_unrated
        Number of rows without a rating.
    """

    origin: str
    ratings: dict[Any, float]
    unmatched: list[ExportedRating]
    n_unrated: int


def read_export(text: str, data: Dataset) -> ImportedRatings:
    r"""Return the ratings in the text of a CSV file, for the items of a data set.

    The file has columns Name or Title, Year, and Rating (half a star to 5) or Your Rating (1 to 10), in any
    order, as Letterboxd's ``ratings.csv`` and IMDb's export have. Ratings are mapped linearly from the scale
    of the site to that of the data, and rounded to its steps. Items are matched by title and year
    (:mod:`~prefmover.datasets.matching`).

    >>> from prefmover import datasets
    >>> cinema = datasets.load("cinema")
    >>> found = read_export("Name,Year,Rating\nAlien,1979,5\nNo Such Film,1999,3\n", cinema)
    >>> found.ratings, [row.title for row in found.unmatched]
    ({'alien-1979': 5.0}, ['No Such Film'])
    """
    lines = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        rows = [row for row in islice(lines, MOST_ROWS + 2) if any(row)]
    except csv.Error as error:
        raise InputError(f"the file is not CSV: {error}") from None
    if len(rows) > MOST_ROWS + 1:
        raise InputError(f"the file has more than {MOST_ROWS:,} rows; split it")
    names = [name.strip().casefold() for name in rows[0]] if rows else []
    title = next((names.index(name) for name in TITLES if name in names), None)
    rating = next((name for name in RATINGS if name in names), None)
    if title is None or rating is None:
        raise InputError(
            "the file lacks a column Name or Title, or a column Rating or Your Rating; export your ratings "
            "from Letterboxd (ratings.csv) or IMDb"
        )
    year = names.index("year") if "year" in names else None
    origin = {"your rating": "IMDb"}.get(rating, "Letterboxd" if "letterboxd uri" in names else "a file")
    full = [row + [""] * (len(names) - len(row)) for row in rows[1:]]
    listed, n_unrated = _rows(full, title, year, names.index(rating), RATINGS[rating], data.ratings.scale)
    if "date" in names or "date rated" in names:
        dates = [row[names.index("date" if "date" in names else "date rated")] for row in listed.values()]
        newest = sorted(range(len(listed)), key=lambda k: dates[k], reverse=True)
        ordered = [list(listed)[k] for k in newest]
    else:
        ordered = list(listed)
    titles = Catalog(np.arange(len(ordered)), [row.title for row in ordered], [row.year for row in ordered])
    found = match(titles, data.items)
    ratings: dict[Any, float] = {}
    for k, row in enumerate(ordered):
        if k in found:
            ratings.setdefault(found[k], row.rating)
    return ImportedRatings(
        origin, ratings, [row for k, row in enumerate(ordered) if k not in found], n_unrated
    )


def _rows(
    rows: list[list[str]],
    title: int,
    year: int | None,
    rating: int,
    given: tuple[float, float],
    scale: Scale,
) -> tuple[dict[ExportedRating, list[str]], int]:
    """Return the rated rows, each with its cells, and the number of rows without a rating."""
    out, n_unrated = {}, 0
    for number, cells in enumerate(rows, 2):
        if not cells[rating].strip():
            n_unrated += 1
            continue
        try:
            value = float(cells[rating])
        except ValueError:
            raise InputError(f"row {number} has the rating {cells[rating]!r}; give a number") from None
        if not given[0] <= value <= given[1]:
            raise InputError(f"row {number} has the rating {value:g}; expected {given[0]:g} to {given[1]:g}")
        name, its_year = split_year(cells[title])
        its_year = (parse_year(cells[year]) or 0) if year is not None else its_year
        out[ExportedRating(name, its_year, _mapped(value, given, scale))] = cells
    return out, n_unrated


def _mapped(value: float, given: tuple[float, float], scale: Scale) -> float:
    """Return a rating on the scale of the data, at one of its steps."""
    share = (value - given[0]) / (given[1] - given[0])
    mapped = scale.lowest + share * (scale.highest - scale.lowest)
    if scale.step:
        mapped = scale.lowest + round((mapped - scale.lowest) / scale.step) * scale.step
    return min(max(mapped, scale.lowest), scale.highest)
