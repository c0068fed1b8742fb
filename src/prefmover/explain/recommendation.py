r"""Why an item is recommended: the user's own likes, and what people with the user's taste gave it.

The score of a recommendation is a sum of two sides (:mod:`prefmover.rank.two_sided`): what each of the
user's own ratings adds, and what each other user adds. Most of these terms are too small or too odd to be a
reason. An explanation names those that a person can check (:mod:`prefmover.explain.reasons`) and sums the
rest, so that the parts add up to the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from prefmover._format import counted
from prefmover._table import Tabular, html_table
from prefmover.explain.text import lines_of_parts
from prefmover.rank.recommendations import Recommendation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "NeighborRating",
    "Others",
    "OwnRating",
    "RecommendationExplanation",
    "member_reason",
    "recommended_lines",
]


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
        Whether the rating is a like (:mod:`prefmover.explain.reasons`).
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
class RecommendationExplanation(Tabular):
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
        """The strongest reasons as sentences: at most three."""
        own = [f"because you {_own_text(self.own[:2], self.implicit)}"] if self.own else []
        return tuple([*own, *self._people_text()] or [self._liked_text()])

    @property
    def title(self) -> str:
        """The item, the user, the score and the predicted rating."""
        rating = "" if self.rating is None else f", predicted rating {self.rating:.2f}"
        return f"{self.label} for {self.user}: score {self.score:.3f}{rating}"

    def lines(self, n: int = 5) -> list[str]:
        """Return the title, and the ``n`` largest parts of each side with their sums, one line each."""
        return [self.title, *lines_of_parts(self._rows(n))]

    def to_dict(self, n: int | None = None) -> dict[str, Any]:
        """Return plain Python for JSON: all named terms, or the first ``n`` of each side and the others."""
        named = ("user", "item", "label", "score", "item_side", "user_side", "rating", "n_ratings", "n_likes")
        against = self.against[:1]
        return {name: getattr(self, name) for name in named} | {
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
        types = {"kind": pa.string(), "name": pa.string(), "rating": pa.float64(), "value": pa.float64()}
        columns = [list(column) for column in zip(*rows, strict=True)]
        return pa.table(columns, schema=pa.schema(types))

    def _neighbor(self, one: NeighborRating) -> dict[str, Any]:
        fields = one._asdict()
        value = fields.pop("measure_value")
        return {**fields, self.value_name: None if value is None or isnan(value) else value}

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return html_table(self.title, ("part", "adds", ""), self._rows(10))

    def _rows(self, n: int) -> list[tuple[str, str, str]]:
        """Return name, value and meaning of each part: the n largest of each side, and the sums."""
        noun, verb = ("choice", "chose") if self.implicit else ("rating", "rated")
        rows = [
            (f"you {_own_text([one], self.implicit)}", f"{one.value:+.3f}", _relation(one))
            for one in self.own[:n]
        ]
        own, users = _with(self.other_own, self.own[n:]), _with(self.other_users, self.neighbors[n:])
        if own["count"]:
            name = counted(own["count"], f"other {noun}" if rows else noun)
            rows.append((f"{name} of yours", f"{own['value']:+.3f}", ""))
        for one in self.neighbors[:n]:
            common = _in_common(one) or f", {one.n_common:,} in common"
            near = self._nearer_than(one.nearer_than) + common
            rows.append((f"{one.user} {_gave(one, self.implicit)}", f"{one.value:+.3f}", near))
        taste = ""
        if self.n_like_minded:
            counts = "" if self.implicit else f": {self.n_for} for, {self.n_against} against"
            rated = self.n_for + self.n_against
            taste = f"of the {_who_count(self.n_like_minded)} most, {rated} {verb} it{counts}"
        rows.append((counted(users["count"], "other user"), f"{users['value']:+.3f}", taste))
        sides = f"{self.item_side:.3f} from your {noun}s, {self.user_side:.3f} from other users"
        return [*rows, ("score", f"{self.score:.3f}", sides)]

    def _people_text(self) -> list[str]:
        """Return who of the like-minded likes it, how many do and do not, and the strongest against it."""
        lines = []
        named = [one for one in self.in_favor if one.value > 0][:2]
        if named:
            names = _and([f"{named[0].user}{_in_common(named[0])}", *(str(one.user) for one in named[1:])])
            given = list(
                dict.fromkeys(f"{one.rating:g}" for one in named)
            )  # as many as names, or one for all
            gave = "chose it" if self.implicit else f"gave it {_and(given)}"
            near = self._nearer_than(min(one.nearer_than for one in named))
            lines.append(f"people with your taste: {names}, {near}, {gave}")
        if not self.implicit and (self.n_against or self.n_for > len(named)):
            most = f"of the {_who_count(self.n_like_minded)} most for you"
            against = self.against[:1]
            last = f"; strongest against: {against[0].user} {_gave(against[0], False)}" if against else ""
            lines.append(f"{most}, {self.n_for} for and {self.n_against} against{last}")
        return lines

    def _liked_text(self) -> str:
        if not self.n_ratings:
            return "nobody has rated it yet"
        if self.implicit:
            return f"chosen by {counted(self.n_ratings, 'user')}"
        return f"liked by {self.n_likes:,} of {counted(self.n_ratings, 'rater')}"

    def _nearer_than(self, share: float) -> str:
        return f"nearer to you than {'about ' if self.estimated else ''}{floor(100 * share)}% of users"


def member_reason(name: Any, explanation: RecommendationExplanation) -> str:
    """Return the strongest reason for one member of a group, without a full stop; "" if there is none."""
    e = explanation
    if e.own:
        return f"{name} {_own_text(e.own[:1], e.implicit)}"
    named = [one for one in e.in_favor if one.value > 0][:1]
    return f"{named[0].user}, whose taste is near {name}'s, {_gave(named[0], e.implicit)}" if named else ""


def recommended_lines(one: Recommendation | Any, place: int) -> list[str]:
    """Return a recommended item and its reasons, one line each.

    The first line has the predicted rating, or for implicit feedback the place in the list.
    """
    number = f"{place:5d}." if one.rating is None else f"{one.rating:6.2f}"
    noun = "interaction" if one.rating is None else "rating"
    return [
        f"{number}  {one.title}  ({counted(one.n_ratings, noun)})",
        *(f"        {why}" for why in one.reasons),
    ]


def _with(others: Others, more: Sequence[OwnRating | NeighborRating]) -> dict[str, Any]:
    """Return the sum of terms that are not listed, and of more."""
    return {"count": others.count + len(more), "value": others.value + sum(one.value for one in more)}


def _own_text(own: Sequence[OwnRating], implicit: bool) -> str:
    if implicit:
        return f"chose {_and([one.label for one in own])}"
    return f"gave {_and([f'{one.label} {one.rating:g}' for one in own])}"


def _gave(one: NeighborRating, implicit: bool) -> str:
    return "chose it" if implicit else f"gave it {one.rating:g}"


def _in_common(one: NeighborRating) -> str:
    """Return what a neighbor has in common with the user, if it is next to nothing."""
    if one.n_common and not one.common:
        return ""
    alike = f", but likes {one.alike[1]} as you like {one.alike[0]}" if one.alike else ""
    return f" (nothing in common with you{f' but {_and(one.common)}' if one.common else alike})"


def _relation(one: OwnRating) -> str:
    near = [] if one.distance is None else [f"distance {one.distance:.2f}"]
    both = [f"{one.n_both:,} like both, {one.lift:.1f} times as many as by chance"] if one.n_both else []
    return "; ".join(near + both)


def _who_count(n: int) -> str:
    return f"{counted(n, 'user')} who {'counts' if n == 1 else 'count'}"


def _and(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
