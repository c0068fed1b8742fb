r"""Recommendations for several people together.

The score of an item for a group is made of its scores for the members. A member with many ratings has larger
scores, so each member's are standardized over all items first: with mean 0 and standard deviation 1, all
count equally. They are then combined:

========== ============================================== ==============================================
combine    score of the group                             for
========== ============================================== ==============================================
``mean``   the mean of the members' scores                what suits the group best on the whole
``least``  the smallest of the members' scores            what no member dislikes (least misery)
========== ============================================== ==============================================

With ``by="rating"`` the predicted ratings of the members are combined in the same way, as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from prefmover._typing import Floats
from prefmover.errors import InputError
from prefmover.explain.recommendation import member_reason
from prefmover.model.batch import By, item_scores
from prefmover.predict.predictor import UserState, clip
from prefmover.rank.recommendations import ItemList, Selection

if TYPE_CHECKING:
    from prefmover.model.base_recommender import BaseRecommender

__all__ = ["Combine", "GroupRecommendation", "GroupRecommendations", "MemberScore", "recommend_together"]

Combine: TypeAlias = Literal["mean", "least"]


@dataclass(frozen=True, slots=True)
class MemberScore:
    """What a recommended item is for one member of a group.

    Attributes
    ----------
    user
        Id of the member, or name of a guest.
    score
        The member's score of the item, standardized over all items; with ``by="rating"``, the predicted
        rating.
    rating
        The predicted rating, within the scale; None for implicit feedback.
    reason
        The member's strongest reason, such as "ann gave Alien (1979) 5"; "" if there is none.
    """

    user: Any
    score: float
    rating: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GroupRecommendation:
    """An item that is recommended to a group.

    Attributes
    ----------
    item, title, n_ratings
        As in :class:`~prefmover.rank.Recommendation`.
    score
        The number that items are ranked by: the members' scores, combined.
    rating
        The mean of the predicted ratings of the members; None for implicit feedback.
    members
        The item for each member, in the order of the group.
    """

    item: Any
    title: str
    score: float
    rating: float | None
    n_ratings: int
    members: tuple[MemberScore, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of the members as sentences, and whom the item suits least if ratings differ."""
        found = [member.reason for member in self.members if member.reason]
        rated = [member for member in self.members if member.rating is not None]
        spread = sorted(rated, key=lambda member: member.rating or 0.0)
        if spread and (spread[-1].rating or 0.0) - (spread[0].rating or 0.0) >= 0.5:
            least, most = spread[0], spread[-1]
            found.append(
                f"best for {most.user} ({most.rating:.1f}), least for {least.user} ({least.rating:.1f})"
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python for JSON."""
        members = [asdict(one) for one in self.members]
        return asdict(self) | {"members": members, "reasons": list(self.reasons)}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupRecommendations(ItemList[GroupRecommendation]):
    """Recommended items for a group, the best first; ``combine`` says how members' scores were combined."""

    group: tuple[Any, ...]
    combine: Combine
    _items: tuple[GroupRecommendation, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the group and its recommendations, ready for JSON."""
        listed = [one.to_dict() for one in self._items]
        return {"group": list(self.group), "combine": self.combine, "recommendations": listed}

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`, one row for each item and member.

        Columns: rank (from 1), item, title, score, n_ratings, member, member_score, member_rating.
        """
        import pyarrow as pa

        rows = [(k, one, member) for k, one in enumerate(self, 1) for member in one.members]
        types = {"title": pa.string(), "score": pa.float64(), "n_ratings": pa.int64()}
        columns = {"rank": pa.array([k for k, _, _ in rows], pa.int64())}
        columns["item"] = pa.array([one.item for _, one, _ in rows])
        for name, kind in types.items():
            columns[name] = pa.array([getattr(one, name) for _, one, _ in rows], kind)
        columns["member"] = pa.array([str(member.user) for _, _, member in rows], pa.string())
        for name in ("score", "rating"):
            columns[f"member_{name}"] = pa.array([getattr(one, name) for _, _, one in rows], pa.float64())
        return pa.table(columns)

    def __repr__(self) -> str:
        return f"GroupRecommendations({', '.join(map(str, self.group))}; {self._titles()})"


def recommend_together(
    model: BaseRecommender,
    states: Sequence[UserState],
    by: By,
    combine: Combine,
    selection: Selection,
    reasons: bool,
) -> GroupRecommendations:
    """Return the best items for the members of a group, given by their states."""
    if combine not in get_args(Combine):
        raise InputError(f'combine is {combine!r}; choose "mean" or "least"', argument="combine")
    data, scale = model.data_, model.data_.ratings.scale
    scores = np.stack([np.asarray(row, np.float64) for row, _ in item_scores(model, states, by)])
    if by == "ranking":
        scores = _standardized(scores)
    total = scores.mean(axis=0) if combine == "mean" else scores.min(axis=0)
    rated = np.unique(np.concatenate([state.seen for state in states]))
    chosen = selection.best(total, rated)
    by_member = []
    for state, row in zip(states, scores, strict=True):
        ratings: list[float | None] = [None] * len(chosen)
        if model.predicts:
            ratings = clip(model.predictor_.scores(state, chosen).values, scale)[0].tolist()
        why = [""] * len(chosen)
        if reasons and "ranking" in model.heads_:
            explained = model.explainer_.explain(model._placed(state), chosen, ratings)
            why = [member_reason(state.name, one) for one in explained]
        columns = row[chosen].tolist(), ratings, why
        by_member.append([MemberScore(state.name, *one) for one in zip(*columns, strict=True)])
    items = []
    for position, members in zip(chosen.tolist(), zip(*by_member, strict=True), strict=True):
        given = [member.rating for member in members if member.rating is not None]
        items.append(
            GroupRecommendation(
                data.ratings.items[[position]].tolist()[0],
                data.catalog.label(position),
                float(total[position]),
                float(np.mean(given)) if given else None,
                int(data.ratings_per_item[position]),
                members,
            )
        )
    return GroupRecommendations(tuple(state.name for state in states), combine, tuple(items))


def _standardized(scores: Floats) -> Floats:
    """Return rows with mean 0 and standard deviation 1; a row of equal scores becomes zeros.

    >>> _standardized(np.array([[1.0, 3.0], [5.0, 5.0]]))
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    spread = scores.std(axis=1, keepdims=True)
    standard: Floats = (scores - scores.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    return standard
