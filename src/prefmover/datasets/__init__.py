"""Data sets: ratings, a catalog of what was rated, and an item geometry.

>>> from prefmover import datasets
>>> films = datasets.load("cinema")
>>> films.items.label("alien-1979")
'Alien (1979)'

``load`` reads what is here; ``get`` downloads from the publisher, ``add`` takes a copy that you have
(:mod:`prefmover.datasets.install`). cinema is built in. ``from_files`` takes your own ratings and items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prefmover.datasets.own import from_files
from prefmover.datasets.registry import BUILT_IN, SOURCES, Source, source
from prefmover.datasets.synthetic import synthetic
from prefmover.errors import InputError
from prefmover.items.catalog import Catalog, Dataset

if TYPE_CHECKING:
    from prefmover.datasets.archive import Files

__all__ = ["BUILT_IN", "SOURCES", "Catalog", "Dataset", "from_files", "load", "read", "synthetic"]


def load(name: str) -> Dataset:
    """Return a data set by name.

    Parameters
    ----------
    name : str
        ``"cinema"`` or ``"synthetic"``, which are built in (:func:`synthetic` makes others), or a
        MovieLens data set that was downloaded or added before: ``"ml-100k"``, ``"ml-1m"``,
        ``"ml-10m"``, ``"ml-20m"``, ``"ml-25m"``, ``"ml-32m"``, ``"ml-latest-small"``. Or the path of a
        file of ratings, whose columns have usual names (:func:`prefmover.datasets.own.from_files` takes
        all kinds, and files that describe the items).

    Raises
    ------
    InputError
        If the data set is not here, is damaged, or is not what the publisher published: a figure
        that says ml-1m must rest on ml-1m. Use :func:`read` for a part of one.
    """
    from prefmover.datasets import folders

    if name.casefold() in BUILT_IN:
        return _built_in(name.casefold())
    if "." in name:  # no name has one
        return from_files(name)
    known = source(name)
    dataset = read(known, folders.locate(known))
    check_counts(known, dataset)
    return dataset


def read(known: Source, files: Files) -> Dataset:
    """Return the data set in some files, whatever its size."""
    from prefmover.datasets import geometry, movielens

    if known.form in ("genome", "tags"):
        raise InputError(f"{known.name} has no ratings; it is used for the geometry of other data sets")
    ratings = movielens.read_ratings(files, known)
    items = movielens.read_items(files, known)
    unlisted = ratings.items[~_isin(ratings.items, items.ids)]
    if len(unlisted):
        raise InputError(
            f"{files.path}: movie {unlisted[0]} is rated but not listed among the movies "
            f"({len(unlisted):,} such movies); the files do not belong together"
        )
    return Dataset(
        name=known.name,
        ratings=ratings,
        items=items,
        terms=known.terms,
        citation=known.citation,
        make_geometry=lambda: geometry.best_geometry(known, files, ratings, items),
        make_folds=(lambda: movielens.read_folds(files)) if known.form == "u" else None,
    )


def check_counts(known: Source, dataset: Dataset) -> None:
    """Raise an error if there are other numbers of ratings, users or items than were published."""
    if known.counts is None:
        return
    r, c = dataset.ratings, known.counts
    if (r.n_ratings, r.n_users, r.n_items) != (c.ratings, c.users, c.items):
        raise InputError(
            f"{known.name} here has {r.n_ratings:,} ratings by {r.n_users:,} users of {r.n_items:,} items; "
            f"published are {c.ratings:,}, {c.users:,} and {c.items:,}. It is damaged or altered: "
            f"`prefmover data get {known.name}` gets it again; to use it as it is, read the file of "
            "ratings with Ratings.read"
        )


def _built_in(name: str) -> Dataset:
    if name == "cinema":
        from prefmover.datasets import cinema

        return cinema.load()
    return synthetic()


def _isin(values: Any, known: Any) -> Any:
    import numpy as np

    return np.isin(values, known)
