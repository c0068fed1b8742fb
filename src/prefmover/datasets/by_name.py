"""Data sets by name, whatever their origin."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from prefmover.dataset import Dataset
from prefmover.datasets import cinema, folders, layouts
from prefmover.datasets.assembly import check_counts
from prefmover.datasets.registry import SOURCES, find_source
from prefmover.datasets.synthesis import synthetic

__all__ = ["load"]


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
    those of a folder ``movie-tags`` where it is present; else by genres. ``data.geometry.name`` says which.

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
    files = folders.locate(source)
    data = layouts.read(source, files)
    check_counts(source, data)
    return data
