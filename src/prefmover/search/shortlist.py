r"""One query against a list of candidates: estimates for all, close bounds for the best, exact distances.

::

    nearest vectors ── estimates from RWMD, both sides ── the best: dual steps ── a shortlist, sorted by bound
    a few hundred      (a polynomial, fitted to exact     until the bound is    (the exact distances of its
    or thousand        distances of a sample)             some 2 % too low       head are solved later)

The vector of a user is the mean of the vectors of the user's items, weighted by preference,

.. math:: x_u = \sum_i p_u(i)\, x_i.

On MovieLens-1M, the 500 nearest vectors contain .975 of the ten nearest users, and the 1,000 nearest .994.
Potentials of landmarks, soft histograms and their mixtures found fewer. Coordinates are rounded to whole
numbers of up to four digits, so that scores are exact, and the same on every machine.

Distances are laid out for the items of the query and its candidates only, and single precision is enough.
Nothing here needs all items, or all users, but the scores of vectors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.ids import frozen
from prefmover.data.preferences import Preferences
from prefmover.execution.jit import LazyModule
from prefmover.execution.memory import require
from prefmover.execution.threads import run
from prefmover.items.geometry import Ground
from prefmover.measures.estimates import N_FEATURES
from prefmover.measures.pmd import distance_in_64_bits
from prefmover.search.distributed import without_ids
from prefmover.search.result import NeighborPositions, SearchStats
from prefmover.search.shard import NO_TABLE, Scratches, Shard, empty_lists

_bounds = LazyModule("prefmover.search._bounds")
_candidates = LazyModule("prefmover.search._candidates")
_cascade = LazyModule("prefmover.search._cascade")

MOST_DIMENSIONS = 128  # longer item vectors are projected
LANDMARKS = 64  # items that stand in for vectors, in a geometry that has only distances
EXTRA = 32  # coordinates for items without a vector
LONGEST = 2000.0  # length of a vector, in steps: no sum of products leaves 24 bits
LAYOUT_BYTES = 2**27  # distances that are laid out at a time
STEPS = 32  # dual steps on a pair: on MovieLens-1M, the bound is 1 to 2 % too low
NO_DISTANCES = frozen(np.zeros((1, 1), np.int32))
_SCRATCHES = Scratches()

Graph: TypeAlias = npt.NDArray[np.int32]
"""The shortlists of all users so far: (users, kept) positions, -1 behind the last."""


class Breadth(NamedTuple):
    """How many users a query is compared with."""

    screened: int  # users that are estimated
    climbed: int  # the best of them, whose bounds are raised until they are close,
    near: int  # or clearly farther than so many others
    kept: int  # the best, which stay on the shortlist


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """The vectors of all users, in steps."""

    tiles: npt.NDArray[np.int16]  # (tiles, d, 512): 512 users a tile, coordinate by coordinate
    # squared lengths; for users without a distribution, and behind the last, a number that is never selected
    square: npt.NDArray[np.int32]
    step: float

    @classmethod
    def from_vectors(cls, vectors: npt.NDArray[np.float32], exists: npt.NDArray[np.bool_]) -> Embedding:
        """Return the embedding of vectors (users, d), of the users that exist."""
        n, d = vectors.shape
        tile, nobody = _candidates.TILE, _candidates.NOBODY
        centered = vectors - vectors[exists].mean(axis=0, dtype=np.float64).astype(np.float32)
        centered[~exists] = 0.0
        longest = float(np.sqrt(np.einsum("ud,ud->u", centered, centered).max(initial=0.0)))
        step = longest / LONGEST if longest > 0 else 1.0
        count = -(-n // tile)
        padded = np.zeros((count * tile, -(-max(d, 1) // 4) * 4), np.int16)
        padded[:n, :d] = np.rint(centered / step)
        square = np.full(count * tile, nobody, np.int32)
        lengths = np.einsum("ud,ud->u", padded, padded, dtype=np.int32)
        square[:n][exists] = lengths[:n][exists]
        tiles = np.ascontiguousarray(padded.reshape(count, tile, -1).transpose(0, 2, 1))
        return cls(frozen(tiles), frozen(square), step)

    def scores(self, u: int) -> npt.NDArray[np.int32]:
        """Return the order of all users as seen from u: |y|² - 2 x · y, and never u."""
        out = np.empty(self.square.size, np.int32)
        x = self.tiles[u // _candidates.TILE, :, u % _candidates.TILE].astype(np.int32)
        _candidates.score_all(x, self.square, self.tiles, out)
        out[u] = _candidates.NOBODY
        return out

    def gaps(self, u: int, scores: npt.NDArray[np.int32]) -> Floats:
        """Return the distances between vectors that belong to scores as seen from u."""
        squares = np.maximum(scores.astype(np.float64) + self.square[u], 0.0)
        return np.asarray(np.sqrt(squares) * self.step, np.float64)


def embed(everyone: Preferences, geometry: Ground, seed: int) -> Embedding:
    """Return the vectors of all users."""
    from scipy.sparse import csr_array

    total = np.repeat(np.maximum(everyone.total, 1), everyone.counts)
    share = (everyone.mass / total).astype(np.float32)
    shares = csr_array((share, everyone.indices, everyone.indptr), shape=(len(everyone), geometry.n_items))
    rated = np.bincount(everyone.indices, minlength=geometry.n_items)
    vectors = np.asarray(shares @ _item_vectors(geometry, rated, np.random.default_rng([seed, 1])))
    return Embedding.from_vectors(np.ascontiguousarray(vectors, np.float32), everyone.total > 0)


def _item_vectors(geometry: Ground, rated: Ints, random: np.random.Generator) -> npt.NDArray[np.float32]:
    """Return a vector for each item: its own, projected if it is long; else its distances to some items."""
    if geometry.vectors is None:
        likely = rated > 0
        size = min(LANDMARKS, int(likely.sum()))
        chosen = random.choice(np.flatnonzero(likely), size, replace=False) if size else np.zeros(0, np.int64)
        return np.ascontiguousarray(geometry.block(chosen, None).T, np.float32)
    vectors = geometry.vectors
    d, missing = vectors.shape[1], ~vectors.any(axis=1)
    if geometry.vector_metric == "euclidean":  # at the scale of the others; no point lacks a direction
        vectors, missing = vectors / (np.abs(vectors).max(initial=0.0) or 1.0), np.zeros(len(vectors), bool)
    if d > MOST_DIMENSIONS:
        # Whole numbers, whose sums are exact in any order: the same embedding on every machine.
        signs = random.choice([-1.0, 1.0], (d, MOST_DIMENSIONS))
        vectors = np.rint(2.0**25 * vectors) @ signs / (2.0**25 * np.sqrt(MOST_DIMENSIONS))
    if (rated[missing] > 0).any():  # two users with such an item are near each other
        signs = np.zeros((geometry.n_items, EXTRA))
        signs[missing] = random.choice([-1.0, 1.0], (int(missing.sum()), EXTRA)) / np.sqrt(EXTRA)
        vectors = np.concatenate((vectors, signs), axis=1)
    return vectors.astype(np.float32)


def nearest_vectors(scores: npt.NDArray[np.int32], m: int) -> Ints:
    """Return the m users with the least scores, in user order."""
    out = np.empty(min(m, scores.size), np.int64)
    high, low = np.empty(_candidates.HIGH, np.int32), np.empty(_candidates.LOW, np.int32)
    return out[: _candidates.select(scores, out.size, high, low, out)]


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """All users and the distances between items, as tasks read them."""

    geometry: Ground
    shard: Shard
    embedding: Embedding
    vectors: npt.NDArray[np.float32] | None  # of the items; None if the distances are there
    logs: Floats  # logarithms of the users' numbers of items

    @classmethod
    def from_preferences(cls, everyone: Preferences, geometry: Ground, seed: int) -> Population:
        """Return all users."""
        vectors = None
        if geometry.grid is None and geometry.vectors is not None and geometry.vector_metric == "right angle":
            vectors = geometry.vectors.astype(np.float32)
        logs = frozen(np.log(np.maximum(everyone.counts, 1)))
        embedding, shard = embed(everyone, geometry, seed), Shard.from_preferences(everyone)
        return cls(without_ids(geometry), shard, embedding, vectors, logs)


class Comparison:
    """A query and the distances between its items and those of users."""

    def __init__(self, population: Population, u: int) -> None:
        p = population.shard.preferences
        self.population, self.geometry, self.u = population, population.geometry, u
        self.items, self.mass = p.row(u)
        self.total = int(p.total[u])

    def parts(self, chosen: Ints, entry_bytes: int) -> Iterator[slice]:
        """Yield ranges of the chosen users whose distances fit in memory; an empty one if there are none."""
        lengths = self.population.shard.preferences.counts[chosen]
        width, n_items = _cascade.filled_up(self.items.size), self.geometry.n_items
        room = max(LAYOUT_BYTES // (entry_bytes * width) - self.items.size, 1)
        if room >= n_items or not chosen.size:
            yield slice(0, chosen.size)
            return
        number = (np.cumsum(lengths) - lengths // 2) // room
        edges = np.concatenate(([0], np.flatnonzero(np.diff(number)) + 1, [chosen.size]))
        for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            need = entry_bytes * width * (self.items.size + int(lengths[first:last].sum()))
            row, entry, point = self.geometry.words
            what = f"a table between {row}s of {self.items.size:,} and up to {lengths.max():,} {point}s"
            require(need, what, f"leave {entry}s of these {row}s out")
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
            coarse = np.empty((items.size, width), np.int16)
            self._lay_out(items, number, coarse)
        query = _cascade.Query(
            own, self.mass, self.total, distance, lines, coarse, geometry.unit,
            bool(geometry.is_metric), -1, np.inf,
        )  # fmt: skip
        s = _SCRATCHES.at_least(chosen.size, n, max(own.size, int(lengths.max(initial=0))))
        return query, local, s

    def _lay_out(self, items: Any, number: Any, coarse: npt.NDArray[np.int16]) -> None:
        geometry, vectors, width = self.geometry, self.population.vectors, coarse.shape[1]
        if vectors is None:
            coarse[:, self.items.size :] = _bounds.FARTHEST
            if geometry.grid is not None:
                _candidates.lay_out_grid(geometry.grid, items, self.items, coarse)
            else:
                coarse[:, : self.items.size] = geometry.units(items, self.items) >> _bounds.COARSE_BITS
            return
        turned, cosine = np.empty((vectors.shape[1], width), np.float32), np.empty(width, np.float32)
        unit = geometry.unit * _bounds.COARSE
        _candidates.lay_out_angles(vectors, items, self.items, number, turned, cosine, unit, coarse)

    def estimates(
        self, chosen: Ints, gaps: Floats, coefficients: Floats, design: bool = False
    ) -> tuple[Floats, Floats, Any]:
        """Return estimated distances of users, their features if these are asked for, and the last layout."""
        values, logs = np.empty(chosen.size), self.population.logs
        features = np.empty((chosen.size if design else 0, N_FEATURES))
        for part in self.parts(chosen, 2):
            query, local, s = layout = self.local(chosen[part], exact=False)
            _candidates.estimate_all(
                query, local, gaps[part], logs[chosen[part]], logs[self.u], coefficients, s,
                np.empty(N_FEATURES), values[part], features[part] if design else features,
            )  # fmt: skip
        return values, features, layout

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
        values, _, (query, local, s) = self.estimates(chosen, gaps, coefficients)
        best = np.argsort(values, kind="stable")[: breadth.climbed]
        if local.total.size == chosen.size:  # the usual case: one layout for both steps
            bounds = np.empty(best.size)
            _candidates.climb_all(best, STEPS, query, local, s, np.empty(breadth.near), bounds)
        else:
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
                p = self.population.shard.preferences
                wide = distance_in_64_bits(p, p, self.geometry, self.u, int(others[part][v]))
                s.solved_distances[solved] = wide
                counts[solved_pairs] += 1
                solved, at = solved + 1, v + 1
            users.append(others[part][s.solved_users[:reached]])
            distances.append(s.solved_distances[:reached].copy())
        found, values = np.concatenate(users), np.concatenate(distances)
        order = np.lexsort((found, values))
        return found[order], values[order], counts


def shortlist_block(
    population: Population,
    graph: Graph | None,
    coefficients: Floats,
    breadth: Breadth,
    rows: Ints,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> NeighborPositions:
    """Return the shortlists of a block of queries, with bounds in place of distances.

    Candidates are the users with the nearest vectors or, with a graph, the neighbors of neighbors. Workers
    run this. It depends on its arguments alone.
    """

    def shortlist(a: int) -> tuple[Ints, Floats, list[int]]:
        u = int(rows[a])
        if population.shard.preferences.total[u] == 0:
            return rows[:0], np.empty(0), SearchStats().counts
        scores = population.embedding.scores(u)
        chosen = (
            nearest_vectors(scores, breadth.screened) if graph is None else neighbors_of_neighbors(graph, u)
        )
        gaps = population.embedding.gaps(u, scores[chosen])
        climbed = min(chosen.size, breadth.climbed)
        counts = SearchStats(rwmd=chosen.size - climbed, abandoned=climbed).counts
        return *Comparison(population, u).shortlist(chosen, gaps, coefficients, breadth), counts

    return _each("shortlist", shortlist, rows.size, n_threads, progress)


def solve_block(
    population: Population,
    owners: Ints,
    pairs: NeighborPositions,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> NeighborPositions:
    """Return the exact distances of pairs: a list for each owner, without pairs that are too far.

    ``pairs`` has the other users of each owner's pairs, and the largest distances that matter. Workers run
    this. It depends on its arguments alone.
    """

    def solve(a: int) -> tuple[Ints, Floats, Ints]:
        return Comparison(population, int(owners[a])).solve(*pairs.row(a))

    return _each("exact", solve, owners.size, n_threads, progress)


def _each(
    stage: str,
    search: Callable[[int], tuple[Ints, Floats, Any]],
    n: int,
    n_threads: int,
    progress: Progress | None,
) -> NeighborPositions:
    """Return the lists of n queries: users, values, and the counts of a :class:`SearchStats`."""
    lists: list[tuple[Ints, Floats]] = [(np.empty(0, np.int64), np.empty(0))] * n
    counts = np.zeros((n, len(SearchStats().counts)), np.int64)
    begin = time.perf_counter()

    def work(a: int) -> None:
        users, values, counts[a] = search(a)
        lists[a] = users, values

    run(work, range(n), n_threads=n_threads, progress=progress)
    seconds = {stage: time.perf_counter() - begin}
    return NeighborPositions.from_lists(lists, SearchStats(*counts.sum(axis=0).tolist(), seconds=seconds))


def neighbors_of_neighbors(graph: Graph, u: int) -> Ints:
    """Return the users on the shortlists of u's shortlist who are not on u's own, in user order.

    >>> neighbors_of_neighbors(np.array([[1, -1], [2, 0], [1, 3], [2, -1]], np.int32), 0)
    array([2])
    """
    own = graph[u]
    own = own[own >= 0]
    found = np.unique(graph[own])
    return np.asarray(found[(found >= 0) & (found != u) & ~np.isin(found, own)], np.int64)
