"""The search for users and items by what people type."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["Names", "plain"]


def plain(text: str) -> str:
    """Return a text without case, accents and punctuation, unless it has nothing else.

    >>> plain("Amélie"), plain("ada-b"), plain('">')
    ('amelie', 'ada b', '">')
    """
    folded = unicodedata.normalize("NFKD", text).casefold()
    folded = "".join(c for c in folded if not unicodedata.combining(c))
    return " ".join(re.sub(r"[\W_]+", " ", folded).split()) or " ".join(folded.split())


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
        self._names = [tuple(map(plain, some)) for some in names]
        self._order = list(order)

    def search(self, text: str) -> list[int]:
        """Return the entries with a name that begins with a text, then those that contain it."""
        query = plain(text)
        hits = [k for k in self._order if any(query in name for name in self._names[k])]
        return sorted(hits, key=lambda k: not any(name.startswith(query) for name in self._names[k]))
