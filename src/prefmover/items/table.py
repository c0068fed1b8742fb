r"""Files that describe items: ids, titles, and what tells items apart.

A file has a column of item ids, and one of these forms:

- one row per item: title, year, genres, tags (several in a cell), text;
- one row per tag: item, tag, and a count if there is one, as in ``tags.csv`` of MovieLens;
- vectors: item and columns of numbers (in Parquet also one column of lists);
- the file of ratings itself, with columns about the item beside each rating.

Several files are joined by the ids: ``movies.csv`` has titles and genres, ``tags.csv`` the tags. The first
line names the columns, except in ``movies.dat`` of MovieLens and MovieTweetings, which has none
(``id::Title (Year)::Genre|Genre``).

What is found becomes blocks of features, each with a weight (:func:`prefmover.items.features.combine`):
genres and tags together; every further column that the caller names as tags, such as authors; numbers; and
text. All weigh 1, apart from text. It is left out unless it is asked for, or nothing else is there, and then
weighs .1 (docs/guide/data.md has the figures).

Vectors from outside (``features``) and texts with an encoder are blocks, too. With them, ratings choose which
blocks are used (:mod:`prefmover.items.weighting`).
"""

from __future__ import annotations

import hashlib
import logging
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from prefmover._typing import Ids
from prefmover.data.delimited import BadLines
from prefmover.data.file_options import FileOptions
from prefmover.data.ids import as_ids, is_integer
from prefmover.data.ratings import Ratings
from prefmover.errors import FlatGeometryWarning, InputError
from prefmover.items import features
from prefmover.items.blocks import FeatureSource, rows_of
from prefmover.items.catalog import Catalog
from prefmover.items.features import ItemVectors
from prefmover.items.files import NUMBERS, ItemFile, as_text, check_columns
from prefmover.items.geometry import BlockWeight, ItemGeometry
from prefmover.items.tag_profiles import tag_profiles

__all__ = ["ItemFiles"]

LOG = logging.getLogger(__name__)

TEXT_WEIGHT = 0.1
DENSE = 20_000_000  # entries of a matrix of items x tags that is used without an SVD
PROFILE_ITEMS = 20  # the smallest number of items of a tag that can be predicted: tag_profiles
FLAT = 0.95  # a share of the largest distance beyond which a geometry says little
FLAT_ITEMS = 20  # the smallest number of items that can be flat

TagRows: TypeAlias = tuple[Ids, list[str], list[float]]
"""Items, tags, and how often they were given."""


class _Block(NamedTuple):
    """A feature block with its weight.

    The vectors of an inner block are features of the tag profiles, which are the first block then. Others are
    side by side.
    """

    vectors: ItemVectors
    name: str
    weight: float = 1.0
    is_given: bool = False
    is_inner: bool = False


@dataclass(frozen=True, eq=False)
class ItemFiles:
    r"""Files that describe items, read and checked: what they say about each item, by the text of its id.

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

    name: str
    options: FileOptions
    ids: Ids = field(default_factory=lambda: np.empty(0))
    titles: dict[str, str] = field(default_factory=dict)  # of all described items, in order
    years: dict[str, int] = field(default_factory=dict)
    genres: dict[str, list[str]] = field(default_factory=dict)
    tags: dict[str, list[tuple[str, str, float]]] = field(default_factory=dict)  # by block; "": with genres
    texts: dict[str, dict[str, str]] = field(default_factory=dict)  # by column
    numbers: list[ItemVectors] = field(default_factory=list)  # of texts of ids, like those from outside
    outside: list[ItemVectors] = field(default_factory=list)

    @classmethod
    def read(
        cls,
        *paths: str | os.PathLike[str],
        options: FileOptions | None = None,
        rated: Ids | None = None,
        features: Sequence[FeatureSource] = (),
        ratings: str | os.PathLike[str] | None = None,
    ) -> ItemFiles:
        """Read files: text with any separator, gzip, Parquet, JSON Lines.

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
        ratings
            The file of ratings. If it is one of the files here, its columns that have one value in all
            ratings of an item describe the items.
        """
        if not paths and not features:
            raise InputError("there is no file that describes items; give at least one")
        options = options or FileOptions()
        files = []
        for path in paths:
            if ratings is not None and os.path.exists(path) and os.path.samefile(path, ratings):
                files.append(ItemFile.of_ratings(path, options))
                options = replace(options, tags=[*options.tags, *files[-1].shared_words(options)])
            else:
                files.append(ItemFile.read(path, options))
        outside = _outside(features, files, rated, options.item_id)
        check_columns(options, files, [one.name for one in outside])
        name = " and ".join([*map(os.path.basename, paths), *(one.name for one in outside)])
        rated_keys = set() if rated is None else set(_texts_of(rated).tolist())
        found = cls(name, options)._with(files, outside, rated_keys)
        if not any((found.genres, found.tags, found.texts, found.numbers, found.outside)):
            names = ", ".join(map(repr, files[0].names))
            needs = "a column genres, tags or text, or columns of numbers, to tell items apart"
            remedy = "pass tags= or text= with the columns that do"
            raise InputError(
                f"{files[0].origin.file} needs {needs}; it has {names}; {remedy}", argument="tags"
            )
        if (
            rated_keys.isdisjoint(found.titles)
            and rated is not None
            and (titled := _by_title(files, options))
        ):
            by_title = cls(name, options)._with(titled, outside, rated_keys)
            if not rated_keys.isdisjoint(by_title.titles):
                LOG.info("ratings are by title: titles are the ids of the items")
                found = by_title
        bad = BadLines(name, options.on_bad_lines)
        ids = _typed(list(found.titles), rated, bad)
        bad.report()
        return found.with_ids(ids)

    def _with(self, files: Sequence[ItemFile], outside: Sequence[ItemVectors], rated: set[str]) -> ItemFiles:
        """Take in files, and vectors from outside.

        If there are files, vectors of items that are neither listed nor rated are left out.
        """
        options = self.options
        for file in files:
            self._add(file)
        for block in outside:
            keys = _texts_of(block.items)
            self.outside.append(block._replace(items=keys))
            described = keys[np.any(block.vectors, axis=1)].tolist()
            for key in described:
                if not files or key in rated:
                    self.titles.setdefault(key, key)
        if options.encoder is not None and not self.texts:
            raise InputError("an encoder needs texts: name a column of text with text=", argument="text")
        asked = bool(options.text) or options.encoder is not None
        if not asked and (self.tags or self.genres or self.numbers or outside):
            for name in [name for name in self.texts if name not in options.weights]:
                LOG.info(
                    "text from %r is not used beside the rest; name it (--text-column, text=) to use it", name
                )
                del self.texts[name]
        return self

    def _add(self, file: ItemFile) -> None:
        roles = file.roles(self.options)
        for key, title, year in file.titles(roles):
            if (roles["title"] and title) or key not in self.titles:
                self.titles[key] = title or key
            if year:
                self.years[key] = year
        for position in roles["genres"]:
            for key, words, _ in file.words(position):
                self.genres.setdefault(key, []).extend(words)
        for position in roles["tags"]:
            name = file.names[position]
            # Tags under a usual name go with the genres, unless they have a weight of their own.
            with_genres = position == file.position("tags") and name not in self.options.weights
            rows = self.tags.setdefault("" if with_genres else name, [])
            for key, words, count in file.words(position):
                rows += [(key, word, count) for word in words]
        for position in roles["text"]:
            texts = {key: as_text(cell) for key, cell in zip(file.ids, file.columns[position], strict=True)}
            self.texts.setdefault(file.names[position], {}).update(texts)
        if roles["numbers"]:
            X = file.numbers(roles["numbers"])
            self.numbers.append(ItemVectors(np.array(file.ids, object), X, f"{X.shape[1]} numbers"))

    def with_ids(self, ids: Ids) -> ItemFiles:
        """Return the same descriptions over other ids, in their order; those that are new have none."""
        return replace(self, ids=ids)

    def digest(self) -> str:
        """Return a hash of what the files say."""
        said = (self.name, self.options, self.titles, self.years, self.genres, self.tags, self.texts)
        found = hashlib.sha256(repr((said, self.ids.tolist())).encode(errors="surrogatepass"))
        for block in (*self.numbers, *self.outside):
            found.update(repr((block.name, block.items.tolist())).encode(errors="surrogatepass"))
            found.update(np.ascontiguousarray(block.vectors).tobytes())
        return found.hexdigest()

    @cached_property
    def catalog(self) -> Catalog:
        """Titles, years and genres."""
        keys = self._positions
        titles, years = [self.titles.get(key, key) for key in keys], [self.years.get(key, 0) for key in keys]
        return Catalog(self.ids, titles, years, self._genres)

    @property
    def follows_ratings(self) -> bool:
        """Whether other ratings may give other distances."""
        choose = self.options.choose_weights
        if choose is None:
            choose = bool(self.outside) or self.options.encoder is not None
        return choose and bool(self._free)

    @cached_property
    def geometry(self) -> ItemGeometry:
        """The distances between the items, by all blocks."""
        return self._geometry(None)

    def __call__(self, ratings: Ratings) -> ItemGeometry:
        """Return the distances between the items, by blocks that are chosen by these ratings, if any are."""
        return self._geometry(ratings) if self.follows_ratings else self.geometry

    def _geometry(self, ratings: Ratings | None) -> ItemGeometry:
        weights = tuple(block.weight for block in self._blocks)
        errors: Sequence[tuple[float | None, float | None]] = [(None, None)] * len(weights)
        if ratings is not None:
            from prefmover.items.weighting import choose_weights

            weights, errors = choose_weights(self._combined, weights, self._free, ratings)
        found = self._combined(weights)
        if found is None:
            raise InputError(f"{self.name}: every block has weight 0; give one of them a weight")
        blocks = tuple(
            BlockWeight(block.name, weight, int(block.vectors.vectors.any(axis=1).sum()), *both)
            for block, weight, both in zip(self._blocks, weights, errors, strict=True)
        )
        name = f"{found.name} of {self.name}"
        if any(one.error is not None for one in blocks):
            name += ", weights chosen on held-out ratings"
            for one in blocks:
                LOG.info("weight of %s: %s", one.name, one)
        several = blocks if len(blocks) > 1 else ()
        geometry = ItemGeometry.from_features(found._replace(name=name), blocks=several)
        self._warn_if_flat(geometry)
        return geometry

    def _warn_if_flat(self, geometry: ItemGeometry) -> None:
        """Warn if nearly all distances are the largest one, with the likeliest reason."""
        LOG.info("items are compared by %s", geometry.name)
        if geometry.n_items < FLAT_ITEMS:
            return
        facts = geometry.summary()
        share = float(facts["share at the largest distance"])
        if share <= FLAT or float(facts["largest"]) <= 1.5:
            return
        rows = [row for some in self.tags.values() for row in some]
        keys = {*(key for key, _, _ in rows), *(key for key, some in self.genres.items() if some)}
        keys.update(*self.texts.values(), *(one.items for one in (*self.numbers, *self.outside)))
        n_bare = sum(key not in keys for key in self._positions)
        sizes = _n_items([key for key, _, _ in rows], [tag for _, tag, _ in rows])
        alone = [tag for tag, n in sizes.items() if n == 1]
        why = "most items have no genre, tag or word in common"
        if 2 * n_bare > len(self.ids):
            why = f"{n_bare:,} of {len(self.ids):,} items are not described at all"
        elif alone and 2 * len(alone) > len(sizes):
            why = f"{len(alone):,} of {len(sizes):,} tags belong to one item only, such as "
            why += f"{max(alone, key=len)[:60]!r}; are several tags read as one?"
        warnings.warn(
            f"{share:.0%} of the distances between items ({self.name}) are the largest possible, so that "
            f"they say little: {why}",
            FlatGeometryWarning,
            stacklevel=5,
        )

    @cached_property
    def _blocks(self) -> list[_Block]:
        """The feature blocks of the items; those without any description are far from all others.

        Numbers, tags and genres, further tags, and text are side by side. Vectors from outside and encoded
        text are features of the tag profiles, if there are any.
        """
        ids, keys, genres = self.ids, _texts_of(self.ids), self._genres
        tags = {column: self._tag_rows(column) for column in ("", *self.tags)}
        numbers = [ItemVectors(ids, features.placed(one, keys), one.name) for one in self.numbers]
        side = [self._block(one, NUMBERS) for one in numbers]
        profiles = []
        if any(genres) and max(_n_items(*tags[""][:2]).values(), default=0) >= PROFILE_ITEMS:
            profiles = [_Block(self._profiles(), "tag profiles")]
            del tags[""]
        elif any(genres):
            side.append(self._block(features.from_genres(ids, genres), ""))
        side += [self._block(_tag_vectors(name, rows, ids), name) for name, rows in tags.items() if rows[1]]
        dense = []
        for one in self.outside:
            vectors = features.from_vectors(ids, features.placed(one, keys), name=one.name)
            dense.append(self._block(vectors, one.name))
        for name, text_of in self.texts.items():
            texts = [text_of.get(key, "") for key in keys]
            if any(texts) and self.options.encoder is None:
                side.append(self._block(features.from_text(ids, texts, min_items=1), name, TEXT_WEIGHT))
            elif any(texts):
                vectors = features.from_text(ids, texts, encoder=self.options.encoder, name=name)
                dense.append(self._block(vectors, name))
        if profiles:
            blocks = [*profiles, *(block._replace(is_inner=True) for block in dense), *side]
        else:
            blocks = [*side, *dense]
        if not blocks:
            raise InputError(f"{self.name}: genres, tags and text are empty for every item")
        return [block for block in blocks if block.weight]

    def _block(self, vectors: ItemVectors, column: str, weight: float = 1.0) -> _Block:
        """Return a feature block with its weight, which may be given by the name of its column."""
        given = self.options.weights
        return _Block(vectors, vectors.name, given.get(column, weight), is_given=column in given)

    @property
    def _free(self) -> list[int]:
        """The blocks that can be chosen: not if a weight was given, or if no other block would be left."""
        side = [k for k, block in enumerate(self._blocks) if not block.is_inner]
        return [k for k, block in enumerate(self._blocks) if not block.is_given and [k] != side]

    def _combined(self, weights: Sequence[float]) -> ItemVectors | None:
        """Return the vectors for weights of all blocks; None if no block has one. 0 leaves a block out."""
        rows = [(block, weight) for block, weight in zip(self._blocks, weights, strict=True) if weight]
        inner = [(block.vectors, weight) for block, weight in rows if block.is_inner]
        side = [(block.vectors, weight) for block, weight in rows if not block.is_inner]
        if inner and weights[0]:
            side[0] = self._profiles(*zip(*inner, strict=True)), weights[0]
        if len(side) < 2:
            return side[0][0] if side else None
        return features.combine(*(vectors for vectors, _ in side), weights=[weight for _, weight in side])

    def _profiles(self, blocks: Sequence[ItemVectors] = (), weights: Sequence[float] = ()) -> ItemVectors:
        return tag_profiles(
            *self._tag_rows(""), ids=self.ids, genres=self._genres, blocks=blocks, weights=weights
        )

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {str(item): k for k, item in enumerate(self.ids.tolist())}

    @property
    def _genres(self) -> list[list[str]]:
        return [self.genres.get(key, []) for key in self._positions]

    def _tag_rows(self, column: str) -> TagRows:
        rows = [row for row in self.tags.get(column, ()) if row[0] in self._positions]
        items = self.ids[[self._positions[key] for key, _, _ in rows]]
        return items, [tag for _, tag, _ in rows], [count for _, _, count in rows]


def _outside(
    sources: Sequence[FeatureSource], files: Sequence[ItemFile], rated: Ids | None, item_id: str | None
) -> list[ItemVectors]:
    """Return the blocks of features that do not come from tables; functions are called with all items."""
    if isinstance(sources, str | os.PathLike) or not isinstance(sources, Sequence):
        raise InputError("features is not a list; give a list of .npz files, vectors or functions")
    read = [one if callable(one) else rows_of(one, np.empty(0), item_id=item_id) for one in sources]
    keys = [] if rated is None else _texts_of(rated).tolist()
    keys += [key for file in files for key in file.ids]
    if not files:
        keys += [str(i) for one in read if isinstance(one, ItemVectors) for i in one.items.tolist()]
    ids = _typed(list(dict.fromkeys(keys)), rated, BadLines("features", "skip"))
    rows = [rows_of(one, ids, k=k) for k, one in enumerate(read)]
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
        if len(set(titled[-1].ids)) < len(file.ids):
            return []
    return titled


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


def _texts_of(ids: Ids) -> Ids:
    return np.array([str(i) for i in ids.tolist()], object)


def _tag_vectors(name: str, rows: TagRows, ids: Ids) -> ItemVectors:
    """Return vectors of tags, exact if their matrix is small.

    Tags of a single item say nothing about others, and are left out if that makes the matrix small
    enough. They stay where an item has only one tag: they still tell it apart.
    """
    items, tags, _ = rows
    sizes = _n_items(items.tolist(), tags).values()
    one_each = len(tags) < features.SEVERAL * len(set(items.tolist()))
    options: dict[str, Any] = {"min_items": 1} if one_each else {}
    for least in (1,) if one_each else (2, 1):
        if len(ids) * sum(size >= least for size in sizes) <= DENSE:
            options = {"dimensions": None, "min_items": least}
    return features.from_tags(*rows, ids=ids, name=name or "tags", **options)


def _n_items(items: Iterable[Any], tags: Iterable[str]) -> Counter[str]:
    pairs = dict.fromkeys(zip(items, map(str.casefold, tags), strict=True))
    return Counter(tag for _, tag in pairs)
