"""Reading published files: tables with a header, times, and the data set that all layouts end with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from prefmover._typing import Ids, Ints
from prefmover.data.columns import Columns
from prefmover.data.delimited import Delimited, Kind, Schema
from prefmover.data.ids import from_arrow
from prefmover.data.ratings import Ratings, from_columns
from prefmover.data.raw_files import Origin
from prefmover.dataset import Dataset
from prefmover.datasets.archive import Files
from prefmover.datasets.registry import Counts, Source
from prefmover.errors import InputError
from prefmover.items.catalog import Catalog
from prefmover.items.geometry import ItemGeometry
from prefmover.items.vectors import ItemVectors

__all__ = ["Tags", "assemble", "check_counts", "read_headed", "read_times", "refuse_repeats"]


class Tags(NamedTuple):
    """Tags of items, one row per (item, tag) pair."""

    items: Ints
    tags: list[str]
    counts: Ints


def read_headed(
    files: Files,
    name: str,
    kinds: Mapping[str, Kind],
    *,
    separator: str = ",",
    encoding: str = "utf-8",
    optional: Mapping[str, Kind] | None = None,
) -> tuple[dict[str, Any], Origin]:
    """Return columns of a file by name: numbers as NumPy arrays, text as lists; and the origin of the rows.

    Columns of ``kinds`` must be there, those of ``optional`` may be missing. Fields may be quoted if they are
    separated by commas.
    """
    file = files.where(name)
    table = Delimited.open(
        files.read(name),
        file,
        encoding=encoding,
        separator=separator,
        quotes=separator == ",",
        expected=separator.join(kinds),
    )
    missing = [column for column in kinds if column not in table.first]
    if missing:
        shown = ", ".join(table.first)[:80]
        raise InputError(f"{file}, line 1 lacks the column {missing[0]!r}; it has {shown!r}")
    wanted = dict(kinds) | {c: kind for c, kind in (optional or {}).items() if c in table.first}
    positions = {table.first.index(column): kind for column, kind in wanted.items()}
    parsed = table.parse(positions, header=True, names=table.first)
    columns: dict[str, Any] = {}
    for (column, kind), whole in zip(wanted.items(), parsed.values(), strict=True):
        columns[column] = whole.to_pylist() if kind == "text" else from_arrow(whole.combine_chunks())
    return columns, table.origin(header=True)


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
    about |= {"user_noun": source.user_noun, "item_noun": source.item_noun}
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


def read_times(files: Files, name: str, schema: Schema) -> Ratings:
    """Return the times in a file of users, items, ratings and times, as a table; the layout has no other."""
    user, item, rating, time = schema.columns
    kinds: dict[str, Kind | None] = {**schema.columns, rating: None, time: "float"}
    columns, origin = replace(schema, columns=kinds).read(files.read(name), files.where(name))
    values = [column if isinstance(column, np.ndarray) else column.to_pylist() for column in columns.values()]
    return from_columns(Columns(tuple(values), (user, item, time), origin))


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
