"""Exceptions that name the value that was wrong and the remedy.

Every error a user can cause is an :class:`InputError`; the command line turns it into one
readable line and exit code 2. Anything else that escapes is a defect of ours.
"""

__all__ = [
    "InputError",
    "MissingExtraError",
    "MissingItemsWarning",
    "NotOptimalError",
    "PrefmoverError",
    "UndefinedDistanceError",
    "UnknownIdError",
]


class PrefmoverError(Exception):
    """Base class of all exceptions raised on purpose by prefmover."""


class InputError(PrefmoverError, ValueError):
    """A value, file, row, column or option that cannot be used; the message says what to do.

    Parameters
    ----------
    argument
        The argument that the message tells the reader to pass, if any. The message writes it as ``name=``;
        the command line prints the option of that argument instead.
    """

    def __init__(self, message: str = "", *, argument: str = "") -> None:
        super().__init__(message)
        self.argument = argument


class UnknownIdError(InputError, LookupError):
    """A user or item id that is not in the ratings (or in the item geometry)."""


class UndefinedDistanceError(InputError):
    """A distance that does not exist, such as that of a user without positive ratings."""


class NotOptimalError(PrefmoverError, RuntimeError):
    """A transport problem whose solution could not be proved optimal; no number is returned."""


class MissingExtraError(PrefmoverError, ImportError):
    """An optional dependency that the call needs and that is not installed."""


class MissingItemsWarning(UserWarning):
    """Rated items were left out because the item geometry does not know them."""
