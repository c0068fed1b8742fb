"""Ratings that people export from Letterboxd or IMDb, matched with the items of a data set."""

from __future__ import annotations

import csv
import io
from itertools import islice
from typing import NamedTuple

import numpy as np

from prefmover._typing import Progress
from prefmover.data.scale import Scale
from prefmover.dataset import Dataset
from prefmover.datasets.matching import TitleIndex
from prefmover.errors import InputError
from prefmover.items.catalog import Catalog, parse_year, split_year
from prefmover.server.schemas.responses import ImportedRatingOut, ImportOut, UnmatchedOut

MOST_ROWS = 20_000
LONGEST_TITLE = 400
SHOWN = 40  # characters of a wrong cell that an error message repeats
DATES = ("date", "date rated")
TITLES = ("name", "title", "original title")
RATINGS = {"your rating": (1.0, 10.0), "rating10": (1.0, 10.0), "rating": (0.5, 5.0)}
"""Columns of ratings, and their scales: IMDb's from 1 to 10, Letterboxd's from half a star to 5."""


class _Row(NamedTuple):
    """A row of an export: title, year (0 if unknown), and the rating on the data's scale; None is a like."""

    title: str
    year: int
    rating: float | None


def read_export(
    text: str, data: Dataset, index: TitleIndex, progress: Progress = lambda done, total: None
) -> ImportOut:
    r"""Return the ratings in the text of a CSV file, for the items of a data set.

    The file has columns Name or Title, Year, and Rating (half a star to 5) or Your Rating (1 to 10), in any
    order, as Letterboxd's ``ratings.csv`` and IMDb's export have. Ratings are mapped linearly from the scale
    of the site to that of the data, and rounded to its steps. For implicit feedback, ratings three quarters
    up the scale of the site are likes, and others are left out. Items are matched by title and year
    (:mod:`~prefmover.datasets.matching`); ``index`` has those of the data.

    >>> from prefmover import datasets
    >>> cinema = datasets.load("cinema")
    >>> index = TitleIndex(cinema.catalog)
    >>> found = read_export("Name,Year,Rating\nAlien,1979,5\nNo Such Film,1999,3\n", cinema, index)
    >>> [(row.title, row.rating) for row in found.ratings], [row.title for row in found.unmatched]
    ([('Alien (1979)', 5.0)], ['No Such Film'])
    """
    lines = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    try:
        rows = [row for row in islice(lines, MOST_ROWS + 2) if any(row)]
    except csv.Error as error:
        raise InputError(f"the file is not CSV: {error}") from None
    if len(rows) > MOST_ROWS + 1:
        raise InputError(f"the file has more than {MOST_ROWS:,} rows; split it")
    names = [name.strip().casefold() for name in rows[0]] if rows else []
    title, rating, date = (
        next((name for name in some if name in names), "") for some in (TITLES, RATINGS, DATES)
    )
    if not title or not rating:
        raise InputError(
            "the file lacks a column Name or Title, or a column Rating or Your Rating; export your ratings "
            "from Letterboxd (ratings.csv) or IMDb"
        )
    dates: dict[_Row, str] = {}
    n_unrated = 0
    for number, cells in enumerate(rows[1:], 2):
        row = dict(zip(names, cells, strict=False))  # the last cells may be missing
        if not row.get(rating, "").strip():
            n_unrated += 1
            continue
        value, site = _checked(row[rating], number, RATINGS[rating]), Scale(*RATINGS[rating], 0)
        if data.ratings.implicit and value < (site.liked_from or 0):
            n_unrated += 1
            continue
        if len(row.get(title, "")) > LONGEST_TITLE:
            raise InputError(f"row {number} has a title of more than {LONGEST_TITLE} characters")
        name, year = split_year(row.get(title, ""))
        if "year" in names:
            year = parse_year(row.get("year", "")) or 0
        mapped = None if data.ratings.implicit else _on_scale(value, site, data.ratings.scale)
        dates[_Row(name, year, mapped)] = row.get(date, "")
    newest = sorted(dates, key=dates.__getitem__, reverse=True)
    titles = Catalog(np.arange(len(newest)), [row.title for row in newest], [row.year for row in newest])
    found = index.match(titles, progress)
    ratings: dict[int, float | None] = {}
    for k, item in found.items():
        ratings.setdefault(data.item_position(item), newest[k].rating)
    origin = {"your rating": "IMDb"}.get(rating, "Letterboxd" if "letterboxd uri" in names else "a file")
    return ImportOut(
        origin=origin,
        ratings=[
            ImportedRatingOut(item=str(data.ratings.items[k]), title=data.catalog.label(k), rating=rating)
            for k, rating in ratings.items()
        ],
        unmatched=[
            UnmatchedOut(title=row.title, year=row.year or None)
            for k, row in enumerate(newest)
            if k not in found
        ],
        n_unrated=n_unrated,
    )


def _checked(text: str, number: int, given: tuple[float, float]) -> float:
    """Return the rating of a row, which must be on the scale of its site."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"row {number} has the rating {text[:SHOWN]!r}; give a number") from None
    if not given[0] <= value <= given[1]:
        raise InputError(f"row {number} has the rating {value:g}; expected {given[0]:g} to {given[1]:g}")
    return value


def _on_scale(value: float, site: Scale, scale: Scale) -> float:
    """Return a rating, mapped from the scale of its site to a step of that of the data."""
    share = (value - site.lowest) / (site.highest - site.lowest)
    mapped = scale.lowest + share * (scale.highest - scale.lowest)
    if scale.step:
        mapped = scale.lowest + round((mapped - scale.lowest) / scale.step) * scale.step
    return min(max(mapped, scale.lowest), scale.highest)
