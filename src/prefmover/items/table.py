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
from typing import Any, NamedTuple

import numpy as np

from prefmover._typing import Floats, Ids
from prefmover.data.delimited import BadLines
from prefmover.data.file_options import FileOptions
from prefmover.data.ids import as_ids, is_integer
from prefmover.data.ratings import Ratings
from prefmover.errors import FlatGeometryWarning, InputError
from prefmover.items import features
from prefmover.items.blocks import Encoder, FeatureSource, NamedRows, rows_of
from prefmover.items.catalog import Catalog
from prefmover.items.files import NUMBERS, ItemFile, check_columns
from prefmover.items.geometry import ItemGeometry
from prefmover.items.tag_profiles import ProfileInputs
from prefmover.items.vectors import ItemVectors
from prefmover.items.weighting import FeatureBlocks

__all__ = ["ItemFiles"]

LOG = logging.getLogger(__name__)

TEXT_WEIGHT = 0.1
DENSE = 20_000_000  # entries of a matrix of items x tags that is used without an SVD
PROFILE_ITEMS = 20  # the smallest number of items of a tag that can be predicted: tag_profiles
FLAT = 0.95  # a share of the largest distance beyond which a geometry says little
FLAT_ITEMS = 20  # the smallest number of items that can be flat


@dataclass(frozen=True, eq=False)
class ItemFiles:
    r"""Files that describe items, read and checked.

    As a function of the ratings, it is a ``geometry`` for :class:`~prefmover.Dataset`; nothing is computed
    before.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "tags.csv")
    ...     _ = path.write_text("film,tag\nAlien,space\nAlien,monster\nAliens,space\nEmma,romance\n")
    ...     files = ItemFiles.read(path)
    >>> files.geometry.near("Alien", 1)
    [('Aliens', 1.107...)]
    """

    ids: Ids
    name: str
    choose: bool  # whether ratings choose the weights of the blocks
    contents: _Contents

    @classmethod
    def read(
        cls,
        *paths: str | os.PathLike[str],
        options: FileOptions | None = None,
        rated: Ids | None = None,
        features: Sequence[FeatureSource] = (),
    ) -> ItemFiles:
        """Read files: text with any separator, gzip, Parquet.

        Parameters
        ----------
        paths
            Files in one of the forms above.
        options
            Columns and their weights, and what to do about bad lines; an item that was there before is one.
        rated
            The rated ids, whose type (integers or strings) all ids get. If no rated id is here but the titles
            are, titles are the ids.
        features
            As in :meth:`prefmover.Dataset.from_files`.
        """
        if not paths and not features:
            raise InputError("there is no file that describes items; give at least one")
        options = options or FileOptions()
        files = [ItemFile.read(path, options) for path in paths]
        outside = _outside(features, files, rated, options.item_id)
        check_columns(options, files, [one.name for one in outside])
        contents = _Contents.merge(files, options, outside, rated)
        if not contents.is_descriptive:
            names = ", ".join(map(repr, files[0].names))
            needs = "a column genres, tags or text, or columns of numbers, to tell items apart"
            remedy = "pass tags= or text= with the columns that do"
            raise InputError(
                f"{files[0].origin.file} needs {needs}; it has {names}; {remedy}", argument="tags"
            )
        if rated is not None and not contents.has_any(rated) and (titled := _by_title(files, options)):
            by_title = _Contents.merge(titled, options, outside, rated)
            if by_title.has_any(rated):
                LOG.info("ratings are by title: titles are the ids of the items")
                contents = by_title
        name = " and ".join([*(os.path.basename(os.fspath(path)) for path in paths), *contents.outside])
        bad = BadLines(name, options.on_bad_lines)
        ids = _typed(list(contents.order), rated, bad)
        bad.report()
        asked, choose = bool(outside) or options.encoder is not None, options.choose_weights
        return cls(ids, name, asked if choose is None else choose, contents)

    def with_ids(self, ids: Ids) -> ItemFiles:
        """Return the same descriptions over other ids, in their order; those that are new have none."""
        return replace(self, ids=ids)

    @cached_property
    def catalog(self) -> Catalog:
        """Titles, years and genres."""
        keys, found = [str(i) for i in self.ids.tolist()], self.contents
        titles, years = [found.titles.get(key, key) for key in keys], [found.years.get(k, 0) for k in keys]
        return Catalog(self.ids, titles, years, [found.genres.get(key, []) for key in keys])

    @cached_property
    def blocks(self) -> FeatureBlocks:
        """The feature blocks with their weights."""
        return replace(self.contents.blocks(self.ids, self.name), origin=self.name, choose=self.choose)

    @property
    def follows_ratings(self) -> bool:
        """Whether other ratings may give other distances."""
        return self.choose and self.blocks.follows_ratings

    @cached_property
    def geometry(self) -> ItemGeometry:
        """The distances between the items, by the default weights."""
        return self._checked(self.blocks(None))

    def __call__(self, ratings: Ratings) -> ItemGeometry:
        """Return the distances between the items; if weights are chosen, by these ratings."""
        return self._checked(self.blocks(ratings)) if self.follows_ratings else self.geometry

    def _checked(self, geometry: ItemGeometry) -> ItemGeometry:
        """Return a geometry, with a warning if it says little: nearly all distances are the largest one."""
        LOG.info("items are compared by %s", geometry.name)
        if geometry.n_items >= FLAT_ITEMS:
            facts = geometry.summary()
            share = float(facts["share at the largest distance"])
            if share > FLAT and float(facts["largest"]) > 1.5:
                warnings.warn(
                    f"{share:.0%} of the distances between items ({self.name}) are the largest possible, so "
                    f"that they say little: {self.contents.why_flat(self.ids)}",
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


def _by_title(files: Sequence[ItemFile], options: FileOptions) -> list[ItemFile]:
    """Return the files with titles as ids; none if a file has no titles, or two items of one title."""
    titled: list[ItemFile] = []
    for file in files:
        position = file.position("title", options.title)
        if position is None:
            return []
        titled.append(replace(file, id_column=position))
        if len(set(titled[-1].ids)) < len(file.rows):
            return []
    return titled


class _Rows(NamedTuple):
    """Tags in rows: the item, the tag, and how often it was given."""

    items: Ids
    tags: list[str]
    counts: list[float]

    def items_by_tag(self) -> dict[str, set[Any]]:
        found: dict[str, set[Any]] = {}
        for item, tag in zip(self.items.tolist(), self.tags, strict=True):
            found.setdefault(tag.casefold(), set()).add(item)
        return found


class _Block(NamedTuple):
    """A feature block, the name under which its weight may be given, and its weight otherwise."""

    vectors: ItemVectors
    column: str
    weight: float = 1.0


@dataclass(slots=True)
class _Contents:
    """What files say about items, by the text of the id."""

    weights: Mapping[str, float]
    encoder: Encoder | str | None
    order: dict[str, None] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    years: dict[str, int] = field(default_factory=dict)
    genres: dict[str, list[str]] = field(default_factory=dict)
    tags: dict[str, list[tuple[str, str, float]]] = field(default_factory=dict)  # by block; "": with genres
    texts: dict[str, dict[str, str]] = field(default_factory=dict)  # by column
    numbers: list[tuple[list[str], Floats]] = field(default_factory=list)
    outside: dict[str, tuple[list[str], Floats]] = field(default_factory=dict)  # by name

    @classmethod
    def merge(
        cls, files: Sequence[ItemFile], options: FileOptions, outside: Sequence[NamedRows], rated: Ids | None
    ) -> _Contents:
        """Return the contents of files, and vectors from outside.

        If there are files, vectors of items that are neither listed nor rated are left out.
        """
        encoder = options.encoder
        found = cls(options.weights, encoder)
        for file in files:
            found._add(file, options)
        known = {str(i) for i in ([] if rated is None else rated.tolist())}
        for name, ids, vectors in outside:
            keys = [str(i) for i in ids.tolist()]
            found.outside[name] = keys, vectors
            described = [keys[k] for k in np.flatnonzero(np.any(vectors, axis=1)).tolist()]
            found.order.update(dict.fromkeys(key for key in described if not files or key in known))
        if encoder is not None and not found.texts:
            raise InputError("an encoder needs texts: name a column of text with text=", argument="text")
        if not options.text and encoder is None and (found.tags or found.genres or found.numbers or outside):
            for name in [name for name in found.texts if name not in options.weights]:
                LOG.info(
                    "text from %r is not used beside the rest; name it (--text-column, text=) to use it", name
                )
                del found.texts[name]
        return found

    def _add(self, file: ItemFile, options: FileOptions) -> None:
        roles = file.roles(options)
        self.order.update(dict.fromkeys(file.ids))
        for key, title, year in file.titles(roles):
            if (roles.title is not None and title) or key not in self.titles:
                self.titles[key] = title or key
            if year:
                self.years[key] = year
        for position in roles.genres:
            for key, words, _ in file.words(position):
                self.genres.setdefault(key, []).extend(words)
        for position in roles.tags:
            name = file.names[position]
            # Tags under a usual name go with the genres, unless they have a weight of their own.
            with_genres = position == file.position("tags") and name not in options.weights
            rows = self.tags.setdefault("" if with_genres else name, [])
            for key, words, count in file.words(position):
                rows += [(key, word, count) for word in words]
        for position in roles.text:
            self.texts.setdefault(file.names[position], {}).update(file.texts(position))
        if roles.numbers:
            self.numbers.append((file.ids, file.numbers(roles)))

    @property
    def is_descriptive(self) -> bool:
        return bool(self.genres or self.tags or self.texts or self.numbers or self.outside)

    def has_any(self, rated: Ids) -> bool:
        return any(str(i) in self.order for i in rated.tolist())

    def why_flat(self, ids: Ids) -> str:
        """Return the likeliest reason why most items have nothing in common."""
        tagged = {item for some in self.tags.values() for item, _, _ in some}
        keys = {*tagged, *(key for key, some in self.genres.items() if some)}
        keys |= {key for some in self.texts.values() for key in some}
        keys |= {k for ks, _ in (*self.numbers, *self.outside.values()) for k in ks}
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

    def blocks(self, ids: Ids, name: str) -> FeatureBlocks:
        """Return the feature blocks of some items; items without any description are far from all others.

        Numbers, tags and genres, further tags, and text are side by side. Vectors from outside and encoded
        text are features of the tag profiles, if there are any.
        """
        positions = {str(item): k for k, item in enumerate(ids.tolist())}
        genres = [self.genres.get(key, []) for key in positions]
        tags = {column: self._rows(column, ids, positions) for column in ("", *self.tags)}
        side = [
            _Block(ItemVectors(ids, _placed(keys, X, positions), f"{X.shape[1]} numbers"), NUMBERS)
            for keys, X in self.numbers
        ]
        profiles = None
        if any(genres) and max(map(len, tags[""].items_by_tag().values()), default=0) >= PROFILE_ITEMS:
            profiles = ProfileInputs.from_tags(*tags.pop(""), ids, genres)
        elif any(genres):
            side.append(_Block(features.from_genres(ids, genres), ""))
        side += [
            _Block(_tag_vectors(column, rows, ids), column) for column, rows in tags.items() if rows.tags
        ]
        dense = [
            _Block(features.from_vectors(ids, _placed(keys, X, positions), name=one), one)
            for one, (keys, X) in self.outside.items()
        ]
        for column, text_of in self.texts.items():
            texts = [text_of.get(key, "") for key in positions]
            if any(texts) and self.encoder is None:
                side.append(_Block(features.from_text(ids, texts, min_items=1), column, TEXT_WEIGHT))
            elif any(texts):
                dense.append(
                    _Block(features.from_text(ids, texts, encoder=self.encoder, name=column), column)
                )
        inner, outer = (dense, side) if profiles is not None else ([], [*side, *dense])
        if profiles is None and not outer:
            raise InputError(f"{name}: genres, tags and text are empty for every item")
        inner, outer = ([one for one in some if self._weight(one)] for some in (inner, outer))
        if profiles is None and not outer:
            raise InputError(f"{name}: every block has weight 0; give one of them a weight")
        first = 0 if profiles is None else 1
        return FeatureBlocks(
            tuple(one.vectors for one in outer),
            profiles,
            tuple(one.vectors for one in inner),
            (1.0,) * first + tuple(self._weight(one) for one in (*inner, *outer)),
            (False,) * first + tuple(one.column in self.weights for one in (*inner, *outer)),
        )

    def _weight(self, block: _Block) -> float:
        return self.weights.get(block.column, block.weight)

    def _rows(self, column: str, ids: Ids, positions: dict[str, int]) -> _Rows:
        rows = [row for row in self.tags.get(column, ()) if row[0] in positions]
        items = ids[[positions[item] for item, _, _ in rows]] if rows else ids[:0]
        return _Rows(items, [tag for _, tag, _ in rows], [count for _, _, count in rows])


def _tag_vectors(name: str, rows: _Rows, ids: Ids) -> ItemVectors:
    """Return vectors of tags, exact if their matrix is small.

    Tags of a single item say nothing about others, and are left out if that makes the matrix small
    enough. They stay where an item has only one tag: they still tell it apart.
    """
    sizes = [len(items) for items in rows.items_by_tag().values()]
    one_each = len(rows.tags) < features.SEVERAL * len(set(rows.items.tolist()))
    options: dict[str, Any] = {"min_items": 1} if one_each else {}
    for least in (1,) if one_each else (2, 1):
        if len(ids) * sum(size >= least for size in sizes) <= DENSE:
            options = {"dimensions": None, "min_items": least}
    return features.from_tags(*rows, ids=ids, name=name or "tags", **options)


def _placed(keys: Sequence[str], X: Floats, positions: Mapping[str, int]) -> Floats:
    """Return rows in the order of the items; zeros for items that have none."""
    whole = np.zeros((len(positions), X.shape[1]))
    here = [k for k, key in enumerate(keys) if key in positions]
    whole[[positions[keys[k]] for k in here]] = X[here]
    return whole


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
