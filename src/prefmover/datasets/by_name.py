"""Data sets by name, whatever their origin, and the reader of each layout of files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path

from prefmover.dataset import Dataset
from prefmover.datasets import cinema, folders, movielens, other_domains
from prefmover.datasets.folders import Files
from prefmover.datasets.reading import assemble, check_counts, read_rows, read_times
from prefmover.datasets.registry import SOURCES, Source, find_source
from prefmover.datasets.synthesis import synthetic
from prefmover.errors import InputError

__all__ = ["load", "read"]

READERS: dict[str, Callable[[Source, Files], Dataset]] = {
    "books": other_domains.read_books,
    "music": other_domains.read_music,
    "tweets": other_domains.read_tweets,
}
"""By form; the others are those of MovieLens."""


def load(name: str | PathLike[str]) -> Dataset:
    """Return a data set by name, or from a file of ratings.

    Parameters
    ----------
    name
        ``"cinema"`` or ``"synthetic"``, which are built in (:func:`synthetic` makes others of any size); a
        MovieLens data set that was downloaded or added before: ``"ml-100k"``, ``"ml-1m"``, ``"ml-10m"``,
        ``"ml-20m"``, ``"ml-25m"``, ``"ml-32m"``, ``"ml-latest-small"``; another one: ``"goodbooks"`` (books),
        ``"lastfm"`` (plays of artists), ``"movietweetings"`` (films, few ratings per user); or the path of a
        file of ratings (:meth:`prefmover.Dataset.from_files` has options for such files).

    Movies of MovieLens are compared by the Tag Genome if it is installed, else by tags: the data set's own or
    those of ml-10m, if that is installed, too; else by genres. ``data.geometry.name`` says which.

    Raises
    ------
    InputError
        If the data set is not installed, is damaged, or differs from the published one: a result that
        names ml-1m must be computed from ml-1m.
    """
    folded = str(name).casefold()
    if folded == "cinema":
        return cinema.load()
    if folded == "synthetic":
        return synthetic()
    if folded not in SOURCES and Path(name).exists():
        return Dataset.from_files(name)
    source = find_source(str(name), "data set or file")
    data = read(source, folders.locate(source))
    check_counts(source, data)
    return data


def read(source: Source, files: Files) -> Dataset:
    """Return the data set in some files, without a check of its size."""
    return READERS.get(source.form, _read_movielens)(source, files)


def _read_movielens(source: Source, files: Files) -> Dataset:
    if source.form in ("genome", "tags"):
        raise InputError(f"{source.name} has no ratings; it gives other data sets their item distances")
    ratings = movielens.read_ratings(files, source)
    items = movielens.read_items(files, source)
    folds = partial(movielens.read_folds, files, source) if source.form == "u" else None
    times = partial(read_times, files, source.needs[0], movielens.RATINGS[source.form])
    rows = partial(read_rows, files, source.needs[0], movielens.RATINGS[source.form])
    geometry = partial(movielens.best_geometry, source, files, ratings, items)
    return assemble(source, files, ratings, items, geometry, folds=folds, times=times, rows=rows)
