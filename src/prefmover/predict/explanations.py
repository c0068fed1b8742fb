"""Reasons to read: the plan between two users, and the parts of a prediction.

Each explanation is plain data (``to_dict`` for JSON), prints as text, shows itself as a table in a notebook
(``_repr_html_``), and as a rich table (``to_table``). The plan between two users is also drawn (``plot``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from prefmover.data.ratings import Ratings
from prefmover.execution.format import counted
from prefmover.items.geometry import ItemGeometry
from prefmover.measures.pmd import UserTransport, pmd
from prefmover.predict.base import NeighborPart, Prediction

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

__all__ = ["BasePart", "Move", "RecommendationExplanation", "Through", "UserExplanation", "explain_users"]

Labels = Mapping[Any, str]


class Move(NamedTuple):
    """Preference that corresponds: so much of an item of one user to an item of the other.

    Attributes
    ----------
    item, other_item
        Ids; equal where both rated the item and the mass stays.
    rating, other_rating
        What each gave.
    similarity
        Of the two items, 1 for the same.
    mass
        Share of the user's preference.
    share
        Of the whole distance; all shares sum to 1 (or are 0 where the distance is).
    """

    item: Any
    other_item: Any
    rating: float
    other_rating: float
    similarity: float
    mass: float
    share: float


@dataclass(frozen=True, slots=True)
class UserExplanation:
    """Why two users are as near as they are.

    Attributes
    ----------
    user, other
        Ids.
    distance
        PMD.
    moves
        All flows of the optimal plan: those that make up most of the distance first, then what stays.
    labels
        Names of items, for people; ids where there is none.
    """

    user: Any
    other: Any
    distance: float
    moves: tuple[Move, ...]
    labels: Labels

    @classmethod
    def of(
        cls,
        answer: UserTransport,
        mine: Mapping[Any, float],
        theirs: Mapping[Any, float],
        similarity: Mapping[tuple[Any, Any], float],
        labels: Labels | None = None,
    ) -> "UserExplanation":
        """Return the explanation of a solved pair, with both users' ratings."""
        moves = tuple(
            Move(
                flow.source,
                flow.target,
                mine[flow.source],
                theirs[flow.target],
                similarity[flow.source, flow.target],
                flow.mass,
                flow.share,
            )
            for flow in answer.flows
        )
        return cls(answer.u, answer.v, answer.distance, moves, labels or {})

    @property
    def stays(self) -> float:
        """The share of preference that stays on items both rated."""
        return sum(move.mass for move in self.moves if move.item == move.other_item)

    def common(self) -> list[Move]:
        """Return what stays, the most first."""
        return sorted((m for m in self.moves if m.item == m.other_item), key=lambda m: -m.mass)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python, ready for JSON."""
        return {
            "user": self.user,
            "other": self.other,
            "distance": self.distance,
            "stays": self.stays,
            "moves": [
                {**move._asdict(), "label": self._name(move.item), "other_label": self._name(move.other_item)}
                for move in self.moves
            ],
        }

    def to_table(self, n: int = 15) -> "Table":
        """Return the n largest moves as a rich table."""
        from rich.table import Table

        table = Table(title=self._title())
        for head in (f"{self.user}'s", f"{self.other}'s"):
            table.add_column(head)
        for head in ("similarity", "mass", "share of distance"):
            table.add_column(head, justify="right")
        for row in self._rows(n):
            table.add_row(*row)
        return table

    def plot(self, ax: "Axes | None" = None, n: int = 25) -> "Axes":
        """Draw the n heaviest moves: two columns of items, ribbons by mass, the darker the nearer the items.

        Needs matplotlib (the extra ``plot``).
        """
        from prefmover.predict.plot import draw_moves

        drawn = sorted(self.moves, key=lambda m: -m.mass)[:n]
        return draw_moves(drawn, (str(self.user), str(self.other)), self._name, self._title(), ax)

    def _repr_html_(self) -> str:
        head = (f"{self.user}'s", f"{self.other}'s", "similarity", "mass", "share of distance")
        return _html(self._title(), head, self._rows(15))

    def __str__(self) -> str:
        lines = [self._title()]
        for item, other, similarity, mass, share in self._rows(10):
            lines.append(
                f"  {mass:>6} of preference, {share:>6} of the distance: {item} ~ {other} ({similarity})"
            )
        return "\n".join(lines)

    def _title(self) -> str:
        return f"{self.user} and {self.other}: distance {self.distance:.3f}, {self.stays:.0%} in common"

    def _rows(self, n: int) -> list[tuple[str, str, str, str, str]]:
        return [
            (
                f"{self._name(m.item)} ({m.rating:g})",
                f"{self._name(m.other_item)} ({m.other_rating:g})",
                f"{m.similarity:.2f}",
                f"{m.mass:.1%}",
                f"{m.share:.1%}",
            )
            for m in self.moves[:n]
        ]

    def _name(self, item: Any) -> str:
        return str(self.labels.get(item, item))


class BasePart(NamedTuple):
    """A part of a prediction that no neighbor is behind."""

    name: str
    value: float
    meaning: str


class Through(NamedTuple):
    """A rating through which somebody speaks, and what it adds."""

    item: Any
    rating: float
    value: float


@dataclass(frozen=True, slots=True)
class RecommendationExplanation:
    """What a predicted rating is made of; the parts add up to it.

    Attributes
    ----------
    prediction
        The rating, and how it was made.
    base
        Parts without a neighbor, in order: what is usual, the user's habit, the item's standing, ...
    neighbors
        What each neighbor adds, the largest part first.
    through
        By neighbor (and by the user, for their own part): the ratings they speak through, largest first.
    labels
        Names of items, for people.
    """

    prediction: Prediction
    base: tuple[BasePart, ...]
    neighbors: tuple[NeighborPart, ...]
    through: Mapping[Any, tuple[Through, ...]]
    labels: Labels

    @property
    def total(self) -> float:
        """The sum of all parts: the prediction, before it is clipped to the scale."""
        return sum(part.value for part in self.base) + sum(part.value for part in self.neighbors)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python, ready for JSON."""
        p = self.prediction
        return {
            "user": p.user,
            "item": p.item,
            "label": self._name(p.item),
            "rating": p.rating,
            "total": self.total,
            "how": p.how,
            "clipped": p.clipped,
            "base": [part._asdict() for part in self.base],
            "neighbors": [
                {
                    **part._asdict(),
                    "distance": None if isnan(part.distance) else part.distance,
                    "through": [
                        {**t._asdict(), "label": self._name(t.item)} for t in self.through.get(part.user, ())
                    ],
                }
                for part in self.neighbors
            ],
        }

    def to_table(self, n: int = 10) -> "Table":
        """Return the parts as a rich table, with the n largest neighbors."""
        from rich.table import Table

        table = Table(title=self._title())
        table.add_column("part")
        for head in ("adds", "weight"):
            table.add_column(head, justify="right")
        table.add_column("because")
        for row in self._rows(n):
            table.add_row(*row)
        return table

    def _repr_html_(self) -> str:
        return _html(self._title(), ("part", "adds", "weight", "because"), self._rows(10))

    def __str__(self) -> str:
        lines = [self._title()]
        lines += [f"  {adds:>7}  {part:<24} {because}" for part, adds, _, because in self._rows(5)]
        return "\n".join(lines)

    def _title(self) -> str:
        p = self.prediction
        cut = f", cut off at {p.rating:g}" if p.clipped else ""
        return f"{self._name(p.item)} for {p.user}: {self.total:.2f}{cut}"

    def _rows(self, n: int) -> list[tuple[str, str, str, str]]:
        rows = [(part.name, f"{part.value:+.3f}", "", part.meaning) for part in self.base]
        for part in self.neighbors[:n]:
            said = "" if part.rating is None else f"gave it {part.rating:g}"
            if part.rating is None and part.user in self.through:
                spoken = self.through[part.user][:2]
                said = ", ".join(f"gave {t.rating:g} to {self._name(t.item)}" for t in spoken)
            rows.append((f"user {part.user}", f"{part.value:+.3f}", f"{part.weight:.3f}", said))
        rest = self.neighbors[n:]
        if rest:
            value = sum(part.value for part in rest)
            rows.append((counted(len(rest), "other"), f"{value:+.3f}", "", "all other neighbors together"))
        rows.append(("sum", f"{self.total:.3f}", "", ""))
        return rows

    def _name(self, item: Any) -> str:
        return str(self.labels.get(item, item))


def _html(title: str, head: tuple[str, ...], rows: list[Any]) -> str:
    cells = "".join(f"<th>{escape(text)}</th>" for text in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows)
    caption = f"<caption>{escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"


def explain_users(
    ratings: Ratings, geometry: ItemGeometry, user: Any, other: Any, labels: Labels | None
) -> UserExplanation:
    """Return what of one user's ratings corresponds to what of another's, by the optimal plan."""
    answer = pmd(ratings, geometry, user, other)
    place = {item: k for k, item in enumerate(geometry.items.tolist())}
    flows = [(flow.source, flow.target) for flow in answer.flows]
    similarity = {
        pair: float(geometry.similarity([place[pair[0]]], [place[pair[1]]])[0, 0]) for pair in flows
    }
    return UserExplanation.of(answer, ratings.of(user), ratings.of(other), similarity, labels)
