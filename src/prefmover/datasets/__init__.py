"""Data sets by name: MovieLens, books, music and tweets, and two that are built in.

>>> from prefmover import datasets
>>> films = datasets.load("cinema")
>>> films.items.label(films.item_position("alien-1979"))
'Alien (1979)'

``load`` reads a data set; ``get`` downloads it from the publisher first, and ``add`` installs a copy that
you have.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from prefmover.dataset import Dataset
from prefmover.datasets.install import add, get
from prefmover.datasets.registry import BUILT_IN, SOURCES, find_source
from prefmover.datasets.synthetic import synthetic

__all__ = ["BUILT_IN", "SOURCES", "add", "get", "load", "synthetic"]


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

    Raises
    ------
    InputError
        If the data set is not installed, is damaged, or differs from the published one: a result that
        names ml-1m must be computed from ml-1m.
    """
    from prefmover.datasets import cinema, folders, layouts
    from prefmover.datasets.assembly import check_counts

    folded = str(name).casefold()
    if folded == "cinema":
        return cinema.load()
    if folded == "synthetic":
        return synthetic()
    if folded not in SOURCES and Path(name).exists():
        return Dataset.from_files(name)
    source = find_source(str(name), "data set or file")
    data = layouts.read(source, folders.locate(source))
    check_counts(source, data)
    return data
