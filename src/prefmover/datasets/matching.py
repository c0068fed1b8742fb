"""Matching the items of two catalogs by title and year.

ml-100k has different ids than the other MovieLens data sets, so tags and genome rows, which have MovieLens
ids, are matched by title.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from prefmover.items.catalog import Catalog, plain_title

__all__ = ["match"]

MIN_SIMILARITY = 0.88  # similarity of two spellings of one title; sequels are below it
NUMBER = r"\d+|\b[ivx]+\b"
MAX_YEARS = 2  # years by which catalogs may disagree about a release


def match(here: Catalog, there: Catalog) -> dict[Any, Any]:
    """Return the counterparts of items in another catalog, by id; items without one are left out.

    A title is compared with and without the text in its parentheses ("Seven (a.k.a. Se7en)"), without
    case, accents, punctuation and articles. In order: same title and year; same title, and years that differ
    by one or two; same year, and one title is a part of the other between colons or dashes ("Star Wars:
    Episode IV - A New Hope"); same year and nearly the same spelling; same title, and one has no year. Of
    several candidates, the one nearest in year, then in spelling, then in genres, then with the smallest id
    is the match.

    >>> a = Catalog([1, 2], ["Shining, The", "Solaris"], [1980, 1999], [[], []])
    >>> b = Catalog([70, 80, 90], ["The Shining", "Solaris", "Solaris"], [1980, 1972, 2002], [[], [], []])
    >>> match(a, b)
    {1: 70}
    """
    ids_there, years = there.ids.tolist(), there.years.tolist()
    names_there = [tuple(title_names(title)) for title in there.titles]
    parts_there = [set(title_parts(title)) for title in there.titles]
    by_title: dict[str, set[int]] = defaultdict(set)
    by_year: dict[int, set[int]] = defaultdict(set)
    for k, year in enumerate(years):
        by_year[year].add(k)
        for name in names_there[k]:
            by_title[name].add(k)

    def candidates(title: str, names: tuple[str, ...], year: int) -> set[int]:
        """Return the positions of the candidates by the first rule that has any."""
        same = {k for name in names for k in by_title.get(name, ())}
        same_year = by_year.get(year, set()) if year else set()
        parts = set(title_parts(title))
        return (
            same & same_year
            or {k for k in same if year and abs(years[k] - year) <= MAX_YEARS}
            or {k for k in same_year if parts & set(names_there[k]) or parts_there[k] & set(names)}
            or {k for k in same_year if _similarity(names, names_there[k]) >= MIN_SIMILARITY}
            or {k for k in same if not (year and years[k])}
        )

    matches = {}
    columns = zip(here.ids.tolist(), here.titles, here.years.tolist(), here.genres, strict=True)
    for item, title, year, genres in columns:
        names = tuple(title_names(title))
        ranks = []
        for k in candidates(title, names, year):
            similarity, n_genres = _similarity(names, names_there[k]), len({*genres} & {*there.genres[k]})
            ranks.append((abs(year - years[k]), -similarity, -n_genres, ids_there[k]))
        if ranks:
            matches[item] = min(ranks)[-1]
    return matches


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


def _similarity(names: tuple[str, ...], others: tuple[str, ...]) -> float:
    """Return the similarity of two spellings, 0 to 1; 0 if their numbers differ (sequels)."""
    best = 0.0
    for a in names:
        for b in others:
            if re.findall(NUMBER, a) == re.findall(NUMBER, b):
                matcher = SequenceMatcher(None, a.replace(" ", ""), b.replace(" ", ""), autojunk=False)
                if matcher.quick_ratio() > best:
                    best = max(best, matcher.ratio())
    return best
