"""Named rules that turn the value of a measure into a neighbor's weight.

The paper derives a similarity from PMD "easily" and prints ``1 - PMD``, but with d = arccos(s) a distance
can reach π/2, where that is negative. The rules:

=====================  ==============  ==========================================================
name                   weight          remarks
=====================  ==============  ==========================================================
``one-minus``          1 - D           the paper's; negative where D > 1
``cosine``             cos D           undoes the arccos: for two users with one item each, the
                                       similarity of the two items; 0 from a right angle on
``exponential(g)``     exp(-g D)       always positive; g sets how fast a neighbor's weight falls
``as-is``              the value       for measures that are similarities
=====================  ==============  ==========================================================
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats
from prefmover.errors import InputError


@dataclass(frozen=True, slots=True)
class Weight:
    """A rule that turns values of a measure into weights; NaN stays NaN.

    Examples
    --------
    >>> weight("exponential(4)")(np.array([0.0, 0.25, np.nan]))
    array([1.        , 0.36787944,        nan])
    >>> print(weight("exponential(4)"))
    exponential(4)
    """

    name: str
    rule: Callable[[Floats], Floats]

    def __call__(self, values: npt.ArrayLike) -> Floats:
        """Return the weights of an array of values."""
        return self.rule(np.asarray(values, dtype=np.float64))

    def __str__(self) -> str:
        return self.name


WEIGHTS: dict[str, str] = {
    "as-is": "the value itself, for similarities",
    "one-minus": "1 - D, negative where D > 1",
    "cosine": "cos D; 0 at a right angle or beyond",
    "exponential(g)": "exp(-g D), where g is 0 or more",
}
"""The names that :func:`weight` takes, and their formulas."""


def _cosine(distance: Floats) -> Floats:
    return np.asarray(np.cos(np.minimum(distance, np.pi / 2)))


def _exponential(gamma: float, distance: Floats) -> Floats:
    return np.asarray(np.exp(-gamma * distance))


# No lambdas, since they cannot be pickled.
_RULES: dict[str, Callable[[Floats], Floats]] = {
    "as-is": np.copy, "one-minus": partial(np.subtract, 1.0), "cosine": _cosine
}  # fmt: skip


def weight(rule: str | Weight) -> Weight:
    """Return a rule by name; ``"exponential(2.5)"`` includes its rate.

    Examples
    --------
    >>> weight("one-minus")(np.array([0.25, 1.5]))
    array([ 0.75, -0.5 ])
    >>> weight("cosine")(np.arccos([0.8, 0.0])).round(12)
    array([0.8, 0. ])
    """
    if isinstance(rule, Weight):
        return rule
    if str(rule) in _RULES:
        return Weight(str(rule), _RULES[str(rule)])
    match = re.fullmatch(r"exponential\(\s*([^()\s]+)\s*\)", str(rule))
    if match:
        try:
            gamma = float(match[1])
        except ValueError:
            gamma = math.nan
        if 0 <= gamma < math.inf:
            return Weight(f"exponential({gamma:g})", partial(_exponential, gamma))
    names = ", ".join(f'"{name}"' for name in WEIGHTS)
    raise InputError(f'weight is {rule!r}; choose one of {names}, such as "exponential(4)"')
