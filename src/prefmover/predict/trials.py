"""When a trial of other settings is better than the one before: by a margin that is worth a change.

A plain maximum follows differences that say nothing about the next user, down to the last bits of a product
that another processor adds up in another order. With a margin, ties go to the settings that were there first,
and a model does not depend on where it was fitted.
"""

from __future__ import annotations

__all__ = ["is_better"]

MARGIN = 0.0005
"""Half a thousandth, of a mean nDCG or of a mean absolute error (in the unit of the ratings)."""


def is_better(value: float, before: float) -> bool:
    """Return whether a value, the larger the better, is larger than the one before by more than the margin.

    >>> is_better(0.4121, 0.412), is_better(0.413, 0.412)
    (False, True)
    """
    return value > before + MARGIN
