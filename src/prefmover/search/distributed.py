"""A search divided into blocks of work, which any executor runs: threads of this process, or a cluster.

::

            shard 0    shard 1   ...        a task is one block of queries against one shard of users:
    block 0    ■ ── lists ──► ■ ── lists ──►      it takes the lists so far, and returns them improved
    block 1    ■              ■              its solved pairs ─► the tasks of the other side
    ...

A block visits one shard after the other and carries its lists along, so that the near users of one shard rule
out most of the next. Blocks begin at different shards. A block has as many queries as make up one share of
the estimated cost (its ratings times those of the users), heavy ones first. Finished blocks are written to
the checkpoint. The division does not change any distance or neighbor, nor does the order of the tasks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Ids, Ints, Progress
from prefmover.data.ids import IdIndex
from prefmover.data.preferences import Preferences, indptr_from_counts
from prefmover.execution import Executor
from prefmover.execution.checkpoint import Calls, Checkpoint, run_blocks
from prefmover.items.geometry import Ground, ItemGeometry
from prefmover.measures.pmd import GroundMetric
from prefmover.search.result import NeighborPositions, SearchStats
from prefmover.search.shard import (
    MANY,
    NO_TABLE,
    Exchange,
    Queries,
    Shard,
    ShardSearch,
    SolvedPairs,
    Table,
    empty_lists,
    nearest_item_table,
)

if TYPE_CHECKING:
    from prefmover.search.engine import Engine

TASK_COST = 3e10  # ratings of a block times ratings of a shard: some 20 seconds
LEAST_TASKS = 16  # tasks per slot of the executor, so that the last ones end together
BYTES_PER_RATING, BYTES_PER_USER = 12, 16
PAIR_BYTES = 24
DISK_BYTES = 16  # per neighbor, in a checkpoint
KNOWN_BYTES = 2**29  # for solved pairs that wait for the task of the other side


def search_block(
    geometry: GroundMetric,
    shard: Shard,
    table: Table,
    queries: Queries,
    lists: NeighborPositions,
    k: int,
    known: SolvedPairs,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[NeighborPositions, SolvedPairs]:
    """Search one shard for the k nearest users of a block of queries, starting from the lists so far.

    Workers run this. It depends on its arguments alone, and returns the lists, with the statistics of this
    task, and the pairs that it solved.
    """
    shard = replace(shard, table=table)
    n = queries.positions.size

    def lists_for(row: int, itself: int) -> Any:
        top = empty_lists(1, k)
        neighbors, distances = lists.row(row)
        # Rows of the shard, also for users of other shards: only the order matters.
        top.users[0, : neighbors.size] = neighbors - shard.first
        top.distances[0, : neighbors.size] = distances
        top.counts[0] = neighbors.size
        return top

    exchange = Exchange(shard, queries.positions, known, record=True)
    search = ShardSearch(shard, geometry, queries, lists_for, k, np.inf, exchange)
    results, stats = search.run(np.arange(n), n_threads, progress)
    joined = NeighborPositions.from_lists((results[row].row(0) for row in range(n)), stats)
    return joined, SolvedPairs.concatenate(exchange.recorded or [])


def search_blocks(
    index: Engine,
    users: Ints,
    k: int,
    executor: Executor,
    folder: str | PathLike[str] | None = None,
    *,
    new: Preferences | None = None,
    progress: Progress | None = None,
    blocks: int | None = None,
) -> NeighborPositions:
    """Return the k nearest users of each query, by position, computed by an executor, block by block.

    A run that was killed resumes from the parts in its folder, with any executor. ``blocks`` is the least
    number of blocks; by default there are as many as keep the executor busy to the end.
    """
    everyone, geometry, queries = index.masses, index.ground, index.queries(new)
    rows = np.unique(users)
    n = len(everyone) if executor.shard_bytes is None else 1
    with_table = rows.size >= MANY and index.has_room_for_table(n)
    before = bytes_before(everyone, 2 * geometry.n_items if with_table else 0)
    ends = divide_users(before, executor.shard_bytes)
    least = blocks or executor.slots * max(2, LEAST_TASKS // (len(ends) - 1))
    checkpoint = None
    if folder is not None:
        checkpoint = NeighborCheckpoint(folder, index.ids, int(k))
        description = {"k": int(k), "inputs": digest(index, rows)}
        least = checkpoint.claim(description, least, DISK_BYTES * rows.size * int(k))
    most = int(np.diff(everyone.indptr[ends]).max(initial=0))
    work = [rows[chosen] for chosen in divide_queries(queries.preferences.counts[rows], most, least)]

    def start(parts: Mapping[int, NeighborPositions]) -> Callable[[int], Calls[NeighborPositions]]:
        """Share what tasks read; return a function from the number of a block to its tasks."""
        held, of_shards = exact_array(geometry).nbytes, np.diff(before[ends])
        executor.begin(held + int(of_shards.sum()), held + int(of_shards.max()))
        shared = executor.share(without_ids(geometry))
        shards = [executor.share(Shard.from_preferences(everyone, *pair)) for pair in pairwise(ends.tolist())]
        tables = [
            executor.derive(nearest_item_table, shared, shard) if with_table else NO_TABLE for shard in shards
        ]
        known = _KnownPairs([queries.positions[block] for block in work], ends)
        for number, part in parts.items():
            positions = np.repeat(queries.positions[work[number]], part.counts)
            known.add(SolvedPairs(positions, part.neighbors, part.values))

        def calls(number: int) -> Calls[NeighborPositions]:
            block = work[number]
            lists = NeighborPositions.empty(block.size)
            mine = Queries(queries.preferences.take(block), queries.positions[block])
            for turn in range(len(shards)):
                at = (number + turn) % len(shards)
                here = shared, shards[at], tables[at]
                done = yield search_block, (*here, mine, lists, k, known.take(number, at))
                improved, solved = done.value
                executor.summary.record(done.node, improved.stats.seconds, improved.stats.solved)
                known.add(solved)
                lists = replace(improved, stats=lists.stats + improved.stats)
            return lists

        return calls

    parts = run_blocks(
        executor, work, start, tasks_per_block=len(ends) - 1, checkpoint=checkpoint, progress=progress
    )
    lists = NeighborPositions.stack([NeighborPositions.empty(0), *parts])
    of_rows = np.argsort(np.concatenate([rows[:0], *work]))
    lists = replace(lists, stats=sum((part.stats for part in parts), SearchStats()))
    return lists.take(of_rows[np.searchsorted(rows, users)])


def bytes_before(everyone: Preferences, table_bytes: int = 0) -> Ints:
    """Return the bytes of all users before each user, and of all; with columns of a table of distances."""
    return BYTES_PER_RATING * everyone.indptr + (BYTES_PER_USER + table_bytes) * np.arange(len(everyone) + 1)


def divide_users(before: Ints, shard_bytes: int | None) -> Ints:
    """Return the ends of shards with about the same number of bytes each; see :func:`bytes_before`.

    >>> divide_users(np.array([0, 28, 56, 84, 112]), None), divide_users(np.array([0, 28, 56, 84, 112]), 60)
    (array([0, 4]), array([0, 2, 4]))
    """
    count = 1 if shard_bytes is None else max(1, -(-int(before[-1]) // max(int(shard_bytes), 1)))
    edges = np.searchsorted(before, before[-1] * np.arange(1, count) / count)
    return np.unique(np.concatenate(([0], edges, [before.size - 1])))


def divide_queries(sizes: Ints, shard_ratings: int, least: int) -> list[Ints]:
    """Return blocks of queries, by position in ``sizes``: heavy ones first, with about the same cost each.

    Sizes are the numbers of ratings of the queries. ``least`` is the least number of blocks, if there are as
    many queries.

    >>> [block.tolist() for block in divide_queries(np.array([1, 6, 1, 2, 2]), 10, least=3)]
    [[1], [3], [4, 0, 2]]
    """
    order = np.argsort(-sizes, kind="stable")
    cost = np.cumsum(sizes[order].astype(np.float64) + 1.0)  # 1 is the fixed cost of a query
    if not order.size:
        return []
    count = max(least, int(np.ceil(cost[-1] * shard_ratings / TASK_COST)))
    # A query belongs to the share that the middle of its cost falls into.
    share = ((cost - (sizes[order] + 1.0) / 2) / cost[-1] * count).astype(np.int64)
    return np.split(order, np.flatnonzero(np.diff(share)) + 1)


class NeighborCheckpoint(Checkpoint[NeighborPositions]):
    """A folder of finished parts of a search for the k nearest users: user, neighbors, distances."""

    job = "search"
    inputs = "ratings, geometry, users or k"

    def __init__(self, folder: str | PathLike[str], ids: Ids, k: int) -> None:
        super().__init__(folder, ids)
        self.index, self.k = IdIndex("user", ids), k

    def _to_table(self, part: NeighborPositions, rows: Ints) -> Any:
        import pyarrow as pa

        users = self.users
        id_type = pa.array(users[:1].tolist()).type
        offsets = pa.array(part.indptr.astype(np.int32))
        neighbors = pa.array(users[part.neighbors].tolist(), id_type)
        columns = {
            "user": pa.array(users[rows].tolist()),
            "neighbors": pa.ListArray.from_arrays(offsets, neighbors),
            "distances": pa.ListArray.from_arrays(offsets, pa.array(part.values)),
        }
        stats = json.dumps({"counts": part.stats.counts, "seconds": part.stats.seconds})
        return pa.table(columns).replace_schema_metadata({"stats": stats})

    def _from_table(self, table: Any, rows: Ints) -> NeighborPositions:
        stats = json.loads(table.schema.metadata[b"stats"])
        lists, distances = (table[name].combine_chunks() for name in ("neighbors", "distances"))
        if lists.value_lengths() != distances.value_lengths():
            raise ValueError("it has different numbers of distances and neighbors")
        if len(stats["counts"]) != len(SearchStats().counts):
            raise ValueError("its statistics are not complete")
        counts = lists.value_lengths().to_numpy(zero_copy_only=False)
        part = NeighborPositions(
            indptr_from_counts(counts),
            self.index.positions(lists.flatten().to_pylist()),
            distances.flatten().to_numpy(zero_copy_only=False),
            SearchStats(*stats["counts"], seconds=stats["seconds"]),
        )
        if (counts > self.k).any():
            raise ValueError(f"a list has more than {self.k} neighbors")
        owner = part.rows()
        same = owner[1:] == owner[:-1]
        in_order = (part.values[1:] >= part.values[:-1]) | ~same
        if not (part.values >= 0).all() or np.isinf(part.values).any() or not in_order.all():
            raise ValueError("distances are negative, missing or not in order")
        if np.unique(np.stack((owner, part.neighbors)), axis=1).shape[1] < owner.size:
            raise ValueError("a list has a neighbor twice")
        return part


class _KnownPairs:
    """Distances solved from one side, waiting for the task of the other side: that of a block and a shard."""

    def __init__(self, blocks: list[Ints], ends: Ints) -> None:
        self.ends, self.block_of = ends, np.full(int(ends[-1]), -1)
        for number, positions in enumerate(blocks):
            self.block_of[positions[positions >= 0]] = number
        self.waiting: dict[int, list[SolvedPairs]] = {}
        self.taken: set[int] = set()
        self.room = KNOWN_BYTES

    def add(self, solved: SolvedPairs) -> None:
        """Keep pairs for the tasks that can use them: those in which the two users have changed roles."""
        useful = self.block_of[solved.users] >= 0
        pairs = SolvedPairs(solved.users, solved.queries, solved.distances).take(useful)
        shards = np.searchsorted(self.ends, pairs.users, "right") - 1
        tasks = self.block_of[pairs.queries] * self.ends.size + shards
        order = np.argsort(tasks, kind="stable")
        keys, starts = np.unique(tasks[order], return_index=True)
        for key, part in zip(keys.tolist(), np.split(order, starts)[1:], strict=True):
            if key not in self.taken and PAIR_BYTES * part.size <= self.room:
                self.waiting.setdefault(key, []).append(pairs.take(part))
                self.room -= PAIR_BYTES * part.size

    def take(self, block: int, shard: int) -> SolvedPairs:
        """Return the pairs that are known to a task which starts now."""
        key = block * self.ends.size + shard
        self.taken.add(key)
        pairs = SolvedPairs.concatenate(self.waiting.pop(key, []))
        self.room += PAIR_BYTES * pairs.queries.size
        return pairs


def without_ids(geometry: Any) -> Any:
    """Return the same distances without ids, which stay here: workers know points and rows by position."""
    is_named = isinstance(geometry, ItemGeometry)
    return replace(geometry, items=np.arange(geometry.n_items)) if is_named else geometry


def exact_array(geometry: GroundMetric) -> npt.NDArray[Any]:
    """Return what the distances come from: the matrix, or the vectors."""
    array = geometry.vectors if geometry.grid is None and isinstance(geometry, Ground) else geometry.grid
    assert array is not None
    return array


def digest(index: Engine, rows: Ints) -> str:
    """Return a digest of what a search depends on: preferences, distances, ids, and the queries."""
    result = hashlib.sha256()
    # The geometry of the data: whether the search made a dense matrix for itself depends on free memory.
    p, geometry = index.masses, index.given
    for values in (p.indptr, p.indices.astype(np.int64), p.mass, rows, exact_array(geometry)):
        result.update(np.ascontiguousarray(values).data)
    ids = [index.ids.tolist(), geometry.unit, bool(geometry.is_metric)]
    result.update(json.dumps(ids).encode())
    return result.hexdigest()
