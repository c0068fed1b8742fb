"""Exceptions. Their messages name the wrong value and the remedy.

Every error that a user can cause is an :class:`InputError`; the command line prints it as one line and exits
with code 2. Any other exception is a bug in prefmover.
"""

import json
from collections.abc import Iterable
from typing import Literal

__all__ = [
    "BadLinesWarning",
    "CoarseGeometryWarning",
    "FlatGeometryWarning",
    "InputError",
    "MissingExtraError",
    "MissingItemsWarning",
    "NotFittedError",
    "NotOptimalError",
    "PrefmoverError",
    "RecallWarning",
    "UndefinedDistanceError",
    "UnknownIdError",
    "ZeroRatingsWarning",
    "close_names",
    "install_command",
]


Reason = Literal["nothing-left", "not-listed", "unreadable"]
"""Nothing is left to answer with; an item is not in the list that is meant; a text cannot be read."""


class PrefmoverError(Exception):
    """Base class of all exceptions that prefmover raises on purpose."""


class InputError(PrefmoverError, ValueError):
    """A value, file, row, column or option that cannot be used; the message says what to do.

    Parameters
    ----------
    argument
        The argument that the message tells the reader to pass, if any. The message writes it as ``name=``;
        the command line prints the option of that argument instead.
    reason
        Why a request of the right form has no answer in these data, for programs.
    """

    def __init__(self, message: str = "", *, argument: str = "", reason: Reason | None = None) -> None:
        super().__init__(message)
        self.argument, self.reason = argument, reason


class UnknownIdError(InputError, LookupError):
    """A user or item id that is not in the data."""


class NotFittedError(InputError, AttributeError):
    """A model that was asked for something before it was fitted."""


class UndefinedDistanceError(InputError):
    """A distance that does not exist, such as one from a user without positive ratings."""


class NotOptimalError(PrefmoverError, RuntimeError):
    """A transport problem whose solution could not be proved optimal; no result is returned."""


class MissingExtraError(PrefmoverError, ImportError):
    """An optional dependency that is needed but not installed."""


def install_command(extra: str = "") -> str:
    """Return the command that installs prefmover with an extra from where this copy came from.

    The name on an index may be somebody else's, so a copy that does not know its origin (PEP 610) asks for a
    clone.

    >>> "[plot]" in install_command("plot")
    True
    """
    from importlib import metadata
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    extras = f"[{extra}]" if extra else ""
    try:
        origin = json.loads(metadata.distribution("prefmover").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        origin = {}
    url = str(origin.get("url", ""))
    if not url:
        return f'pip install ".{extras}", in a clone'
    if origin.get("dir_info", {}).get("editable"):
        return f'pip install --editable "{url2pathname(urlsplit(url).path)}{extras}"'
    if code := origin.get("vcs_info"):
        url = f"{code['vcs']}+{url}@{code.get('requested_revision') or code['commit_id']}"
    return f'pip install "prefmover{extras} @ {url}"'


class BadLinesWarning(UserWarning):
    """Lines of a file could not be used and were left out."""


class CoarseGeometryWarning(UserWarning):
    """Many distances between items are so far below the largest one that rounding changes them."""


class FlatGeometryWarning(UserWarning):
    """Nearly all items are as far apart as items can be, so that distances say little."""


class MissingItemsWarning(UserWarning):
    """Ratings were dropped because the item geometry lacks their items."""


class RecallWarning(UserWarning):
    """An approximate search found fewer of the nearest users than was asked for."""


class ZeroRatingsWarning(UserWarning):
    """Many ratings are 0, which may mean that there is no rating."""


def close_names(name: str, names: Iterable[str], n: int = 3) -> list[str]:
    """Return the names that are similar to `name` in any case, the most similar first.

    >>> close_names("user", ["userId", "movieId", "rating"], n=1)
    ['userId']
    """
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import extract

    by_folded: dict[str, str] = {}
    for candidate in names:
        by_folded.setdefault(candidate.casefold(), candidate)
    found = extract(name.casefold(), [*by_folded], scorer=ratio, limit=n, score_cutoff=50)
    return [by_folded[folded] for folded, _, _ in found]
