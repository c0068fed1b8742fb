r"""PMD-opinions: a transport between ratings, not items. A one-star fan is not a five-star fan.

.. math:: D(u, v) = \min_W \sum_{ij} W_{ij} \left(d(i, j) + \beta\, |r_{ui} - r_{vj}|\right)

with the masses of PMD. A point is an item with a rating, so preference for *Alien* at 5 that moves to *Alien*
at 1 has a price. β is a quarter of the largest item distance, divided by the width of the scale: the two ends
of the scale are as far apart as a quarter of a right angle. A metric whenever d is one.

An extension of this package, not a measure of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Ints
from prefmover.data.preferences import Preferences
from prefmover.dataset import Dataset
from prefmover.items.geometry import GRID_BITS, Ground, ItemGeometry
from prefmover.measures.breakdown import Factor, PairBreakdown, UserPair
from prefmover.measures.pairs import Pairs, Rows
from prefmover.measures.pmd import (
    TransportSpace,
    distances_from,
    distribution,
    plan_flows,
    rounded_cost,
    rows_by,
    solve_pair,
    undefined_breakdown,
)

SHARE = 0.25
"""The distance between the two ends of the scale, as a share of the largest item distance."""


@dataclass(frozen=True, slots=True, eq=False)
class PointGeometry:
    """The distances between points, d(i, j) + |x - y|, in whole units.

    Attributes
    ----------
    geometry
        The distances between items.
    item, level
        The item of each point, and its rating as a whole number of the geometry's units.
    shift
        Distances are rounded up to multiples of 2^shift of these units, so that the largest has 26 bits.
        Rounding up keeps the triangle inequality.
    """

    geometry: ItemGeometry
    item: Ints
    level: npt.NDArray[np.int32]
    shift: int

    words = Ground.words

    @property
    def unit(self) -> float:
        """The step of the grid of distances."""
        return self.geometry.unit * 2.0**self.shift

    @property
    def is_metric(self) -> bool | None:
        """Whether the triangle inequality holds: as for the items."""
        return self.geometry.is_metric

    @property
    def grid(self) -> None:
        """None: distances are computed on demand."""

    @property
    def n_items(self) -> int:
        """The number of points."""
        return len(self.item)

    def units(self, rows: Any, columns: Any) -> npt.NDArray[np.int32]:
        """Return distances in units as an int32 array (rows, columns); None means all points."""
        r, c = (slice(None) if some is None else np.asarray(some) for some in (rows, columns))
        out = self.geometry.units(self.item[r], self.item[c])
        out += np.abs(self.level[r][:, None] - self.level[c])
        out += np.int32(2**self.shift - 1)
        out >>= self.shift
        return out


def opinion_space(data: Dataset) -> TransportSpace:
    """Return the masses of PMD on the points (item, rating) that occur, and the distances of these points."""
    geometry, p, matrix = data.require_geometry("PMD-opinions"), data.preferences, data.ratings.matrix
    owner = np.repeat(np.arange(data.n_users), np.diff(p.indptr))
    keys = data.ratings.rows() * data.n_items + matrix.indices
    values = matrix.data[np.searchsorted(keys, owner * data.n_items + p.indices)]
    different, code = np.unique(values, return_inverse=True)
    points, position = np.unique(p.indices.astype(np.int64) * len(different) + code, return_inverse=True)
    scale, most = data.ratings.scale, SHARE * geometry.farthest / geometry.unit
    shares = (different - scale.lowest) / (scale.highest - scale.lowest or 1.0)
    steps = np.rint(shares * most).astype(np.int32)
    largest = 2**GRID_BITS if geometry.grid is None else int(geometry.grid.max(initial=0))
    if geometry.to_distance == "arccos":
        largest = int(np.ceil(geometry.farthest / geometry.unit)) + 1
    largest, shift = largest + int(np.ptp(steps)) if len(steps) else largest, 0
    while largest + 2**shift - 1 >> shift > 2**GRID_BITS:
        shift += 1
    item, level = points // max(len(different), 1), points % max(len(different), 1)
    ground = PointGeometry(geometry, item, steps[level], shift)
    return TransportSpace(Preferences(p.indptr, position.astype(p.indices.dtype), p.mass, p.total), ground)


def opinions(pairs: Pairs) -> Rows:
    """PMD-opinions: the least cost of moving u's ratings onto v's, over items and ratings."""
    return rows_by(pairs, partial(distances_from, *opinion_space(pairs.data)))


def opinions_breakdown(pair: UserPair) -> PairBreakdown:
    """Break PMD-opinions down into the flows of its plan, and the flows into items and ratings."""
    users, space = (pair.u, pair.v), opinion_space(pair.data)
    if undefined := undefined_breakdown(pair, space):
        return undefined
    ground = space.ground
    assert isinstance(ground, PointGeometry)
    result = solve_pair(space, *users)
    i, j = (ground.item[distribution(space.preferences, user)[0]] for user in users)
    flows = plan_flows(pair.data, users, result, i, j)
    stays = sum(f.mass or 0.0 for f in flows if f.source == f.target and f.source_rating == f.target_rating)
    plan, items = result.plan, ground.geometry.block(i, j)
    by_items = float((plan.mass * items[plan.rows, plan.columns]).sum())
    value = rounded_cost(result, result.problem.total)
    factors = [
        pair.n_factor,
        Factor("stays", stays, "share of the preference that stays on its item, at the same rating"),
        Factor("Σ W d", by_items, "cost of moving between items"),
        Factor("Σ W β|r-s|", max(0.0, value - by_items), "cost of moving between ratings"),
        Factor("D", value, "both"),
    ]
    return PairBreakdown(value, factors, flows, certificate=result.certificate)
