"""Ratings over other items: all those of a geometry, or those of a model."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from prefmover.data.ratings import Ratings
from prefmover.items.geometry import ItemGeometry, align

__all__ = ["on_items", "over_geometry"]


def over_geometry(
    ratings: Ratings, geometry: ItemGeometry, missing: Literal["error", "drop"]
) -> tuple[Ratings, ItemGeometry]:
    """Return ratings over all items of the geometry, unrated ones after the rated."""
    ratings, aligned = align(ratings, geometry, missing)
    if geometry.n_items == ratings.n_items:
        return ratings, aligned
    place = {item: k for k, item in enumerate(geometry.items.tolist())}
    rated = np.array([place[item] for item in ratings.items.tolist()], dtype=np.int64)
    rest = np.setdiff1d(np.arange(geometry.n_items), rated)
    order = np.concatenate([rated, rest])
    return _widened(ratings, geometry.items[order]), geometry.take(order)


def _widened(ratings: Ratings, items: Any) -> Ratings:
    """Return ratings over more items, of which theirs are the first."""
    from scipy.sparse import csr_array

    m = ratings.matrix
    wide = csr_array((m.data, m.indices, m.indptr), shape=(ratings.n_users, len(items)))
    return Ratings(wide, ratings.users, items, ratings.scale)


def on_items(ratings: Ratings, places: Mapping[Any, int], like: Ratings) -> Ratings:
    """Return ratings over the items of a model; items it does not know are left out."""
    from scipy.sparse import csr_array

    at = np.array([places.get(item, -1) for item in ratings.items.tolist()], dtype=np.int64)
    if (at < 0).any():
        ratings = ratings.take(items=at >= 0)
        at = at[at >= 0]
    m = ratings.matrix
    moved = csr_array((m.data, at[m.indices], m.indptr), shape=(ratings.n_users, like.n_items))
    moved.sort_indices()
    return Ratings(moved, ratings.users, like.items, like.scale)
