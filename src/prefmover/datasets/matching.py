"""Matching the items of two catalogs by title and year.

ml-100k has different ids than the other MovieLens data sets, so tags and genome rows, which have MovieLens
ids, are matched by title. So are the ratings that people export from other sites.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from prefmover._typing import Progress
from prefmover.items.catalog import Catalog, plain_title

__all__ = ["TitleIndex", "match"]

MIN_SIMILARITY = 0.88  # similarity of two spellings of one title; sequels are below it
NUMBER = re.compile(r"\d+|\b[ivx]+\b")
MAX_YEARS = 2  # years by which catalogs may disagree about a release
MOST_NAMES = 4  # names of one title: the text before parentheses, and in them
AT_ONCE = 256  # names that are compared with a group in one step

Names: TypeAlias = tuple[str, ...]
Group: TypeAlias = tuple[int, Names]
"""A year, and the numbers in a name. Only spellings of one group are compared: sequels differ in a number."""


def match(here: Catalog, there: Catalog) -> dict[Any, Any]:
    """Return the counterparts of items in another catalog, by id: :meth:`TitleIndex.match`.

    >>> a = Catalog([1, 2], ["Shining, The", "Solaris"], [1980, 1999], [[], []])
    >>> b = Catalog([70, 80, 90], ["The Shining", "Solaris", "Solaris"], [1980, 1972, 2002], [[], [], []])
    >>> match(a, b)
    {1: 70}
    """
    return TitleIndex(there).match(here)


class TitleIndex:
    """The titles of a catalog, among which those of another one are found."""

    def __init__(self, catalog: Catalog) -> None:
        self._ids, self._years, self._genres = catalog.ids.tolist(), catalog.years.tolist(), catalog.genres
        self._names = [_names(title) for title in catalog.titles]
        self._by_name: dict[str, set[int]] = defaultdict(set)
        self._by_part: dict[str, set[int]] = defaultdict(set)
        self._spellings: dict[Group, list[tuple[str, int]]] = defaultdict(list)
        for k, title in enumerate(catalog.titles):
            for part in title_parts(title):
                self._by_part[part].add(k)
            for name in self._names[k]:
                self._by_name[name].add(k)
                self._spellings[self._years[k], _numbers(name)].append((name.replace(" ", ""), k))

    def match(self, catalog: Catalog, progress: Progress = lambda done, total: None) -> dict[Any, Any]:
        """Return the counterparts of the items of another catalog, by id; those without one are left out.

        A title is compared with and without the text in its parentheses ("Seven (a.k.a. Se7en)"), without
        case, accents, punctuation and articles. In order: same title and year; same title, and years that
        differ by one or two; same year, and one title is a part of the other between colons or dashes ("Star
        Wars: Episode IV - A New Hope"); same year and nearly the same spelling; same title, and one has no
        year. Of several candidates, the one nearest in year, then in spelling, then in genres, then with the
        smallest id is the match.

        Two spellings of m and n letters, with a longest common subsequence of l, have the similarity
        2l / (m + n). ``progress`` is called between steps, which take milliseconds.
        """
        years, names, found = catalog.years.tolist(), list[Names](), list[set[int]]()
        for k, title in enumerate(catalog.titles):
            progress(k, len(catalog))
            names.append(_names(title))
            found.append(self._same(title, names[k], years[k]))
        asked: dict[Group, list[tuple[str, int]]] = defaultdict(list)
        for k in (k for k, some in enumerate(found) if years[k] and not some):
            for name in names[k]:
                asked[years[k], _numbers(name)].append((name.replace(" ", ""), k))
        for k, there in self._similar(asked, progress):
            found[k].add(there)
        matches = {}
        for k, item in enumerate(catalog.ids.tolist()):
            some = found[k] or {n for n in self._titled(names[k]) if not (years[k] and self._years[n])}
            if some:
                key = self._order(names[k], years[k], {*catalog.genres[k]})
                matches[item] = self._ids[min(some, key=key)]
        return matches

    def _titled(self, names: Iterable[str]) -> set[int]:
        return {k for name in names for k in self._by_name.get(name, ())}

    def _same(self, title: str, names: Names, year: int) -> set[int]:
        """Return the items with the same title, or a part of it, and about the same year."""
        if not year:
            return set()
        same = self._titled(names)
        parts = self._titled(title_parts(title)).union(*(self._by_part.get(name, ()) for name in names))
        return (
            {k for k in same if self._years[k] == year}
            or {k for k in same if abs(self._years[k] - year) <= MAX_YEARS}
            or {k for k in parts if self._years[k] == year}
        )

    def _similar(
        self, asked: dict[Group, list[tuple[str, int]]], progress: Progress
    ) -> Iterator[tuple[int, int]]:
        """Yield pairs of a title and an item with nearly the same spelling, given spellings by group."""
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cdist

        for group in asked.keys() & self._spellings.keys():
            queries, (spellings, items) = asked[group], zip(*self._spellings[group], strict=True)
            for first in range(0, len(queries), AT_ONCE):
                progress(first, len(queries))
                texts, titles = zip(*queries[first : first + AT_ONCE], strict=True)
                table = cdist(
                    texts, spellings, scorer=Indel.normalized_similarity, score_cutoff=MIN_SIMILARITY
                )
                table[table < table.max(axis=1, keepdims=True)] = 0.0  # the nearest, and those as near
                for row, column in zip(*np.nonzero(table), strict=True):
                    yield titles[row], items[column]

    def _order(self, names: Names, year: int, genres: set[str]) -> Any:
        """Return a key by which the best counterpart of a title comes first."""

        def key(k: int) -> tuple[float, float, int, Any]:
            n_genres = len(genres & {*self._genres[k]})
            return abs(year - self._years[k]), -_similarity(names, self._names[k]), -n_genres, self._ids[k]

        return key


def _names(title: str) -> Names:
    return tuple(islice(title_names(title), MOST_NAMES))


def _numbers(name: str) -> Names:
    return tuple(NUMBER.findall(name))


def title_names(title: str) -> Iterator[str]:
    """Yield the names in a title: the title without parentheses, and the content of each parenthesis.

    >>> list(title_names("City of Lost Children, The (Cité des enfants perdus, La)"))
    ['city of lost children', 'cite des enfants perdus']
    >>> list(title_names("Seven (a.k.a. Se7en)"))
    ['seven', 'se7en']
    """
    brackets = re.findall(r"\(([^()]*)\)", title)
    outer = re.sub(r"\([^()]*\)", " ", title).strip()
    names = set()
    inner = [name for b in brackets for name in re.split(r"(?:^|,)\s*a\.?k\.?a\.?:?\s+", b)]
    for name in (outer, *inner):
        plain = plain_title(name)
        if plain and plain not in names and not re.fullmatch(r"\d{4}", plain):
            names.add(plain)
            yield plain


def title_parts(title: str) -> Iterator[str]:
    """Yield the parts of a title between colons and dashes, if it has several.

    >>> list(title_parts("Star Wars: Episode V - The Empire Strikes Back"))
    ['star wars', 'episode v', 'empire strikes back']
    """
    parts = re.split(r":\s|\s-\s", re.sub(r"\([^()]*\)", " ", title))
    if len(parts) > 1:
        yield from (plain for part in parts if len(plain := plain_title(part)) > 5)


def _similarity(names: Names, others: Names) -> float:
    """Return the similarity of two titles, 0 to 1: that of their nearest names with the same numbers."""
    from rapidfuzz.distance import Indel

    return max(
        (
            Indel.normalized_similarity(a.replace(" ", ""), b.replace(" ", ""))
            for a in names
            for b in others
            if _numbers(a) == _numbers(b)
        ),
        default=0.0,
    )
