r"""Measures of reasons by removal: what happens to a recommended item without the ratings that are named.

A person with ratings H is recommended item j, with score s(H) at place p(H) among all items that are new to
them. An *order* puts ratings of H in a row, the strongest reason first; T is its first Ke. A score without
some ratings is that of the same model for the same person (:meth:`prefmover.model.Recommender.without`).

=======  ==================================================================  =====
measure  definition                                                          good
=======  ==================================================================  =====
pos      1 if p(H without T) ≤ 10: the item is still among the first ten     low
del      s(H without T) / s(H)                                               low
ins      s(T alone) / s(H)                                                   high
cdcg     1 / log2(p(H without T) + 1)                                        low
=======  ==================================================================  =====

An order that names fewer than Ke ratings removes those that it names, and none if it names none. If T is all
that a person has rated, nothing is left to score, and there is no value at this Ke.

References: O. Barkan et al., "A Counterfactual Framework for Learning and Evaluating Explanations for
Recommender Systems" (LXR), WWW 2024; K. H. Tran et al., "Counterfactual Explanations for Neural Recommenders"
(ACCENT), SIGIR 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from prefmover._typing import Bools, Floats, Ints

__all__ = ["MEASURES", "REMOVED", "Outcome", "measured", "outcome", "place_of"]

REMOVED = (1, 2, 3, 4, 5)
"""Ke: how many ratings are removed."""

MEASURES = ("pos", "del", "ins", "cdcg")


class Outcome(NamedTuple):
    """The score of an item, and its place from 1."""

    score: float
    place: int


def place_of(scores: Floats, item: int, new: Bools) -> int:
    """Return the place of an item by its score among the items that are new to a person, from 1.

    Of equal scores, the first item is first, as in lists.

    >>> place_of(np.array([3.0, 1.0, 2.0, 2.0]), 3, np.array([False, True, True, True]))
    2
    """
    own = scores[item]
    higher = scores > own
    higher[:item] |= scores[:item] == own
    return 1 + int((higher & new).sum())


def outcome(scores: Floats, item: int, new: Bools) -> Outcome:
    """Return the score and the place of an item."""
    return Outcome(float(scores[item]), place_of(scores, item, new))


def measured(
    order: Ints, before: Outcome, n_rated: int, n: int, without: Callable[[Ints], Outcome | None],
    alone: Callable[[Ints], Outcome | None],
) -> Floats:  # fmt: skip
    """Return the measures of an order, (measures, Ke); NaN where nothing is left, or s(H) is not positive.

    ``without`` and ``alone`` return the outcome of an item without some ratings, and with these only; None if
    that leaves nothing.
    """
    values = np.full((len(MEASURES), len(REMOVED)), np.nan)
    scale = before.score if before.score > 0 else np.nan
    for k, removed in enumerate(REMOVED):
        top = order[:removed]
        if len(top) == n_rated:
            continue
        after = before if not len(top) else without(top)
        kept = Outcome(0.0, 0) if not len(top) else alone(top)
        if after is not None:
            values[0, k] = after.place <= n
            values[1, k] = after.score / scale
            values[3, k] = 1 / np.log2(after.place + 1)
        if kept is not None:
            values[2, k] = kept.score / scale
    return values
