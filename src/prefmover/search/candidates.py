"""The nearest users of all users in very large data: approximate by choice, with a measured recall.

::

    a sample of queries, searched exactly ─► effort: how many candidates it takes for the recall asked for
          │
    1. shortlists   nearest vectors ─ estimates ─ close bounds        shortlist.py, embedding.py
          │         each pair goes into the lists of both users
    2. rounds       neighbors of neighbors, in the same way, until the sample's neighbors are found
          │
    3. exact        the first k of each list are solved, each pair once; then those others whose bound does
          │         not rule them out
    recall, measured on another sample                                recall.py

Each step is a number of tasks that any executor runs, and depends on the results of the last step only, not
on the order of tasks. So threads, Ray and a resumed run give the same lists. All distances are exact.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from prefmover._format import counted
from prefmover._typing import Bools, Floats, Ints, Progress
from prefmover.data.csr import entries_of_rows
from prefmover.errors import RecallWarning
from prefmover.execution import Executor
from prefmover.execution.checkpoint import Calls, run_blocks
from prefmover.execution.memory import require
from prefmover.execution.threads import run
from prefmover.measures.estimates import N_FEATURES, evaluate_polynomial, fit_polynomial
from prefmover.search.distributed import NeighborCheckpoint, digest, divide_queries, search_blocks
from prefmover.search.embedding import embed, nearest_vectors
from prefmover.search.index import NeighborIndex
from prefmover.search.recall import Recall, recall_of_lists
from prefmover.search.result import NeighborPositions, SearchStats
from prefmover.search.shortlist import (
    Breadth,
    Comparison,
    Graph,
    OwnedPairs,
    Population,
    shortlist_block,
    solve_block,
)

logger = logging.getLogger("prefmover")

MEASURED = 200  # queries whose recall is measured
TUNED = 100  # other queries, which decide the effort
MOST_SCREENED = 4096
MOST_CLIMBED = 512
LEAST_CLIMBED = 2  # times k
MOST_ROUNDS = 4
KEPT = 3  # times k
SPARE = 0.6  # the effort aims at this part of the loss that is allowed
GAIN = 0.001  # recall that a round must add for another one
FITTED = 48  # pairs of each tuned query to which estimates are fitted
BLOCK_QUERIES = 2000
DISK_BYTES = 40  # per entry of a list, over all steps


Arguments: TypeAlias = Callable[[Any, Any, Any, Ints], tuple[Any, ...]]
"""From geometry, users, graph and the rows of a block to the function of its task, and its arguments."""


class Found(NamedTuple):
    """The lists of a search, and their recall."""

    lists: NeighborPositions
    recall: Recall


def candidate_search(
    index: NeighborIndex,
    users: Ints,
    k: int,
    recall: float,
    seed: int,
    executor: Executor,
    folder: str | PathLike[str] | None = None,
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Found:
    """Return the k nearest users of each query, by position, among candidates; see the module."""
    search = _CandidateSearch(index, np.unique(users), k, recall, seed, executor, n_threads, progress)
    folder = None if folder is None else Path(folder)
    search.check()
    lists, measured = search.run(folder)
    row_of = search.row_of
    found = NeighborPositions.from_lists((lists.row(row_of[u]) for u in users.tolist()), lists.stats)
    if not measured.reached:
        warnings.warn(
            f"recall is {measured}; that is less than the {recall:g} that was asked for, with "
            f"{search.breadth.screened:,} candidates of each user and {counted(search.rounds, 'round')} of "
            'neighbors of neighbors; pass a higher recall to search more, or method="exact" to find all',
            RecallWarning,
            stacklevel=4,
        )
    return Found(found, measured)


class _Step(NamedTuple):
    """A step in blocks: its users, what each of them costs, and a function that makes the task of a block."""

    name: str
    rows: Ints
    costs: Ints
    arguments: Arguments
    graph: Graph | None = None


class _Lists:
    """Sorted lists of a fixed length, of the queries: users and bounds or distances."""

    def __init__(self, row_of: Ints, n: int, most: int) -> None:
        self.row_of = row_of
        self.users, self.values = np.full((n, most), -1, np.int64), np.full((n, most), np.inf)
        self.counts = np.zeros(n, np.int64)

    def join(self, rows: Ints, part: NeighborPositions) -> None:
        """Put the pairs of some users into the lists of both sides."""
        from prefmover.search import _candidates as kernels

        kernels.join(
            rows, part.indptr, part.neighbors, part.values, self.row_of, self.users, self.values, self.counts
        )

    @property
    def filled(self) -> Bools:
        """Which entries are filled."""
        return np.arange(self.users.shape[1]) < self.counts[:, None]

    def positions(self, stats: SearchStats) -> NeighborPositions:
        """Return the lists as CSR."""
        indptr = np.concatenate(([0], np.cumsum(self.counts)))
        return NeighborPositions(indptr, self.users[self.filled], self.values[self.filled], stats)


class _CandidateSearch:
    """One search among candidates."""

    def __init__(
        self,
        index: NeighborIndex,
        rows: Ints,
        k: int,
        recall: float,
        seed: int,
        executor: Executor,
        n_threads: int | None,
        progress: Progress | None,
    ) -> None:
        self.index, self.rows, self.k, self.recall, self.seed = index, rows, k, recall, seed
        self.executor, self.n_threads, self.progress = executor, n_threads, progress
        n = index.data.n_users
        self.row_of = np.full(n, -1)
        self.row_of[rows] = np.arange(rows.size)
        self.kept = min(KEPT * k + 8, max(n - 1, 1))
        self.breadth, self.rounds = Breadth(0, 0, k, self.kept), 0
        self.stats = SearchStats()
        self.aim = 1.0 - SPARE * (1.0 - recall)

    def check(self) -> None:
        """Raise an error if there is not enough memory."""
        n, n_rows, geometry = self.index.data.n_users, self.rows.size, self.index.geometry
        d = min(128, 64 if geometry.vectors is None else geometry.vectors.shape[1]) + 32
        need = 10 * n * d + 60 * n_rows * self.kept + 16 * self.index.data.ratings.n_ratings
        what = f"candidates for {n_rows:,} of {n:,} users"
        require(need, what, "ask for a smaller k, or for fewer users at a time")

    def run(self, folder: Path | None) -> tuple[NeighborPositions, Recall]:
        """Search; return the list of each row, and the recall."""
        from prefmover.execution.jit import announce_compilation

        announce_compilation()
        self.index.prepare(self.rows.size, self.n_threads)
        if folder is not None:
            description = {"method": "candidates", "recall": self.recall, "seed": self.seed}
            inputs = {"k": self.k, "inputs": digest(self.index, self.rows)}
            checkpoint = NeighborCheckpoint(folder, self.index.data.ratings, self.k)
            checkpoint.claim({**inputs, **description}, 1, DISK_BYTES * self.rows.size * self.kept)
        self.folder = folder
        measured, tuned = self._samples()
        sample = np.union1d(measured, tuned)
        place = None if folder is None else folder / "sample"
        exact = search_blocks(self.index, sample, self.k, self.executor, place, progress=self.progress)
        self.stats += SearchStats(seconds={"sample": sum(exact.stats.seconds.values())})
        truth = {u: exact.row(a) for a, u in enumerate(sample.tolist())}
        everyone = self.index.data.preferences
        self.population = Population.from_preferences(
            everyone, embed(everyone, self.index.geometry, self.seed)
        )
        coefficients = self._tune(tuned, truth)
        lists = self._shortlists(coefficients, tuned, truth)
        found = self._solve(lists).positions(self.stats)
        recalls = [recall_of_lists(found.row(self.row_of[u]), truth[u]) for u in measured.tolist()]
        population = int(np.count_nonzero(everyone.total[self.rows]))
        return found, Recall.of(np.array(recalls), self.k, population, self.recall)

    def _samples(self) -> tuple[Ints, Ints]:
        """Return the queries whose recall is measured, and those that decide the effort.

        They overlap only if there are few queries.
        """
        random = np.random.default_rng([self.seed, 0])
        eligible = random.permutation(self.rows[self.index.data.preferences.total[self.rows] > 0])
        measured, rest = eligible[:MEASURED], eligible[MEASURED:]
        tuned = rest if rest.size >= min(TUNED, eligible.size) else eligible
        return np.sort(measured), np.sort(tuned[:TUNED])

    def _tune(self, tuned: Ints, truth: dict[int, tuple[Ints, Floats]]) -> Floats:
        """Fit estimates to exact distances of the sample, and set the effort; return the coefficients."""
        from prefmover.search import _candidates as kernels

        embedding, population, geometry = self.population.embedding, self.population, self.index.geometry
        screened = min(MOST_SCREENED, self.index.data.n_users - 1)
        designs: list[Floats] = [np.empty((0, N_FEATURES))] * tuned.size
        distances: list[Floats] = [np.empty(0)] * tuned.size
        features: list[Floats] = [np.empty((0, N_FEATURES))] * tuned.size
        ranks = [np.empty(0, np.int64)] * tuned.size
        chosen = [np.empty(0, np.int64)] * tuned.size

        def work(a: int) -> None:
            u = int(tuned[a])
            scores = embedding.scores(u)
            some, comparison = nearest_vectors(scores, screened), Comparison(geometry, population, u)
            gaps, none = embedding.gaps(u, scores[some]), np.zeros(N_FEATURES)
            bounds, design = comparison.estimates(some, gaps, none, design=True)
            order = np.argsort(bounds, kind="stable")
            near, far = order[: 8 * self.k : max(1, 8 * self.k // (FITTED // 2))], order[8 * self.k :]
            picked = np.concatenate((near, far[:: max(1, far.size // (FITTED // 2))]))
            designs[a], features[a], chosen[a] = design[picked], design, some
            users, solved, _ = comparison.solve(np.sort(some[picked]), np.full(picked.size, np.inf))
            distances[a] = solved[np.argsort(users)][np.argsort(np.argsort(some[picked]))]
            ranks[a] = np.empty(truth[u][0].size, np.int64)
            kernels.ranks_of(truth[u][0], scores, ranks[a])

        run(work, range(tuned.size), n_threads=self.n_threads)
        X, y = (
            np.concatenate([np.empty((0, N_FEATURES)), *designs]),
            np.concatenate([np.empty(0), *distances]),
        )
        coefficients = np.zeros(N_FEATURES)
        if len(y) >= 4 * N_FEATURES:
            coefficients = fit_polynomial(X, y)
        by_vector, by_estimate = np.concatenate([np.empty(0, np.int64), *ranks]), []
        for a, u in enumerate(tuned.tolist()):
            values = evaluate_polynomial(features[a], coefficients)
            order = np.argsort(values, kind="stable")
            place = np.full(self.index.data.n_users, self.index.data.n_users)
            place[chosen[a][order]] = np.arange(order.size)
            by_estimate.append(place[truth[u][0]])
        lost = 1.0 - self.aim
        self.breadth = Breadth(
            _enough(by_vector, lost, 8 * self.k, screened),
            _enough(
                np.concatenate([np.empty(0, np.int64), *by_estimate]),
                lost,
                LEAST_CLIMBED * self.k,
                MOST_CLIMBED,
            ),
            self.k,
            self.kept,
        )
        logger.info(
            "prefmover: each user is compared with %s, and the likeliest %s closely",
            *(f"{number:,}" for number in (self.breadth.screened, self.breadth.climbed)),
        )
        return coefficients

    def _shortlists(self, coefficients: Floats, tuned: Ints, truth: dict[int, tuple[Ints, Floats]]) -> _Lists:
        """Return the shortlists: from vectors, then from neighbors of neighbors."""
        lists = _Lists(self.row_of, self.rows.size, self.kept)
        graph, before = None, -1.0
        while True:
            sizes = np.diff(self.index.data.preferences.indptr)[self.rows]
            task = _Step(f"shortlists-{self.rounds}", self.rows, sizes, self._shortlist(coefficients), graph)
            for rows, part in self._run(task):
                lists.join(rows, part)
            within = [np.isin(truth[u][0], lists.users[self.row_of[u]]).mean() if truth[u][0].size else 1.0
                      for u in tuned.tolist()]  # fmt: skip
            now = float(np.mean(within)) if within else 1.0
            logger.debug("prefmover: %.4f of the sample's neighbors after %d rounds", now, self.rounds)
            if now >= self.aim or self.rounds == MOST_ROUNDS or now - before < GAIN:
                return lists
            self.rounds += 1
            before = now
            everyone = np.full((self.index.data.n_users, self.kept), -1, np.int32)
            everyone[self.rows] = lists.users
            graph = Graph(everyone)

    def _shortlist(self, coefficients: Floats) -> Arguments:
        def arguments(geometry: Any, population: Any, graph: Any, rows: Ints) -> tuple[Any, ...]:
            return shortlist_block, geometry, population, coefficients, self.breadth, rows, graph

        return arguments

    def _solve(self, lists: _Lists) -> _Lists:
        """Return the exact lists: the first k of each shortlist are solved, then those that may be nearer."""
        found = _Lists(self.row_of, self.rows.size, self.k)
        nearest = np.minimum(lists.counts, self.k)
        head = np.arange(self.kept) < nearest[:, None]
        solved = np.zeros(0, np.int64)
        for number in (0, 1):
            reach = np.where(found.counts == self.k, found.values[:, -1], np.inf)
            chosen = head if number == 0 else lists.filled & (lists.values <= reach[:, None])
            keys = np.setdiff1d(self._keys(lists, chosen), solved, assume_unique=True)
            solved = np.union1d(solved, keys)
            for owners, part in self._run(self._pairs(f"solved-{number}", keys, reach)):
                found.join(owners, part)
        return found

    def _keys(self, lists: _Lists, chosen: Bools) -> Ints:
        """Return each chosen pair of users once, as a number."""
        n = np.int64(self.index.data.n_users)
        u = np.repeat(self.rows, chosen.sum(axis=1))
        v = lists.users[chosen]
        return np.unique(np.minimum(u, v) * n + np.maximum(u, v))

    def _pairs(self, name: str, keys: Ints, reach: Floats) -> _Step:
        """Return the step that solves pairs. A pair's distance matters up to the farther reach of the two."""
        n = self.index.data.n_users
        first, second = keys // n, keys % n
        everyone = np.full(n, -np.inf)
        everyone[self.rows] = reach
        limits = np.maximum(everyone[first], everyone[second])
        swap = (first + second) % 2 == 1
        owner, other = np.where(swap, second, first), np.where(swap, first, second)
        order = np.lexsort((other, owner))
        owner, other, limits = owner[order], other[order], limits[order]
        owners, starts = np.unique(owner, return_index=True)
        indptr = np.append(starts, owner.size)
        lengths = np.diff(self.index.data.preferences.indptr)
        cost = np.add.reduceat(lengths[owner] * lengths[other], starts) if owner.size else starts

        def arguments(geometry: Any, population: Any, _: Any, rows: Ints) -> tuple[Any, ...]:
            at = np.searchsorted(owners, rows)
            _, entries = entries_of_rows(indptr, at)
            ends = np.concatenate(([0], np.cumsum(np.diff(indptr)[at])))
            return solve_block, geometry, population, OwnedPairs(rows, ends, other[entries], limits[entries])

        return _Step(name, owners, cost, arguments)

    def _run(self, step: _Step) -> list[tuple[Ints, NeighborPositions]]:
        """Run a step, or read what is finished of it; return the part of each block, in order."""
        checkpoint, data = None, self.index.data
        least = max(self.executor.slots, -(-step.rows.size // BLOCK_QUERIES))
        if self.folder is not None:
            checkpoint = NeighborCheckpoint(self.folder / step.name, data.ratings, data.n_users)
            least = checkpoint.claim({"step": step.name}, least)
        blocks = [step.rows[block] for block in divide_queries(step.costs, 1, least)]

        def start(_: object) -> Callable[[int], Calls[NeighborPositions]]:
            executor, geometry = self.executor, self.index.geometry
            held = geometry.grid if geometry.grid is not None else geometry.vectors
            assert held is not None
            n_bytes = held.nbytes + self.population.embedding.nbytes + 20 * data.ratings.n_ratings
            executor.begin(n_bytes, n_bytes)
            # Ids stay here: workers know items and users by position.
            here = executor.share(replace(geometry, items=np.arange(geometry.n_items)))
            population = executor.share(self.population)
            graph = None if step.graph is None else executor.share(step.graph)

            def calls(number: int) -> Calls[NeighborPositions]:
                function, *arguments = step.arguments(here, population, graph, blocks[number])
                done = yield function, tuple(arguments)
                part: NeighborPositions = done.value
                executor.summary.record(done.node, part.stats.seconds, part.stats.solved)
                return part

            return calls

        parts = run_blocks(self.executor, blocks, start, checkpoint=checkpoint, progress=self.progress)
        self.stats = sum((part.stats for part in parts), self.stats)
        return list(zip(blocks, parts, strict=True))


def _enough(ranks: Ints, lost: float, least: int, most: int) -> int:
    """Return how many candidates lose no more than a share of neighbors, with some to spare.

    >>> _enough(np.array([0, 3, 5, 90]), lost=0.25, least=2, most=50)
    8
    """
    if not ranks.size:
        return max(1, min(least, most))
    needed = np.sort(ranks)[max(0, math.ceil((1.0 - lost) * ranks.size) - 1)] + 1
    return int(max(1, min(most, max(least, math.ceil(1.25 * needed)))))
