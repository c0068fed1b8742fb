"""Dataset: ratings, items and the distances between items, over the same items in the same order.

Every function of prefmover takes a :class:`Dataset`. It is aligned once, when it is made: column j of the
ratings, row j of the geometry and entry j of the catalog are the same item. Public functions convert ids to
positions; the code behind them uses positions only.

>>> from prefmover import ItemGeometry, Ratings
>>> ratings = Ratings.from_arrays(["ann", "bob"], ["x", "z"], [5, 4])
>>> geometry = ItemGeometry.from_vectors(["z", "y", "x"], [[1, 0], [1, 1], [0, 1]])
>>> data = Dataset(ratings, geometry)
>>> data
Dataset(2 users x 3 items, 2 ratings from 4 to 5 in steps of 1)
>>> data.ratings.items.tolist(), data.geometry.items.tolist()  # rated items first
(['x', 'z', 'y'], ['x', 'z', 'y'])
"""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from prefmover._table import html_table
from prefmover._typing import Bools, Floats, Ids, Ints
from prefmover.data.columns import read_columns
from prefmover.data.file_options import FileOptions, named_in_file_options
from prefmover.data.ids import IdIndex, as_ids, frozen, show
from prefmover.data.preferences import Preferences, preferences
from prefmover.data.ratings import Ratings, row_numbers
from prefmover.data.splits import Split, rating_times, time_table
from prefmover.errors import InputError, MissingItemsWarning, UnknownIdError
from prefmover.items.blocks import FeatureSource
from prefmover.items.catalog import Catalog
from prefmover.items.files import ItemFile
from prefmover.items.geometry import ItemGeometry
from prefmover.items.table import ItemFiles

__all__ = ["ABOUT", "Dataset", "geometry_follows_ratings", "geometry_from_ratings", "geometry_if"]

ABOUT = ("name", "terms", "citation", "user_noun", "item_noun", "verb")
"""The facts of a data set that do not change with its ratings or its geometry."""

PARTS = (*ABOUT, "ratings", "catalog", "_geometry", "_folds", "_times", "_rows")

MakeGeometry = Callable[[Ratings], ItemGeometry]

ADD_OR_DROP = 'Add them to the geometry, or pass missing="drop"'
DESCRIBE_OR_DROP = (
    'Describe them too, or pass missing="drop" to leave out their ratings, or missing="far" to keep them, '
    "at the maximum distance from every other item"
)

EXPECTED = "give an ItemGeometry, or a function of the ratings that returns one"

ANOTHER_CATALOG = 0.01  # a share of described items below which ids do not belong together

LOG = logging.getLogger(__name__)


class Dataset:
    """Ratings, items and item distances, aligned.

    Parameters
    ----------
    ratings
        The ratings.
    geometry
        The distances between items; ``None`` for measures that need none. Items that only the geometry has
        belong to the data set too: they can be predicted and recommended. Instead of a geometry, a function
        of the ratings can be given; it is called when distances are first needed, and again for the training
        ratings of a split.
    items
        Titles: ``{item: title}``, a frame with columns item and title (and year and genres, if known), or a
        :class:`~prefmover.items.catalog.Catalog`. By default ids are the titles.
    missing
        What to do about rated items that the geometry lacks: ``"error"``, or ``"drop"`` their ratings with a
        :class:`~prefmover.errors.MissingItemsWarning`.
    name, terms, citation
        Name, terms of use and citation of the data set.
    user_noun, item_noun
        What a user and an item are called, in the singular: "viewer" and "film". Pages use these words.
    verb
        What users did with the items, in the past tense: "played". By default they "rated" them; with
        implicit feedback, they "chose" them.
    folds
        A function that returns the splits that the data set was published with.
    times
        When each rating was given: anything that :func:`prefmover.data.splits.rating_times` takes, or a
        function that returns it, called when times are first needed.
    rows
        A function that returns the row of each rating in its file, from 0, as a table of ratings.

    Attributes
    ----------
    ratings : Ratings
        Ratings over all items of the data set, rated items first.
    catalog : Catalog
        Titles, years and genres, in the same order.
    """

    def __init__(
        self,
        ratings: Ratings,
        geometry: ItemGeometry | MakeGeometry | None = None,
        items: Any = None,
        *,
        missing: Literal["error", "drop"] = "error",
        name: str = "",
        terms: str = "",
        citation: str = "",
        user_noun: str = "user",
        item_noun: str = "item",
        verb: str = "",
        folds: Callable[[Ratings], list[Split]] | None = None,
        times: Any = None,
        rows: Callable[[], Ratings] | None = None,
    ) -> None:
        if missing not in ("error", "drop"):
            raise InputError(f'missing is {missing!r}; choose "error" or "drop"')
        for noun, value in (("user_noun", user_noun), ("item_noun", item_noun)):
            if not isinstance(value, str) or not value.strip() or not value.isprintable():
                raise InputError(f'{noun} is {value!r}; give a word in the singular, such as "film"')
        if not isinstance(verb, str) or not verb.isprintable():
            raise InputError(f'verb is {verb!r}; give a verb in the past tense, such as "played"')
        if not isinstance(ratings, Ratings):
            raise InputError(f"expected Ratings first, got {type(ratings).__name__}")
        if not (geometry is None or isinstance(geometry, ItemGeometry) or callable(geometry)):
            raise InputError(f"geometry is of type {type(geometry).__name__}; {EXPECTED}")
        items, given = None if items is None else Catalog.from_items(items), ratings
        present, all_items = ratings.items, ratings.items if items is None else items.ids
        if isinstance(geometry, ItemGeometry):
            known, where = geometry.has(ratings.items), f"in the item geometry ({geometry.name})"
            if geometry.items.dtype != ratings.items.dtype:
                where += ", because integer and string ids do not match"
            ratings = _keep_known(ratings, known, where, missing, ADD_OR_DROP)
            present = all_items = geometry.items
        if items is not None:
            _check_titles(items, present)
        unrated = all_items[ratings.item_index.get(all_items) < 0]
        ratings = ratings.with_items(np.concatenate([ratings.items, unrated]))
        if isinstance(geometry, ItemGeometry):
            geometry = geometry.aligned(ratings.items)
        items = Catalog.from_ids(ratings.items) if items is None else items.aligned(ratings.items)
        self.ratings: Ratings = ratings
        self.catalog: Catalog = items
        self.name, self.terms, self.citation = name, terms, citation
        self.user_noun, self.item_noun = user_noun, item_noun
        self.verb = verb or ("chose" if ratings.implicit else "rated")
        self._geometry, self._folds, self._rows = geometry, folds, rows
        # A function's times are those of the ratings that were given, also if some of these are dropped.
        self._times: Ratings | Callable[[], Ratings] | None = None
        if times is not None:
            table = cache(lambda: time_table(given, times() if callable(times) else times))
            self._times = table if callable(times) else table()

    @classmethod
    def from_files(
        cls,
        ratings: str | PathLike[str],
        items: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
        features: Sequence[FeatureSource] = (),
        *,
        options: FileOptions | None = None,
        user_noun: str = "user",
        item_noun: str = "item",
    ) -> Dataset:
        r"""Read a file of ratings, and files that describe the items if there are any.

        Parameters
        ----------
        ratings
            A file that :meth:`prefmover.Ratings.read` can read.
        items
            A file that :class:`~prefmover.items.table.ItemFiles` can read, or several; the file of ratings
            is one if it has columns about the items. Without any, items are compared by their ratings. That
            is good enough to find neighbors, but it leaks test ratings into an experiment on the same data.
        features
            Further vectors of items: ``.npz`` files (:func:`~prefmover.items.blocks.read_npz`),
            :class:`~prefmover.items.features.ItemVectors`, or functions from n item ids to an array (n, d).
            Items may lack some of them.
        options
            Names of columns, encoding, what to do about damaged lines, and the like. Most files need none.
        user_noun, item_noun
            What a user and an item are called, in the singular.

        The files are read and checked at once; distances between items are computed when they are needed.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     stars, tags = Path(folder, "stars.csv"), Path(folder, "tags.csv")
        ...     _ = stars.write_text("who,film,stars\nann,Alien,4.5\nbob,Aliens,5\nbob,Emma,2\n")
        ...     _ = tags.write_text("film,tag\nAlien,space\nAliens,space\nEmma,romance\n")
        ...     data = Dataset.from_files(stars, [tags])
        >>> data.ratings, data.geometry.n_items
        (Ratings(2 users x 3 items, 3 ratings from 2 to 5 in steps of 0.5), 3)
        """
        with named_in_file_options():
            options = options or FileOptions()
            items = (items,) if isinstance(items, str | PathLike) else items
            if not isinstance(items, Sequence) or not all(isinstance(file, str | PathLike) for file in items):
                raise InputError("items must be the path of a file, or a list of paths", argument="items")
            table, times = Ratings.read(ratings, options), None
            if options.time is not None:
                once = options.duplicates == "error" and not table.implicit  # else the last of several
                when = replace(
                    options, rating=options.time, duplicates="error" if once else "last", feedback="explicit",
                    scale=None, damping=None, zeros=None,
                )  # fmt: skip
                try:
                    times = Ratings.read(ratings, when)
                except InputError as error:
                    problem = f"times, from column {options.time!r}: {error}"
                    raise InputError(problem, argument="time") from None
            about: dict[str, Any] = {"user_noun": user_noun, "item_noun": item_noun}
            about |= {"name": Path(ratings).name, "terms": "your own", "times": times}
            about["rows"] = partial(_read_rows, ratings, options)
            if not items and isinstance(features, Sequence) and not features:
                options.refuse_item_options()
                more = ", ".join(map(repr, ItemFile.offered_by(ratings, options)))
                offer = (
                    f"; --items {ratings} (items=) uses what is beside the ratings: {more}" if more else ""
                )
                LOG.info("no file describes the items; items are compared by their ratings%s", offer)
                return cls(table, geometry_from_ratings, **about)
            files = ItemFiles.read(
                *items, options=options, rated=table.items, features=features, ratings=ratings
            )
            known = IdIndex("item", files.ids).get(table.items) >= 0
            _check_same_catalog(table, files.ids, known, files.name)
            if options.missing != "far":
                table = _keep_known(
                    table, known, f"described by {files.name}", options.missing, DESCRIBE_OR_DROP
                )
            unrated = files.ids[table.item_index.get(files.ids) < 0]
            files = files.with_ids(as_ids([*table.items.tolist(), *unrated.tolist()], "item"))
            return cls(table, files, files.catalog, **about)

    @cached_property
    def geometry(self) -> ItemGeometry | None:
        """The distances between items, in the order of ``ratings.items``; None if there are none."""
        if self._geometry is None or isinstance(self._geometry, ItemGeometry):
            return self._geometry
        geometry = self._geometry(self.ratings)
        if not isinstance(geometry, ItemGeometry):
            raise InputError(f"the geometry function returned {type(geometry).__name__}; {EXPECTED}")
        return geometry.aligned(self.ratings.items)

    def require_geometry(self, what: str) -> ItemGeometry:
        """Return the geometry, or raise an error that names what needs it."""
        if self.geometry is None:
            remedy = "pass a geometry: Dataset(ratings, ItemGeometry.from_vectors(ids, vectors))"
            raise InputError(f"{what} needs distances between items; {remedy}")
        return self.geometry

    @cached_property
    def preferences(self) -> Preferences:
        """Every user as a distribution over items, in whole numbers."""
        return preferences(self.ratings)

    @property
    def has_times(self) -> bool:
        """Whether the times of the ratings are known."""
        return self._times is not None

    @cached_property
    def times(self) -> Floats:
        """(n_ratings,) the time of each rating in seconds, in the order of ``ratings.matrix.data``.

        Data without times are an error.
        """
        if self._times is None:
            problem = f"{self.name or 'this data set'} has no times of ratings; give them"
            ways = "Dataset(ratings, times=...), FileOptions(time=COLUMN) for a file, or --time-column COLUMN"
            raise InputError(f"{problem}: {ways}")
        return frozen(rating_times(self.ratings, self._times() if callable(self._times) else self._times))

    def rows(self) -> Ratings | None:
        """Return the row of each rating in its file, from 0, as a table; None if there is no file.

        Rows that were left out of the data set are in the table, too.
        """
        return None if self._rows is None else self._rows()

    @cached_property
    def ratings_per_item(self) -> Ints:
        """(n_items,) the number of ratings of each item."""
        return frozen(np.bincount(self.ratings.matrix.indices, minlength=self.n_items))

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.ratings.n_users

    @property
    def n_items(self) -> int:
        """Number of items, rated or not."""
        return self.ratings.n_items

    def user_position(self, user: Any) -> int:
        """Return the position of a user, given by id or by the text of the id.

        :class:`~prefmover.errors.UnknownIdError` names similar ids.
        """
        return self.ratings.user_position(user, from_text=True)

    def item_position(self, item: Any) -> int:
        """Return the position of an item, given by id, by the text of the id, or by title.

        A part of a title is enough if only one item has it; otherwise
        :class:`~prefmover.errors.InputError` names the candidates.
        """
        try:
            return self.ratings.item_position(item, from_text=True)
        except UnknownIdError:
            if not isinstance(item, str):
                raise
            return self.catalog.find(item)

    def with_ratings(self, ratings: Ratings) -> Dataset:
        """Return the data set with other ratings of the same items, such as the training ratings of a split.

        A geometry that is a function of the ratings is made again from these.
        """
        return self._with(ratings=ratings.with_items(self.ratings.items), _folds=None)

    def take_items(self, items: Ints) -> Dataset:
        """Return the data set of some items, by position, with their ratings. All users stay.

        A geometry that is a function of the ratings is made again, from these.
        """
        ratings = self.ratings.take(items=items)
        geometry = self._geometry
        if isinstance(geometry, ItemGeometry):
            geometry = geometry.take(items)
        catalog = self.catalog.aligned(ratings.items)
        return self._with(ratings=ratings, catalog=catalog, _geometry=geometry, _folds=None)

    def with_guests(self, guests: Ratings, users: Any = None, *, with_geometry: bool = True) -> Dataset:
        """Return users by position (None means all), and behind them guests who rated the same items.

        Unlike :meth:`with_ratings`, this does not make a geometry again that is a function of the ratings.
        """
        some = self.ratings if users is None else self.ratings.take(users=users)
        geometry = geometry_if(self, with_geometry)
        return self._with(ratings=some.stack(guests), _geometry=geometry, _folds=None)

    def with_geometry(self, geometry: ItemGeometry | MakeGeometry | None) -> Dataset:
        """Return the same ratings and items with other distances between items."""
        if geometry is self._geometry:
            return self
        if isinstance(geometry, ItemGeometry) and geometry is not vars(self).get("geometry"):
            about: dict[str, Any] = {name: getattr(self, name) for name in ABOUT}
            return Dataset(
                self.ratings, geometry, self.catalog, folds=self._folds, times=self._times, rows=self._rows,
                **about,
            )  # fmt: skip
        return self._with(_geometry=geometry)  # the one that was made here, or one that is made when needed

    def _with(self, **changes: Any) -> Dataset:
        """Return the data set with other parts over the same items, which need not be aligned again."""
        other = object.__new__(Dataset)
        vars(other).update({name: getattr(self, name) for name in PARTS} | changes)
        return other

    def with_new_items(self, geometry: ItemGeometry, items: Any = None) -> Dataset:
        """Return the data set with the items of a geometry that are not here, which nobody has rated.

        Parameters
        ----------
        geometry
            The new items, as in :meth:`prefmover.ItemGeometry.extended`.
        items
            Their titles, in a form that :class:`Dataset` takes.
        """
        if not isinstance(geometry, ItemGeometry):
            raise InputError(f"the new items are of type {type(geometry).__name__}; pass an ItemGeometry")
        whole = self.require_geometry("a new item").extended(geometry)
        new = whole.items[self.n_items :]
        catalog = Catalog.from_ids(new)
        if items is not None:
            titles = Catalog.from_items(items)
            _check_titles(titles, new)
            catalog = titles.aligned(new)
        about: dict[str, Any] = {name: getattr(self, name) for name in ABOUT}
        longer = self.ratings.with_items(whole.items)
        return Dataset(
            longer, whole, self.catalog.extended(catalog), times=self._times, rows=self._rows, **about
        )

    def digest(self) -> str:
        """Return a digest of ratings and scale: of all that decides what users prefer."""
        return hashlib.sha256(f"{self.ratings.digest()} {self.ratings.scale!r}".encode()).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the geometry, not a caller's function that makes it; folds, times and rows are left out."""
        # A geometry that follows the ratings is made again for other ratings, there as here.
        kept = self._geometry if geometry_follows_ratings(self) else self.geometry
        return {**self.__dict__, "_geometry": kept, "_folds": None, "_times": None, "_rows": None}

    def folds(self) -> list[Split]:
        """Return the splits that the data set was published with, such as u1 to u5 of ml-100k."""
        if self._folds is None:
            raise InputError(f"{self.name or 'this data set'} has no published folds; use random_split")
        return self._folds(self.ratings)

    def _repr_html_(self) -> str:
        per_user, per_item = np.diff(self.ratings.matrix.indptr), self.ratings_per_item
        most = np.argsort(-per_item, kind="stable")[:3].tolist()
        made = geometry_if(self, False)
        later = "their ratings" if geometry_follows_ratings(self) else "distances that are made when needed"
        between = made.name if made else later if callable(self._geometry) else "nothing"
        titles = ", ".join(f"{self.catalog.label(k)} ({per_item[k]:,})" for k in most)
        rows = [(f"most rated {self.item_noun}s", titles), (f"{self.item_noun}s compared by", between)]
        if self.n_users:
            low, middle, high = np.quantile(per_user, [0, 0.5, 1])
            rows.insert(0, (f"ratings per {self.user_noun}", f"{low:,.0f} to {high:,.0f}, median {middle:g}"))
        return html_table(repr(self), ("ratings", ""), rows)

    def __repr__(self) -> str:
        sizes = repr(self.ratings).removeprefix("Ratings(")
        return f"Dataset({self.name}: {sizes}" if self.name else f"Dataset({sizes}"


def _read_rows(path: str | PathLike[str], options: FileOptions) -> Ratings:
    """Return the row of each rating in a file, as a table."""
    roles = {"user": options.user, "item": options.item, "rating": options.rating}
    return row_numbers(read_columns(path, roles, options))


def geometry_if(data: Dataset, needed: bool) -> ItemGeometry | None:
    """Return the geometry if it is needed, or is there already; else None, and none is made."""
    made = "geometry" in vars(data) or not callable(data._geometry)
    return data.geometry if needed or made else None


def geometry_follows_ratings(data: Dataset) -> bool:
    """Whether the geometry is made from the ratings, so that each split has a geometry of its own."""
    make = data._geometry
    return make is geometry_from_ratings or bool(getattr(make, "follows_ratings", False))


def geometry_from_ratings(ratings: Ratings) -> ItemGeometry:
    """Return distances between items from the ratings alone: a geometry for data without descriptions."""
    return ItemGeometry.from_ratings(ratings)


def check_dataset(data: Any) -> None:
    """Raise an error unless a public function was given a data set."""
    if not isinstance(data, Dataset):
        remedy = "Dataset(ratings, geometry) makes one"
        raise InputError(f"expected a Dataset, got {type(data).__name__}; {remedy}")


def _keep_known(ratings: Ratings, known: Bools, where: str, missing: str, remedy: str) -> Ratings:
    """Return the ratings of the items that are known; others are an error, or are dropped."""
    kept = known | (np.bincount(ratings.matrix.indices, minlength=ratings.n_items) > 0)
    if not kept.all():  # items without ratings or distances
        ratings, known = ratings.take(items=kept), known[kept]
    if known.all():
        return ratings
    unknown = ratings.items[~known]
    n_ratings = int(np.isin(ratings.matrix.indices, np.flatnonzero(~known)).sum())
    names = ", ".join(map(repr, unknown[:5].tolist())) + (", ..." if len(unknown) > 5 else "")
    report = (
        f"{len(unknown):,} of {ratings.n_items:,} rated items ({n_ratings:,} of {ratings.n_ratings:,} "
        f"ratings) are not {where}: {names}"
    )
    if not known.any():
        raise InputError(f"{report}. No rated item is there, so no distance can be computed")
    if missing == "error":
        raise InputError(f"{report}. {remedy}", argument="missing")
    doubt = ". Fewer than half match. Do both files use the same ids?" if 2 * known.sum() < len(known) else ""
    warnings.warn(f"{report}. Their ratings are dropped{doubt}", MissingItemsWarning, stacklevel=3)
    return ratings.take(items=known)


def _check_titles(catalog: Catalog, present: Ids) -> None:
    """Raise an error if a catalog has titles of other items only."""
    if len(catalog) and len(present) and not catalog.has(present).any():
        ids = f"{show(catalog.ids[0])}, while the data have items such as {show(present[0])}"
        mixed = " (integer and string ids do not match)" if catalog.ids.dtype != present.dtype else ""
        raise InputError(f"no item with a title is in the data{mixed}: the titles are of items such as {ids}")


def _check_same_catalog(ratings: Ratings, ids: Ids, known: Bools, name: str) -> None:
    """Raise an error if nearly no rated item is described: the ids are those of another catalog."""
    if known.mean() >= ANOTHER_CATALOG:
        return
    few = [", ".join(map(repr, some[:3].tolist())) for some in (ratings.items, ids)]
    plain = {str(i).lstrip("0").casefold() for i in ids.tolist()}
    n_alike = sum(str(i).lstrip("0").casefold() in plain for i in ratings.items.tolist())
    hint = "pass item_id= with the column that has the rated ids"
    if 2 * n_alike > ratings.n_items:
        hint = "they agree except for leading zeros or case: write them the same way in both files"
    raise InputError(
        f"{int(known.sum()):,} of {ratings.n_items:,} rated items are described by {name}: the ids seem to "
        f"be those of another catalog. Items are rated as {few[0]}, and described as {few[1]}; {hint}",
        argument="item_id",
    )
