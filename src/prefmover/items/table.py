r"""Files that describe items: ids, titles, and what tells items apart.

A file has a header, a column of item ids, and one of these forms:

- one row per item: title, year, genres, tags (several in a cell), text;
- one row per tag: item, tag, and a count if there is one, as in ``tags.csv`` of MovieLens;
- vectors: item and columns of numbers (in Parquet also one column of lists).

Several files are merged: ``movies.csv`` has titles and genres, ``tags.csv`` the tags.
"""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from prefmover._typing import Floats, Ids
from prefmover.data.delimited import Delimited, file_bytes
from prefmover.data.ids import CANONICAL_INTEGER, as_ids, close_names
from prefmover.data.names import find_column, find_similar, find_usual, plain_name
from prefmover.data.origin import Origin
from prefmover.data.parquet import open_parquet, read_parquet
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.catalog import Catalog, split_year
from prefmover.items.geometry import ItemGeometry

__all__ = ["ItemTable", "read_item_table"]

LOG = logging.getLogger(__name__)

ROLES = ("title", "year", "genres", "tags", "text")
DENSE = 20_000_000  # entries of a matrix of items x tags that is used without an SVD
_Rows = tuple[list[str], list[list[Any]], Origin]
PROFILE_ITEMS = 20  # the smallest number of items of a tag that can be predicted: features.tag_profiles


def read_item_table(
    *paths: str | os.PathLike[str],
    item: str | None = None,
    encoding: str = "utf-8",
    rated: Ids | None = None,
    missing: str = "error",
) -> tuple[Catalog, ItemGeometry]:
    r"""Return the catalog and the geometry of the items in one or more files.

    Parameters
    ----------
    paths
        Files in one of the forms above: text with any separator, gzip, Parquet.
    item
        Name of the column of ids, in the files that have it; otherwise the usual names are recognized
        (item, item_id, movieId, id, ...).
    encoding
        Encoding of text.
    rated
        Ids of rated items; ids here get their type (integers or strings). If none of them is here but their
        titles are, titles are the ids.
    missing
        ``"far"`` adds rated items that no file describes, at a right angle to every other.

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
        raise InputError("read_item_table needs at least one file")
    files = [_ItemFile.read(path, item, encoding) for path in paths]
    table = ItemTable.from_files(files)
    if not table.is_descriptive:
        names = ", ".join(map(repr, files[0].names))
        needs = "a column genres, tags or text, or columns of numbers, to tell items apart"
        raise InputError(f"{files[0].origin.file} needs {needs}; it has {names}")
    if rated is not None and not any(str(i) in table.order for i in rated.tolist()):
        table = _by_title(files, rated) or table
    keys = list(table.order)
    if rated is not None and missing == "far":
        keys += [str(i) for i in rated.tolist() if str(i) not in table.order]
    ids = _typed(keys, rated)
    name = " and ".join(os.path.basename(os.fspath(path)) for path in paths)
    return table.catalog(ids), table.geometry(ids, name)


@dataclass(slots=True)
class ItemTable:
    """The contents of files that describe items, by the text of the id."""

    titles: dict[str, str] = field(default_factory=dict)
    years: dict[str, int] = field(default_factory=dict)
    genres: dict[str, list[str]] = field(default_factory=dict)
    tags: list[tuple[str, str, float]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    vectors: list[tuple[list[str], Floats]] = field(default_factory=list)
    order: dict[str, None] = field(default_factory=dict)
    is_descriptive: bool = False  # whether a column tells items apart

    @classmethod
    def from_files(cls, files: Sequence[_ItemFile]) -> ItemTable:
        """Merge the contents of files."""
        table = cls()
        for file in files:
            file.add_to(table)
        return table

    def geometry(self, ids: Ids, name: str) -> ItemGeometry:
        """Return the geometry of all that is known; items without any description are far from all others."""
        blocks = self._blocks(ids)
        if not blocks:
            raise InputError(f"{name}: genres, tags and text are empty for every item")
        vectors = blocks[0] if len(blocks) == 1 else features.combine(*blocks)
        return ItemGeometry.from_features(vectors._replace(name=f"{vectors.name} of {name}"))

    def catalog(self, ids: Ids) -> Catalog:
        """Return titles, years and genres."""
        keys = [str(i) for i in ids.tolist()]
        titles, years = [self.titles.get(key, key) for key in keys], [self.years.get(key, 0) for key in keys]
        return Catalog(ids, titles, years, [self.genres.get(key, []) for key in keys])

    def _blocks(self, ids: Ids) -> list[features.ItemVectors]:
        """Return the feature blocks: numbers, tags and genres, text."""
        positions = {str(item): k for k, item in enumerate(ids.tolist())}
        blocks = []
        for keys, X in self.vectors:
            whole = np.zeros((len(ids), X.shape[1]))
            whole[[positions[key] for key in keys]] = X
            blocks.append(features.ItemVectors(ids, whole, f"{X.shape[1]} numbers"))
        genres = [self.genres.get(key, []) for key in positions]
        items = ids[[positions[item] for item, _, _ in self.tags]]
        tags, counts = [tag for _, tag, _ in self.tags], [count for _, _, count in self.tags]
        items_by_tag: dict[str, set[str]] = {}
        for item, tag, _ in self.tags:
            items_by_tag.setdefault(tag.casefold(), set()).add(item)
        if any(genres) and max(map(len, items_by_tag.values()), default=0) >= PROFILE_ITEMS:
            blocks.append(features.tag_profiles(items, tags, counts, ids=ids, genres=genres))
        else:
            if any(genres):
                blocks.append(features.from_genres(ids, genres))
            if tags:
                is_small = len(ids) * len(items_by_tag) <= DENSE
                options: dict[str, Any] = {"dimensions": None, "min_items": 1} if is_small else {}
                blocks.append(features.from_tags(items, tags, counts, ids=ids, **options))
        if any(self.texts.values()):
            texts = [self.texts.get(key, "") for key in positions]
            blocks.append(features.from_text(ids, texts, min_items=1))
        return blocks


def _by_title(files: Sequence[_ItemFile], rated: Ids) -> ItemTable | None:
    """Return the table with titles as ids, if ratings are by title, or None."""
    titled = []
    for file in files:
        position = find_similar("title", file.names)
        if position is None:
            return None
        titled.append(replace(file, id_column=position))
        if len(set(titled[-1].ids)) < len(file.rows):
            return None  # two items of one title
    table = ItemTable.from_files(titled)
    if not any(str(i) in table.order for i in rated.tolist()):
        return None
    LOG.info("ratings are by title: titles are the ids of the items")
    return table


def _typed(keys: list[str], rated: Ids | None) -> Ids:
    """Return ids as integers if all are written as integers and the rated ids are not text."""
    are_integers = all(re.fullmatch(CANONICAL_INTEGER, key) and abs(int(key)) < 2**63 for key in keys)
    if are_integers and (rated is None or not len(rated) or rated.dtype == np.int64):
        return as_ids([int(key) for key in keys], "item")
    return as_ids(keys, "item")


@dataclass(slots=True)
class _ItemFile:
    """One file: names of its columns, and its cells as text (or lists, in Parquet) row by row."""

    origin: Origin
    names: list[str]
    rows: list[list[Any]]
    id_column: int

    def __post_init__(self) -> None:
        for k, row in enumerate(self.rows):
            key = row[self.id_column]
            if not key or isinstance(key, list):
                reason = "a list is not an item id" if key else "the item is missing"
                raise InputError(f"{self.origin.at(k, self.names[self.id_column])}: {reason}")

    @classmethod
    def read(cls, path: str | os.PathLike[str], item: str | None, encoding: str) -> _ItemFile:
        file, data = os.fspath(path), file_bytes(path)
        is_parquet = data.startswith(b"PAR1")
        contents = _parquet_rows(data, file) if is_parquet else _text_rows(data, file, item, encoding)
        names, rows, origin = contents
        if item is not None and item in names:
            id_column = find_column(item, names, "item", file)
        else:
            id_column = _find_id_column(names, file)
        if not rows:
            raise InputError(f"{file} has a header but no items below it")
        return cls(origin, names, rows, id_column)

    @property
    def ids(self) -> list[str]:
        return [row[self.id_column] for row in self.rows]

    def add_to(self, table: ItemTable) -> None:
        """Add the cells to a table by the roles of their columns."""
        positions = {role: find_similar(role, self.names) for role in ROLES}
        columns = {role: p for role, p in positions.items() if p is not None and p != self.id_column}
        for position in columns.values():
            for row in self.rows:
                if isinstance(row[position], list):
                    row[position] = "|".join(str(cell) for cell in row[position] if cell is not None)
        is_described = bool({"genres", "tags", "text"} & columns.keys())
        numbers = [] if is_described else self._number_columns(set(columns.values()))
        repeats = len(set(self.ids)) < len(self.rows)
        if repeats and (numbers or {"title", "text", "year"} & columns.keys()):
            twice = Counter(self.ids).most_common(1)[0][0]
            raise InputError(
                f"{self.origin.file}: item id {twice!r} occurs more than once; ids must be unique"
            )
        table.order.update(dict.fromkeys(self.ids))
        table.is_descriptive |= is_described or bool(numbers)
        self._add_titles(table, columns)
        for role in ("genres", "tags"):
            if role in columns:
                self._add_words(table, role, columns[role], split=not repeats)
        if "text" in columns:
            table.texts.update((row[self.id_column], row[columns["text"]]) for row in self.rows)
        if numbers:
            X = np.array([[x for p in numbers for x in _floats(row[p])] for row in self.rows])
            table.vectors.append((self.ids, X))
        used = [f"{role} from {self.names[p]!r}" for role, p in columns.items()]
        used += [f"{len(numbers)} columns of numbers"] if numbers else []
        rest = ", ".join(used) or f"no other column is recognized among {', '.join(map(repr, self.names))}"
        LOG.info("%s: item from %r, %s", self.origin.file, self.names[self.id_column], rest)

    def _add_titles(self, table: ItemTable, columns: dict[str, int]) -> None:
        for k, row in enumerate(self.rows):
            key = row[self.id_column]
            year = row[columns["year"]] if "year" in columns else ""
            if year and not re.fullmatch("[0-9]{1,9}", year):
                raise InputError(f"{self.origin.at(k, self.names[columns['year']])}: {year!r} is not a year")
            title, year_in_title = split_year(row[columns["title"]] if "title" in columns else key)
            if "title" in columns or key not in table.titles:
                table.titles[key] = title
            if year or year_in_title:
                table.years[key] = int(year) if year else year_in_title

    def _add_words(self, table: ItemTable, role: str, position: int, split: bool) -> None:
        cells = [row[position] for row in self.rows]
        mark = next((m for m in "|;," if any(m in cell for cell in cells)), None) if split else None
        counts = self._counts() if role == "tags" and not split else [1.0] * len(cells)
        for key, cell, count in zip(self.ids, cells, counts, strict=True):
            words = [word.strip() for word in (cell.split(mark) if mark else [cell])]
            if role == "tags":
                table.tags += [(key, word, count) for word in words if word]
            else:
                table.genres.setdefault(key, []).extend(word for word in words if word)

    def _counts(self) -> list[float]:
        position = find_usual("count", self.names)
        if position is None:
            return [1.0] * len(self.rows)
        counts = [_floats(row[position]) for row in self.rows]
        for k, count in enumerate(counts):
            if len(count) != 1 or not 0 < count[0] < np.inf:
                where = self.origin.at(k, self.names[position])
                raise InputError(f"{where}: {self.rows[k][position]!r} is not a count, a positive number")
        return [count for (count,) in counts]

    def _number_columns(self, used: set[int]) -> list[int]:
        """Return the columns of numbers among those without a role."""
        rest = [k for k in range(len(self.names)) if k != self.id_column and k not in used]
        lengths = {k: len(_floats(self.rows[0][k])) for k in rest}
        columns = [k for k in rest if lengths[k]]
        columns = [k for k in columns if plain_name(self.names[k]) == "vector" or lengths[k] > 1] or columns
        for k, row in enumerate(self.rows):
            for column in columns:
                n = lengths[column]
                if len(_floats(row[column])) != n:
                    where = self.origin.at(k, self.names[column])
                    expected = "a number" if n == 1 else f"a list of {n} numbers"
                    raise InputError(f"{where}: {row[column]!r} is not {expected}")
        return columns


def _find_id_column(names: list[str], file: str) -> int:
    """Return the column of ids: by its usual name, or else by a word for items in its name.

    >>> _find_id_column(["Film Title", "Film Nr"], "films.csv")  # preferably one without another role
    1
    """
    plain = [plain_name(name) for name in names]
    others = {find_similar(role, names) for role in ROLES}
    rest = [k for k in range(len(names)) if k not in others]
    similar = find_similar("item", [names[k] for k in rest])
    for position in (
        find_usual("item", names),
        plain.index("id") if "id" in plain else None,
        None if similar is None else rest[similar],
        find_similar("item", names),
    ):
        if position is not None:
            return position
    close = close_names("item", names, n=1)
    hint = f"; is it {close[0]!r}?" if close else ""
    raise InputError(
        f"{file}, line 1: no column 'item' among {', '.join(map(repr, names))}{hint}; the first line names "
        f"the columns: item, and some of {', '.join(ROLES)}"
    )


def _text_rows(data: bytes, file: str, item: str | None, encoding: str) -> _Rows:
    def is_header(names: list[str]) -> bool:
        is_usual = find_usual("item", names) is not None or "id" in map(plain_name, names)
        return len(names) > 1 and (item in names or is_usual)

    expected = "a header with item and tags, and rows below it"
    table = Delimited.open(data, file, encoding=encoding, n_columns=2, is_header=is_header, expected=expected)
    records = list(table.records())
    origin = Origin(file, "line", lambda rows: [records[k][0] for k in rows])
    return list(table.first), [fields for _, fields in records], origin


def _parquet_rows(data: bytes, file: str) -> _Rows:
    table = read_parquet(open_parquet(data, file), file)
    columns = [
        [cell if isinstance(cell, list) else "" if cell is None else str(cell) for cell in column.to_pylist()]
        for column in table.columns
    ]
    return table.column_names, [list(row) for row in zip(*columns, strict=True)], Origin(file, "row")


def _floats(cell: Any) -> list[float]:
    """Return the numbers in a cell; none if it holds something else."""
    values = cell if isinstance(cell, list) else [cell]
    if isinstance(cell, list) and not all(isinstance(x, int | float) for x in cell):
        return []
    try:
        return [float(x) for x in values]
    except (ValueError, OverflowError):  # OverflowError: an integer of 400 digits
        return []
