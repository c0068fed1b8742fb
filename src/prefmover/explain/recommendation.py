r"""Why an item is recommended: the user's own likes, and what people with the user's taste gave it.

The score of a recommendation is a sum of two sides (:mod:`prefmover.rank.two_sided`): what each of the
user's own ratings adds, and what each other user adds. Most of these terms are too small or too odd to be a
reason. An explanation names those that a person can check (:mod:`prefmover.explain.reasons`) and sums the
rest, so that the parts add up to the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from prefmover._format import counted, plural
from prefmover._table import Tabular, html_table
from prefmover.explain import sentences
from prefmover.explain.text import lines_of_parts
from prefmover.explain.words import Part, Sentence, Words, text_of
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

LEAST = 0.0005
"""What a rating or a person adds at least if it is named; explanations print three digits."""

WEAK = 0.05
"""Own ratings that add less than this share of the score are a weak reason."""


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
    related
        Whether the items are related. One that is not is named if it adds much of the score, or, as a weak
        reason, if there is nothing better.
    """

    item: Any
    label: str
    rating: float
    value: float
    distance: float | None
    n_both: int
    lift: float
    related: bool = True


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
    n_common
        How many items both rated.
    alike
        What connects them: the title of an item that the user likes, and of one that the neighbor likes. They
        are the same if there is an item that both like; None if there is not even a similar pair.
    """

    user: Any
    rating: float
    likes_it: bool
    value: float
    measure_value: float | None
    nearer_than: float
    n_common: int
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
        The user's ratings that are reasons, those that add most first; and all other ratings together.
    n_like_minded
        How many users are people with the user's taste: those with the largest weights in the score.
    n_for, n_against
        How many of them like the item, and how many rated it and do not like it.
    neighbors, other_users
        The ratings of some of them, or of all who rated the item, those that add or take most first; and all
        other users together.
    because
        Those of ``own`` that the sentences name: at most two.
    estimated
        Whether ``nearer_than`` of the neighbors is an estimate (:mod:`prefmover.explain.reasons`).
    value_name
        What the measure gives for two users: ``"distance"`` or ``"similarity"``.
    words
        The words for the data.
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
    because: tuple[OwnRating, ...] = ()
    estimated: bool = False
    value_name: str = "distance"
    words: Words = field(default_factory=Words)

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
    def n_own(self) -> int:
        """How many items the user has rated."""
        return len(self.own) + self.other_own.count

    @property
    def weak(self) -> bool:
        """Whether the own ratings that are named are a weak reason: they add little, or are not related."""
        added = sum(one.value for one in self.because)
        return not all(one.related for one in self.because) or added < WEAK * self.score

    @property
    def person(self) -> NeighborRating | None:
        """The person whom a sentence names: the first with a high rating who is connected to the user."""
        adding = [one for one in self.in_favor if one.value >= LEAST and self.words.is_high(one.rating)]
        if self.n_like_minded == 1:
            return adding[0] if adding else None
        return next((one for one in adding if one.alike), None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The strongest reasons as sentences: at most three."""
        return tuple(map(text_of, self.told()))

    def told(self, about: Any = None) -> tuple[Sentence, ...]:
        """Return the reasons in parts that name items and users, told to the user, or about a user."""
        return sentences.reasons(self, self.words if about is None else self.words.about(about))

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
        against, person = self.against[:1], self.person
        return {name: getattr(self, name) for name in named} | {
            "rated": self.rated,
            "reasons": list(self.reasons),
            "because": [one._asdict() for one in self.because],
            "weak": self.weak,
            "person": person and self._neighbor(person),
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
        words = self.words
        noun = words.one_of_yours
        rows = [
            (
                f"you {text_of(words.gave(Part(one.label), one.rating))}",
                f"{one.value:+.3f}",
                _relation(one, words),
            )
            for one in self.own[:n]
        ]
        own, users = _with(self.other_own, self.own[n:]), _with(self.other_users, self.neighbors[n:])
        if own["count"]:
            name = counted(own["count"], f"other {noun}" if rows else noun)
            rows.append((f"{name} of yours", f"{own['value']:+.3f}", ""))
        for one in self.neighbors[:n]:
            facts = [self._nearer_than(one.nearer_than), sentences.connection(one, words)]
            facts[1:] = [fact for fact in facts[1:] if fact] or ["nothing in common"] * (not one.n_common)
            name = f"{words.name(one.user)} {words.gave_it(one.rating)}"
            rows.append((name, f"{one.value:+.3f}", ", ".join(facts)))
        others = words.people(users["count"], "other")
        rows.append((others, f"{users['value']:+.3f}", sentences.votes(self, words)))
        sides = f"{self.item_side:.3f} from your {plural(noun)}, {self.user_side:.3f} from other people"
        return [*rows, ("score", f"{self.score:.3f}", sides)]

    def _nearer_than(self, share: float) -> str:
        about = "about " if self.estimated else ""
        return f"nearer to you than {about}{floor(100 * share)}% of {self.words.everybody}"


def member_reason(name: Any, explanation: RecommendationExplanation) -> str:
    """Return the strongest reason for one member of a group, without a full stop; "" if there is none."""
    e, words = explanation, explanation.words.about(name)
    if e.because:
        one = e.because[0]
        return f"{words.subject} {text_of(words.gave(Part(one.label), one.rating))}"
    if e.person is None:
        return ""
    link = sentences.connection(e.person, words) or f"is most like {words.subject}"
    return f"{words.name(e.person.user)}, who {link}, {words.gave_it(e.person.rating)}"


def recommended_lines(one: Recommendation | Any, place: int, words: Words) -> list[str]:
    """Return a recommended item and its reasons, one line each.

    The first line has the predicted rating, or for implicit feedback the place in the list.
    """
    number = f"{place:5d}." if one.rating is None else f"{one.rating:6.2f}"
    return [
        f"{number}  {one.title}  ({words.raters(one.n_ratings)})",
        *(f"        {why}" for why in one.reasons),
    ]


def _with(others: Others, more: Sequence[OwnRating | NeighborRating]) -> dict[str, Any]:
    """Return the sum of terms that are not listed, and of more."""
    return {"count": others.count + len(more), "value": others.value + sum(one.value for one in more)}


def _relation(one: OwnRating, words: Words) -> str:
    near = [] if one.distance is None else [f"distance {one.distance:.2f}"]
    liked = words.verb if words.implicit else "like"
    both = [f"{one.n_both:,} {liked} both, {one.lift:.1f} times as many as by chance"] if one.n_both else []
    return "; ".join([*near, *both, *["not related"] * (not one.related)])
