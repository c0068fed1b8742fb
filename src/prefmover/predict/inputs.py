"""What people ask of a model: ids, pairs and ratings however they are given, checked."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from prefmover.data.ids import IdIndex
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.predict.centering import Index
from prefmover.predict.similarity import one_user

__all__ = ["columns_of", "guest_ratings", "listed", "places"]


def places(ids: list[Any], known: Mapping[Any, int]) -> Index:
    """Return where ids are, -1 for those that are not known."""
    return np.array([known.get(id_, -1) for id_ in ids], dtype=np.int64)


def listed(ids: Iterable[Any]) -> list[Any]:
    """Return ids as a list; a single id is a mistake."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise InputError(f"expected a list of ids, got the single value {ids!r}")
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


def columns_of(pairs: Any) -> tuple[list[Any], list[Any]]:
    """Return the two columns of pairs, however they were given."""
    if isinstance(pairs, Ratings):
        rows = np.repeat(np.arange(pairs.n_users), np.diff(pairs.matrix.indptr))
        return pairs.users[rows].tolist(), pairs.items[pairs.matrix.indices].tolist()
    if isinstance(pairs, np.ndarray):
        pairs = pairs.tolist()
    if isinstance(pairs, list | tuple):
        try:
            both = [(user, item) for user, item in pairs]
        except (TypeError, ValueError):
            raise InputError("expected a list of (user, item) pairs") from None
        return [user for user, _ in both], [item for _, item in both]
    import narwhals as nw

    try:
        frame: Any = nw.from_native(pairs, eager_only=True)
    except TypeError:
        raise InputError(
            f"expected a list of (user, item) pairs or a frame with these columns, got {type(pairs).__name__}"
        ) from None
    for name in ("user", "item"):
        if name not in frame.columns:
            raise InputError(f"the frame has no column {name!r}; it has {', '.join(frame.columns)}")
    return frame["user"].to_list(), frame["item"].to_list()


def guest_ratings(known: Ratings, ratings: Mapping[Any, float], name: Any) -> Ratings:
    """Return ``{item: rating}`` as the ratings of one user over the items that are known."""
    if not isinstance(ratings, Mapping):
        raise InputError(f"expected {{item: rating}}, got {type(ratings).__name__}")
    if not ratings:
        raise InputError("no ratings were given; a guest needs at least one")
    if name in set(known.users.tolist()):
        raise InputError(f"there is a user {name!r} already; pass another name=")
    index, scale = IdIndex("item", known.items), known.scale
    items = np.array([index.position(item) for item in ratings], dtype=np.int64)
    try:
        values = np.array([float(value) for value in ratings.values()])
    except (TypeError, ValueError) as error:
        raise InputError(f"ratings must be numbers: {error}") from None
    for item, value in zip(ratings, values.tolist(), strict=True):
        if not scale.lowest <= value <= scale.highest:
            raise InputError(
                f"the rating of {item!r} is {value:g}; the scale is {scale.lowest:g} to {scale.highest:g}"
            )
    return one_user(known, name, items, values)
