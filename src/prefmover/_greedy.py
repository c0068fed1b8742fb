"""Greedy search over settings: one change at a time, kept if it is better by a margin that is worth a change.

A plain maximum follows differences that say nothing about the next user, down to the last bits of a product
that another processor adds up in another order. With a margin, ties go to the settings that were there first,
and a model does not depend on where it was fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

__all__ = ["greedy", "is_better"]

MARGIN = 0.0005
"""Half a thousandth, of a mean nDCG or of a mean absolute error (in the unit of the ratings)."""

Settings = TypeVar("Settings", bound=Hashable)


def is_better(value: float, before: float) -> bool:
    """Return whether a value, the larger the better, is larger than the one before by more than the margin.

    >>> is_better(0.4121, 0.412), is_better(0.413, 0.412)
    (False, True)
    """
    return value > before + MARGIN


def greedy(
    start: Settings,
    steps: Iterable[Callable[[Settings], Iterable[Settings]]],
    value: Callable[[Settings], float],
    better: Callable[[float, float], bool] = is_better,
) -> tuple[Settings, dict[Settings, float]]:
    """Return the best settings, and the value of all settings that were tried, in order.

    Parameters
    ----------
    start
        The settings to begin with.
    steps
        Functions from the best settings so far to the candidates of a step. The best candidate of a step,
        the first of equals, is kept if it is better than these settings.
    value
        The larger, the better. It is called once for the same settings.
    better
        Whether a value is better than the one before; by default, by a margin.

    Examples
    --------
    >>> steps = [lambda x: (x - 1, x + 1)] * 3
    >>> greedy(0, steps, lambda x: -abs(x - 2))
    (2, {0: -2, -1: -3, 1: -1, 2: 0, 3: -1})
    """
    trials = {start: value(start)}
    best = start
    for step in steps:
        candidates = list(step(best))
        for candidate in candidates:
            if candidate not in trials:
                trials[candidate] = value(candidate)
        candidate = max(candidates, key=trials.__getitem__, default=best)
        if better(trials[candidate], trials[best]):
            best = candidate
    return best, trials
