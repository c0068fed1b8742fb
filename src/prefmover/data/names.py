"""Names of columns: those that a role usually goes by, and the column that a caller means."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from prefmover.data.file_options import Feedback
from prefmover.errors import InputError, close_names

__all__ = ["find_column", "find_ratings", "find_similar", "find_usual", "plain_name"]

USUAL_NAMES = {
    role: tuple(names.split())
    for role, names in {
        "user": "user userid uid username viewer viewerid customer customerid reviewer reviewerid rater "
        "raterid member memberid account accountid visitor visitorid who person reader readerid player "
        "playerid",
        "item": "item itemid iid movie movieid film filmid product productid asin book bookid isbn song "
        "songid track trackid artist artistid game gameid show showid business businessid recipe recipeid "
        "anime animeid article articleid what",
        "rating": "rating ratings stars star score starrating overall value grade",
        "title": "title name label",
        "year": "year releaseyear publicationyear yearofpublication releasedate publicationdate",
        "genres": "genres genre categories category",
        "tags": "tags tag keywords keyword labels",
        "text": "text description summary plot overview",
        "count": "count counts plays playcount playcounts nplays listens listencount clicks clickcount views "
        "viewcount purchases purchasecount orders quantity qty times frequency freq interactions visits "
        "weight n",
    }.items()
}
"""By role, the names that are recognized, the likeliest first; compared by :func:`plain_name`."""

TIME_WORDS = frozenset(
    ("time", "timestamp", "date", "datetime", "day", "month", "year", "hour", "unix", "epoch")
)
"""Words in the names of columns that are neither ratings nor counts."""

CLOSE = 0.65
SHOWN, SHOWN_LETTERS = 20, 60  # names of columns in a message, and letters of each
"""The share of two names that must agree for one to be a likely misspelling of the other."""


def plain_name(name: str) -> str:
    """Return a column name for comparison: no case, no spaces, ``_``, ``-`` or ``.``.

    >>> plain_name("Movie_ID"), plain_name("star rating")
    ('movieid', 'starrating')
    """
    return re.sub(r"[-_ .]", "", name).casefold()


def name_words(name: str) -> set[str]:
    """Return the words in a name.

    >>> sorted(name_words("playCount")), sorted(name_words("time_of_day"))
    (['count', 'play'], ['day', 'of', 'time'])
    """
    return {word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def find_usual(role: str, names: Sequence[str]) -> int | None:
    """Return the position of the column with a usual name of a role, or None.

    >>> find_usual("rating", ["who", "what", "Stars"])
    2
    """
    plain = [plain_name(name) for name in names]
    return next((plain.index(usual) for usual in USUAL_NAMES[role] if usual in plain), None)


def find_similar(role: str, names: Sequence[str]) -> int | None:
    """Return the position of the column with a usual name, or else of the only one with a usual word in it.

    For headers only: a row of data might well contain such a word.

    >>> find_similar("rating", ["Customer Name", "Film Title", "Your Rating"])
    2
    >>> find_similar("rating", ["critics rating", "audience rating"])  # ambiguous
    """
    usual = find_usual(role, names)
    if usual is not None:
        return usual
    similar = [k for k, name in enumerate(names) if name_words(name) & set(USUAL_NAMES[role])]
    return similar[0] if len(similar) == 1 else None


def find_column(name: str, names: Sequence[str], role: str, file: str = "the table") -> int:
    """Return the position of a column by its name, or raise an error that suggests one.

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
    listed = ", ".join(repr(one[:SHOWN_LETTERS]) for one in names[:SHOWN]) or "none"
    if len(names) > SHOWN:
        listed += f", and {len(names) - SHOWN:,} more"
    if count:
        raise InputError(f"{file} has {count} columns named {name!r}; rename all but one (columns: {listed})")
    remedy = f"pass {role}= with the name of the {role} column"
    for close in close_names(name, names, n=1):
        if SequenceMatcher(None, plain_name(name), plain_name(close)).ratio() >= CLOSE:
            remedy = f"the nearest is {close!r}: pass {role}={close!r}"
    raise InputError(f"{file} has no column {name!r}; {remedy} (columns: {listed})", argument=role)


def find_ratings(
    names: Sequence[str],
    rating: str | None,
    feedback: Feedback | None,
    others: Sequence[int],
    is_number: Callable[[int], bool],
    file: str,
) -> tuple[int | None, bool]:
    """Return the position of the column of ratings or counts (None if none), and whether it is implicit.

    A column that the caller names is what the caller says it is. Otherwise it is a rating under a usual name
    for ratings, or else a count under a usual name for counts, or else every row is one interaction. A column
    of numbers that might be either is an error.

    Parameters
    ----------
    names
        The columns of the table.
    rating, feedback
        The choices of the caller.
    others
        Positions of the columns of users and items.
    is_number
        Whether a column holds numbers.
    file
        For messages.

    Examples
    --------
    >>> numbers = lambda position: True
    >>> find_ratings(["user", "item", "stars"], None, None, (0, 1), numbers, "a.csv")
    (2, False)
    >>> find_ratings(["user", "item", "plays"], None, None, (0, 1), numbers, "a.csv")
    (2, True)
    >>> find_ratings(["user", "item", "timestamp"], None, None, (0, 1), numbers, "a.csv")
    (None, True)
    """
    if rating is not None:
        return find_column(rating, names, "rating", file), feedback == "implicit"
    free = [k for k in range(len(names)) if k not in others]
    match = {role: find_similar(role, [names[k] for k in free]) for role in ("rating", "count")}
    if feedback == "explicit" and match["rating"] is None:
        return find_column("rating", names, "rating", file), False
    for role in ("count", "rating") if feedback == "implicit" else ("rating", "count"):
        found = match[role]
        if found is not None:
            name = names[free[found]]
            return find_column(name, names, "rating", file), feedback == "implicit" or role == "count"
    unclear = [names[k] for k in free if is_number(k) and not _is_beside_the_point(names[k])]
    if unclear and feedback is None:
        listed = ", ".join(map(repr, names))
        remedy = (
            f"pass rating={unclear[0]!r} if it is, or feedback='implicit' if every row is one interaction"
        )
        raise InputError(
            f"{file} has no column 'rating', but {unclear[0]!r} may be it; {remedy} (columns: {listed})",
            argument="rating",
        )
    return None, True


def _is_beside_the_point(name: str) -> bool:
    """Whether a column is a time or an id by its name."""
    return bool(name_words(name) & TIME_WORDS) or plain_name(name).endswith("id") or not name.strip()
