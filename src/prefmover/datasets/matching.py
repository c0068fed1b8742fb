"""Matching the items of two catalogs by title and year.

ml-100k has different ids than the other MovieLens data sets, so tags and genome rows, which have MovieLens
ids, are matched by title.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from prefmover.items.catalog import Catalog, plain_title

__all__ = ["Matches", "match"]

MIN_SIMILARITY = 0.88  # of two spellings of one title; sequels are below it
NUMBER = r"\d+|\b[ivx]+\b"
MAX_YEARS = 2  # by which catalogs may disagree about a release


@dataclass(frozen=True, slots=True)
class Matches:
    """Items with one counterpart, with several, and with none.

    Attributes
    ----------
    matched : dict
        Id here -> id there.
    by : dict
        Id here -> the rule of the match, such as ``"title and year"``.
    ambiguous : dict
        Id here -> ids there between which title and year do not decide; the match is the first.
    unmatched : list
        Ids without a counterpart.
    """

    matched: dict[Any, Any]
    by: dict[Any, str]
    ambiguous: dict[Any, list[Any]]
    unmatched: list[Any]

    @property
    def share(self) -> float:
        """The share of items with a counterpart."""
        total = len(self.matched) + len(self.unmatched)
        return len(self.matched) / total if total else 0.0

    def __str__(self) -> str:
        """Return the numbers of matches by rule."""
        rules: dict[str, int] = defaultdict(int)
        for rule in self.by.values():
            rules[rule] += 1
        by = ", ".join(f"{n:,} by {rule}" for rule, n in rules.items())
        total = len(self.matched) + len(self.unmatched)
        return (
            f"{len(self.matched):,} of {total:,} items matched ({self.share:.1%}): {by}; "
            f"{len(self.ambiguous):,} ambiguous, {len(self.unmatched):,} without a match"
        )


def match(here: Catalog, there: Catalog) -> Matches:
    """Return, for the items of one catalog, their counterparts in another.

    A title is compared with and without the text in its parentheses ("Seven (a.k.a. Se7en)"), without
    case, accents, punctuation and articles. In order: same title and year; same title, and years that differ
    by one or two; same year, and one title is a part of the other between colons or dashes ("Star Wars:
    Episode IV - A New Hope"); same year and nearly the same spelling; same title, and one has no year. Of
    several candidates, the one nearest in year, then in spelling, then in genres, then with the smallest id
    is the match, and all of them are listed as ambiguous.

    Examples
    --------
    >>> a = Catalog([1, 2], ["Shining, The", "Solaris"], [1980, 1999], [[], []])
    >>> b = Catalog([70, 80, 90], ["The Shining", "Solaris", "Solaris"], [1980, 1972, 2002], [[], [], []])
    >>> match(a, b).matched, match(a, b).unmatched
    ({1: 70}, [2])
    """
    index = _Index.from_catalog(there)
    matched: dict[Any, Any] = {}
    rule_of: dict[Any, str] = {}
    ambiguous: dict[Any, list[Any]] = {}
    unmatched: list[Any] = []
    for i, item in enumerate(here.ids.tolist()):
        title, year = here.titles[i], int(here.years[i])
        rule, positions = index.candidates(title, year)
        if not positions:
            unmatched.append(item)
            continue
        names = tuple(title_names(title))
        ranked = sorted(
            positions,
            key=lambda k, i=i, names=names: (  # type: ignore[misc]
                abs(int(here.years[i]) - int(there.years[k])),
                -_similarity(names, index.names[k]),
                -len(set(here.genres[i]) & set(there.genres[k])),
                there.ids[k],
            ),
        )
        candidates = there.ids[ranked].tolist()
        matched[item], rule_of[item] = candidates[0], rule
        if len(candidates) > 1:
            ambiguous[item] = candidates
    return Matches(matched, rule_of, ambiguous, unmatched)


@dataclass(frozen=True, slots=True)
class _Index:
    """A catalog by title and by year."""

    by_title: dict[str, set[int]]
    by_year: dict[int, set[int]]
    names: list[tuple[str, ...]]
    parts: list[frozenset[str]]
    years: list[int]

    @classmethod
    def from_catalog(cls, catalog: Catalog) -> _Index:
        names = [tuple(title_names(title)) for title in catalog.titles]
        parts = [frozenset(title_parts(title)) for title in catalog.titles]
        index = cls(defaultdict(set), defaultdict(set), names, parts, catalog.years.tolist())
        for k, year in enumerate(index.years):
            index.by_year[year].add(k)
            for name in names[k]:
                index.by_title[name].add(k)
        return index

    def candidates(self, title: str, year: int) -> tuple[str, set[int]]:
        """Return the first rule with a candidate, and the positions of its candidates."""
        names = set(title_names(title))
        same = {k for name in names for k in self.by_title.get(name, ())}
        near = self.by_year.get(year, set()) if year else set()
        if hits := same & near:
            return "title and year", hits
        if hits := {k for k in same if year and abs(self.years[k] - year) <= MAX_YEARS}:
            return "title, and nearly the year", hits
        parts = set(title_parts(title))
        if hits := {k for k in near if parts.intersection(self.names[k]) or names & self.parts[k]}:
            return "part of the title, and year", hits
        if hits := {k for k in near if _similarity(tuple(names), self.names[k]) >= MIN_SIMILARITY}:
            return "similar title, and year", hits
        return "title, no year", {k for k in same if not (year and self.years[k])}


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
