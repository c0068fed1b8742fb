r"""Tables of items of one's own: ids, titles, and whatever describes them.

A file has a header and a column of item ids, and one of these forms:

- a row for each item: title, year, genres, tags (several in a cell), text;
- a row for each tag: item, tag, and a count where known, as MovieLens' ``tags.csv``;
- vectors: item and columns of numbers (in Parquet also one column of lists).

Several files are put together: ``movies.csv`` has titles and genres, ``tags.csv`` the tags.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover.data.columns import find_alike, find_column, find_usual, plain_name
from prefmover.data.delimited import Sheet, file_bytes, to_utf8
from prefmover.data.ids import CANONICAL_INTEGER, Ids, as_ids, close_names
from prefmover.data.parquet import open_parquet, read_parquet
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.catalog import Catalog, split_year
from prefmover.items.geometry import ItemGeometry

__all__ = ["ItemTable", "read_item_table"]

LOG = logging.getLogger(__name__)

ROLES = ("title", "year", "genres", "tags", "text")
DENSE = 20_000_000  # entries of a matrix of items x tags that need not be made smaller
PROFILE_ITEMS = 20  # a tag of so many items can be predicted: features.tag_profiles


@dataclass(slots=True)
class ItemTable:
    """What files say about items, by id."""

    titles: dict[str, str] = field(default_factory=dict)
    years: dict[str, int] = field(default_factory=dict)
    genres: dict[str, list[str]] = field(default_factory=dict)
    tags: list[tuple[str, str, float]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    vectors: list[tuple[list[str], npt.NDArray[np.float64]]] = field(default_factory=list)
    order: dict[str, None] = field(default_factory=dict)
    plain: list[_Rows] = field(default_factory=list)  # files that describe nothing

    def geometry(self, ids: Ids, name: str) -> ItemGeometry:
        """Return the geometry of everything that is known; items of which nothing is known lie far off."""
        parts = self._parts(ids)
        if not parts:
            raise InputError(f"{name}: genres, tags and text are empty for every item")
        made = parts[0] if len(parts) == 1 else features.combine(*parts)
        return ItemGeometry.from_vectors(made.items, made.vectors, name=f"{made.name} of {name}", zero="far")

    def catalog(self, ids: Ids) -> Catalog:
        """Return titles, years and genres."""
        keys = [str(i) for i in ids.tolist()]
        titles = [self.titles.get(key, key) for key in keys]
        years = [self.years.get(key, 0) for key in keys]
        return Catalog(ids, titles, years, [self.genres.get(key, []) for key in keys])

    def _parts(self, ids: Ids) -> list[features.ItemVectors]:
        place = {str(item): k for k, item in enumerate(ids.tolist())}
        parts = []
        for names, X in self.vectors:
            whole = np.zeros((len(ids), X.shape[1]))
            whole[[place[name] for name in names]] = X
            parts.append(
                features.ItemVectors(ids, whole, np.asarray(whole.any(axis=1)), f"{X.shape[1]} numbers")
            )
        genres = [self.genres.get(key, []) for key in place]
        items = ids[[place[item] for item, _, _ in self.tags]]
        tags, counts = [tag for _, tag, _ in self.tags], [count for _, _, count in self.tags]
        by_tag: dict[str, set[str]] = {}
        for item, tag, _ in self.tags:
            by_tag.setdefault(tag.casefold(), set()).add(item)
        most = max(map(len, by_tag.values()), default=0)
        if any(genres) and most >= PROFILE_ITEMS:
            parts.append(features.tag_profiles(items, tags, counts, of=ids, genres=genres))
        else:
            if any(genres):
                parts.append(features.from_genres(ids, genres))
            if tags:
                small = len(ids) * len(by_tag) <= DENSE
                options: dict[str, Any] = (
                    {"dimensions": None, "min_items": 1} if small else {"dimensions": 100, "min_items": 2}
                )
                parts.append(features.from_tags(items, tags, counts, of=ids, **options))
        if any(self.texts.values()):
            texts = [self.texts.get(key, "") for key in place]
            parts.append(features.from_text(ids, texts, min_items=1))
        return parts


def read_item_table(
    *paths: str | os.PathLike[str],
    item: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    rated: Ids | None = None,
    missing: str = "error",
) -> tuple[Catalog, ItemGeometry]:
    r"""Return catalog and geometry from files of items, each in one of the forms above.

    Parameters
    ----------
    paths
        One or more files: text with any separator, gzip, Parquet.
    item
        Name of the column of ids, in the files that have it; else the usual names are found (item,
        item_id, movieId, id, ...).
    separator, encoding
        As in :meth:`prefmover.Ratings.read`.
    rated
        Ids of rated items, whose type (integers or strings) the ids here then have. If none of them
        is here but all titles are, titles are the ids.
    missing
        ``"far"`` adds rated items that are not in any file, at a right angle to every other.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "tags.csv")
    ...     _ = path.write_text("film,tag\nAlien,space\nAlien,monster\nAliens,space\nEmma,romance\n")
    ...     _, geometry = read_item_table(path)
    >>> geometry.near("Alien", 1)
    [('Aliens', 1.107...)]
    """
    if not paths:
        raise InputError("no file of items was given")
    table = _read_all(paths, item, separator, encoding)
    keys = list(table.order)
    if rated is not None and not any(str(i) in table.order for i in rated.tolist()):
        by_title = _by_title(paths, rated, separator, encoding)
        if by_title is not None:
            table, keys = by_title, list(by_title.order)
    if rated is not None and missing == "far":
        keys += [str(i) for i in rated.tolist() if str(i) not in table.order]
    ids = _typed(keys, rated)
    name = " and ".join(os.path.basename(os.fspath(path)) for path in paths)
    return table.catalog(ids), table.geometry(ids, name)


def _read_all(
    paths: Sequence[str | os.PathLike[str]], item: str | None, separator: str | None, encoding: str
) -> ItemTable:
    table = ItemTable()
    for path in paths:
        _Rows.read(path, item, separator, encoding).add_to(table)
    if len(table.plain) == len(paths):
        rows = table.plain[0]
        raise InputError(
            f"{rows.file} needs a column genres, tags or text, or columns of numbers, to tell items "
            f"apart; it has {', '.join(map(repr, rows.names))}"
        )
    return table


def _by_title(
    paths: Sequence[str | os.PathLike[str]], rated: Ids, separator: str | None, encoding: str
) -> ItemTable | None:
    """Return the table with titles for ids, if that is what was rated; None if it is not."""
    names = [_Rows.read(path, None, separator, encoding).title for path in paths]
    if None in names:
        return None
    table = ItemTable()
    for path, name in zip(paths, names, strict=True):
        rows = _Rows.read(path, name, separator, encoding)
        if len(set(rows.ids)) < len(rows.ids):
            return None  # two items of one title
        rows.add_to(table)
    if not any(str(i) in table.order for i in rated.tolist()):
        return None
    LOG.info("ratings are by title: items are taken by their %r", names[0])
    return table


def _typed(keys: list[str], rated: Ids | None) -> Ids:
    """Return ids as integers if all are written as such, and what was rated is not text."""
    whole = all(re.fullmatch(CANONICAL_INTEGER, key) and abs(int(key)) < 2**63 for key in keys)
    if whole and (rated is None or not len(rated) or rated.dtype == np.int64):
        return as_ids([int(key) for key in keys], "item")
    return as_ids(keys, "item")


@dataclass(slots=True)
class _Rows:
    """One file: names of its columns, and its cells as text (or lists of numbers), row by row."""

    file: str
    names: list[str]
    rows: list[list[Any]]
    lines: list[int]
    at: int  # the column of ids

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], item: str | None, separator: str | None, encoding: str
    ) -> _Rows:
        file, data = os.fspath(path), file_bytes(path)
        if data.startswith(b"PAR1"):
            names, rows = _parquet(data, file)
            lines = list(range(1, len(rows) + 1))
        else:
            names, rows, lines = _text(to_utf8(data, encoding, file), file, item, separator)
        at = (
            find_column(item, names, "item", file)
            if item is not None and item in names
            else _item_column(names, file)
        )
        if not rows:
            raise InputError(f"{file} has a header but no items below it")
        for row, line in zip(rows, lines, strict=True):
            if not row[at]:
                raise InputError(f"{file}, line {line:,}, column {names[at]!r}: the item is missing")
            if isinstance(row[at], list):
                raise InputError(f"{file}, line {line:,}, column {names[at]!r}: a list is no item id")
        return cls(file, names, rows, lines, at)

    @property
    def ids(self) -> list[str]:
        return [row[self.at] for row in self.rows]

    @property
    def title(self) -> str | None:
        place = find_alike("title", self.names)
        return None if place is None else self.names[place]

    def add_to(self, table: ItemTable) -> None:
        """Sort the cells into a table by what the columns are called."""
        places = {role: find_alike(role, self.names) for role in ROLES}
        columns = {role: p for role, p in places.items() if p is not None and p != self.at}
        described = {"genres", "tags", "text"} & columns.keys()
        for at in columns.values():
            for row in self.rows:
                if isinstance(row[at], list):  # of Parquet; tags may well come so
                    row[at] = "|".join(str(part) for part in row[at] if part is not None)
        numbers = [] if described else self._numbers(set(columns.values()))
        repeats = len(set(self.ids)) < len(self.rows)
        if repeats and (numbers or {"title", "text", "year"} & columns.keys()):
            try:
                as_ids(self.ids, "item")  # raises, and names the one that is there twice
            except InputError as error:
                raise InputError(f"{self.file}: {error}") from None
        table.order.update(dict.fromkeys(self.ids))
        self._add_titles(table, columns)
        for role in ("genres", "tags"):
            if role in columns:
                self._add_words(table, role, columns[role], split=not repeats)
        if "text" in columns:
            table.texts.update((row[self.at], row[columns["text"]]) for row in self.rows)
        if numbers:
            X = np.array([[x for p in numbers for x in _floats(row[p])] for row in self.rows])
            table.vectors.append((self.ids, X))
        if not described and not numbers:
            table.plain.append(self)
        taken = [f"{role} from {self.names[p]!r}" for role, p in columns.items()]
        taken += [f"{len(numbers)} column{'s' * (len(numbers) > 1)} of numbers"] if numbers else []
        said = ", ".join(taken) or f"nothing else known of {', '.join(map(repr, self.names))}"
        LOG.info("%s: item from %r, %s", self.file, self.names[self.at], said)

    def _add_titles(self, table: ItemTable, columns: dict[str, int]) -> None:
        for row, line in zip(self.rows, self.lines, strict=True):
            key = row[self.at]
            year = row[columns["year"]] if "year" in columns else ""
            if year and not re.fullmatch("[0-9]{1,9}", year):
                raise InputError(f"{self.file}, line {line:,}, column 'year': {year!r} is not a year")
            title, in_title = split_year(row[columns["title"]] if "title" in columns else key)
            if "title" in columns or key not in table.titles:
                table.titles[key] = title
            if year or in_title:
                table.years[key] = int(year) if year else in_title

    def _add_words(self, table: ItemTable, role: str, at: int, split: bool) -> None:
        cells = [row[at] for row in self.rows]
        mark = next((m for m in "|;," if any(m in cell for cell in cells)), None) if split else None
        counts = self._counts() if role == "tags" and not split else [1.0] * len(cells)
        for row, cell, count in zip(self.rows, cells, counts, strict=True):
            words = [word.strip() for word in (cell.split(mark) if mark else [cell])]
            if role == "tags":
                table.tags += [(row[self.at], word, count) for word in words if word]
            else:
                table.genres.setdefault(row[self.at], []).extend(word for word in words if word)

    def _counts(self) -> list[float]:
        at = find_usual("count", self.names)
        if at is None:
            return [1.0] * len(self.rows)
        counts = [_number(row[at]) for row in self.rows]
        for count, row, line in zip(counts, self.rows, self.lines, strict=True):
            if count is None or not 0 < count < np.inf:
                raise InputError(
                    f"{self.file}, line {line:,}, column {self.names[at]!r}: {row[at]!r} is not a count; "
                    "expected a positive number"
                )
        return [float(count) for count in counts if count is not None]

    def _numbers(self, taken: set[int]) -> list[int]:
        """Return the columns that hold numbers, all those that are nothing else."""
        rest = [k for k in range(len(self.names)) if k != self.at and k not in taken]
        first = {k: _floats(self.rows[0][k]) for k in rest}
        chosen = [k for k in rest if first[k]]
        lists = [k for k in chosen if plain_name(self.names[k]) == "vector" or len(first[k]) > 1]
        chosen = lists or chosen
        for row, line in zip(self.rows, self.lines, strict=True):
            for k in chosen:
                if len(_floats(row[k])) != len(first[k]):
                    raise InputError(
                        f"{self.file}, line {line:,}, column {self.names[k]!r}: {row[k]!r} is not "
                        f"{'a number' if len(first[k]) == 1 else f'a list of {len(first[k])} numbers'}"
                    )
        return chosen


def _item_column(names: list[str], file: str) -> int:
    at = find_usual("item", names)
    if at is None:
        plain = [plain_name(name) for name in names]
        at = plain.index("id") if "id" in plain else _alike_item(names)
    if at is not None:
        return at
    close = close_names("item", names, n=1)
    hint = f"; is it {close[0]!r}?" if close else ""
    listed = ", ".join(map(repr, names))
    raise InputError(
        f"{file}, line 1: no column 'item' among {listed}{hint}; the first line names the columns, "
        f"item and some of {', '.join(ROLES)}"
    )


def _alike_item(names: list[str]) -> int | None:
    """Return the column with a word for items in it that is nothing else.

    >>> _alike_item(["Film Title", "Film Nr"])
    1
    """
    others = {find_alike(role, names) for role in ROLES}
    left = [k for k in range(len(names)) if k not in others]
    at = find_alike("item", [names[k] for k in left])
    return find_alike("item", names) if at is None else left[at]


def _text(
    data: bytes, file: str, item: str | None, separator: str | None
) -> tuple[list[str], list[list[Any]], list[int]]:
    if not data.strip():
        raise InputError(f"{file} is empty; expected a header and items below it")

    def has_names(names: list[str]) -> bool:
        usual = find_usual("item", names) is not None or "id" in map(plain_name, names)
        return len(names) > 1 and (item in names or usual)

    sheet = Sheet.open(data, file, separator, least=2, has_names=has_names, expected="item and tags")
    names, rows, lines = list(sheet.first), [], []
    for line, fields in sheet.rows():
        if not any(cell.strip() for cell in fields):
            continue
        if len(fields) != len(names):
            raise InputError(
                f"{file}, line {line:,}: {len(fields)} columns where the header has {len(names)}"
                f" (separator {sheet.shown!r})"
            )
        rows.append([cell.strip() for cell in fields])
        lines.append(line)
    return names, rows[1:], lines[1:]


def _parquet(data: bytes, file: str) -> tuple[list[str], list[list[Any]]]:
    table = read_parquet(open_parquet(data, file), file)
    columns = [
        [cell if isinstance(cell, list) else "" if cell is None else str(cell) for cell in column.to_pylist()]
        for column in table.columns
    ]
    return table.column_names, [list(row) for row in zip(*columns, strict=True)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _floats(cell: Any) -> list[float]:
    """Return the numbers in a cell; none if it holds something else."""
    if isinstance(cell, list):
        try:
            return [float(x) for x in cell] if all(isinstance(x, int | float) for x in cell) else []
        except OverflowError:  # an integer of 400 digits
            return []
    value = _number(cell)
    return [] if value is None else [value]
