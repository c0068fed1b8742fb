"""One query against a list of candidates: estimates for all, close bounds for the best, exact distances.

::

    candidates ── estimates from RWMD, both sides ── the best: dual steps ── a shortlist, sorted by bound
    a few hundred   (a polynomial, fitted to exact     until the bound is    (the exact distances of its head
    or thousand      distances of a sample)            some 2 % too low       are solved later, pair by pair)

Distances are laid out for the items of the query and its candidates only, and single precision is enough.
Nothing here needs all items, or all users, but the scores of short vectors (``embedding.py``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.ids import frozen
from prefmover.data.preferences import Csr, Preferences
from prefmover.execution.jit import LazyModule
from prefmover.execution.memory import require
from prefmover.execution.threads import run
from prefmover.items.geometry import ItemGeometry
from prefmover.measures.estimates import N_FEATURES
from prefmover.measures.pmd import distance_in_64_bits
from prefmover.search.embedding import Embedding, nearest_vectors
from prefmover.search.result import NeighborPositions, SearchStats
from prefmover.search.shard import NO_TABLE, Scratches, Shard, empty_lists

_bounds = LazyModule("prefmover.search._bounds")
_candidates = LazyModule("prefmover.search._candidates")
_cascade = LazyModule("prefmover.search._cascade")

LAYOUT_BYTES = 2**27  # distances that are laid out at a time
STEPS = 32  # dual steps on a pair: on MovieLens-1M, the bound is 1 to 2 % too low
NO_DISTANCES = frozen(np.zeros((1, 1), np.int32))
_SCRATCHES = Scratches()

Graph: TypeAlias = npt.NDArray[np.int32]
"""The shortlists of all users so far: (users, kept) positions, -1 behind the last."""


class Breadth(NamedTuple):
    """How many users a query is compared with.

    ``screened`` users are estimated, and the bounds of the best ``climbed`` of them are raised, until they
    are clearly farther than ``near`` others, or close. The best ``kept`` stay on the shortlist.
    """

    screened: int
    climbed: int
    near: int
    kept: int


@dataclass(frozen=True, slots=True, eq=False)
class OwnedPairs(Csr):
    """Pairs of users to solve: for each owner the other users, and the largest distances that matter."""

    owners: Ints
    others: Ints
    limits: Floats

    ENTRY = ("others", "limits")
    ROW = ("owners",)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """All users, as tasks read them: preferences, vectors, and the logarithms of numbers of items."""

    shard: Shard
    embedding: Embedding
    logs: Floats

    @classmethod
    def from_preferences(cls, everyone: Preferences, embedding: Embedding) -> Population:
        """Return all users."""
        logs = np.log(np.maximum(np.diff(everyone.indptr), 1))
        return cls(Shard.from_preferences(everyone), embedding, frozen(logs))

    @property
    def preferences(self) -> Preferences:
        """The preferences of all users."""
        return self.shard.preferences


class Comparison:
    """A query and the distances between its items and those of users.

    Queries can share ``vectors``, those of the items in single precision. ``layout_bytes`` of distances are
    laid out at a time.
    """

    def __init__(
        self,
        geometry: ItemGeometry,
        population: Population,
        u: int,
        vectors: npt.NDArray[np.float32] | None = None,
        layout_bytes: int = LAYOUT_BYTES,
    ) -> None:
        p = population.preferences
        self.geometry, self.population, self.u = geometry, population, u
        self.vectors, self.layout_bytes = vectors, layout_bytes
        self.items, self.mass = p.row(u)
        self.total = int(p.total[u])

    def parts(self, chosen: Ints, entry_bytes: int) -> Iterator[slice]:
        """Yield ranges of the chosen users whose distances fit in memory; an empty one if there are none."""
        lengths = self.population.preferences.counts[chosen]
        width, n_items = _cascade.filled_up(self.items.size), self.geometry.n_items
        room = max(self.layout_bytes // (entry_bytes * width) - self.items.size, 1)
        if room >= n_items or not chosen.size:
            yield slice(0, chosen.size)
            return
        number = (np.cumsum(lengths) - lengths // 2) // room
        edges = np.concatenate(([0], np.flatnonzero(np.diff(number)) + 1, [chosen.size]))
        for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            need = entry_bytes * width * (self.items.size + int(lengths[first:last].sum()))
            what = f"a table between users of {self.items.size:,} and up to {lengths.max():,} items"
            require(need, what, "leave ratings of these users out")
            yield slice(first, last)

    def local(self, chosen: Ints, exact: bool) -> tuple[Any, Any, Any]:
        """Return the query and the chosen users as kernels take them, with items numbered from 0; scratch."""
        users, geometry = self.population.shard.candidates(), self.geometry
        number, items = np.empty(geometry.n_items, np.int32), np.empty(geometry.n_items, np.int32)
        n = _candidates.number_items(self.items, chosen, users, number, items)
        items = items[:n]
        lengths = users.indptr[chosen + 1] - users.indptr[chosen]
        size = int(lengths.sum())
        local = _cascade.Candidates(
            np.empty(chosen.size + 1, np.int64), np.empty(size, np.int32), np.empty(size, np.int64),
            np.empty(chosen.size, np.int64), NO_TABLE,
        )  # fmt: skip
        _candidates.localize(chosen, users, number, local)
        for array in local[:4]:
            frozen(array)
        own = number[self.items]
        width = _cascade.filled_up(own.size)
        if exact:
            distance = frozen(np.ascontiguousarray(geometry.units(self.items, items)))
            lines, coarse = np.arange(own.size, dtype=np.int32), np.empty((0, width), np.int16)
        else:
            distance, lines = NO_DISTANCES, np.empty(0, np.int32)
            coarse = self._coarse(items, number, width)
        query = _cascade.Query(
            own, self.mass, self.total, distance, lines, coarse, geometry.unit,
            bool(geometry.is_metric), -1, np.inf,
        )  # fmt: skip
        s = _SCRATCHES.at_least(chosen.size, n, max(own.size, int(lengths.max(initial=0))))
        return query, local, s

    def _coarse(
        self, items: npt.NDArray[np.int32], number: npt.NDArray[np.int32], width: int
    ) -> npt.NDArray[np.int16]:
        geometry = self.geometry
        vectors = single_precision(geometry) if self.vectors is None else self.vectors
        coarse = np.empty((items.size, width), np.int16)
        if vectors is None:
            coarse[:, self.items.size :] = _bounds.FARTHEST
            _candidates.lay_out_grid(geometry.grid, items, self.items, coarse)
            return coarse
        turned, cosine = np.empty((vectors.shape[1], width), np.float32), np.empty(width, np.float32)
        unit = geometry.unit * _bounds.COARSE
        _candidates.lay_out_angles(vectors, items, self.items, number, turned, cosine, unit, coarse)
        return coarse

    def estimates(
        self, chosen: Ints, gaps: Floats, coefficients: Floats, design: bool = False
    ) -> tuple[Floats, Floats]:
        """Return the estimated distances of users, and their features if these are asked for."""
        values = np.empty(chosen.size)
        features = np.empty((chosen.size if design else 0, N_FEATURES))
        for part in self.parts(chosen, 2):
            query, local, s = self.local(chosen[part], exact=False)
            logs = self.population.logs
            _candidates.estimate_all(
                query, local, gaps[part], logs[chosen[part]], logs[self.u], coefficients, s,
                np.empty(N_FEATURES), values[part], features[part] if design else features,
            )  # fmt: skip
        return values, features

    def bounds(self, chosen: Ints) -> Floats:
        """Return lower bounds of the distances of users, close to them."""
        out = np.empty(chosen.size)
        for part in self.parts(chosen, 2):
            query, local, s = self.local(chosen[part], exact=False)
            everyone = np.arange(local.total.size)
            _candidates.climb_all(everyone, STEPS, query, local, s, np.empty(everyone.size), out[part])
        return out

    def shortlist(
        self, chosen: Ints, gaps: Floats, coefficients: Floats, breadth: Breadth
    ) -> tuple[Ints, Floats]:
        """Return the best of the chosen users and their bounds, sorted by bound, then by position."""
        whole = next(self.parts(chosen, 2)) if chosen.size else slice(0, 0)
        if whole.stop == chosen.size and chosen.size:  # the usual case: one layout for both steps
            query, local, s = self.local(chosen, exact=False)
            values, logs = np.empty(chosen.size), self.population.logs
            _candidates.estimate_all(
                query, local, gaps, logs[chosen], logs[self.u], coefficients, s, np.empty(N_FEATURES), values,
                np.empty((0, N_FEATURES)),
            )  # fmt: skip
            best = np.argsort(values, kind="stable")[: breadth.climbed]
            bounds = np.empty(best.size)
            _candidates.climb_all(best, STEPS, query, local, s, np.empty(breadth.near), bounds)
        else:
            values, _ = self.estimates(chosen, gaps, coefficients)
            best = np.argsort(values, kind="stable")[: breadth.climbed]
            bounds = self.bounds(chosen[best])
        order = np.lexsort((chosen[best], bounds))[: breadth.kept]
        return chosen[best][order], bounds[order]

    def solve(self, others: Ints, limits: Floats) -> tuple[Ints, Floats, Ints]:
        """Return the users that are not farther than their limits, their distances, and counts."""
        solved_pairs, counts = _cascade.SOLVED, np.zeros(_cascade.PIVOTS + 1, np.int64)
        users, distances = [others[:0]], [np.empty(0)]
        for part in self.parts(others, 8):
            query, local, s = self.local(others[part], exact=True)
            lists, at, solved = empty_lists(1, 1), 0, 0
            while True:
                reached = _candidates.solve_all(at, limits[part], query, local, lists, solved, s, counts)
                if reached >= 0:
                    break
                # A pair beyond 32 bits is solved separately. What was solved before it is kept.
                v = -1 - reached
                solved = int(counts[solved_pairs]) - sum(map(len, distances))
                s.solved_users[solved] = v
                p = self.population.preferences
                wide = distance_in_64_bits(p, p, self.geometry, self.u, int(others[part][v]))
                s.solved_distances[solved] = wide
                counts[solved_pairs] += 1
                solved, at = solved + 1, v + 1
            users.append(others[part][s.solved_users[:reached]])
            distances.append(s.solved_distances[:reached].copy())
        found, values = np.concatenate(users), np.concatenate(distances)
        order = np.lexsort((found, values))
        return found[order], values[order], counts


def single_precision(geometry: ItemGeometry) -> npt.NDArray[np.float32] | None:
    """Return the item vectors in single precision; None if the distances are there."""
    if geometry.grid is not None:
        return None
    assert geometry.vectors is not None
    return geometry.vectors.astype(np.float32)


def shortlist_block(
    geometry: ItemGeometry,
    population: Population,
    graph: Graph | None,
    coefficients: Floats,
    breadth: Breadth,
    rows: Ints,
    layout_bytes: int = LAYOUT_BYTES,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> NeighborPositions:
    """Return the shortlists of a block of queries, with bounds in place of distances.

    Candidates are the users with the nearest vectors or, with a graph, the neighbors of neighbors. Workers
    run this. It depends on its arguments alone.
    """
    lists: list[tuple[Ints, Floats]] = [(rows[:0], np.empty(0))] * rows.size
    screened, climbed = np.zeros(rows.size, np.int64), np.zeros(rows.size, np.int64)
    begin, vectors = time.perf_counter(), single_precision(geometry)

    def work(a: int) -> None:
        u = int(rows[a])
        if population.preferences.total[u] == 0:
            return
        scores = population.embedding.scores(u)
        if graph is None:
            chosen = nearest_vectors(scores, breadth.screened)
        else:
            chosen = neighbors_of_neighbors(graph, u)
        comparison = Comparison(geometry, population, u, vectors, layout_bytes)
        gaps = population.embedding.gaps(u, scores[chosen])
        lists[a] = comparison.shortlist(chosen, gaps, coefficients, breadth)
        screened[a], climbed[a] = chosen.size, min(chosen.size, breadth.climbed)

    run(work, range(rows.size), n_threads=n_threads, progress=progress)
    seconds = {"shortlist": time.perf_counter() - begin}
    stats = SearchStats(rwmd=int((screened - climbed).sum()), abandoned=int(climbed.sum()), seconds=seconds)
    return NeighborPositions.from_lists(lists, stats)


def neighbors_of_neighbors(graph: Graph, u: int) -> Ints:
    """Return the users on the shortlists of u's shortlist who are not on u's own, in user order.

    >>> neighbors_of_neighbors(np.array([[1, -1], [2, 0], [1, 3], [2, -1]], np.int32), 0)
    array([2])
    """
    own = graph[u]
    own = own[own >= 0]
    found = np.unique(graph[own])
    return np.asarray(found[(found >= 0) & (found != u) & ~np.isin(found, own)], np.int64)


def solve_block(
    geometry: ItemGeometry,
    population: Population,
    pairs: OwnedPairs,
    layout_bytes: int = LAYOUT_BYTES,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> NeighborPositions:
    """Return the exact distances of pairs: a list for each owner, without pairs that are too far.

    Workers run this. It depends on its arguments alone.
    """
    lists: list[tuple[Ints, Floats]] = [(pairs.others[:0], np.empty(0))] * len(pairs)
    counts = np.zeros((len(pairs), len(SearchStats().counts)), np.int64)
    begin = time.perf_counter()

    def work(a: int) -> None:
        comparison = Comparison(geometry, population, int(pairs.owners[a]), layout_bytes=layout_bytes)
        users, distances, counts[a] = comparison.solve(*pairs.row(a))
        lists[a] = users, distances

    run(work, range(len(pairs)), n_threads=n_threads, progress=progress)
    seconds = {"exact": time.perf_counter() - begin}
    return NeighborPositions.from_lists(lists, SearchStats(*counts.sum(axis=0).tolist(), seconds=seconds))
