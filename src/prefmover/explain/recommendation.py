r"""Why an item is recommended: the user's own likes, and what people with the user's taste gave it.

The score of a recommendation is a sum of two sides (:mod:`prefmover.rank.two_sided`): what each of the
user's own ratings adds, and what each other user adds. Most of these terms are too small or too odd to be a
reason. An explanation names those that a person can check (:mod:`prefmover.explain.reasons`) and sums the
rest, so that the parts add up to the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from prefmover.explain import text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NeighborRating", "Others", "OwnRating", "RecommendationExplanation"]


class OwnRating(NamedTuple):
    """A rating of the user's own that is a reason to recommend an item.

    Attributes
    ----------
    item, label, rating
        What the user rated: its id, its title, the rating (for implicit feedback, the strength).
    value
        What the rating adds to the score.
    distance
        The distance between the two items; None without a geometry.
    n_both, lift
        How many users like both items, and how many times as many that is as by chance.
    """

    item: Any
    label: str
    rating: float
    value: float
    distance: float | None
    n_both: int
    lift: float


class NeighborRating(NamedTuple):
    """The rating of a recommended item by a like-minded user.

    Attributes
    ----------
    user, rating
        The neighbor's id, and rating of the item.
    likes_it
        Whether the rating is a like (:mod:`prefmover.rank.co_likes`).
    value
        What the neighbor adds to the score.
    measure_value
        The exact distance (or similarity) between the user and the neighbor; None in a list of
        recommendations if it was not needed. Then the explanation of one item has it.
    nearer_than
        The share of all other users who are less near; see ``estimated`` of the explanation.
    n_common, common
        How many items both rated, and their titles if there are at most two.
    alike
        If they have none in common: the title of an item that the user likes, and of one that the neighbor
        likes, the nearest such pair; None if there is none.
    """

    user: Any
    rating: float
    likes_it: bool
    value: float
    measure_value: float | None
    nearer_than: float
    n_common: int
    common: tuple[str, ...] = ()
    alike: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Others:
    """The terms that are not named: how many, and their sum."""

    count: int
    value: float


@dataclass(frozen=True, slots=True)
class RecommendationExplanation:
    """The reasons for a recommendation, which add up to its score.

    Attributes
    ----------
    user, item, label
        The user, the item and its title.
    item_side, user_side
        What the user's own ratings add, and what other users add; the score is their sum.
    rating
        The predicted rating, which is not the score; None for implicit feedback.
    n_ratings, n_likes
        How many users have rated the item, and how many of them like it.
    rated
        The user's own rating of the item; None for an item that is new to the user.
    own, other_own
        The user's ratings of related items, those that add most first; and all other ratings together.
    n_like_minded
        How many users are people with the user's taste: those with the largest weights in the score.
    n_for, n_against
        How many of them like the item, and how many rated it and do not like it.
    neighbors, other_users
        The ratings of some of them, or of all who rated the item, those that add or take most first; and all
        other users together.
    estimated
        Whether ``nearer_than`` of the neighbors is an estimate (:mod:`prefmover.explain.reasons`).
    implicit
        Whether the data are implicit feedback: what people did, not what they said.
    value_name
        What the measure gives for two users: ``"distance"`` or ``"similarity"``.
    """

    user: Any
    item: Any
    label: str
    item_side: float
    user_side: float
    rating: float | None
    n_ratings: int
    n_likes: int
    rated: float | None
    own: tuple[OwnRating, ...]
    other_own: Others
    n_like_minded: int
    n_for: int
    n_against: int
    neighbors: tuple[NeighborRating, ...]
    other_users: Others
    estimated: bool = False
    implicit: bool = False
    value_name: str = "distance"

    @property
    def score(self) -> float:
        """The number that items are ranked by: both sides."""
        return self.item_side + self.user_side

    @property
    def in_favor(self) -> tuple[NeighborRating, ...]:
        """Those of the named neighbors who like the item, those that add most first."""
        return tuple(sorted((one for one in self.neighbors if one.likes_it), key=lambda one: -one.value))

    @property
    def against(self) -> tuple[NeighborRating, ...]:
        """Those of the named neighbors who do not like the item, the strongest first."""
        return tuple(sorted((one for one in self.neighbors if not one.likes_it), key=lambda one: one.value))

    @property
    def reasons(self) -> tuple[str, ...]:
        """The strongest reasons as sentences."""
        return tuple(text.reasons(self))

    def to_dict(self, n: int | None = None) -> dict[str, Any]:
        """Return plain Python for JSON: all named terms, or the first ``n`` of each side and the others."""
        against = self.against[:1]
        return {
            "user": self.user,
            "item": self.item,
            "label": self.label,
            "score": self.score,
            "item_side": self.item_side,
            "user_side": self.user_side,
            "rating": self.rating,
            "n_ratings": self.n_ratings,
            "n_likes": self.n_likes,
            "rated": self.rated,
            "reasons": list(self.reasons),
            "own": [one._asdict() for one in self.own[:n]],
            "other_own": _with(self.other_own, self.own[n:] if n is not None else ()),
            "n_like_minded": self.n_like_minded,
            "n_for": self.n_for,
            "n_against": self.n_against,
            "nearer_than_is_estimated": self.estimated,
            "strongest_against": self._neighbor(against[0]) if against else None,
            "neighbors": [self._neighbor(one) for one in self.neighbors[:n]],
            "other_users": _with(self.other_users, self.neighbors[n:] if n is not None else ()),
        }

    def to_arrow(self) -> pa.Table:
        """Return the parts as a `pyarrow.Table`: kind, name, rating, value.

        Kinds are own, other own (their sum), user, and other users (their sum).
        """
        import pyarrow as pa

        rows: list[tuple[Any, ...]] = [("own", one.label, one.rating, one.value) for one in self.own]
        rows += [("other own", None, None, self.other_own.value)]
        rows += [("user", str(one.user), one.rating, one.value) for one in self.neighbors]
        rows += [("other users", None, None, self.other_users.value)]
        columns = ("kind", "name", "rating", "value")
        types = (pa.string(), pa.string(), pa.float64(), pa.float64())
        arrays = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)]
        return pa.table(arrays, columns)

    def _neighbor(self, one: NeighborRating) -> dict[str, Any]:
        fields = one._asdict()
        value = fields.pop("measure_value")
        return {**fields, self.value_name: None if value is None or isnan(value) else value}

    def __str__(self) -> str:
        return "\n".join(text.recommendation_lines(self))

    def _repr_html_(self) -> str:
        return text.recommendation_html(self)


def _with(others: Others, more: Sequence[OwnRating | NeighborRating]) -> dict[str, Any]:
    """Return the sum of terms that are not listed, and of more."""
    return {"count": others.count + len(more), "value": others.value + sum(one.value for one in more)}
