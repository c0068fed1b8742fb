"""Reading published files: tables of a known layout, and the data set that all of them end with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from prefmover._typing import Ids, Ints
from prefmover.data.columns import Columns
from prefmover.data.delimited import BLOCK, SEPARATORS, Delimited, Kind, Origin
from prefmover.data.ids import from_arrow
from prefmover.data.ratings import Ratings, from_columns, row_numbers
from prefmover.dataset import Dataset
from prefmover.datasets.folders import Files
from prefmover.datasets.registry import Counts, Source
from prefmover.errors import InputError
from prefmover.items.catalog import Catalog
from prefmover.items.features import ItemVectors
from prefmover.items.geometry import ItemGeometry

__all__ = [
    "Layout",
    "Tags",
    "assemble",
    "check_counts",
    "most_used",
    "read_ratings",
    "read_rows",
    "read_times",
    "refuse_repeats",
]


class Tags(NamedTuple):
    """Tags of items, one row per (item, tag) pair."""

    items: Ints
    tags: list[str]
    counts: Ints


@dataclass(frozen=True, slots=True)
class Layout:
    r"""The columns of a published file, by name; None stands for one that is not read.

    With a header, columns are found by their names and there may be others, and those of ``optional`` may be
    missing. Without one, the columns are these, in this order. Fields may be quoted if the separator is a
    comma.

    >>> layout = Layout({"user": "int", "item": "int", "rating": "float"}, "::", header=False)
    >>> columns, origin = layout.parse(b"1::20::3.5\r\n2::20::4\r\n", "ratings.dat")
    >>> columns["rating"], origin.at(1)
    (array([3.5, 4. ]), 'ratings.dat, line 2')
    >>> layout.parse(b"1::20::3.5\n2::20::five\n", "ratings.dat")
    Traceback (most recent call last):
    prefmover.errors.InputError: ratings.dat, line 2, column 'rating': 'five' is not a number
    """

    columns: Mapping[str, Kind | None]
    separator: str = ","
    header: bool = True
    encoding: str = "utf-8"
    optional: Mapping[str, Kind | None] = field(default_factory=dict)

    def read(self, files: Files, name: str) -> tuple[dict[str, Any], Origin]:
        """Return columns by name, numbers as NumPy arrays and text as lists, and the origin of the rows."""
        return self.parse(files.read(name), files.where(name))

    def blocks(self, files: Files, name: str) -> Iterator[tuple[dict[str, Any], Origin]]:
        """Yield what :meth:`read` returns for each few megabytes of a long file; text need not be UTF-8."""
        layout = replace(self, encoding="mixed")
        with files.stream(name) as stream:
            header = stream.readline(BLOCK) if self.header else b""
            rows, lines_before = stream.read(BLOCK) + stream.readline(BLOCK), 0
            while rows or not lines_before:
                if rows.strip() or not lines_before:  # the last lines may be blank
                    yield layout.parse(header + rows, files.where(name), lines_before)
                lines_before += max(1, rows.count(b"\n"))
                rows = stream.read(BLOCK) + stream.readline(BLOCK)

    def parse(self, data: bytes, file: str, lines_before: int = 0) -> tuple[dict[str, Any], Origin]:
        """Return what :meth:`read` does, of the content of a file or of a part of it."""
        expected = self.separator.join(self.columns)
        table = Delimited.open(
            data, file, encoding=self.encoding, separator=self.separator, quotes=self.separator == ",",
            expected=expected, lines_before=lines_before,
        )  # fmt: skip
        missing = [name for name in self.columns if name not in table.first] if self.header else []
        if missing or (not self.header and len(table.first) != len(self.columns)):
            shown, n = self.separator.join(table.first), len(self.columns)
            others = {one: name for one, name in SEPARATORS.items() if one != self.separator}
            used = [name for one, name in others.items() if shown.count(one) == n - 1]
            problem = f"lacks the column {missing[0]!r}" if missing else f"has {len(table.first)} columns"
            problem += f", or columns separated by {used[0]}" if used else ""
            wanted = f"expected {n} columns separated by {SEPARATORS[self.separator]}, {expected!r}"
            raise InputError(f"{file}, line 1 {problem}; {wanted}, not {shown[:80]!r}")
        names = table.first if self.header else tuple(self.columns)
        chosen = {**self.columns, **{name: kind for name, kind in self.optional.items() if name in names}}
        kinds = {names.index(name): kind for name, kind in chosen.items() if kind is not None}
        parsed = table.parse(kinds, header=self.header, names=names)
        columns = {
            names[k]: column.to_pylist() if kinds[k] == "text" else from_arrow(column.combine_chunks())
            for k, column in parsed.items()
        }
        return columns, table.origin(header=self.header)


def read_ratings(
    files: Files, name: str, layout: Layout, *, implicit: bool = False, **meaning: Any
) -> Ratings:
    """Return the ratings in a file, of which the columns user, item and rating are read."""
    columns, origin = layout.read(files, name)
    given = Columns(tuple(columns.values()), tuple(columns), origin, implicit=implicit)
    return from_columns(given, **meaning)


def read_times(files: Files, name: str, layout: Layout) -> Ratings:
    """Return the times in a file of users, items, ratings and times, as a table."""
    *_, rating, time = layout.columns
    return read_ratings(files, name, replace(layout, columns={**layout.columns, rating: None, time: "float"}))


def read_rows(files: Files, name: str, layout: Layout) -> Ratings:
    """Return the rows of a file of users, items and more, as a table."""
    user, item = list(layout.columns)[:2]
    pair = {column: kind if column in (user, item) else None for column, kind in layout.columns.items()}
    columns, origin = replace(layout, columns=pair).read(files, name)
    return row_numbers(Columns((columns[user], columns[item]), (user, item), origin))


def refuse_repeats(ids: Any, what: str, origin: Origin) -> None:
    """Raise an error if an id occurs twice.

    >>> refuse_repeats([7, 8, 7], "book", Origin("books.csv", "line"))
    Traceback (most recent call last):
    prefmover.errors.InputError: books.csv, line 3: book 7 is listed a second time
    """
    first = np.unique(ids, return_index=True)[1]
    if len(first) < len(ids):
        k = int(np.setdiff1d(np.arange(len(ids)), first)[0])
        raise InputError(f"{origin.at(k)}: {what} {ids[k]} is listed a second time")


def assemble(
    source: Source,
    files: Files,
    ratings: Ratings,
    items: Catalog,
    describe: Callable[[], ItemVectors | ItemGeometry],
    **options: Any,
) -> Dataset:
    """Return the data set, under the name of a part if it has the numbers of one.

    ``describe`` returns features of the items, or their distances. It is called once, when distances are
    first needed; they do not depend on the ratings.
    """
    unlisted = ratings.items[~items.has(ratings.items)]
    if len(unlisted):
        noun = source.item_noun
        problem = f"{noun} {unlisted[0]} is rated but not listed ({len(unlisted):,} such {noun}s)"
        raise InputError(f"{files.path}: {problem}; the files do not belong together")
    here = _counts(ratings)
    name = next((part for part, counts in source.parts.items() if counts == here), source.name)
    about: dict[str, Any] = {"name": name, "terms": source.terms, "citation": source.citation}
    about |= {"user_noun": source.user_noun, "item_noun": source.item_noun, "verb": source.verb}
    order: list[Ids] = []

    @cache
    def made() -> ItemGeometry:
        """Return the geometry in the order of the data set, which so takes it as it is: there is no copy."""
        found = describe()
        if isinstance(found, ItemVectors):
            found = ItemGeometry.from_features(found._replace(name=f"{found.name} of {source.name}"))
        return found.aligned(order[0])

    data = Dataset(ratings, lambda _: made(), items, **about, **options)
    order.append(data.ratings.items)
    return data


def most_used(tags: Tags, ids: Ints, most: int) -> list[list[str]]:
    """Return different tags of each item, those with the highest counts first, at most ``most``.

    >>> most_used(Tags(np.array([7, 7, 8]), ["old", "new", "new"], np.array([1, 3, 2])), np.array([8, 7]), 5)
    [['new'], ['new', 'old']]
    """
    of: dict[int, list[str]] = {item: [] for item in ids.tolist()}
    for k in np.argsort(-tags.counts, kind="stable").tolist():
        names = of.get(int(tags.items[k]), [])
        if len(names) < most and tags.tags[k] not in names:
            names.append(tags.tags[k])
    return list(of.values())


def check_counts(source: Source, data: Dataset) -> None:
    """Raise an error if the numbers of ratings, users or rated items differ from the published ones."""
    published, here = source.counts, _counts(data.ratings)
    if published is not None and here != published and here not in source.parts.values():
        raise InputError(
            f"{source.name} here has {here.ratings:,} ratings by {here.users:,} users of {here.items:,} "
            f"items; the published one has {published.ratings:,}, {published.users:,} and "
            f"{published.items:,}. The files are damaged or altered: run `prefmover data get {source.name}` "
            "again, or read the ratings as they are with Ratings.read"
        )


def _counts(ratings: Ratings) -> Counts:
    return Counts(ratings.n_ratings, ratings.n_users, len(np.unique(ratings.matrix.indices)))
