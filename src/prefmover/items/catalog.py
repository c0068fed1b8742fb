"""Catalog: titles, years and genres of items; the search for a title, and conditions such as "year<1990"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from prefmover._typing import Bools, Ids, Ints
from prefmover.data.file_options import find_column
from prefmover.data.ids import MISSING_ID, IdIndex, as_ids, frozen, show
from prefmover.errors import InputError, UnknownIdError, close_names

__all__ = ["Catalog", "Names", "parse_where", "parse_year", "plain_text", "plain_title", "split_year"]

YEAR = r"\s*(-?\d{1,9})(?:\.0*)?\s*"
DATE = r"\s*(?:(\d{4})-\d{1,2}(?:-\d{1,2})?(?:[T ].*)?|\d{1,2}[./]\d{1,2}[./](\d{4}))\s*"

ARTICLES = (
    "the|an|a|le|la|les|l|un|une|der|die|das|ein|eine|il|lo|i|gli|los|las|el|una|het|de|den|det|o|os|as"
)
TRAILING_ARTICLE = re.compile(rf"^(.*), ({ARTICLES})'?$")
LEADING_ARTICLE = re.compile(rf"^({ARTICLES}) (?=\S)")

CONDITION = re.compile(r"\s*([^<>=]*?[^<>=\s])\s*(<=|>=|[<>=])\s*(.*\S)\s*", re.DOTALL)
ALIASES = {"years": "year", "genres": "genre", "titles": "title"}


def plain_text(text: str) -> str:
    """Return a text as it is compared: no case, accents or punctuation.

    >>> plain_text("Amélie"), plain_text("ada-b"), plain_text("Fast & Furious"), plain_text("M*A*S*H")
    ('amelie', 'ada b', 'fast and furious', 'mash')
    """
    text = _folded(text).replace("&", " and ")
    return " ".join(re.sub(r"[\W_]+", " ", re.sub(r"['\u2019`\u00b4*.]", "", text)).split())


def plain_title(title: str) -> str:
    """Return a title as it is compared: a plain text without an article at its beginning or end.

    >>> plain_title("Shawshank Redemption, The"), plain_title("The Shawshank Redemption!")
    ('shawshank redemption', 'shawshank redemption')
    >>> plain_title("Misérables, Les"), plain_title("L'Avventura")
    ('miserables', 'avventura')
    """
    return LEADING_ARTICLE.sub("", _with_article(title))


def _with_article(title: str) -> str:
    title = re.sub(r"^l['\u2019](?=\w)", "l ", _folded(title).strip())
    return plain_text(TRAILING_ARTICLE.sub(r"\2 \1", title))


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in folded if not unicodedata.combining(c))


class Names:
    """Names that people search for: titles or ids. A year (0 for none) may be typed after its name.

    >>> names = Names(["Die Hard", "Hard", "Hardware", "M*A*S*H"], [1988, 0, 0, 0])
    >>> names.ranks("hard"), names.ranks("die"), names.ranks("hard 19"), names.ranks("*")
    ({0: 1, 1: 0, 2: 2}, {0: 2}, {0: 2}, {3: 3})
    """

    def __init__(self, names: Sequence[str], years: Iterable[int] | None = None) -> None:
        self._names, self._plain = names, list[tuple[str, str, str]]()
        for name, year in zip(names, years or [0] * len(names), strict=True):
            whole = _with_article(name)
            tail = f" {year}" if year else ""
            self._plain.append((whole, LEADING_ARTICLE.sub("", whole), tail))

    def ranks(self, text: str) -> dict[int, int]:
        """Return the entries that a text may mean, each with a rank, the lower the better.

        0: the name is the text. 1: it is, but for an article. 2: it begins with the text. 3: it contains it.
        Case, accents and punctuation do not matter, unless there is nothing else in the text.
        """
        whole = _with_article(text)
        if not whole:
            text = text.strip().casefold()
            names = [name.casefold() for name in self._names]
            return {k: 2 if name.startswith(text) else 3 for k, name in enumerate(names) if text in name}
        short = LEADING_ARTICLE.sub("", whole)
        ranks = {}
        for k, (one, other, tail) in enumerate(self._plain):
            if whole in (one, one + tail):
                ranks[k] = 0
            elif short in (other, other + tail):
                ranks[k] = 1
            elif (one + tail).startswith(whole) or (other + tail).startswith(short):
                ranks[k] = 2
            elif whole in one or short in other:
                ranks[k] = 3
        return ranks


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Catalog:
    """The items of a data set: id, title, year and genres of each.

    Everything but :meth:`position` works with positions in ``ids``.

    Parameters
    ----------
    ids : sequence of int or of str
        Ids, all different.
    titles : sequence of str
        Titles without the year.
    years : sequence of int, optional
        Years of release; 0 for an unknown year.
    genres : sequence of sequences of str, optional
        Genres of each item, possibly none.

    Examples
    --------
    >>> films = Catalog([7, 9], ["Alien", "Fargo"], [1979, 1996], [["Horror"], []])
    >>> films.find("fargo"), films.label(1)
    (1, 'Fargo (1996)')
    """

    ids: Ids
    titles: tuple[str, ...]
    years: Ints
    genres: tuple[tuple[str, ...], ...]
    _index: IdIndex = field(repr=False)

    def __init__(
        self,
        ids: Any,
        titles: Sequence[str],
        years: Sequence[int] | Ints | None = None,
        genres: Sequence[Sequence[str]] | None = None,
    ) -> None:
        years = [0] * len(ids) if years is None else years
        genres = [()] * len(ids) if genres is None else genres
        sizes = {len(ids), len(titles), len(years), len(genres)}
        if len(sizes) > 1:
            raise InputError(
                f"ids, titles, years and genres differ in length: {sorted(sizes)}; give one of each per item"
            )
        ids, year_array = as_ids(ids, "item"), frozen(np.array(years, dtype=np.int64))
        vars(self).update(ids=ids, titles=tuple(titles), years=year_array, genres=tuple(map(tuple, genres)))
        vars(self).update(_index=IdIndex("item", ids))  # not by assignment: the dataclass is frozen

    @classmethod
    def from_ids(cls, ids: Ids) -> Catalog:
        """Return a catalog in which the id of an item is its title."""
        return cls(ids, [str(item) for item in ids.tolist()])

    @classmethod
    def from_items(cls, items: Any) -> Catalog:
        """Return a catalog from ``{item: title}``, or from a frame with columns item and title.

        Columns year and genres (lists, or text such as ``"Drama|War"``) are used if they are there. An item
        without a title goes by its id. A catalog is returned as it is.

        >>> Catalog.from_items({7: "Alien", 9: "Fargo"}).labels
        ['Alien', 'Fargo']
        """
        if isinstance(items, Catalog):
            return items
        if isinstance(items, Mapping):
            return cls(list(items), _titles(items, map(_value, items.values())))
        import narwhals as nw

        try:
            frame: Any = nw.from_native(items, eager_only=True)
        except TypeError:
            raise InputError(
                f"expected {{item: title}} or a data frame of items, got {type(items).__name__}"
            ) from None
        for name in ("item", "title"):
            find_column(name, frame.columns, name, "the frame of items")
        ids, titles, values, genres = (
            _values(frame[name]) if name in frame.columns else []
            for name in ("item", "title", "year", "genres")
        )
        years = [parse_year(value) for value in values]
        if None in years:
            k = years.index(None)
            wrong = f"the year of item {show(ids[k])} in the frame of items is {values[k]!r}"
            raise InputError(f"{wrong}; give a number")
        titles, lists = _titles(ids, titles), [_genres(some) for some in genres]
        return cls(ids, titles, [year or 0 for year in years] or None, lists or None)

    def extended(self, other: Catalog) -> Catalog:
        """Return this catalog with the items of another one after it."""
        return Catalog(
            as_ids([*self.ids.tolist(), *other.ids.tolist()], "item"),
            [*self.titles, *other.titles],
            np.concatenate([self.years, other.years]),
            [*self.genres, *other.genres],
        )

    def aligned(self, ids: Ids) -> Catalog:
        """Return the catalog of these items, in this order; the title of an unknown item is its id."""
        if ids is self.ids or np.array_equal(ids, self.ids):
            return self
        positions = self._index.get(ids).tolist()
        return Catalog(
            ids,
            [self.titles[k] if k >= 0 else str(id_) for k, id_ in zip(positions, ids.tolist(), strict=True)],
            [int(self.years[k]) if k >= 0 else 0 for k in positions],
            [self.genres[k] if k >= 0 else () for k in positions],
        )

    def has(self, ids: Ids) -> Bools:
        """Return which ids are in the catalog."""
        return self._index.get(ids) >= 0

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.ids)

    def __repr__(self) -> str:
        first = f", the first {self.label(0)!r}" if len(self) else ""
        return f"Catalog({len(self):,} items{first})"

    def position(self, item: Any) -> int:
        """Return the position of an item id."""
        return self._index.position(item)

    def label(self, position: int) -> str:
        """Return title and year of the item at a position."""
        return self.labels[position]

    @cached_property
    def labels(self) -> list[str]:
        """Title and year of every item."""
        return [f"{t} ({y})" if y else t for t, y in zip(self.titles, self.years.tolist(), strict=True)]

    @cached_property
    def plain_titles(self) -> list[str]:
        """Titles as they are compared: :func:`plain_title`."""
        return [plain_title(title) for title in self.titles]

    def matching(self, where: Mapping[str, Any]) -> Bools:
        """Return which items meet all conditions, by column.

        ``year``
            A year, ``(lowest, highest)`` with None for an open end, or a list of years. Items without a year
            are out.
        ``genre``
            A genre or a list of which an item has one, in any case.
        ``title``
            A text that the title contains, or a list of which it contains one; compared by
            :func:`plain_title`.

        >>> films = Catalog([7, 9], ["Alien", "Fargo"], [1979, 1996], [["Horror"], []])
        >>> films.matching({"year": (None, 1980), "genre": "horror"})
        array([ True, False])
        """
        if not isinstance(where, Mapping):
            raise InputError(
                f'where is of type {type(where).__name__}; give a dictionary, such as {{"year": 1994}}'
            )
        tests = {"year": _in_years, "genre": _has_genre, "title": _in_title}
        mask = np.ones(len(self), dtype=bool)
        for name, value in where.items():
            column = ALIASES.get(str(name).casefold(), str(name).casefold())
            if column not in tests:
                raise InputError(f"where: there is no column {name!r}; the columns are {', '.join(tests)}")
            mask &= tests[column](self, value)
        return mask

    @cached_property
    def _names(self) -> Names:
        return Names(self.titles, self.years.tolist())

    def ranks(self, text: str) -> dict[int, int]:
        """Return the positions of titles that a text may mean, with ranks (:meth:`Names.ranks`).

        A year in parentheses at the end of the text must be that of the item.
        """
        title, year = split_year(text)
        return {k: rank for k, rank in self._names.ranks(title).items() if year in (0, self.years[k])}

    def search(self, text: str) -> list[int]:
        """Return the positions of titles that a text may mean, the best first."""
        ranks = self.ranks(text)
        return sorted(ranks, key=ranks.__getitem__)

    def find(self, text: str) -> int:
        """Return the position of the one item whose title or id matches the text.

        :class:`~prefmover.errors.InputError` lists the candidates if there are several, and similar titles
        if there is none.
        """
        ranks = self.ranks(text) if text.strip() else {}
        hits = [k for k, rank in ranks.items() if rank == min(ranks.values())]
        if len(hits) == 1:
            return hits[0]
        for id_ in (text, text.strip()):
            with suppress(UnknownIdError):
                return self._index.position(id_, from_text=True)
        if hits:
            named = "; ".join(f"{self.label(k)} [{self.ids[k]}]" for k in hits[:8])
            more = f" and {len(hits) - 8} more" if len(hits) > 8 else ""
            raise InputError(f"{text!r} may be {named}{more}; add the year, or give the id in brackets")
        close = close_names(text, self.titles)
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise UnknownIdError(f"no title among {len(self):,} items is, begins with or contains {text!r}{hint}")


def _value(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value


def _values(column: Any) -> list[Any]:
    both = zip(column.to_list(), column.is_null().to_list(), strict=True)
    return [None if missing else _value(value) for value, missing in both]


def _titles(ids: Iterable[Any], titles: Iterable[Any]) -> list[str]:
    return [str(id_ if title is None else title) for id_, title in zip(ids, titles, strict=True)]


def parse_year(value: Any) -> int | None:
    """Return the year in a number, a text or a date; 0 if it is empty, None if it is no year.

    >>> [parse_year(value) for value in (1979, "1979", "1979.0", "1979-05-25", "", None, "old")]
    [1979, 1979, 1979, 1979, 0, 0, None]
    """
    text = "" if value is None else str(value).strip()
    if not text or re.match(MISSING_ID, text):
        return 0
    match = re.fullmatch(YEAR, text) or re.fullmatch(DATE, text)
    return int(next(filter(None, match.groups()))) if match else None


def _genres(genres: Any) -> list[str]:
    if isinstance(genres, str):
        return [genre.strip() for genre in genres.split("|") if genre.strip()]
    return [] if genres is None else list(genres)


def split_year(text: str) -> tuple[str, int]:
    """Return a title without the year in parentheses at its end, and the year (0 if there is none).

    >>> split_year("2001: A Space Odyssey (1968)")
    ('2001: A Space Odyssey', 1968)
    >>> split_year("unknown")
    ('unknown', 0)
    """
    text = text.strip()
    match = re.search(r"\((\d{4})(?:[-\u2013]\d{0,4})?\)$", text)
    title = text[: match.start()].rstrip() if match else ""
    return (title, int(match[1])) if match and title else (text, 0)


def parse_where(texts: str | Sequence[str]) -> dict[str, Any]:
    """Return conditions that were typed as COLUMN=VALUE, or year>=VALUE; all of them must hold.

    >>> parse_where(["year=1980..1999", "genre=Horror|Thriller"])
    {'year': (1980, 1999), 'genre': ['Horror', 'Thriller']}
    >>> parse_where("year=1994"), parse_where("year=..1960"), parse_where("title=star")
    ({'year': [1994]}, {'year': (None, 1960)}, {'title': ['star']})
    >>> parse_where("year >= 1990"), parse_where("year<1960")
    ({'year': (1990, None)}, {'year': (None, 1959)})
    """
    where: dict[str, Any] = {}
    for text in [texts] if isinstance(texts, str) else texts:
        match = CONDITION.fullmatch(text)
        if match is None:
            raise InputError(f"{text!r} is not a condition; give COLUMN=VALUE, such as genre=Horror|Thriller")
        column, sign, value = match.groups()
        column = ALIASES.get(column.casefold(), column.casefold())
        if sign != "=" and column != "year":
            raise InputError(f"{text!r}: {sign} is for years; give {column}={value}")
        if column in where:
            raise InputError(f"there are two conditions on {column}; give one, such as {column}={value}|...")
        where[column] = (
            _typed_years(value, sign) if column == "year" else [one.strip() for one in value.split("|")]
        )
    return where


def _typed_years(text: str, sign: str) -> Any:
    """Return the years in "1980..1999", "1980..", "..1999" or "1994|1995"; or those before or after one."""
    try:
        if sign != "=":
            year = int(text) + {">": 1, "<": -1}.get(sign, 0)
            return (year, None) if sign.startswith(">") else (None, year)
        if ".." in text:
            low, high = (int(end) if end.strip() else None for end in text.split(".."))
            return (low, high)
        return [int(part) for part in text.split("|")]
    except ValueError:
        raise InputError(
            f"year is {text!r}; give a year (1994), a range (1980..1999), or 1994|1996"
        ) from None


def _in_years(catalog: Catalog, value: Any) -> Bools:
    if not catalog.years.any():
        raise InputError("where: no item has a year; leave the condition on year out")
    known = catalog.years != 0
    if isinstance(value, tuple) and len(value) == 2:
        low, high = (None if end is None else _year(end) for end in value)
        if low is not None and high is not None and low > high:
            raise InputError(f"where: year is from {low} to {high}; give the earlier year first")
        ends = (-np.inf if low is None else low, np.inf if high is None else high)
        return np.asarray(known & (catalog.years >= ends[0]) & (catalog.years <= ends[1]))
    several = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    return np.asarray(known & np.isin(catalog.years, [_year(one) for one in several]))


def _year(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"where: {value!r} is not a year; give 1994, (1980, 1999) or a list of years")
    return int(value)


def _has_genre(catalog: Catalog, value: Any) -> Bools:
    genres = sorted({genre for some in catalog.genres for genre in some})
    if not genres:
        raise InputError("where: no item has a genre; leave the condition on genre out")
    known = {genre.casefold() for genre in genres}
    wanted = [text.strip().casefold() for text in _texts(value, "genre")]
    for one in wanted:
        if one not in known:
            close = close_names(one, genres) or genres[:12]
            raise InputError(f"where: no item has the genre {one!r}; there are {', '.join(map(repr, close))}")
    return np.array([any(g.casefold() in wanted for g in some) for some in catalog.genres], dtype=bool)


def _in_title(catalog: Catalog, value: Any) -> Bools:
    wanted = [plain_title(text) for text in _texts(value, "title")]
    if not all(wanted):
        raise InputError(f"where: title is {value!r}; give some letters or digits of it")
    return np.array([any(one in title for one in wanted) for title in catalog.plain_titles], dtype=bool)


def _texts(value: Any, column: str) -> list[str]:
    listed = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    if not listed or not all(isinstance(one, str) and one.strip() for one in listed):
        raise InputError(f"where: {column} is {value!r}; give a text, or a list of texts")
    return listed
