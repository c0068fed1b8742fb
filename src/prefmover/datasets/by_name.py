"""Data sets by name, whatever their origin."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from prefmover.dataset import Dataset
from prefmover.datasets import cinema, folders, layouts
from prefmover.datasets.assembly import check_counts
from prefmover.datasets.geometry import GEOMETRIES, GeometryName, tags_and_text
from prefmover.datasets.registry import SOURCES, find_source
from prefmover.datasets.synthesis import synthetic
from prefmover.errors import InputError

__all__ = ["load"]


def load(name: str | PathLike[str], geometry: GeometryName = "best") -> Dataset:
    """Return a data set by name, or from a file of ratings.

    Parameters
    ----------
    name
        ``"cinema"`` or ``"synthetic"``, which are built in (:func:`synthetic` makes others of any size); a
        MovieLens data set that was downloaded or added before: ``"ml-100k"``, ``"ml-1m"``, ``"ml-10m"``,
        ``"ml-20m"``, ``"ml-25m"``, ``"ml-32m"``, ``"ml-latest-small"``; another one: ``"goodbooks"`` (books),
        ``"lastfm"`` (plays of artists), ``"movietweetings"`` (films, few ratings per user); or the path of a
        file of ratings (:meth:`prefmover.Dataset.from_files` has options for such files).
    geometry
        ``"best"`` is the best geometry that needs neither ratings nor further files
        (:mod:`prefmover.datasets.geometry`). ``"tags+text"``, for MovieLens, adds the vectors in a folder
        ``movie-text-vectors`` beside the data sets; the ratings choose their weights. ``"learned"``, for
        MovieLens too, is the same (without text if there is no such folder), and its profiles also predict
        what people like together.

    Raises
    ------
    InputError
        If the data set is not installed, is damaged, or differs from the published one: a result that
        names ml-1m must be computed from ml-1m.
    """
    folded = str(name).casefold()
    if geometry not in GEOMETRIES:
        listed = ", ".join(map(repr, GEOMETRIES))
        raise InputError(f"geometry is {geometry!r}; choose one of {listed}", argument="geometry")
    if geometry != "best" and not folded.startswith("ml-"):
        raise InputError(
            f"the geometry {geometry} is for MovieLens data sets, not for {name}", argument="geometry"
        )
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
    if geometry == "best":
        return data
    return data.with_geometry(tags_and_text(source, files, data.items, learn=geometry == "learned"))
