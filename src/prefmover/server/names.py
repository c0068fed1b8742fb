"""The search for users and items by what people type."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["Names"]


def plain(text: str) -> str:
    """Return a text without case and accents.

    >>> plain("Amélie")
    'amelie'
    """
    folded = unicodedata.normalize("NFKD", text).casefold()
    return " ".join("".join(c for c in folded if not unicodedata.combining(c)).split())


def spelled(text: str) -> str:
    """Return a plain text without punctuation.

    >>> spelled("ada-b"), spelled("\u201cHeroes\u201d")
    ('ada b', 'heroes')
    """
    return " ".join(re.sub(r"[\W_]+", " ", plain(text)).split())


class Names:
    """Names to search, in the order in which equally good hits are returned.

    Parameters
    ----------
    names
        The names of each entry, such as title and id.
    order
        Positions of the entries, the best known first.

    Examples
    --------
    >>> names = Names([("Der Himmel", "k1"), ("Himmel", "k2"), ("", "k3")], range(3))
    >>> names.search("him"), names.search("K-1"), names.search("")
    ([1, 0], [], [0, 1, 2])
    """

    def __init__(self, names: Iterable[Sequence[str]], order: Iterable[int]) -> None:
        self._names = [tuple((plain(name), spelled(name)) for name in some) for some in names]
        self._order = list(order)

    def search(self, text: str) -> list[int]:
        """Return the entries with a name that begins with a text, then those that contain it.

        Punctuation does not matter, unless there is nothing else in the text.
        """
        way = 1 if spelled(text) else 0
        query = (plain(text), spelled(text))[way]
        names = [[both[way] for both in some] for some in self._names]
        hits = [k for k in self._order if any(query in name for name in names[k])]
        return sorted(hits, key=lambda k: not any(name.startswith(query) for name in names[k]))
