"""Catalog: titles, years and genres of items, and finding an item by its title."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover.data.ids import IdIndex, Ids, as_ids, close_names
from prefmover.errors import InputError

__all__ = ["Catalog", "plain_title", "split_year"]

ARTICLES = (
    "the|an|a|le|la|les|l|un|une|der|die|das|ein|eine|il|lo|i|gli|los|las|el|una|het|de|den|det|o|os|as"
)
TRAILING_ARTICLE = re.compile(rf"^(.*), ({ARTICLES})'?$")
LEADING_ARTICLE = re.compile(rf"^({ARTICLES}) (?=\S)")


def plain_title(title: str) -> str:
    """Return a title as it is compared: no case, accents, punctuation or article.

    >>> plain_title("Shawshank Redemption, The"), plain_title("The Shawshank Redemption!")
    ('shawshank redemption', 'shawshank redemption')
    >>> plain_title("Misérables, Les"), plain_title("Fast & Furious"), plain_title("M*A*S*H")
    ('miserables', 'fast and furious', 'mash')
    """
    text = unicodedata.normalize("NFKD", title).casefold()
    text = "".join(c for c in text if not unicodedata.combining(c)).replace("&", " and ").strip()
    text = re.sub(r"^l['\u2019](?=\w)", "", text)
    text = re.sub(r"['\u2019`\u00b4*.]", "", TRAILING_ARTICLE.sub(r"\2 \1", text))
    text = " ".join(re.sub(r"[\W_]+", " ", text).split())
    return LEADING_ARTICLE.sub("", text)


@dataclass(frozen=True, slots=True, eq=False)
class Catalog:
    """The items of a data set: id, title, year and genres of each.

    Parameters
    ----------
    ids : sequence of int or of str
        Ids, all different.
    titles : sequence of str
        Titles without the year.
    years : sequence of int
        Year of release; 0 if it is not known.
    genres : sequence of sequences of str
        Genres of each item, possibly none.

    Examples
    --------
    >>> films = Catalog([7, 9], ["Alien", "Fargo"], [1979, 1996], [["Horror"], []])
    >>> films.label(7)
    'Alien (1979)'
    >>> films.find("alien")
    7
    """

    ids: Ids
    titles: tuple[str, ...]
    years: npt.NDArray[np.int64]
    genres: tuple[tuple[str, ...], ...]
    _index: IdIndex = field(init=False, repr=False)

    def __init__(
        self,
        ids: Any,
        titles: Sequence[str],
        years: Sequence[int] | npt.NDArray[np.int64],
        genres: Sequence[Sequence[str]],
    ) -> None:
        sizes = {len(ids), len(titles), len(years), len(genres)}
        if len(sizes) > 1:
            raise InputError(f"ids, titles, years and genres differ in length: {sorted(sizes)}")
        year_array = np.array(years, dtype=np.int64)
        year_array.flags.writeable = False
        fields = {
            "ids": as_ids(ids, "item"),
            "titles": tuple(titles),
            "years": year_array,
            "genres": tuple(tuple(g) for g in genres),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_index", IdIndex("item", self.ids))

    @classmethod
    def from_ids(cls, ids: Ids) -> Catalog:
        """Return a catalog in which every item is called by its id."""
        return cls(ids, [str(item) for item in ids.tolist()], [0] * len(ids), [()] * len(ids))

    def aligned(self, ids: Ids) -> Catalog:
        """Return the catalog of exactly these items, in this order; an item it lacks is called by its id."""
        if ids is self.ids:
            return self
        at = self._index.get(ids)
        known = at >= 0
        return Catalog(
            ids,
            [
                self.titles[k] if k >= 0 else str(item)
                for k, item in zip(at.tolist(), ids.tolist(), strict=True)
            ],
            np.where(known, self.years[at], 0) if len(self) else np.zeros(len(ids), np.int64),
            [self.genres[k] if k >= 0 else () for k in at.tolist()],
        )

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.ids)

    def __repr__(self) -> str:
        """How many items, and the first of them."""
        first = f", the first {self.label(self.ids[0])!r}" if len(self) else ""
        return f"Catalog({len(self):,} items{first})"

    def index(self, item: Any) -> int:
        """Return the position of an item id."""
        return self._index.position(item)

    def label(self, item: Any) -> str:
        """Return title and year of an item, for people."""
        k = self.index(item)
        return f"{self.titles[k]} ({self.years[k]})" if self.years[k] else self.titles[k]

    def labels(self) -> dict[Any, str]:
        """Return title and year by item id, for people."""
        return {item: self.label(item) for item in self.ids.tolist()}

    def search(self, text: str) -> list[Any]:
        """Return the ids whose title is ``text``, or else begins with it, or else contains it.

        Case, accents, punctuation and articles do not count; a year in brackets at the end does.
        """
        title, year = split_year(text)
        wanted = plain_title(title)
        plain = [plain_title(t) for t in self.titles]
        right_year = [not year or y == year for y in self.years.tolist()]
        tests: tuple[Callable[[str], bool], ...] = (
            lambda t: t == wanted,
            lambda t: t.startswith(wanted),
            lambda t: wanted in t,
        )
        for test in tests:
            hits = [k for k, t in enumerate(plain) if wanted and right_year[k] and test(t)]
            if hits:
                found: list[Any] = self.ids[hits].tolist()
                return found
        return []

    def find(self, text: str) -> Any:
        """Return the id of the one item that ``text`` (a title, or an id) means.

        :class:`~prefmover.errors.InputError` lists the candidates when there are several, and titles
        that look similar when there is none.
        """
        hits = self.search(text)
        if len(hits) == 1:
            return hits[0]
        same_id = [i for i in self.ids.tolist() if str(i) == text.strip()]
        if same_id:
            return same_id[0]
        if hits:
            named = "; ".join(f"{self.label(i)} [{i}]" for i in hits[:8])
            more = f" and {len(hits) - 8} more" if len(hits) > 8 else ""
            raise InputError(f"{text!r} may be {named}{more}; add the year, or give the id in brackets")
        close = close_names(text, self.titles)
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise InputError(f"no title among {len(self):,} items is, begins with or contains {text!r}{hint}")


def split_year(text: str) -> tuple[str, int]:
    """Return a title without the year in brackets at its end, and the year (0 if there is none).

    >>> split_year("2001: A Space Odyssey (1968)")
    ('2001: A Space Odyssey', 1968)
    >>> split_year("unknown")
    ('unknown', 0)
    """
    found = re.fullmatch(r"\s*(.*?)\s*\((\d{4})(?:[-\u2013]\d{0,4})?\)\s*", text, re.DOTALL)
    return (found[1], int(found[2])) if found and found[1] else (text.strip(), 0)
