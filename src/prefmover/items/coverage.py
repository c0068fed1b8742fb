"""Rated items that nothing describes: errors and warnings about ids that do not match."""

from __future__ import annotations

import warnings
from typing import Literal, TypeAlias

import numpy as np

from prefmover._typing import Bools, Ids
from prefmover.data.ids import show
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError, MissingItemsWarning
from prefmover.items.catalog import Catalog

__all__ = ["Missing", "check_same_catalog", "check_titles", "keep_known"]

Missing: TypeAlias = Literal["error", "drop"]

ANOTHER_CATALOG = 0.01  # a share of described items below which ids do not belong together


def keep_known(ratings: Ratings, known: Bools, where: str, missing: Missing, remedy: str) -> Ratings:
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
    doubt = ". Fewer than half are: are the ids of one catalog?" if 2 * known.sum() < len(known) else ""
    warnings.warn(f"{report}. Their ratings are dropped{doubt}", MissingItemsWarning, stacklevel=3)
    return ratings.take(items=known)


def check_titles(catalog: Catalog, present: Ids) -> None:
    """Raise an error if a catalog has titles of other items only."""
    if len(catalog) and len(present) and not catalog.has(present).any():
        ids = f"{show(catalog.ids[0])}, while the data have items such as {show(present[0])}"
        mixed = " (integer and string ids do not match)" if catalog.ids.dtype != present.dtype else ""
        raise InputError(f"no item with a title is in the data{mixed}: the titles are of items such as {ids}")


def check_same_catalog(ratings: Ratings, ids: Ids, known: Bools, name: str) -> None:
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
