r"""Recommended items, for one user and for many, and their selection among candidates.

Novelty and diversity choose a list of n among the 10 n candidates with the highest scores, so that every item
of the list suits the user. *Novelty* moves a list toward less known items (above 0) or better known ones
(below 0): with ν from -1 to 1 and n_j the number of ratings of item j,

.. math:: s'_j = s_j\, (1 + n_j)^{-\nu},

or times (1 + n_j)^ν where the score is negative.

*Diversity* picks one item after the other by maximal marginal relevance (Carbonell and Goldstein, 1998): with
δ from 0 to 1, the next item is

.. math:: \arg\max_j\; (1 - \delta)\, \tilde s_j - \delta \max_{i \in \text{picked}} s(i, j),

where the scores are scaled to [0, 1], and s(i, j) is the similarity of items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from prefmover._format import counted
from prefmover._table import SHOWN, Tabular, html_table
from prefmover._typing import Floats, Ints
from prefmover.data.file_options import check_whole_number
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.predict.predictor import HOW, How, id_column

__all__ = [
    "RECOMMENDATION_FIELDS",
    "ItemList",
    "Recommendation",
    "RecommendationTable",
    "Recommendations",
    "Selection",
]

Listed = TypeVar("Listed")

POOL = 10  # candidates for each item of a list, with novelty or diversity


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommended item.

    Attributes
    ----------
    item
        Id.
    title
        Title and year; the id where there is no title.
    score
        The number that items are ranked by.
    rating
        The predicted rating, within the scale; None for implicit feedback.
    n_ratings
        How many users have rated the item.
    how
        How the rating was predicted: see :class:`~prefmover.predict.predictor.Prediction`.
    why
        The parts of the score and the reasons to see the item, an
        :class:`~prefmover.explain.RecommendationExplanation`; None in lists that were made without reasons.
    """

    item: Any
    title: str
    score: float
    rating: float | None
    n_ratings: int
    how: How = "neighbors"
    why: Any = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """The strongest reasons as sentences; none in lists that were made without them."""
        return () if self.why is None else self.why.reasons

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON, with the reasons as sentences."""
        return {name: getattr(self, name) for name in RECOMMENDATION_FIELDS} | {"reasons": list(self.reasons)}


RECOMMENDATION_FIELDS = [one.name for one in fields(Recommendation) if one.name != "why"]


class ItemList(Sequence[Listed], Tabular):
    """Recommended items, the best first, in a dataclass with a field ``_items``; slices are of its class."""

    __slots__ = ()

    _items: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, k: int) -> Listed: ...

    @overload
    def __getitem__(self, k: slice) -> Self: ...

    def __getitem__(self, k: int | slice) -> Listed | Self:
        if isinstance(k, slice):
            part: Self = replace(self, _items=self._items[k])  # type: ignore[type-var]
            return part
        one: Listed = self._items[k]
        return one

    def _titles(self) -> str:
        items = ", ".join(one.title for one in self._items[:3])
        return f"{counted(len(self), 'item')}: {items}{', ...' if len(self) > 3 else ''}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recommendations(ItemList[Recommendation]):
    """Recommended items for a user (an id, or the name of a guest), the best first."""

    user: Any
    _items: tuple[Recommendation, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the user and the recommendations, ready for JSON."""
        return {"user": self.user, "recommendations": [one.to_dict() for one in self._items]}

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`: rank (from 1), item, title, score, rating, n_ratings, how."""
        import pyarrow as pa

        types = {"title": pa.string(), "score": pa.float64(), "rating": pa.float64(), "n_ratings": pa.int64()}
        columns = {"rank": pa.array(range(1, len(self) + 1), pa.int64()), "item": [one.item for one in self]}
        for name, kind in (*types.items(), ("how", pa.string())):
            columns[name] = pa.array([getattr(one, name) for one in self], kind)
        return pa.table(columns)

    def _repr_html_(self) -> str:
        head = ("", "recommended", "score", "predicted rating", "ratings", "why")
        rows = [
            (k, one.title, f"{one.score:.3f}", "" if one.rating is None else f"{one.rating:.2f}",
             f"{one.n_ratings:,}", "; ".join(one.reasons))
            for k, one in enumerate(self, 1)
        ]  # fmt: skip
        return html_table(f"Recommended for {self.user}", head, rows)

    def __repr__(self) -> str:
        return f"Recommendations({self.user!r}, {self._titles()})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecommendationTable(Sequence[Recommendations], Tabular):
    """Recommended items for many users: a table, each row of which is the list of one user.

    Attributes
    ----------
    users
        Ids, or names of guests.
    positions
        (n_users, n) positions of the items, the best first; -1 where a list is shorter.
    scores, ratings
        (n_users, n) as in :class:`Recommendation`; NaN where there is none.
    why
        For each user, the explanations of the items of the list; None in a table without reasons.
    """

    users: list[Any]
    positions: Ints
    scores: Floats
    ratings: Floats
    how: npt.NDArray[np.int8]
    _data: Dataset
    why: Sequence[Sequence[Any]] | None = None

    def __len__(self) -> int:
        return len(self.users)

    @overload
    def __getitem__(self, k: int) -> Recommendations: ...

    @overload
    def __getitem__(self, k: slice) -> Sequence[Recommendations]: ...

    def __getitem__(self, k: int | slice) -> Recommendations | Sequence[Recommendations]:
        if isinstance(k, slice):
            return [self[row] for row in range(len(self))[k]]
        row = range(len(self))[k]
        there = self.positions[row] >= 0
        positions = self.positions[row][there]
        ratings = [None if r != r else r for r in self.ratings[row][there].tolist()]
        columns = (
            self._data.ratings.items[positions].tolist(),
            [self._data.catalog.label(position) for position in positions.tolist()],
            self.scores[row][there].tolist(),
            ratings,
            self._data.ratings_per_item[positions].tolist(),
            [HOW[code] for code in self.how[row][there].tolist()],
            [None] * len(positions) if self.why is None else self.why[row],
        )
        rows = (Recommendation(*values) for values in zip(*columns, strict=True))
        return Recommendations(self.users[row], tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        """Return a list of users with their recommendations, ready for JSON."""
        return {"users": [one.to_dict() for one in self]}

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`, one row for each recommendation: user, rank, item, title, score, ..."""
        import pyarrow as pa

        there = self.positions >= 0
        positions, (row, column) = self.positions[there], np.nonzero(there)
        ratings = self.ratings[there]
        titles = self._data.catalog.labels
        return pa.table(
            {
                "user": id_column(self.users).take(pa.array(row)),
                "rank": pa.array(column + 1),
                "item": pa.array(self._data.ratings.items[positions].tolist()),
                "title": pa.array([titles[k] for k in positions.tolist()], pa.string()),
                "score": pa.array(self.scores[there]),
                "rating": pa.array(ratings, mask=np.isnan(ratings)),
                "n_ratings": pa.array(self._data.ratings_per_item[positions]),
                "how": pa.array([HOW[code] for code in self.how[there].tolist()], pa.string()),
            }
        )

    def _repr_html_(self) -> str:
        n = min(5, self.positions.shape[1])
        titles = [[one.title for one in best[:n]] for best in self[:SHOWN]]
        rows = [(user, *row, *[""] * (n - len(row))) for user, row in zip(self.users, titles, strict=False)]
        shown = f"the first {n} for each of the first {len(rows)}"
        title = f"{self.positions.shape[1]} items for {counted(len(self), 'user')}: {shown}"
        return html_table(title, ("user", *range(1, n + 1)), rows)

    def __repr__(self) -> str:
        return f"RecommendationTable({counted(len(self), 'user')} x {self.positions.shape[1]} items)"


class Selection:
    """Which items may be recommended, and how they are chosen by score, as options say that are checked."""

    def __init__(
        self,
        data: Dataset,
        n: int,
        *,
        items: Iterable[Any] | None = None,
        exclude: Iterable[Any] | None = None,
        where: Mapping[str, Any] | None = None,
        min_ratings: int = 0,
        novelty: float = 0.0,
        diversify: float = 0.0,
        seen: bool = False,
    ) -> None:
        check_whole_number("n", n)
        check_whole_number("min_ratings", min_ratings, least=0)
        _check_share("novelty", novelty, -1.0)
        _check_share("diversify", diversify, 0.0)
        if diversify:
            data.require_geometry("diversify")
        allowed = np.ones(len(data.ratings.items), bool)
        if items is not None:
            allowed[:] = False
            allowed[data.ratings.item_positions(_ids("items", items))] = True
        if exclude is not None:
            allowed[data.ratings.item_positions(_ids("exclude", exclude))] = False
        if where is not None:
            allowed &= data.catalog.matching(where)
        if min_ratings:
            allowed &= data.ratings_per_item >= min_ratings
        if not allowed.any():
            given = {"items": items, "exclude": exclude, "where": where, "min_ratings": min_ratings or None}
            names = " and ".join(name for name, value in given.items() if value is not None)
            wrong = f"no item is left to recommend after {names}; allow more items"
            raise InputError(wrong, reason="nothing-left")
        self.data, self.n = data, n  # the length of a list
        self.allowed = allowed  # (n_items,) which items may be recommended
        self.novelty, self.diversify = float(novelty), float(diversify)  # ν and δ
        self.seen = seen  # whether items that the user has rated may be recommended, too

    def best(self, scores: Floats, rated: Ints) -> Ints:
        """Return the positions of the chosen items, the best first, given the scores of all items.

        ``rated`` are the positions of the items that the user has rated.
        """
        candidates = self.allowed & ~np.isnan(scores)
        if not self.seen:
            candidates[rated] = False
        positions = np.flatnonzero(candidates)
        values = scores[positions].astype(np.float64)
        if self.novelty or self.diversify:
            pool = _top(values, POOL * self.n)
            positions, values = positions[pool], values[pool]
        if self.novelty:
            log_counts = np.log1p(self.data.ratings_per_item[positions])
            values = values * np.exp(-self.novelty * np.sign(values) * log_counts)
        if not self.diversify or not len(positions):
            return positions[_top(values, self.n)]
        return positions[self._diverse(positions, values)]

    def _diverse(self, positions: Ints, values: Floats) -> list[int]:
        """Return which items maximal marginal relevance picks."""
        spread = np.ptp(values)
        relevance = (values - values.min()) / (spread if spread > 0 else 1.0)
        similarity = self.data.require_geometry("diversify").similarity(positions, positions)
        nearest, picked = np.zeros(len(positions)), list[int]()
        gain = (1 - self.diversify) * relevance
        for _ in range(min(self.n, len(positions))):
            worth = gain - self.diversify * nearest
            worth[picked] = -np.inf
            picked.append(int(np.argmax(worth)))
            nearest = np.maximum(nearest, similarity[picked[-1]])
        return picked


def _top(values: Floats, n: int) -> Ints:
    """Return where the n largest values are, largest first, ties in order."""
    at = np.arange(len(values))
    if len(values) > n:
        least = np.partition(values, len(values) - n)[len(values) - n]
        at = np.flatnonzero(values >= least)
    return at[np.argsort(-values[at], kind="stable")[:n]]


def _ids(name: str, ids: Any) -> list[Any]:
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InputError(f"{name} is {ids!r}; give a list of item ids")
    return list(ids)


def _check_share(name: str, value: Any, least: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not least <= value <= 1:
        raise InputError(f"{name} is {value!r}; give a number from {least:g} to 1")
