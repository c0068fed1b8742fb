"""Names that columns go by in files of ratings and of items, and finding one among others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from prefmover.data.ids import close_names
from prefmover.errors import InputError

__all__ = ["USUAL_NAMES", "find_alike", "find_column", "find_usual", "plain_name"]

USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "user": (
        *("user", "userid", "uid", "username", "viewer", "viewerid", "customer", "customerid"),
        *("reviewer", "reviewerid", "rater", "raterid", "member", "memberid", "account", "accountid"),
        *("who", "person", "reader", "readerid", "player", "playerid"),
    ),
    "item": (
        *("item", "itemid", "iid", "movie", "movieid", "film", "filmid", "product", "productid", "asin"),
        *("book", "bookid", "isbn", "song", "songid", "track", "trackid", "artist", "artistid", "game"),
        *("gameid", "show", "showid", "business", "businessid", "recipe", "recipeid", "anime", "animeid"),
        *("article", "articleid", "what"),
    ),
    "rating": ("rating", "ratings", "stars", "star", "score", "starrating", "overall", "value", "grade"),
    "title": ("title", "name", "label"),
    "year": ("year", "releaseyear"),
    "genres": ("genres", "genre", "categories", "category"),
    "tags": ("tags", "tag", "keywords", "keyword", "labels"),
    "text": ("text", "description", "summary", "plot", "overview"),
    "count": ("count", "counts", "n", "weight"),
    "vector": ("vector", "vectors", "embedding", "features"),
}
"""By role, the names that are recognized, the likeliest first; compared as :func:`plain_name` has them."""


CLOSE = 0.65
"""How much of a column's name must be that of another to be taken for a misspelling."""


def plain_name(name: str) -> str:
    """Return a column's name as it is compared: no case, no blanks, ``_``, ``-`` or ``.``.

    >>> plain_name("Movie_ID"), plain_name("star rating")
    ('movieid', 'starrating')
    """
    return re.sub(r"[-_ .]", "", name).casefold()


def find_usual(role: str, names: Sequence[str]) -> int | None:
    """Return where the column of a role is, by its usual names; None if none of them is there.

    >>> find_usual("rating", ["who", "what", "Stars"])
    2
    """
    plain = [plain_name(name) for name in names]
    return next((plain.index(usual) for usual in USUAL_NAMES[role] if usual in plain), None)


def find_alike(role: str, names: Sequence[str]) -> int | None:
    """Return where the column of a role is, by its usual names, or else by a word within one name only.

    For headers: a row of data might well have such a word in it.

    >>> find_alike("rating", ["Customer Name", "Film Title", "Your Rating"])
    2
    >>> find_alike("rating", ["critics rating", "audience rating"])  # which one?
    """
    usual = find_usual(role, names)
    if usual is not None:
        return usual
    words = [{word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)} for name in names]
    alike = [k for k, some in enumerate(words) if some & set(USUAL_NAMES[role])]
    return alike[0] if len(alike) == 1 else None


def find_column(name: str, names: Sequence[str], role: str, file: str = "the table") -> int:
    """Return the position of a column, or say which one may have been meant.

    >>> find_column("user", ["userId", "movieId", "rating"], "user")
    Traceback (most recent call last):
    prefmover.errors.InputError: the table has no column 'user'; the nearest is 'userId': pass
    user='userId' (columns: 'userId', 'movieId', 'rating')
    >>> find_column("user", ["Kunde", "FilmNr", "Sterne"], "user")  # no guess is better than a bad one
    Traceback (most recent call last):
    prefmover.errors.InputError: the table has no column 'user'; pass user= with the name of the user
    column (columns: 'Kunde', 'FilmNr', 'Sterne')
    """
    count = list(names).count(name)
    if count == 1:
        return list(names).index(name)
    listed = ", ".join(map(repr, names)) or "none"
    if count:
        raise InputError(f"{file} has {count} columns named {name!r} (columns: {listed})")
    # "Sterne" is no better a guess at "user" than none at all.
    close = [one for one in close_names(name, names, n=1) if _ratio(name, one) >= CLOSE]
    remedy = (
        f"the nearest is {close[0]!r}: pass {role}={close[0]!r}"
        if close
        else f"pass {role}= with the name of the {role} column"
    )
    raise InputError(f"{file} has no column {name!r}; {remedy} (columns: {listed})")


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, plain_name(one), plain_name(other)).ratio()
