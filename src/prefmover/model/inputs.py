"""Pairs and guests' ratings in every form that the public methods take, checked and turned into positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prefmover._typing import Ints
from prefmover.data.ratings import Ratings, one_user
from prefmover.data.splits import Split
from prefmover.errors import InputError
from prefmover.predict.predictor import UserState

__all__ = ["guest_ratings", "pair_columns", "user_ratings"]


def pair_columns(pairs: Any, known: Ratings) -> tuple[list[Any], list[Any], Ints, Ints]:
    """Return the user and item ids of pairs, and their positions in the known ratings; -1 if unknown.

    The pairs have one of the forms of :meth:`prefmover.model.Recommender.predict`.
    """
    if not isinstance(pairs, Ratings | Split):
        user_ids, item_ids = _id_columns(pairs)
        users, items = known.user_index.get(user_ids), known.item_index.get(item_ids)
        for k in np.flatnonzero(users < 0).tolist():
            if not isinstance(user_ids[k], UserState | None):
                known.user_index.check_mistaken(user_ids[k])
        for k in np.flatnonzero(items < 0).tolist():
            if item_ids[k] is not None:
                known.item_index.check_mistaken(item_ids[k])
        return user_ids, item_ids, users, items
    if isinstance(pairs, Split):
        table, users, items = pairs.train, pairs.users, pairs.items
    else:
        table, users, items = pairs, pairs.rows(), pairs.matrix.indices.astype(np.int64)
    user_positions, item_positions = known.user_index.get(table.users), known.item_index.get(table.items)
    ids = table.users[users].tolist(), table.items[items].tolist()
    return *ids, user_positions[users], item_positions[items]


def _id_columns(pairs: Any) -> tuple[list[Any], list[Any]]:
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
            "expected a list of (user, item) pairs, a frame with columns user and item, Ratings or a Split, "
            f"got {type(pairs).__name__}"
        ) from None
    for name in ("user", "item"):
        if name not in frame.columns:
            raise InputError(f"the frame has no column {name!r}; it has {', '.join(frame.columns)}")
    return frame["user"].to_list(), frame["item"].to_list()


def guest_ratings(known: Ratings, ratings: Mapping[Any, float | None], name: Any) -> Ratings:
    """Return ``{item: rating}`` as the ratings of one user over the known items, on the known scale.

    For implicit feedback it is ``{item: count}``; a count of None means that the guest liked the item, and
    stands for a usual count (:attr:`~prefmover.Ratings.usual_count`).
    """
    if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
        raise InputError(f"name is {name!r}; give a text or a whole number")
    if isinstance(ratings, Mapping) and ratings and name in known:
        raise InputError(f"there is a user {name!r} already; pass another name=")
    return user_ratings(known, ratings, name)


def user_ratings(known: Ratings, ratings: Mapping[Any, float | None], name: Any) -> Ratings:
    """Return ``{item: rating}`` as the ratings of a user, known or not, checked as those of a guest are."""
    if not isinstance(ratings, Mapping):
        raise InputError(f"expected {{item: rating}}, got {type(ratings).__name__}")
    if not ratings:
        raise InputError(f"{name!r} has no ratings; give at least one, as {{item: rating}}")
    scale = known.scale
    items = np.array([known.item_position(item) for item in ratings], dtype=np.int64)
    unsaid = [item for item, value in ratings.items() if value is None]
    if unsaid and not scale.implicit:
        raise InputError(
            f"the rating of {unsaid[0]!r} is missing; give one from {scale.lowest:g} to {scale.highest:g}"
        )
    usual = known.usual_count if unsaid else 1.0
    try:
        values = np.array([usual if value is None else float(value) for value in ratings.values()])
    except (TypeError, ValueError) as error:
        raise InputError(f"ratings must be numbers: {error}") from None
    if scale.implicit:
        return one_user(known, name, items, scale.strengths(values))
    for item, value in zip(ratings, values.tolist(), strict=True):
        if not scale.lowest <= value <= scale.highest:
            raise InputError(
                f"the rating of {item!r} is {value:g}; the scale is {scale.lowest:g} to {scale.highest:g}"
            )
    return one_user(known, name, items, values)
