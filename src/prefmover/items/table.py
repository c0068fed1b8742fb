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

Vectors from outside (``features``) and texts with an encoder are blocks, too. With them, ratings choose the
weights (:mod:`prefmover.items.weighting`).
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from prefmover._typing import Floats, Ids
from prefmover.data.bad_lines import BadLines, OnBadLines
from prefmover.data.ids import as_ids, is_integer
from prefmover.data.ratings import Ratings
from prefmover.errors import FlatGeometryWarning, InputError
from prefmover.items import features
from prefmover.items.blocks import Encoder, FeatureSource, NamedRows, rows_of
from prefmover.items.catalog import Catalog
from prefmover.items.files import NUMBERS, ItemColumns, ItemFile
from prefmover.items.geometry import ItemGeometry
from prefmover.items.tag_profiles import ProfileInputs
from prefmover.items.weighting import BlockSet, WeightedBlocks

__all__ = ["ItemFiles", "ItemTable", "read_item_table"]

LOG = logging.getLogger(__name__)

TEXT_WEIGHT = 0.1
DENSE = 20_000_000  # entries of a matrix of items x tags that is used without an SVD
PROFILE_ITEMS = 20  # the smallest number of items of a tag that can be predicted: tag_profiles
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
    choose: bool = False  # whether ratings choose the weights of the blocks

    @classmethod
    def read(
        cls,
        *paths: str | os.PathLike[str],
        columns: ItemColumns | None = None,
        encoding: str = "utf-8",
        on_bad_lines: OnBadLines = "error",
        rated: Ids | None = None,
        features: Sequence[FeatureSource] = (),
        encoder: Encoder | str | None = None,
        choose: bool | None = None,
    ) -> ItemFiles:
        """Read files; ids get the type (integers or strings) of the rated ones.

        If no rated id is here but the titles are, titles are the ids.
        """
        if not paths and not features:
            raise InputError("read_item_table needs at least one file")
        columns = columns or ItemColumns()
        files = [ItemFile.read(path, columns, encoding, on_bad_lines) for path in paths]
        outside = _outside(features, files, rated, columns.item_id)
        columns.check(files, [one.name for one in outside])
        table = ItemTable.from_files(files, columns, outside, rated, encoder)
        if not table.is_descriptive:
            names = ", ".join(map(repr, files[0].names))
            needs = "a column genres, tags or text, or columns of numbers, to tell items apart"
            remedy = "pass tags= or text= with the columns that do"
            raise InputError(
                f"{files[0].origin.file} needs {needs}; it has {names}; {remedy}", argument="tags"
            )
        if rated is not None and not any(str(i) in table.order for i in rated.tolist()):
            table = _by_title(files, columns, outside, rated, encoder) or table
        name = " and ".join([*(os.path.basename(os.fspath(path)) for path in paths), *table.outside])
        bad = BadLines(name, on_bad_lines)
        ids = _typed(list(table.order), rated, bad)
        bad.report()
        asked = bool(outside) or encoder is not None
        return cls(table, ids, name, asked if choose is None else choose)

    def with_ids(self, ids: Ids) -> ItemFiles:
        """Return the same descriptions over other ids, in their order; those that are new have none."""
        return replace(self, ids=ids)

    @cached_property
    def catalog(self) -> Catalog:
        """Titles, years and genres."""
        return self.table.catalog(self.ids)

    @cached_property
    def blocks(self) -> WeightedBlocks:
        """The feature blocks: the geometry as a function of the ratings."""
        return WeightedBlocks(self.table.block_set(self.ids, self.name), self.name, self.choose)

    @property
    def follows_ratings(self) -> bool:
        """Whether other ratings may give other distances."""
        return self.choose and self.blocks.follows_ratings

    @cached_property
    def geometry(self) -> ItemGeometry:
        """The distances between the items, by the default weights."""
        return self._checked(replace(self.blocks, choose=False), None)

    def geometry_for(self, ratings: Ratings) -> ItemGeometry:
        """Return the distances between the items; if weights are chosen, by these ratings."""
        return self._checked(self.blocks, ratings) if self.follows_ratings else self.geometry

    def _checked(self, blocks: WeightedBlocks, ratings: Ratings | None) -> ItemGeometry:
        """Return a geometry, with a warning if it says little."""
        geometry = blocks(ratings)
        LOG.info("items are compared by %s", geometry.name)
        if share := _share_far(geometry):
            warnings.warn(
                f"{share:.0%} of the distances between items ({self.name}) are the largest possible, so that "
                f"they say little: {self.table.why_flat(self.ids)}",
                FlatGeometryWarning,
                stacklevel=4,
            )
        return geometry


def _outside(
    sources: Sequence[FeatureSource], files: Sequence[ItemFile], rated: Ids | None, item_id: str | None
) -> list[NamedRows]:
    """Return the blocks of features that do not come from tables; functions are called with all items."""
    if isinstance(sources, str | os.PathLike) or not isinstance(sources, Sequence):
        raise InputError("features is not a list; give a list of .npz files, vectors or functions")
    read = {
        k: rows_of(one, np.empty(0), item_id=item_id, k=k)
        for k, one in enumerate(sources)
        if not callable(one)
    }
    keys = dict.fromkeys(str(i) for i in ([] if rated is None else rated.tolist()))
    keys.update(dict.fromkeys(key for file in files for key in file.ids))
    if not files:
        keys.update(dict.fromkeys(str(i) for one in read.values() for i in one.ids.tolist()))
    ids = _typed(list(keys), rated, BadLines("features", "skip"))
    rows = [read[k] if k in read else rows_of(one, ids, k=k) for k, one in enumerate(sources)]
    names = [one.name for one in rows]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two blocks of features are called {name!r}; rename one of the files")
    return rows


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
    outside: dict[str, tuple[list[str], Floats]] = field(
        default_factory=dict
    )  # vectors from outside, by name
    encoder: Encoder | str | None = None
    is_descriptive: bool = False  # whether a column tells items apart

    @classmethod
    def from_files(
        cls,
        files: Sequence[ItemFile],
        columns: ItemColumns,
        outside: Sequence[NamedRows] = (),
        rated: Ids | None = None,
        encoder: Encoder | str | None = None,
    ) -> ItemTable:
        """Merge the contents of files, and vectors from outside.

        If there are files, vectors of items that are neither listed nor rated are left out.
        """
        table = cls(columns.weights, encoder=encoder)
        for file in files:
            file.add_to(table, columns)
        known = {str(i) for i in ([] if rated is None else rated.tolist())}
        for name, ids, vectors in outside:
            keys = [str(i) for i in ids.tolist()]
            table.outside[name] = keys, vectors
            described = [keys[k] for k in np.flatnonzero(np.any(vectors, axis=1)).tolist()]
            table.order.update(dict.fromkeys(key for key in described if not files or key in known))
            table.is_descriptive = True
        if encoder is not None and not table.texts:
            raise InputError("an encoder needs texts: name a column of text with text=", argument="text")
        if not columns.text and encoder is None and (table.tags or table.genres or table.vectors or outside):
            for name in [name for name in table.texts if name not in columns.weights]:
                LOG.info(
                    "text from %r is not used beside the rest; name it (--text-column, text=) to use it", name
                )
                del table.texts[name]
        return table

    def catalog(self, ids: Ids) -> Catalog:
        """Return titles, years and genres."""
        keys = [str(i) for i in ids.tolist()]
        titles, years = [self.titles.get(key, key) for key in keys], [self.years.get(key, 0) for key in keys]
        return Catalog(ids, titles, years, [self.genres.get(key, []) for key in keys])

    def why_flat(self, ids: Ids) -> str:
        """Return the likeliest reason why most items have nothing in common."""
        tagged = {item for some in self.tags.values() for item, _, _ in some}
        keys = {*tagged, *(key for key, some in self.genres.items() if some)}
        keys |= {key for some in self.texts.values() for key in some}
        keys |= {k for ks, _ in (*self.vectors, *self.outside.values()) for k in ks}
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

    def block_set(self, ids: Ids, name: str) -> BlockSet:
        """Return the feature blocks and their weights; items without any description are far from all others.

        Numbers, tags and genres, further tags, and text are side by side. Vectors from outside and encoded
        text are features of the tag profiles, if there are any.
        """
        positions = {str(item): k for k, item in enumerate(ids.tolist())}
        blocks: list[tuple[features.ItemVectors, str, float]] = []
        for keys, X in self.vectors:
            block = features.ItemVectors(ids, _placed(keys, X, positions), f"{X.shape[1]} numbers")
            blocks.append((block, NUMBERS, 1.0))
        genres = [self.genres.get(key, []) for key in positions]
        together, profiles = self._rows("", ids, positions), None
        if any(genres) and _largest_tag(together) >= PROFILE_ITEMS:
            profiles = ProfileInputs.from_tags(*together, ids, genres)
        else:
            if any(genres):
                blocks.append((features.from_genres(ids, genres), "", 1.0))
            blocks += self._tag_blocks("", together, ids)
        for column in self.tags:
            if column:
                blocks += self._tag_blocks(column, self._rows(column, ids, positions), ids)
        dense = [
            (features.from_vectors(ids, _placed(keys, X, positions), name=one), one, 1.0)
            for one, (keys, X) in self.outside.items()
        ]
        for column, some in self.texts.items():
            texts = [some.get(key, "") for key in positions]
            if not any(texts):
                continue
            if self.encoder is None:
                blocks.append((features.from_text(ids, texts, min_items=1), column, TEXT_WEIGHT))
            else:
                block = features.from_text(ids, texts, encoder=self.encoder, name=column)
                dense.append((block, column, 1.0))
        inner = [] if profiles is None else dense
        outer = blocks if inner else [*blocks, *dense]
        kept = [[row for row in some if self.weights.get(row[1], row[2])] for some in (inner, outer)]
        first = [] if profiles is None else [(1.0, False)]
        weights = [
            *first,
            *((self.weights.get(c, w), c in self.weights) for some in kept for _, c, w in some),
        ]
        if not weights:
            if inner or outer:
                raise InputError(f"{name}: every block has weight 0; give one of them a weight")
            raise InputError(f"{name}: genres, tags and text are empty for every item")
        return BlockSet(
            tuple(block for block, _, _ in kept[1]),
            profiles,
            tuple(block for block, _, _ in kept[0]),
            tuple(weight for weight, _ in weights),
            tuple(given for _, given in weights),
        )

    def _rows(self, name: str, ids: Ids, positions: dict[str, int]) -> tuple[Ids, list[str], list[float]]:
        """Return items, tags and counts of a block, for items that have an id."""
        rows = [row for row in self.tags.get(name, ()) if row[0] in positions]
        items = ids[[positions[item] for item, _, _ in rows]] if rows else ids[:0]
        return items, [tag for _, tag, _ in rows], [count for _, _, count in rows]

    def _tag_blocks(
        self, name: str, rows: tuple[Ids, list[str], list[float]], ids: Ids
    ) -> list[tuple[features.ItemVectors, str, float]]:
        """Return tags as a block, exact if their matrix is small.

        Tags of a single item say nothing about others, and are left out if that makes the matrix small
        enough. They stay where an item has only one tag: they still tell it apart.
        """
        items, tags, counts = rows
        if not tags:
            return []
        sizes = _items_by_tag(rows)
        one_each = len(tags) < features.SEVERAL * len(set(items.tolist()))
        options: dict[str, Any] = {"min_items": 1} if one_each else {}
        for least in (1,) if one_each else (2, 1):
            if len(ids) * sum(len(some) >= least for some in sizes.values()) <= DENSE:
                options = {"dimensions": None, "min_items": least}
        block = features.from_tags(items, tags, counts, ids=ids, name=name or "tags", **options)
        return [(block, name, 1.0)]


def _placed(keys: Sequence[str], X: Floats, positions: Mapping[str, int]) -> Floats:
    """Return rows in the order of the items; zeros for items that have none."""
    whole = np.zeros((len(positions), X.shape[1]))
    here = [k for k, key in enumerate(keys) if key in positions]
    whole[[positions[keys[k]] for k in here]] = X[here]
    return whole


def _items_by_tag(rows: tuple[Ids, list[str], list[float]]) -> dict[str, set[Any]]:
    found: dict[str, set[Any]] = {}
    for item, tag in zip(rows[0].tolist(), rows[1], strict=True):
        found.setdefault(tag.casefold(), set()).add(item)
    return found


def _largest_tag(rows: tuple[Ids, list[str], list[float]]) -> int:
    """Return the number of items of the most frequent tag."""
    return max(map(len, _items_by_tag(rows).values()), default=0)


def _by_title(
    files: Sequence[ItemFile],
    columns: ItemColumns,
    outside: Sequence[NamedRows],
    rated: Ids,
    encoder: Encoder | str | None,
) -> ItemTable | None:
    """Return the table with titles as ids, if ratings are by title, or None."""
    titled: list[ItemFile] = []
    for file in files:
        position = file.position("title", columns.title)
        if position is None:
            return None
        titled.append(replace(file, id_column=position))
        if len(set(titled[-1].ids)) < len(file.rows):
            return None  # two items of one title
    if not titled:
        return None
    table = ItemTable.from_files(titled, columns, outside, rated, encoder)
    if not any(str(i) in table.order for i in rated.tolist()):
        return None
    LOG.info("ratings are by title: titles are the ids of the items")
    return table


def _typed(keys: list[str], rated: Ids | None, bad: BadLines) -> Ids:
    """Return ids as integers if all are written as integers and the rated ids are not text.

    If rated ids are integers and most ids here are, the others are bad lines.
    """
    are_integers = [is_integer(key) for key in keys]
    n_others = len(keys) - sum(are_integers)
    of_integers = rated is None or not len(rated) or rated.dtype == np.int64
    if of_integers and rated is not None and 0 < 2 * n_others < len(keys):
        other = keys[are_integers.index(False)]
        bad.add(
            f"{bad.file}: item id {other!r} is not a whole number, as the ids of rated items are", n_others
        )
        keys, n_others = [key for key, ok in zip(keys, are_integers, strict=True) if ok], 0
    return as_ids([int(key) for key in keys] if of_integers and not n_others else keys, "item")
