"""How explanations speak: the nouns and the verb of a data set, and what people gave to items.

A sentence is a tuple of :class:`Part`. Those that name an item or a user carry its id, so that a page can
make links of them; the text is that of all parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from prefmover._format import counted, plural
from prefmover.data.scale import Scale

if TYPE_CHECKING:
    from prefmover.dataset import Dataset

__all__ = ["Part", "Sentence", "Words", "listed", "sentence", "text_of"]

YOU = "you"
STARS = Scale(1, 5, 1)


class Part(NamedTuple):
    """A part of a sentence.

    Attributes
    ----------
    text
        What it says.
    item, user
        The id of the item or of the user that it names; None if it names none.
    """

    text: str
    item: Any = None
    user: Any = None


Sentence = tuple[Part, ...]


def sentence(*parts: str | Part | Iterable[Part]) -> Sentence:
    """Return a sentence of texts, parts and other sentences; texts that follow each other are one part.

    >>> sentence("because ", "you liked ", [Part("Heat", item=3)])
    (Part(text='because you liked ', item=None, user=None), Part(text='Heat', item=3, user=None))
    """
    found: list[Part] = []
    for part in parts:
        if isinstance(part, str):
            part = Part(part)
        for one in [part] if isinstance(part, Part) else part:
            if found and (one.item, one.user, found[-1].item, found[-1].user) == (None,) * 4:
                one = Part(found.pop().text + one.text)
            found.append(one)
    return tuple(found)


def text_of(parts: Sentence) -> str:
    """Return the text of a sentence."""
    return "".join(part.text for part in parts)


def listed(parts: Sequence[Sentence]) -> Sentence:
    """Return "a", "a and b" or "a, b and c"."""
    commas = [one for part in parts[:-1] for one in (", ", part)][1:]
    return sentence(*commas, " and ", parts[-1]) if commas else sentence(*parts)


@dataclass(frozen=True, slots=True)
class Words:
    """The words for a data set, and for the person that an explanation is about.

    Attributes
    ----------
    scale
        The scale of what people gave: ratings, counts or choices (:attr:`~prefmover.data.Scale.kind`).
    user_noun, item_noun, verb
        As in :class:`~prefmover.Dataset`.
    usual
        A usual count, which stands for "liked it" if guests give none, and is not said; None for all others.
    subject
        The person: "you", or a name.

    Examples
    --------
    >>> plays = Words(Scale(1, 17, 0, implicit=True), "listener", "artist", "played")
    >>> text_of(plays.gave(Part("Moby"), 7.0)), plays.people(40), plays.it
    ('played Moby 127 times', '40 listeners', 'this artist')
    >>> text_of(Words().gave(Part("Alien"), 4.5)), Words().people(1), Words().name(7)
    ('gave Alien 4.5', '1 person', 'user 7')
    """

    scale: Scale = STARS
    user_noun: str = "user"
    item_noun: str = "item"
    verb: str = "rated"
    usual: float | None = None
    subject: str = YOU

    @classmethod
    def of(cls, data: Dataset, *, guest: bool = False) -> Self:
        """Return the words for a data set; a guest may have given the usual count to say "liked it"."""
        usual = data.ratings.usual_count if guest and data.ratings.scale.kind == "counts" else None
        return cls(data.ratings.scale, data.user_noun, data.item_noun, data.verb, usual)

    def about(self, subject: Any) -> Self:
        """Return the words for explanations about a person who is not spoken to."""
        return replace(self, subject=self.name(subject))

    @property
    def implicit(self) -> bool:
        """Whether people did something, so that there are no opinions."""
        return self.scale.implicit

    def is_high(self, rating: float) -> bool:
        """Whether a rating is above the middle of the scale, so that it convinces somebody as a reason."""
        return self.implicit or rating > self.scale.middle

    @property
    def do(self) -> str:
        """The verb in "as you do"."""
        return "do" if self.subject == YOU else "does"

    @property
    def like(self) -> str:
        """The verb in "as you like it"."""
        return "like" if self.subject == YOU else "likes"

    @property
    def it(self) -> str:
        """The recommended item. A film that is rated is "it"; an artist who is played is "this artist"."""
        return f"this {self.item_noun}" if self.implicit and self.item_noun != "item" else "it"

    @property
    def liked_it(self) -> str:
        """What somebody did who likes an item."""
        return f"{self.verb} {self.it}" if self.implicit else "liked it"

    @property
    def did(self) -> str:
        """What somebody did with an item, before its title."""
        return self.verb if self.implicit else "gave"

    @property
    def one_of_yours(self) -> str:
        """What one of a person's is called: a rating; or, of implicit feedback, an artist."""
        return self.item_noun if self.implicit else "rating"

    def people(self, n: int, adjective: str = "") -> str:
        """Return a number of people, such as "40 viewers" or "1 other person"."""
        return f"{n:,} {adjective}{' ' if adjective else ''}{self.person if n == 1 else self.everybody}"

    @property
    def person(self) -> str:
        """One of the people."""
        return "person" if self.user_noun == "user" else self.user_noun

    @property
    def everybody(self) -> str:
        """The people."""
        return "people" if self.user_noun == "user" else plural(self.user_noun)

    def name(self, user: Any) -> str:
        """Return the name of a user: the id, with a noun if it is a number.

        >>> Words().name("ann"), Words().name(12)
        ('ann', 'user 12')
        """
        return f"{self.user_noun} {user}" if str(user).isdigit() else str(user)

    def user(self, user: Any) -> Part:
        """Return a user's name as part of a sentence."""
        return Part(self.name(user), user=user)

    def times(self, strength: float) -> str:
        """Return what was given: "4.5", "127 times", or "" if it is no more than a like."""
        kind = self.scale.kind
        if kind == "ratings":
            return f"{strength:g}"
        count = float(self.scale.counts(np.array([strength]))[0])
        if kind == "choices" or count == self.usual:
            return ""
        if count != round(count):
            return f"({count:,.3g})"
        return {1: "once", 2: "twice"}.get(int(count), counted(int(count), "time"))

    def given(self, what: Part, strength: float) -> Sentence:
        """Return an item with what was given: "Alien 4.5", "Moby 127 times", "Blink 182 (twice)"."""
        times = self.times(strength)
        if times and what.text[-1].isdigit():  # two numbers would read as one
            times = f"({times.strip('()')})"
        return sentence(what, f" {times}" if times else "")

    def gave(self, what: Part, strength: float) -> Sentence:
        """Return what somebody did: "gave Alien 4.5", "played Moby 127 times", "chose Alien"."""
        return sentence(f"{self.did} ", self.given(what, strength))

    def gave_it(self, strength: float) -> str:
        """Return what somebody gave to the recommended item."""
        return text_of(self.gave(Part(self.it), strength))

    def raters(self, n: int) -> str:
        """Return how many people an item has: "106 ratings", "12 listeners played it"."""
        return f"{self.people(n)} {self.liked_it}" if self.implicit else counted(n, "rating")
