"""Which item of one catalog is which of another: by title and year.

ml-100k numbers its movies in its own way, so that tags and genome rows, which go by MovieLens ids,
have to be found by title.
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

NEARLY = 0.88  # two spellings of one title; below it, sequels begin to look like each other
NUMBER = r"\d+|\b[ivx]+\b"
SLACK = 2  # years by which catalogs disagree about a release


@dataclass(frozen=True, slots=True)
class Matches:
    """What was matched, what could be several, and what was not found.

    Attributes
    ----------
    matched : dict
        Id here -> id there.
    by : dict
        Id here -> the rule that found it, such as ``"title and year"``.
    ambiguous : dict
        Id here -> ids there between which title and year do not decide. The one matched, if any, is
        the first.
    unmatched : list
        Ids without a counterpart.
    """

    matched: dict[Any, Any]
    by: dict[Any, str]
    ambiguous: dict[Any, list[Any]]
    unmatched: list[Any]

    @property
    def share(self) -> float:
        """The share of items that were matched."""
        total = len(self.matched) + len(self.unmatched)
        return len(self.matched) / total if total else 0.0

    def __str__(self) -> str:
        """Say how many were matched, by which rule."""
        rules: dict[str, int] = defaultdict(int)
        for rule in self.by.values():
            rules[rule] += 1
        by = ", ".join(f"{n:,} by {rule}" for rule, n in rules.items())
        total = len(self.matched) + len(self.unmatched)
        return (
            f"{len(self.matched):,} of {total:,} items matched ({self.share:.1%}): {by}; "
            f"{len(self.ambiguous):,} ambiguous, {len(self.unmatched):,} not found"
        )


def match(here: Catalog, there: Catalog) -> Matches:
    """Return, for the items of one catalog, their counterparts in another.

    A title is compared with and without what it has in brackets ("Seven (a.k.a. Se7en)"), without
    case, accents, punctuation and articles. In order: same title and year; same title, the year off by
    one or two; same year, and one title is a part of the other between colons or dashes ("Star Wars:
    Episode IV - A New Hope"); same year and nearly the same spelling; same title where one of the two
    has no year. Of several items there, the one nearest in year, then in spelling, then in genres, then
    with the smallest id is taken, and the report lists them all as ambiguous.

    Examples
    --------
    >>> a = Catalog([1, 2], ["Shining, The", "Solaris"], [1980, 1999], [[], []])
    >>> b = Catalog([70, 80, 90], ["The Shining", "Solaris", "Solaris"], [1980, 1972, 2002], [[], [], []])
    >>> match(a, b).matched, match(a, b).unmatched
    ({1: 70}, [2])
    """
    index = _Index.of(there)
    matched: dict[Any, Any] = {}
    rule_of: dict[Any, str] = {}
    ambiguous: dict[Any, list[Any]] = {}
    unmatched: list[Any] = []
    for i, item in enumerate(here.ids.tolist()):
        title, year = here.titles[i], int(here.years[i])
        rule, found = index.candidates(title, year)
        if not found:
            unmatched.append(item)
            continue
        names = tuple(names_of(title))
        ranked = sorted(
            found,
            key=lambda k, i=i, names=names: (  # type: ignore[misc]
                abs(int(here.years[i]) - int(there.years[k])),
                -_likeness(names, index.names[k]),
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
    def of(cls, catalog: Catalog) -> _Index:
        names = [tuple(names_of(title)) for title in catalog.titles]
        parts = [frozenset(parts_of(title)) for title in catalog.titles]
        index = cls(defaultdict(set), defaultdict(set), names, parts, catalog.years.tolist())
        for k, year in enumerate(index.years):
            index.by_year[year].add(k)
            for name in names[k]:
                index.by_title[name].add(k)
        return index

    def candidates(self, title: str, year: int) -> tuple[str, set[int]]:
        """Return the first rule that finds something, and what it finds."""
        names = set(names_of(title))
        same = {k for name in names for k in self.by_title.get(name, ())}
        near = self.by_year.get(year, set()) if year else set()
        if found := same & near:
            return "title and year", found
        if found := {k for k in same if year and abs(self.years[k] - year) <= SLACK}:
            return "title, year off by a little", found
        parts = set(parts_of(title))
        if found := {k for k in near if parts.intersection(self.names[k]) or names & self.parts[k]}:
            return "part of the title, and year", found
        if found := {k for k in near if _likeness(tuple(names), self.names[k]) >= NEARLY}:
            return "similar title, and year", found
        return "title, no year", {k for k in same if not (year and self.years[k])}


def names_of(title: str) -> Iterator[str]:
    """Yield the names that a title goes by: without brackets, whole, and each bracket's content.

    >>> list(names_of("City of Lost Children, The (Cité des enfants perdus, La)"))
    ['city of lost children', 'cite des enfants perdus']
    >>> list(names_of("Seven (a.k.a. Se7en)"))
    ['seven', 'se7en']
    """
    brackets = re.findall(r"\(([^()]*)\)", title)
    outer = re.sub(r"\([^()]*\)", " ", title).strip()
    seen = set()
    inner = [name for b in brackets for name in re.split(r"(?:^|,)\s*a\.?k\.?a\.?:?\s+", b)]
    for name in (outer, *inner):
        plain = plain_title(name)
        if plain and plain not in seen and not re.fullmatch(r"\d{4}", plain):
            seen.add(plain)
            yield plain


def parts_of(title: str) -> Iterator[str]:
    """Yield the parts of a title between colons and dashes, if it has several.

    >>> list(parts_of("Star Wars: Episode V - The Empire Strikes Back"))
    ['star wars', 'episode v', 'empire strikes back']
    """
    parts = re.split(r":\s|\s-\s", re.sub(r"\([^()]*\)", " ", title))
    if len(parts) > 1:
        yield from (plain for part in parts if len(plain := plain_title(part)) > 5)


def _likeness(names: tuple[str, ...], others: tuple[str, ...]) -> float:
    """Return how nearly two titles are spelled the same, 0 to 1; 0 if their numbers differ (sequels)."""
    best = 0.0
    for a in names:
        for b in others:
            if re.findall(NUMBER, a) == re.findall(NUMBER, b):
                matcher = SequenceMatcher(None, a.replace(" ", ""), b.replace(" ", ""), autojunk=False)
                if matcher.quick_ratio() > best:
                    best = max(best, matcher.ratio())
    return best
