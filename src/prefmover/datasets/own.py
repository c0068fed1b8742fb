"""Ratings and items of one's own, from files, as a data set."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Literal

from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.data.triples import Duplicates
from prefmover.errors import InputError
from prefmover.items.catalog import Catalog, Dataset
from prefmover.items.geometry import ItemGeometry, align
from prefmover.items.table import read_item_table

__all__ = ["from_files"]

LOG = logging.getLogger(__name__)


def from_files(
    ratings: str | PathLike[str],
    items: Sequence[str | PathLike[str]] = (),
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    duplicates: Duplicates = "error",
    scale: Scale | None = None,
    missing: Literal["error", "drop", "far"] = "error",
) -> Dataset:
    r"""Read a file of ratings and, if there are any, files that describe the items.

    Parameters
    ----------
    ratings
        As :meth:`prefmover.Ratings.read` takes it.
    items
        As :func:`~prefmover.items.table.read_item_table` takes them. Without any, items are
        compared by the ratings themselves: good for neighbors, but an experiment on the same ratings
        would then know its answers.
    user, item, rating, separator, encoding, duplicates, scale
        As in :meth:`prefmover.Ratings.read`; ``item`` and ``encoding`` also hold for the files of items.
    missing
        Rated items that no file describes: ``"error"``; ``"drop"`` their ratings; or ``"far"`` keeps
        them, at a right angle to every other item.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     stars, tags = Path(folder, "stars.csv"), Path(folder, "tags.csv")
    ...     _ = stars.write_text("who,film,stars\nann,Alien,4.5\nbob,Aliens,5\nbob,Emma,2\n")
    ...     _ = tags.write_text("film,tag\nAlien,space\nAliens,space\nEmma,romance\n")
    ...     data = from_files(stars, [tags])
    >>> data.ratings, data.geometry.n_items
    (Ratings(2 users x 3 items, 3 ratings from 2 to 5 in steps of 0.5), 3)
    """
    if missing not in ("error", "drop", "far"):
        raise InputError(f'missing is {missing!r}; choose "error", "drop" or "far"')
    read = Ratings.read(
        ratings,
        user=user,
        item=item,
        rating=rating,
        separator=separator,
        encoding=encoding,
        duplicates=duplicates,
        scale=scale,
    )
    if items:
        catalog, geometry = read_item_table(
            *items, item=item, encoding=encoding, rated=read.items, missing=missing
        )
        try:
            read, _ = align(read, geometry, "drop" if missing == "drop" else "error")
        except InputError as error:
            message = str(error).replace('add them to the geometry, or pass missing="drop"', _CHOICES)
            raise InputError(message) from None
    else:
        names = [str(i) for i in read.items.tolist()]
        catalog = Catalog(read.items, names, [0] * len(names), [()] * len(names))

    def make_geometry() -> ItemGeometry:
        if items:
            return geometry
        LOG.info("no file of items: items are compared by how they were rated")
        return ItemGeometry.from_ratings(read)

    return Dataset(
        name=Path(ratings).name,
        ratings=read,
        items=catalog,
        terms="your own",
        citation="",
        make_geometry=make_geometry,
    )


_CHOICES = (
    'describe them too, or pass missing="drop" to leave their ratings out, or missing="far" to keep them, '
    "unlike any other item"
)
