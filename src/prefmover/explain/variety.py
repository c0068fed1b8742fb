"""Which reasons a list names, so that it does not give the same reason again and again.

A reason is the rating of an item of the user's own, or a person. No more than three of ten recommendations
(:data:`MOST`) name the same one, if there is another that adds at least 80 % as much (:data:`NEARLY`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil

__all__ = ["Variety"]

MOST = 0.3
"""The share of a list that may name the same reason if there is another."""

NEARLY = 0.8
"""Another reason takes its place if it adds this share of what it adds."""


class Variety:
    """The reasons that were named so far, in a list of n recommendations.

    >>> named = Variety(10)
    >>> [named.choose(["heat", "alien"], [1.0, 0.9], 1) for _ in range(4)]
    [[0], [0], [0], [1]]
    >>> named.choose(["heat", "emma"], [1.0, 0.7], 1)  # no other adds nearly as much
    [0]
    """

    def __init__(self, n: int) -> None:
        self.most = ceil(MOST * n)
        self.times: Counter[object] = Counter()

    def choose(self, keys: Sequence[object], values: Sequence[float], n: int) -> list[int]:
        """Return which n reasons to name, given those that there are, the largest values first."""
        left, chosen = list(range(len(keys))), list[int]()  # by value
        while left and len(chosen) < n:
            fresh = (k for k in left if self.times[keys[k]] < self.most)
            best = next((k for k in fresh if values[k] >= NEARLY * values[left[0]]), left[0])
            left.remove(best)
            chosen.append(best)
        self.times.update(keys[k] for k in chosen)
        return sorted(chosen)
