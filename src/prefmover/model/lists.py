"""The best items for some users: scores of a fitted model, a selection, and predicted ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.execution.threads import slices
from prefmover.predict.predictor import UserState, clip, how_predicted
from prefmover.rank.recommendations import RecommendationTable
from prefmover.rank.selection import Selection
from prefmover.rank.two_sided import SideScores

if TYPE_CHECKING:
    from prefmover.model.base_recommender import BaseRecommender

__all__ = ["By", "Lists", "best_items", "check_by", "item_scores"]

By: TypeAlias = Literal["ranking", "rating"]

BLOCK_USERS = 256  # users whose scores of all items are in memory at once


class Lists(NamedTuple):
    """The lists of some users: arrays (users, n), as in a RecommendationTable."""

    positions: Ints
    scores: Floats
    ratings: Floats
    how: npt.NDArray[np.int8]

    @classmethod
    def empty(cls, n_users: int, n: int) -> Lists:
        """Return lists without items."""
        nothing = np.full((n_users, n), np.nan)
        return cls(np.full((n_users, n), -1), nothing, nothing.copy(), np.zeros((n_users, n), np.int8))

    def to_table(self, users: list[Any], data: Dataset) -> RecommendationTable:
        """Return the lists as a table, given the ids of their users, or names of guests."""
        return RecommendationTable(users, *self, data, data.ratings_per_item)


def check_by(by: object, implicit: bool) -> None:
    """Raise an error unless items can be ordered by ``by``."""
    if by not in ("ranking", "rating"):
        raise InputError(f'by is {by!r}; choose "ranking" or "rating"')
    if by == "rating" and implicit:
        raise InputError('by is "rating", and the data are implicit feedback, without ratings; leave it out')


def best_items(
    model: BaseRecommender,
    states: Sequence[UserState],
    by: By,
    selection: Selection,
    scored: list[SideScores] | None = None,
) -> Lists:
    """Return the list of each user; the scores of the ranker are added to ``scored``, if it is given."""
    lists = Lists.empty(len(states), selection.n)
    for block in slices(len(states), BLOCK_USERS):
        some = states[block]
        rows = zip(some, item_scores(model, some, by, scored), strict=True)
        for row, (state, values) in enumerate(rows, block.start):
            chosen = selection.best(values, state.items)
            lists.positions[row, : len(chosen)] = chosen
            lists.scores[row, : len(chosen)] = values[chosen]
    if not model.data_.ratings.implicit:
        _add_ratings(model, states, lists)
    return lists


def item_scores(
    model: BaseRecommender,
    states: Sequence[UserState],
    by: By,
    scored: list[SideScores] | None = None,
) -> Iterator[Floats]:
    """Yield the scores of all items for each user."""
    if by == "rating":
        everything = np.arange(model.data_.n_items)
        yield from (model.predictor_.scores(state, everything).values for state in states)
        return
    if scored is not None:
        for state in states:
            scored.append(model.ranker_.scores(state))
            yield scored[-1].total[0]
        return
    known = [state.position for state in states if state.position >= 0]
    rows = iter(model.ranker_.block(np.array(known)).total if known else ())
    for state in states:
        yield next(rows) if state.position >= 0 else model.ranker_.scores(state).total[0]


def _add_ratings(model: BaseRecommender, states: Sequence[UserState], lists: Lists) -> None:
    """Predict the ratings of all items in the lists: many known users together, others one by one."""
    if len(states) == 1:
        _add_ratings_of(model, states[0], lists, 0)
        return
    known = np.array([state.position for state in states], np.int64)
    there = (lists.positions >= 0) & (known >= 0)[:, None]
    users, items = np.repeat(known, lists.positions.shape[1])[there.ravel()], lists.positions[there]
    if len(users):
        predicted = model.predictor_.predict(users, items)
        lists.ratings[there] = clip(predicted.values, model.data_.ratings.scale)[0]
        lists.how[there] = how_predicted(users, items, predicted.n_neighbors)
    for row in np.flatnonzero(known < 0).tolist():
        _add_ratings_of(model, states[row], lists, row)


def _add_ratings_of(model: BaseRecommender, state: UserState, lists: Lists, row: int) -> None:
    """Predict the ratings of the items in the list of one user."""
    chosen = lists.positions[row][lists.positions[row] >= 0]
    values, has_neighbors = model.predictor_.expected(state, chosen)
    lists.ratings[row, : len(chosen)] = clip(values, model.data_.ratings.scale)[0]
    user = np.full(len(chosen), 0 if state.is_known else -1)
    lists.how[row, : len(chosen)] = how_predicted(user, chosen, has_neighbors)
