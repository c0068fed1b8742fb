"""The nearest users of all users in very large data: approximate by choice, with a measured recall.

::

    a sample of queries, searched exactly ─► breadth: how many candidates it takes for the recall asked for
          │
    1. shortlists   nearest vectors ─ estimates ─ close bounds        shortlist.py
          │         each pair goes into the lists of both users
    2. rounds       neighbors of neighbors, in the same way, until the sample's neighbors are found
          │
    3. exact        the first k of each list are solved, each pair once; then those others whose bound does
          │         not rule them out
    recall, measured on another sample                                result.py

Each step is a number of tasks that any executor runs, and depends on the results of the last step only, not
on the order of tasks. So threads, Ray and a resumed run give the same lists. All distances are exact.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from prefmover._format import counted
from prefmover._typing import Floats, Ints
from prefmover.errors import RecallWarning
from prefmover.execution import Executor
from prefmover.execution.checkpoint import Calls, run_blocks
from prefmover.execution.jit import LazyModule
from prefmover.execution.memory import require
from prefmover.execution.threads import run
from prefmover.items.geometry import Ground
from prefmover.measures.estimates import N_FEATURES, evaluate_polynomial, fit_polynomial
from prefmover.search.distributed import NeighborCheckpoint, digest, divide_queries, search_blocks
from prefmover.search.engine import Engine, Job
from prefmover.search.result import NeighborPositions, Recall, SearchStats, recall_of_lists
from prefmover.search.shortlist import (
    Breadth,
    Comparison,
    Population,
    nearest_vectors,
    shortlist_block,
    solve_block,
)

logger = logging.getLogger("prefmover")
_candidates = LazyModule("prefmover.search._candidates")

MEASURED = 200  # queries whose recall is measured
TUNED = 100  # other queries, which decide the breadth
MOST_CLIMBED = 512
LEAST_CLIMBED = 2  # times k
KEPT = 3  # times k
SPARE = 0.6  # the breadth aims at this part of the loss that is allowed
GAIN = 0.001  # recall that a round must add for another one
FITTED = 48  # pairs of each tuned query to which estimates are fitted
DISK_BYTES = 40  # per entry of a list, over all steps


class _Lists:
    """Sorted lists of a fixed length, of the queries: users and bounds or distances."""

    def __init__(self, row_of: Ints, n: int, most: int) -> None:
        self.row_of = row_of
        self.users, self.values = np.full((n, most), -1, np.int64), np.full((n, most), np.inf)
        self.counts = np.zeros(n, np.int64)

    def join(self, rows: Ints, part: NeighborPositions) -> None:
        """Put the pairs of some users into the lists of both sides."""
        _candidates.join(
            rows, part.indptr, part.neighbors, part.values, self.row_of, self.users, self.values, self.counts
        )


class _Trial(NamedTuple):
    """A query of the sample, compared with the users with the nearest vectors."""

    nearest: Ints  # its true neighbors
    users: Ints
    features: Floats
    picked: Ints  # some of the users, near and far, and their distances
    distances: Floats
    ranks: Ints  # of the true neighbors in the order of vectors

    def ranks_by(self, coefficients: Floats, n_users: int) -> Ints:
        """Return the ranks of the true neighbors by estimates; the last rank if they were not compared."""
        order = np.argsort(evaluate_polynomial(self.features, coefficients), kind="stable")
        ranks = np.full(n_users, n_users)
        ranks[self.users[order]] = np.arange(order.size)
        return ranks[self.nearest]


@dataclass(eq=False)
class CandidateSearch:
    """A search for the k nearest of each user among candidates; see the module."""

    index: Engine
    job: Job
    users: Ints  # the queries, by position
    recall: float
    seed: int
    executor: Executor
    users_per_block: int = 2000
    most_screened: int = 4096  # candidates of a user
    most_rounds: int = 4

    def __post_init__(self) -> None:
        masses, ground = self.index.masses, self.ground
        n, self.k, (row, *_) = len(masses), self.job.most_of(len(masses)), ground.words
        self.folder, self.progress = self.job.checkpoint, self.job.progress
        self.rows = np.unique(self.users)
        self.row_of = np.full(n, -1)
        self.row_of[self.rows] = np.arange(self.rows.size)
        self.kept = min(KEPT * self.k + 8, max(n - 1, 1))
        self.breadth, self.rounds, self.stats = Breadth(0, 0, self.k, self.kept), 0, SearchStats()
        self.aim = 1.0 - SPARE * (1.0 - self.recall)
        d = min(128, 64 if ground.vectors is None else ground.vectors.shape[1]) + 32
        need = 10 * n * d + 60 * self.rows.size * self.kept + 16 * len(masses.mass)
        what = f"candidates for {self.rows.size:,} of {n:,} {row}s"
        require(need, what, f"ask for a smaller k, or for fewer {row}s at a time")

    @property
    def ground(self) -> Ground:
        """The distances between points, with a dense matrix if the search has made one."""
        ground = self.index.ground
        assert isinstance(ground, Ground)
        return ground

    def run(self) -> tuple[NeighborPositions, Recall]:
        """Search; return the lists of the users, by position, and the recall."""
        index, k, place = self.index, self.k, None
        index.prepare(self.rows.size, self.job.n_threads)
        if self.folder is not None:
            description = {"method": "candidates", "recall": self.recall, "seed": self.seed}
            inputs = {"k": k, "inputs": digest(index, self.rows)}
            checkpoint = NeighborCheckpoint(self.folder, index.ids, k)
            checkpoint.claim({**inputs, **description}, 1, DISK_BYTES * self.rows.size * self.kept)
            place = checkpoint.path / "sample"
        measured, tuned = self._samples()
        sample = np.union1d(measured, tuned)
        exact = search_blocks(index, sample, k, self.executor, place, progress=self.progress)
        self.stats += SearchStats(seconds={"sample": sum(exact.stats.seconds.values())})
        places = np.searchsorted(sample, tuned)
        nearest = {u: exact.row(a)[0] for u, a in zip(tuned.tolist(), places, strict=True)}
        self.population = Population.from_preferences(index.masses, self.ground, self.seed)
        coefficients, self.breadth = self._tune(nearest)
        logger.info(
            "prefmover: each query is compared with %s, and the likeliest %s closely",
            *(f"{number:,}" for number in (self.breadth.screened, self.breadth.climbed)),
        )
        solved = self._solve(self._shortlists(coefficients, nearest))
        found = NeighborPositions.from_table(solved.users, solved.values, solved.counts, self.stats)
        recalls = [
            recall_of_lists(found.row(self.row_of[u])[1], exact.row(a)[1])
            for u, a in zip(measured, np.searchsorted(sample, measured), strict=True)
        ]
        population = int(np.count_nonzero(index.masses.total[self.rows]))
        recall = Recall.from_sample(np.array(recalls), k, population, self.recall)
        if not recall.reached:
            warnings.warn(
                f"recall is {recall}; that is less than the {self.recall:g} that was asked for, with "
                f"{self.breadth.screened:,} candidates of each query and {counted(self.rounds, 'round')} of "
                'neighbors of neighbors; pass a higher recall to search more, or method="exact" to find all',
                RecallWarning,
                stacklevel=3,
            )
        return found.take(self.row_of[self.users]), recall

    def _samples(self) -> tuple[Ints, Ints]:
        """Return the queries whose recall is measured, and those that decide the breadth.

        They overlap only if there are few queries.
        """
        random = np.random.default_rng([self.seed, 0])
        eligible = random.permutation(self.rows[self.index.masses.total[self.rows] > 0])
        measured, rest = eligible[:MEASURED], eligible[MEASURED:]
        tuned = rest if rest.size >= min(TUNED, eligible.size) else eligible
        return np.sort(measured), np.sort(tuned[:TUNED])

    def _tune(self, nearest: dict[int, Ints]) -> tuple[Floats, Breadth]:
        """Return the coefficients of the estimates, and the breadth, for queries with known neighbors."""
        if not nearest:  # nobody has a distribution
            return np.zeros(N_FEATURES), self.breadth
        n_users, queries = len(self.index.masses), list(nearest.items())
        screened, trials = min(self.most_screened, n_users - 1), dict[int, _Trial]()

        def work(a: int) -> None:
            trials[a] = self._try(*queries[a], screened)

        run(work, range(len(queries)), n_threads=self.job.n_threads)
        in_order = [trials[a] for a in range(len(queries))]
        X = np.concatenate([trial.features[trial.picked] for trial in in_order])
        y = np.concatenate([trial.distances for trial in in_order])
        coefficients = fit_polynomial(X, y) if len(y) >= 4 * N_FEATURES else np.zeros(N_FEATURES)
        by_vector = np.concatenate([trial.ranks for trial in in_order])
        by_estimate = np.concatenate([trial.ranks_by(coefficients, n_users) for trial in in_order])
        k, lost = self.k, 1.0 - self.aim
        climbed = _enough(by_estimate, lost, LEAST_CLIMBED * k, MOST_CLIMBED)
        return coefficients, Breadth(_enough(by_vector, lost, 8 * k, screened), climbed, k, self.kept)

    def _try(self, u: int, nearest: Ints, screened: int) -> _Trial:
        """Compare a query with the nearest vectors; solve some of the likeliest, and some of the others."""
        query, embedding = Comparison(self.population, u), self.population.embedding
        scores = embedding.scores(u)
        users = nearest_vectors(scores, screened)
        gaps = embedding.gaps(u, scores[users])
        bounds, features, _ = query.estimates(users, gaps, np.zeros(N_FEATURES), design=True)
        order = np.argsort(bounds, kind="stable")
        head, half = 8 * self.k, FITTED // 2
        others = order[head:]
        near, far = order[: head : max(1, head // half)], others[:: max(1, others.size // half)]
        picked = np.concatenate([near, far])
        solved, distances, _ = query.solve(np.sort(users[picked]), np.full(picked.size, np.inf))
        by_user = np.argsort(solved)
        distances = distances[by_user][np.searchsorted(solved[by_user], users[picked])]
        ranks = np.empty(nearest.size, np.int64)
        _candidates.ranks_of(nearest, scores, ranks)
        return _Trial(nearest, users, features, picked, distances, ranks)

    def _shortlists(self, coefficients: Floats, nearest: dict[int, Ints]) -> _Lists:
        """Return the shortlists: from vectors, then from neighbors of neighbors."""
        lists = _Lists(self.row_of, self.rows.size, self.kept)
        sizes = self.index.masses.counts[self.rows]
        graph, before = None, -1.0
        while True:
            self._run(
                f"shortlists-{self.rounds}", lists, self.rows, sizes, shortlist_block,
                lambda rows: (coefficients, self.breadth, rows), graph,
            )  # fmt: skip
            found = [np.isin(users, lists.users[self.row_of[u]]).mean() if users.size else 1.0
                     for u, users in nearest.items()]  # fmt: skip
            now = float(np.mean(found)) if found else 1.0
            logger.debug("prefmover: %.4f of the sample's neighbors after %d rounds", now, self.rounds)
            if now >= self.aim or self.rounds == self.most_rounds or now - before < GAIN:
                return lists
            self.rounds += 1
            before = now
            graph = np.full((len(self.index.masses), self.kept), -1, np.int32)
            graph[self.rows] = lists.users

    def _solve(self, lists: _Lists) -> _Lists:
        """Return the exact lists: the first k of each shortlist are solved, then those that may be nearer."""
        found = _Lists(self.row_of, self.rows.size, self.k)
        n, ranks = np.int64(len(self.index.masses)), np.arange(self.kept)
        solved = np.zeros(0, np.int64)
        for number, counts in enumerate((np.minimum(lists.counts, self.k), lists.counts)):
            reach = np.where(found.counts == self.k, found.values[:, -1], np.inf)
            chosen = (ranks < counts[:, None]) & ((number == 0) | (lists.values <= reach[:, None]))
            u, v = np.repeat(self.rows, chosen.sum(axis=1)), lists.users[chosen]
            # Each pair of users once, as a number.
            keys = np.setdiff1d(np.minimum(u, v) * n + np.maximum(u, v), solved)
            solved = np.union1d(solved, keys)
            self._solve_pairs(f"solved-{number}", found, keys // n, keys % n, reach)
        return found

    def _solve_pairs(self, name: str, found: _Lists, first: Ints, second: Ints, reach: Floats) -> None:
        """Solve pairs. The distance of a pair matters up to the farther reach of the two."""
        everyone = np.full(len(self.index.masses), -np.inf)
        everyone[self.rows] = reach
        limits = np.maximum(everyone[first], everyone[second])
        swap = (first + second) % 2 == 1
        owner, other = np.where(swap, second, first), np.where(swap, first, second)
        order = np.lexsort((other, owner))
        owner, other, limits = owner[order], other[order], limits[order]
        owners, starts = np.unique(owner, return_index=True)
        pairs = NeighborPositions(np.append(starts, owner.size), other, limits)
        lengths = self.index.masses.counts
        costs = np.add.reduceat(lengths[owner] * lengths[other], starts) if owner.size else starts
        self._run(
            name, found, owners, costs, solve_block,
            lambda rows: (rows, pairs.take(np.searchsorted(owners, rows))),
        )  # fmt: skip

    def _run(
        self,
        name: str,
        lists: _Lists,
        rows: Ints,
        costs: Ints,
        function: Callable[..., NeighborPositions],
        arguments: Callable[[Ints], tuple[Any, ...]],
        *shared: Any,
    ) -> None:
        """Run a step, or read what is finished of it, and join what it finds to lists.

        A task gets the population and what is shared, then the arguments of its rows.
        """
        checkpoint, index = None, self.index
        least = max(self.executor.slots, -(-rows.size // self.users_per_block))
        if self.folder is not None:
            checkpoint = NeighborCheckpoint(Path(self.folder, name), index.ids, len(index.masses))
            least = checkpoint.claim({"step": name}, least)
        blocks = [rows[block] for block in divide_queries(costs, 1, least)]

        def start(_: object) -> Callable[[int], Calls[NeighborPositions]]:
            executor, population = self.executor, self.population
            geometry, embedding = population.geometry, population.embedding
            arrays = geometry.grid, geometry.vectors, population.vectors, embedding.tiles, embedding.square
            n_bytes = sum(array.nbytes for array in arrays if array is not None) + 20 * len(index.masses.mass)
            executor.begin(n_bytes, n_bytes)
            values = [executor.share(value) for value in (population, *shared)]

            def calls(number: int) -> Calls[NeighborPositions]:
                done = yield function, (*values, *arguments(blocks[number]))
                part: NeighborPositions = done.value
                executor.summary.record(done.node, part.stats.seconds, part.stats.solved)
                return part

            return calls

        parts = run_blocks(self.executor, blocks, start, checkpoint=checkpoint, progress=self.progress)
        for block, part in zip(blocks, parts, strict=True):
            lists.join(block, part)
            self.stats += part.stats


def _enough(ranks: Ints, lost: float, least: int, most: int) -> int:
    """Return how many candidates lose no more than a share of neighbors, with some to spare.

    >>> _enough(np.array([0, 3, 5, 90]), lost=0.25, least=2, most=50)
    8
    """
    if not ranks.size:
        return max(1, min(least, most))
    needed = np.sort(ranks)[max(0, math.ceil((1.0 - lost) * ranks.size) - 1)] + 1
    return int(max(1, min(most, max(least, math.ceil(1.25 * needed)))))
