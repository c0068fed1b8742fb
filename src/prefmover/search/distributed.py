"""Everybody's nearest users in blocks of work, which any executor runs: threads here, or a cluster.

::

            shard 0    shard 1   ...        a task is one block of askers against one shard of users:
    block 0    ■ ── lists ──► ■ ── lists ──►      their lists so far in, the lists out
    block 1    ■              ■              its distances, known ─► the blocks that have yet to ask
    ...

A block visits one shard after the other and carries its lists along, so that what is near enough on one
rules out most of the next; blocks begin at different shards. A block holds as many askers as make up one
share of the estimated cost (its ratings times those of the users), heavy ones first. Finished blocks are
written as parts. Neither the cut nor who ran what when changes a distance or a neighbor.
"""

import hashlib
import json
import logging
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NamedTuple, cast

import numpy as np

from prefmover.data.preferences import Preferences
from prefmover.errors import InputError
from prefmover.execution import Executor, Local, Task
from prefmover.execution.threads import Progress
from prefmover.items.geometry import ItemGeometry
from prefmover.search.checkpoint import Part, PartsFolder
from prefmover.search.index import MANY, Asked, NeighborIndex, new_ratings
from prefmover.search.result import Floats, Index, Neighbors, SearchStats
from prefmover.search.shard import (
    NO_TABLE,
    Askers,
    Exchange,
    Pairs,
    Scratches,
    Shard,
    Table,
    ask,
    empty_lists,
    nearest_items,
)

__all__ = ["Answer", "Lists", "cut_askers", "cut_users", "in_blocks", "search_block"]

logger = logging.getLogger("prefmover")

TASK_COST = 3e10  # ratings of a block times ratings of a shard: some 20 seconds
LEAST_TASKS = 16  # for each slot of the executor, so that the last ones end together
BYTES_PER_RATING, BYTES_PER_USER = 12, 16
KNOWN_BYTES = 2**29  # of solved pairs that wait for the other side to ask


class Lists(NamedTuple):
    """The nearest users found so far, of each asker of a block: (n,) counts, (n, k) positions, distances."""

    counts: Index
    users: Index
    distances: Floats


class Answer(NamedTuple):
    """What a task returns: the lists, the pairs that were solved, and what it took."""

    lists: Lists
    solved: Pairs
    stats: SearchStats


_SCRATCHES = Scratches()  # of the threads of a worker, from task to task


def search_block(
    geometry: ItemGeometry,
    shard: Shard,
    table: Table,
    askers: Askers,
    lists: Lists,
    known: Pairs,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> Answer:
    """Search one shard for the nearest users of a block of askers, from the lists so far.

    A function of its arguments alone: this is what runs on a worker.
    """
    shard = replace(shard, table=table)
    n, k = lists.users.shape

    def lists_for(row: int, place: int) -> Any:
        mine, count = empty_lists(1, k), lists.counts[row]
        # By place in the shard, which others than its users may have too: all that counts is the order.
        mine.users[0, :count] = lists.users[row, :count] - shard.first
        mine.distances[0, :count] = lists.distances[row, :count]
        mine.found[0] = count
        return mine

    exchange = Exchange(shard, set(askers.positions.tolist()) - {-1}, known, keep=True)
    found, stats = ask(
        shard, geometry, askers, np.arange(n), lists_for, k, np.inf, exchange, _SCRATCHES,
        n_threads=threads, progress=progress,
    )  # fmt: skip
    out = Lists(np.zeros(n, np.int64), np.zeros((n, k), np.int64), np.zeros((n, k)))
    for row, answer in found.items():
        count = int(answer.counts[0])
        out.counts[row] = count
        out.users[row, :count], out.distances[row, :count] = answer.users, answer.distances
    return Answer(out, Pairs.join(exchange.kept or []), stats)


def in_blocks(
    index: NeighborIndex,
    users: Asked,
    k: int,
    executor: Executor,
    folder: str | PathLike[str] | None = None,
    *,
    progress: Progress | None = None,
    blocks: int | None = None,
) -> Neighbors:
    """Return ``index.nearest(users, k)``, computed by an executor, block by block.

    Parameters
    ----------
    folder
        For finished parts; a run that was killed goes on from there, with whatever executor.
    blocks
        How many at least; by default as many as keep the executor busy to the end.
    """
    new = new_ratings(users)
    if new is not None and folder is not None:
        raise InputError("a checkpoint is for the users of the ratings; new users are soon answered")
    ratings, askers = index.askers(new)
    asking = ratings.user_positions(None if new is not None else cast(Iterable[Any] | None, users))
    rows = np.unique(asking)
    run = _Run(index, askers, rows, k, executor, progress, ratings.users, new is None)
    least = blocks or executor.slots * max(2, LEAST_TASKS // len(run.ranges))
    parts = None
    if folder is not None:
        parts = PartsFolder(folder, index.ratings)
        about = {"k": int(k), "inputs": _digest(index, rows)}
        least = parts.claim(about, least)
    return run.all(parts, least, asking)


def cut_users(everyone: Preferences, shard_bytes: int | None, table_bytes: int = 0) -> list[tuple[int, int]]:
    """Return shards of the users as ranges of positions, of about equally many bytes.

    Parameters
    ----------
    table_bytes
        Of a user's column of the table of distances to items; 0 without a table.

    Examples
    --------
    >>> from prefmover.data.ratings import Ratings
    >>> from prefmover.data.preferences import preferences
    >>> everyone = preferences(Ratings.from_arrays([1, 2, 3, 4], list("abcd"), [1, 1, 1, 1]))
    >>> cut_users(everyone, None), cut_users(everyone, 60)
    ([(0, 4)], [(0, 2), (2, 4)])
    """
    n = everyone.total.size
    before = BYTES_PER_RATING * everyone.indptr + (BYTES_PER_USER + table_bytes) * np.arange(n + 1)
    count = 1 if shard_bytes is None else max(1, -(-int(before[-1]) // max(int(shard_bytes), 1)))
    edges = np.searchsorted(before, before[-1] * np.arange(1, count) / count)
    edges = np.unique(np.concatenate(([0], edges, [n])))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def cut_askers(sizes: Index, shard_ratings: int, least: int) -> list[Index]:
    """Return blocks of askers, by place: heavy ones first, of about equal cost each.

    Parameters
    ----------
    sizes
        Ratings of each asker.
    shard_ratings
        Ratings of the users of a shard, all of whom an asker meets.
    least
        How many blocks at least, if there are so many askers.

    Examples
    --------
    >>> [block.tolist() for block in cut_askers(np.array([1, 6, 1, 2, 2]), 10, least=3)]
    [[1], [3], [4, 0, 2]]
    """
    order = np.argsort(-sizes, kind="stable")
    cost = np.cumsum(sizes[order].astype(np.float64) + 1.0)  # and 1: what an asker costs anyway
    if not order.size:
        return []
    count = max(least, int(np.ceil(cost[-1] * shard_ratings / TASK_COST)))
    # An asker belongs to the share that the middle of their cost falls into.
    share = ((cost - (sizes[order] + 1.0) / 2) / cost[-1] * count).astype(np.int64)
    return np.split(order, np.flatnonzero(np.diff(share)) + 1)


@dataclass(slots=True)
class _Block:
    """A block under way: who asks (rows), which shards are left, and the lists so far."""

    rows: Index
    askers: Askers
    left: deque[int]
    lists: Lists
    stats: SearchStats


class _Run:
    """One search in blocks."""

    def __init__(
        self,
        index: NeighborIndex,
        askers: Askers,
        rows: Index,
        k: int,
        executor: Executor,
        progress: Progress | None,
        ids: Any,
        own: bool,
    ) -> None:
        self.index, self.askers, self.rows, self.k = index, askers, rows, k
        self.executor, self.progress, self.ids, self.own = executor, progress, ids, own
        many = rows.size >= MANY and index.has_room_for_table(1)
        self.table = many and (
            executor.shard_bytes is not None or index.has_room_for_table(index.ratings.n_users)
        )
        self.table_bytes = 4 * index.ratings.n_items if self.table else 0
        self.ranges = cut_users(index.preferences, executor.shard_bytes, self.table_bytes)

    def all(self, parts: PartsFolder | None, least: int, asking: Index) -> Neighbors:
        ratings_before = self.index.preferences.indptr
        most = max(int(ratings_before[stop] - ratings_before[start]) for start, stop in self.ranges)
        sizes = np.diff(self.askers.preferences.indptr)[self.rows]
        blocks = [self.rows[places] for places in cut_askers(sizes, most, least)]
        answers = {} if parts is None else parts.load(len(blocks), self.ids, blocks)
        if len(answers) < len(blocks):
            self._search(blocks, answers, parts)
        return self._join(blocks, answers, asking)

    def _search(self, blocks: list[Index], answers: dict[int, Part], parts: PartsFolder | None) -> None:
        from prefmover.execution.jit import announce_compilation

        announce_compilation()
        executor, index, ranges = self.executor, self.index, self.ranges
        todo = [number for number in range(len(blocks)) if number not in answers]
        executor.begin(*self._bytes())
        executor.summary.resumed = len(answers)
        # Ids stay here: workers know items and users by position.
        geometry = replace(index.geometry, items=np.arange(index.geometry.n_items))
        shared_geometry, shards, tables = executor.share(geometry), [], []
        for start, stop in ranges:
            shard = executor.share(Shard.of(index.preferences, start, stop))
            shards.append(shard)
            tables.append(executor.derive(nearest_items, shared_geometry, shard) if self.table else NO_TABLE)
        inbox = _Inbox(blocks, ranges, self.rows.size and int(self.rows.max()) + 1, self.own)
        for part_answer in answers.values():
            inbox.deliver(part_answer.pairs(self.askers.positions))
        under_way: dict[int, _Block] = {}
        ready = deque(todo)
        finished = sum(blocks[number].size for number in answers) * len(ranges)
        steps = self.rows.size * len(ranges)

        def take() -> Task | None:
            if not ready:
                return None
            number = ready.popleft()
            block = under_way.get(number)
            if block is None:
                turn = deque(range(len(ranges)))
                turn.rotate(-number)
                block = under_way[number] = self._begin(blocks[number], turn)
            at = block.left[0]
            known = inbox.collect(number, at)
            arguments = shared_geometry, shards[at], tables[at], block.askers, block.lists, known

            def report(done: int, _: int, before: int = finished) -> None:
                if self.progress is not None:
                    self.progress((before + done) // len(ranges), self.rows.size)

            return Task((number, at), search_block, arguments, report)

        for done in executor.run(take):
            number, at = done.key
            block, answer = under_way[number], cast(Answer, done.value)
            executor.summary.record(done.node, answer.stats.seconds, answer.stats.solved)
            inbox.deliver(answer.solved)
            block.lists, block.stats = answer.lists, block.stats + answer.stats
            block.left.remove(at)
            finished += block.rows.size
            if block.left:
                ready.appendleft(number)
            else:
                part = answers[number] = Part(*block.lists, block.stats, block.rows)
                if parts is not None:
                    parts.save(number, part, self.ids)
                del under_way[number]
            if self.progress is not None:
                self.progress(min(finished, steps) // len(ranges), self.rows.size)
        if not isinstance(executor, Local):
            logger.info("prefmover: %s", executor.summary)

    def _begin(self, rows: Index, turn: deque[int]) -> _Block:
        p, n = self.askers.preferences, rows.size
        lengths = np.diff(p.indptr)[rows]
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        at = np.repeat(p.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
        some = Preferences(indptr, p.indices[at].astype(np.int32), p.mass[at], p.total[rows])
        none = Lists(np.zeros(n, np.int64), np.zeros((n, self.k), np.int64), np.zeros((n, self.k)))
        return _Block(rows, Askers(some, self.askers.positions[rows]), turn, none, SearchStats())

    def _bytes(self) -> tuple[int, int]:
        """Return the bytes of all shared values, and of those that one task reads."""
        geometry, indptr = self.index.geometry, self.index.preferences.indptr
        held = geometry.grid if geometry.grid is not None else geometry.vectors
        assert held is not None
        of_shard = [
            BYTES_PER_RATING * int(indptr[b] - indptr[a]) + (BYTES_PER_USER + self.table_bytes) * (b - a)
            for a, b in self.ranges
        ]
        return held.nbytes + sum(of_shard), held.nbytes + max(of_shard)

    def _join(self, blocks: list[Index], answers: dict[int, Part], asking: Index) -> Neighbors:
        counts = np.zeros(int(self.rows.max(initial=-1)) + 1, np.int64)
        home = np.zeros((counts.size, 2), np.int64)
        total = SearchStats()
        for number, rows in enumerate(blocks):
            counts[rows] = answers[number].counts
            home[rows, 0], home[rows, 1] = number, np.arange(rows.size)
            total = total + answers[number].stats
        indptr = np.concatenate(([0], np.cumsum(counts[asking])))
        neighbors, values = np.empty(indptr[-1], np.int64), np.empty(indptr[-1])
        for place, (number, at) in enumerate(home[asking].tolist()):
            answer, slot = answers[number], slice(indptr[place], indptr[place + 1])
            count = indptr[place + 1] - indptr[place]
            neighbors[slot], values[slot] = answer.users[at, :count], answer.distances[at, :count]
        return Neighbors(self.ids[asking], self.index.ratings.users, indptr, neighbors, values, stats=total)


class _Inbox:
    """Distances solved from one side, kept for the task that will ask from the other."""

    def __init__(self, blocks: list[Index], ranges: list[tuple[int, int]], n: int, own: bool) -> None:
        self.block_of = np.full(n, -1)
        if own:  # else those who ask are nobody's neighbors
            for number, rows in enumerate(blocks):
                self.block_of[rows] = number
        self.starts = np.array([start for start, _ in ranges])
        self.waiting: dict[tuple[int, int], list[Pairs]] = {}
        self.closed: set[tuple[int, int]] = set()
        self.held = 0

    def deliver(self, solved: Pairs) -> None:
        """Keep pairs for the tasks that can use them: turned round, the user asks and the asker is known."""
        turned = Pairs(solved.users, solved.askers, solved.distances)
        pairs = turned.at(turned.askers < self.block_of.size)
        shards = np.searchsorted(self.starts, pairs.users, "right") - 1
        tasks = np.stack((self.block_of[pairs.askers], shards))
        order = np.lexsort(tasks)
        tasks = tasks[:, order]
        edges = np.flatnonzero(np.any(np.diff(tasks, axis=1), axis=0)) + 1
        for part in np.split(np.arange(order.size), edges):
            if not part.size:
                continue
            key = int(tasks[0, part[0]]), int(tasks[1, part[0]])
            size = 24 * part.size
            if key[0] >= 0 and key not in self.closed and self.held + size <= KNOWN_BYTES:
                self.waiting.setdefault(key, []).append(pairs.at(order[part]))
                self.held += size

    def collect(self, block: int, shard: int) -> Pairs:
        """Return what is known to a task that begins now."""
        self.closed.add((block, shard))
        found = Pairs.join(self.waiting.pop((block, shard), []))
        self.held -= 24 * found.askers.size
        return found


def _digest(index: NeighborIndex, rows: Index) -> str:
    digest = hashlib.sha256()
    p, geometry = index.preferences, index.geometry
    exact = geometry.grid if geometry.grid is not None else geometry.vectors
    assert exact is not None
    for values in (p.indptr, p.indices.astype(np.int64), p.mass, rows, exact):
        digest.update(np.ascontiguousarray(values).data)
    ids = [index.ratings.users.tolist(), geometry.unit, bool(geometry.is_metric)]
    digest.update(json.dumps(ids).encode())
    return digest.hexdigest()
