"""The reader of each layout of files."""

from __future__ import annotations

from collections.abc import Callable

from prefmover.dataset import Dataset
from prefmover.datasets import goodbooks, lastfm, movielens, movietweetings
from prefmover.datasets.archive import Files
from prefmover.datasets.registry import Source

__all__ = ["read"]

READERS: dict[str, Callable[[Source, Files], Dataset]] = {
    "books": goodbooks.read,
    "music": lastfm.read,
    "tweets": movietweetings.read,
}
"""By form; the others are those of MovieLens."""


def read(source: Source, files: Files) -> Dataset:
    """Return the data set in some files, without a check of its size."""
    return READERS.get(source.form, movielens.read)(source, files)
