r"""Files that describe items: ids, titles, and what tells items apart.

A file has a column of item ids, and one of these forms:

- one row per item: title, year, genres, tags (several in a cell), text;
- one row per tag: item, tag, and a count if there is one, as in ``tags.csv`` of MovieLens;
- vectors: item and columns of numbers (in Parquet also one column of lists).

Several files are joined by the ids: ``movies.csv`` has titles and genres, ``tags.csv`` the tags. The first
line names the columns, except in ``movies.dat`` of MovieLens and MovieTweetings, which has none
(``id::Title (Year)::Genre|Genre``).

What is found becomes blocks of features, each with a weight (:func:`prefmover.items.features.combine`):
genres and tags together; every further column that the caller names as tags, such as authors; numbers; and
text. All weigh 1, apart from text. It is left out unless it is asked for, or nothing else is there, and then
weighs .1 (docs/guide/data.md has the figures).
"""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from prefmover._typing import Floats, Ids
from prefmover.data.bad_lines import BadLines, OnBadLines
from prefmover.data.ids import CANONICAL_INTEGER, as_ids
from prefmover.errors import FlatGeometryWarning, InputError
from prefmover.items import features
from prefmover.items.catalog import Catalog
from prefmover.items.files import NUMBERS, ItemColumns, ItemFile
from prefmover.items.geometry import ItemGeometry

__all__ = ["ItemFiles", "ItemTable", "read_item_table"]

LOG = logging.getLogger(__name__)

TEXT_WEIGHT = 0.1
DENSE = 20_000_000  # entries of a matrix of items x tags that is used without an SVD
PROFILE_ITEMS = 20  # the smallest number of items of a tag that can be predicted: features.tag_profiles
FLAT = 0.95  # a share of the largest distance beyond which a geometry says little
FLAT_ITEMS = 20  # the smallest number of items that can be flat


def read_item_table(
    *paths: str | os.PathLike[str],
    item_id: str | None = None,
    title: str | None = None,
    tags: Sequence[str] = (),
    text: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    encoding: str = "utf-8",
    on_bad_lines: OnBadLines = "error",
) -> tuple[Catalog, ItemGeometry]:
    r"""Return the catalog and the geometry of the items in one or more files.

    Parameters
    ----------
    paths
        Files in one of the forms above: text with any separator, gzip, Parquet.
    item_id, title, tags, text, weights
        Columns and their weights: :class:`ItemColumns`.
    encoding, on_bad_lines
        As in :meth:`prefmover.Ratings.read`; an item that was there before is a bad line, too.

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
    columns = ItemColumns(item_id, title, tags, text, weights or {})
    files = ItemFiles.read(*paths, columns=columns, encoding=encoding, on_bad_lines=on_bad_lines)
    return files.catalog, files.geometry


@dataclass(frozen=True, eq=False)
class ItemFiles:
    """Files that describe items, read and checked; the geometry is computed when it is asked for."""

    table: ItemTable
    ids: Ids
    name: str

    @classmethod
    def read(
        cls,
        *paths: str | os.PathLike[str],
        columns: ItemColumns | None = None,
        encoding: str = "utf-8",
        on_bad_lines: OnBadLines = "error",
        rated: Ids | None = None,
    ) -> ItemFiles:
        """Read files; ids get the type (integers or strings) of the rated ones.

        If no rated id is here but the titles are, titles are the ids.
        """
        if not paths:
            raise InputError("read_item_table needs at least one file")
        columns = columns or ItemColumns()
        files = [ItemFile.read(path, columns, encoding, on_bad_lines) for path in paths]
        columns.check(files)
        table = ItemTable.from_files(files, columns)
        if not table.is_descriptive:
            names = ", ".join(map(repr, files[0].names))
            needs = "a column genres, tags or text, or columns of numbers, to tell items apart"
            remedy = "pass tags= or text= with the columns that do"
            raise InputError(
                f"{files[0].origin.file} needs {needs}; it has {names}; {remedy}", argument="tags"
            )
        if rated is not None and not any(str(i) in table.order for i in rated.tolist()):
            table = _by_title(files, columns, rated) or table
        name = " and ".join(os.path.basename(os.fspath(path)) for path in paths)
        bad = BadLines(name, on_bad_lines)
        ids = _typed(list(table.order), rated, bad)
        bad.report()
        return cls(table, ids, name)

    def with_ids(self, ids: Ids) -> ItemFiles:
        """Return the same descriptions over other ids, in their order; those that are new have none."""
        return ItemFiles(self.table, ids, self.name)

    @cached_property
    def catalog(self) -> Catalog:
        """Titles, years and genres."""
        return self.table.catalog(self.ids)

    @cached_property
    def geometry(self) -> ItemGeometry:
        """The distances between the items."""
        geometry = self.table.geometry(self.ids, self.name)
        LOG.info("items are compared by %s", geometry.name)
        if share := _share_far(geometry):
            warnings.warn(
                f"{share:.0%} of the distances between items ({self.name}) are the largest possible, so that "
                f"they say little: {self.table.why_flat(self.ids)}",
                FlatGeometryWarning,
                stacklevel=2,
            )
        return geometry


def _share_far(geometry: ItemGeometry) -> float:
    """Return the share of the largest distance, if it is nearly all of them, or else 0."""
    if geometry.n_items < FLAT_ITEMS:
        return 0.0
    facts = geometry.summary()
    share = float(facts["share at the largest distance"])
    return share if share > FLAT and float(facts["largest"]) > 1.5 else 0.0


@dataclass(slots=True)
class ItemTable:
    """The contents of files that describe items, by the text of the id."""

    weights: Mapping[str, float]
    titles: dict[str, str] = field(default_factory=dict)
    years: dict[str, int] = field(default_factory=dict)
    genres: dict[str, list[str]] = field(default_factory=dict)
    tags: dict[str, list[tuple[str, str, float]]] = field(
        default_factory=dict
    )  # by block; "" with the genres
    texts: dict[str, dict[str, str]] = field(default_factory=dict)  # by column
    vectors: list[tuple[list[str], Floats]] = field(default_factory=list)
    order: dict[str, None] = field(default_factory=dict)
    is_descriptive: bool = False  # whether a column tells items apart

    @classmethod
    def from_files(cls, files: Sequence[ItemFile], columns: ItemColumns) -> ItemTable:
        """Merge the contents of files."""
        table = cls(columns.weights)
        for file in files:
            file.add_to(table, columns)
        if not columns.text and (table.tags or table.genres or table.vectors):
            for name in [name for name in table.texts if name not in columns.weights]:
                LOG.info(
                    "text from %r is not used beside the rest; name it (--text-column, text=) to use it", name
                )
                del table.texts[name]
        return table

    def geometry(self, ids: Ids, name: str) -> ItemGeometry:
        """Return the geometry of all that is known; items without any description are far from all others."""
        blocks = self._blocks(ids)
        if not blocks:
            raise InputError(f"{name}: genres, tags and text are empty for every item")
        vectors = blocks[0][0]
        if len(blocks) > 1:
            vectors = features.combine(*(block for block, _ in blocks), weights=[w for _, w in blocks])
        return ItemGeometry.from_features(vectors._replace(name=f"{vectors.name} of {name}"))

    def catalog(self, ids: Ids) -> Catalog:
        """Return titles, years and genres."""
        keys = [str(i) for i in ids.tolist()]
        titles, years = [self.titles.get(key, key) for key in keys], [self.years.get(key, 0) for key in keys]
        return Catalog(ids, titles, years, [self.genres.get(key, []) for key in keys])

    def why_flat(self, ids: Ids) -> str:
        """Return the likeliest reason why most items have nothing in common."""
        tagged = {item for some in self.tags.values() for item, _, _ in some}
        keys = {*tagged, *(key for key, some in self.genres.items() if some)}
        keys |= {key for some in self.texts.values() for key in some} | {
            k for ks, _ in self.vectors for k in ks
        }
        n_bare = sum(str(i) not in keys for i in ids.tolist())
        if 2 * n_bare > len(ids):
            return f"{n_bare:,} of {len(ids):,} items are not described at all"
        items_by_tag: dict[str, set[str]] = {}
        for item, tag, _ in (row for some in self.tags.values() for row in some):
            items_by_tag.setdefault(tag, set()).add(item)
        alone = [tag for tag, items in items_by_tag.items() if len(items) == 1]
        if alone and 2 * len(alone) > len(items_by_tag):
            longest = max(alone, key=len)[:60]
            return (
                f"{len(alone):,} of {len(items_by_tag):,} tags belong to one item only, such as {longest!r}; "
                "are several tags read as one?"
            )
        return "most items have no genre, tag or word in common"

    def _blocks(self, ids: Ids) -> list[tuple[features.ItemVectors, float]]:
        """Return the feature blocks and their weights: numbers, tags and genres, further tags, text."""
        positions = {str(item): k for k, item in enumerate(ids.tolist())}
        blocks: list[tuple[features.ItemVectors, float]] = []
        for keys, X in self.vectors:
            whole = np.zeros((len(ids), X.shape[1]))
            here = [k for k, key in enumerate(keys) if key in positions]
            whole[[positions[keys[k]] for k in here]] = X[here]
            block = features.ItemVectors(ids, whole, f"{X.shape[1]} numbers")
            blocks.append((block, self.weights.get(NUMBERS, 1.0)))
        genres = [self.genres.get(key, []) for key in positions]
        together = self._rows("", ids, positions)
        if any(genres) and _largest_tag(together) >= PROFILE_ITEMS:
            blocks.append((features.tag_profiles(*together, ids=ids, genres=genres), 1.0))
        else:
            if any(genres):
                blocks.append((features.from_genres(ids, genres), 1.0))
            blocks += self._tag_blocks("", together, ids)
        for name in self.tags:
            if name:
                blocks += self._tag_blocks(name, self._rows(name, ids, positions), ids)
        for name, some in self.texts.items():
            texts = [some.get(key, "") for key in positions]
            if any(texts):
                block = features.from_text(ids, texts, min_items=1)
                blocks.append((block, self.weights.get(name, TEXT_WEIGHT)))
        return [(block, weight) for block, weight in blocks if weight]

    def _rows(self, name: str, ids: Ids, positions: dict[str, int]) -> tuple[Ids, list[str], list[float]]:
        """Return items, tags and counts of a block, for items that have an id."""
        rows = [row for row in self.tags.get(name, ()) if row[0] in positions]
        items = ids[[positions[item] for item, _, _ in rows]] if rows else ids[:0]
        return items, [tag for _, tag, _ in rows], [count for _, _, count in rows]

    def _tag_blocks(
        self, name: str, rows: tuple[Ids, list[str], list[float]], ids: Ids
    ) -> list[tuple[features.ItemVectors, float]]:
        """Return tags as a block: exact if their matrix is small, perhaps without those of a single item."""
        items, tags, counts = rows
        if not tags:
            return []
        sizes = _items_by_tag(rows)
        options: dict[str, Any] = {}
        for least in (2, 1):
            if len(ids) * sum(len(some) >= least for some in sizes.values()) <= DENSE:
                options = {"dimensions": None, "min_items": least}
        block = features.from_tags(items, tags, counts, ids=ids, name=name or "tags", **options)
        return [(block, self.weights.get(name, 1.0))]


def _items_by_tag(rows: tuple[Ids, list[str], list[float]]) -> dict[str, set[Any]]:
    found: dict[str, set[Any]] = {}
    for item, tag in zip(rows[0].tolist(), rows[1], strict=True):
        found.setdefault(tag.casefold(), set()).add(item)
    return found


def _largest_tag(rows: tuple[Ids, list[str], list[float]]) -> int:
    """Return the number of items of the most frequent tag."""
    return max(map(len, _items_by_tag(rows).values()), default=0)


def _by_title(files: Sequence[ItemFile], columns: ItemColumns, rated: Ids) -> ItemTable | None:
    """Return the table with titles as ids, if ratings are by title, or None."""
    titled = []
    for file in files:
        position = file.position("title", columns.title)
        if position is None:
            return None
        titled.append(replace(file, id_column=position))
        if len(set(titled[-1].ids)) < len(file.rows):
            return None  # two items of one title
    table = ItemTable.from_files(titled, columns)
    if not any(str(i) in table.order for i in rated.tolist()):
        return None
    LOG.info("ratings are by title: titles are the ids of the items")
    return table


def _typed(keys: list[str], rated: Ids | None, bad: BadLines) -> Ids:
    """Return ids as integers if all are written as integers and the rated ids are not text.

    If rated ids are integers and most ids here are, the others are bad lines.
    """
    are_integers = [bool(re.fullmatch(CANONICAL_INTEGER, key)) and abs(int(key)) < 2**63 for key in keys]
    n_others = len(keys) - sum(are_integers)
    of_integers = rated is None or not len(rated) or rated.dtype == np.int64
    if of_integers and rated is not None and 0 < 2 * n_others < len(keys):
        other = keys[are_integers.index(False)]
        bad.add(
            f"{bad.file}: item id {other!r} is not a whole number, as the ids of rated items are", n_others
        )
        keys, n_others = [key for key, ok in zip(keys, are_integers, strict=True) if ok], 0
    return as_ids([int(key) for key in keys] if of_integers and not n_others else keys, "item")
