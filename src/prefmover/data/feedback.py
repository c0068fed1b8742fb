"""Explicit ratings and implicit feedback: which of the two a table holds, and what a count is worth.

An *explicit* rating is an opinion on a scale. *Implicit* feedback is what people did: clicks, plays,
purchases, with or without counts. Counts differ by orders of magnitude (1 to 352,698 plays), so they are
damped:

==========  ======================  =================================================
damping     strength of count c     for
==========  ======================  =================================================
``log``     log₂(1 + c)             counts of any size: one event is 1, three are 2
``sqrt``    √c                      the same, with more weight on large counts
``none``    c                       strengths that are good as they are
``binary``  1                       data whose counts mean nothing
==========  ======================  =================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats
from prefmover.errors import InputError

__all__ = ["Damping", "Feedback", "Zeros", "check_choices", "damped"]

Feedback = Literal["explicit", "implicit"]
Damping = Literal["log", "sqrt", "none", "binary"]
Zeros = Literal["rating", "missing"]

DAMPING: dict[str, Callable[[Floats], Any]] = {
    "log": lambda counts: np.log2(1 + counts),
    "sqrt": np.sqrt,
    "none": lambda counts: counts,
    "binary": np.ones_like,
}


def damped(counts: npt.ArrayLike, damping: str) -> Floats:
    """Return the strengths of positive counts.

    >>> damped([1, 3, 1023], "log")
    array([ 1.,  2., 10.])
    """
    return np.asarray(DAMPING[damping](np.asarray(counts, dtype=np.float64)), dtype=np.float64)


def check_choices(feedback: Any, damping: Any, zeros: Any) -> None:
    """Raise an error unless these arguments are None or one of their choices."""
    for name, value, kind in (
        ("feedback", feedback, Feedback),
        ("damping", damping, Damping),
        ("zeros", zeros, Zeros),
    ):
        if value is not None and value not in get_args(kind):
            raise InputError(f"{name} is {value!r}; choose one of {get_args(kind)}", argument=name)
