r"""The best items among candidates: filters, how well known they are, how different from each other.

Novelty and diversity choose a list of n among the 10 n candidates with the highest scores, so that every item
of the list suits the user. *Novelty* moves a list toward less known items (above 0) or better known ones
(below 0): with ν from -1 to 1 and n_j the number of ratings of item j,

.. math:: s'_j = s_j\, (1 + n_j)^{-\nu},

or times (1 + n_j)^ν where the score is negative.

*Diversity* picks one item after the other by maximal marginal relevance (Carbonell and Goldstein, 1998): with
δ from 0 to 1, the next item is

.. math:: \arg\max_j\; (1 - \delta)\, \tilde s_j - \delta \max_{i \in \text{picked}} s(i, j),

where the scores are scaled to [0, 1], and s(i, j) is the similarity of items.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from prefmover._typing import Bools, Floats, Ints
from prefmover.dataset import Dataset
from prefmover.errors import InputError, check_whole_number

__all__ = ["Selection"]

POOL = 10  # candidates for each item of a list, with novelty or diversity


@dataclass(frozen=True, eq=False)
class Selection:
    """Which items may be recommended, and how they are chosen by score.

    Attributes
    ----------
    data
        The data set.
    n
        The length of a list.
    allowed
        (n_items,) which items may be recommended.
    novelty, diversify
        ν and δ.
    seen
        Whether items that the user has rated may be recommended too.
    """

    data: Dataset
    n: int
    allowed: Bools
    novelty: float = 0.0
    diversify: float = 0.0
    seen: bool = False

    @classmethod
    def from_options(
        cls,
        data: Dataset,
        n: int,
        *,
        items: Iterable[Any] | None = None,
        exclude: Iterable[Any] | None = None,
        where: Mapping[str, Any] | None = None,
        min_ratings: int = 0,
        novelty: float = 0.0,
        diversify: float = 0.0,
        seen: bool = False,
    ) -> Selection:
        """Return a selection, checked; an empty set of candidates is an error."""
        check_whole_number("n", n)
        check_whole_number("min_ratings", min_ratings, least=0)
        _check_share("novelty", novelty, -1.0)
        _check_share("diversify", diversify, 0.0)
        if diversify:
            data.require_geometry("diversify")
        allowed = np.ones(data.n_items, bool)
        if items is not None:
            allowed[:] = False
            allowed[data.ratings.item_positions(_ids("items", items))] = True
        if exclude is not None:
            allowed[data.ratings.item_positions(_ids("exclude", exclude))] = False
        if where is not None:
            allowed &= data.catalog.matching(where)
        if min_ratings:
            allowed &= data.ratings_per_item >= min_ratings
        if not allowed.any():
            given = {"items": items, "exclude": exclude, "where": where, "min_ratings": min_ratings or None}
            names = " and ".join(name for name, value in given.items() if value is not None)
            raise InputError(f"no item is left to recommend after {names}; allow more items")
        return cls(data, n, allowed, float(novelty), float(diversify), seen)

    @cached_property
    def _log_counts(self) -> Floats:
        return np.log1p(self.data.ratings_per_item)

    def best(self, scores: Floats, rated: Ints) -> Ints:
        """Return the positions of the chosen items, the best first, given the scores of all items.

        ``rated`` are the positions of the items that the user has rated.
        """
        candidates = self.allowed & ~np.isnan(scores)
        if not self.seen:
            candidates[rated] = False
        positions = np.flatnonzero(candidates)
        values = scores[positions].astype(np.float64)
        if self.novelty or self.diversify:
            pool = _top(values, POOL * self.n)
            positions, values = positions[pool], values[pool]
        if self.novelty:
            values = values * np.exp(-self.novelty * np.sign(values) * self._log_counts[positions])
        if not self.diversify or not len(positions):
            return positions[_top(values, self.n)]
        return positions[self._diverse(positions, values)]

    def _diverse(self, positions: Ints, values: Floats) -> list[int]:
        """Return which items maximal marginal relevance picks."""
        spread = np.ptp(values)
        relevance = (values - values.min()) / (spread if spread > 0 else 1.0)
        similarity = self.data.require_geometry("diversify").similarity(positions, positions)
        nearest, picked = np.zeros(len(positions)), list[int]()
        gain = (1 - self.diversify) * relevance
        for _ in range(min(self.n, len(positions))):
            worth = gain - self.diversify * nearest
            worth[picked] = -np.inf
            picked.append(int(np.argmax(worth)))
            nearest = np.maximum(nearest, similarity[picked[-1]])
        return picked


def _top(values: Floats, n: int) -> Ints:
    """Return where the n largest values are, largest first, ties in order."""
    at = np.arange(len(values))
    if len(values) > n:
        least = np.partition(values, len(values) - n)[len(values) - n]
        at = np.flatnonzero(values >= least)
    return at[np.argsort(-values[at], kind="stable")[:n]]


def _ids(name: str, ids: Any) -> list[Any]:
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InputError(f"{name} is {ids!r}; give a list of item ids")
    return list(ids)


def _check_share(name: str, value: Any, least: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not least <= value <= 1:
        raise InputError(f"{name} is {value!r}; give a number from {least:g} to 1")
