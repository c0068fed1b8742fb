"""What the readers of all layouts end with: one data set, and the check that it is the published one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.datasets.archive import Files
from prefmover.datasets.registry import Counts, Source
from prefmover.errors import InputError
from prefmover.items.catalog import Catalog
from prefmover.items.geometry import ItemGeometry

__all__ = ["assemble", "check_counts"]


def assemble(
    source: Source,
    files: Files,
    ratings: Ratings,
    items: Catalog,
    geometry: Callable[[], ItemGeometry],
    **options: Any,
) -> Dataset:
    """Return the data set, under the name of a part if it has the numbers of one.

    The geometry is made once, when it is first needed; it does not depend on the ratings.
    """
    unlisted = ratings.items[~items.has(ratings.items)]
    if len(unlisted):
        noun = source.item_noun
        problem = f"{noun} {unlisted[0]} is rated but not listed ({len(unlisted):,} such {noun}s)"
        raise InputError(f"{files.path}: {problem}; the files do not belong together")
    here = _counts(ratings)
    name = next((part for part, counts in source.parts.items() if counts == here), source.name)
    about: dict[str, Any] = {"name": name, "terms": source.terms, "citation": source.citation}
    about |= {"user_noun": source.user_noun, "item_noun": source.item_noun}
    made = cache(geometry)
    return Dataset(ratings, lambda _: made(), items, **about, **options)


def check_counts(source: Source, data: Dataset) -> None:
    """Raise an error if the numbers of ratings, users or rated items differ from the published ones."""
    published, here = source.counts, _counts(data.ratings)
    if published is not None and here != published and here not in source.parts.values():
        raise InputError(
            f"{source.name} here has {here.ratings:,} ratings by {here.users:,} users of {here.items:,} "
            f"items; the published one has {published.ratings:,}, {published.users:,} and "
            f"{published.items:,}. The files are damaged or altered: run `prefmover data get {source.name}` "
            "again, or read the ratings as they are with Ratings.read"
        )


def _counts(ratings: Ratings) -> Counts:
    return Counts(ratings.n_ratings, ratings.n_users, len(np.unique(ratings.matrix.indices)))
