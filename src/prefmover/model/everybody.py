"""Recommendations for all users of a model, in blocks that any executor runs and a checkpoint keeps.

A block is a fixed range of users, and each piece of :data:`PIECE` users in it is one matrix product on one
core. So the lists are the same, bit for bit, with any number of threads and on a cluster.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from prefmover._typing import Ints, Progress
from prefmover.dataset import Dataset, geometry_if
from prefmover.execution import Executor
from prefmover.execution.checkpoint import Calls, Checkpoint, run_blocks
from prefmover.execution.threads import run, slices
from prefmover.items.geometry import ItemGeometry
from prefmover.model.lists import Lists, best_items
from prefmover.predict.predictor import HOW
from prefmover.rank.recommendations import RecommendationTable
from prefmover.rank.selection import Selection

if TYPE_CHECKING:
    from prefmover.model.base_recommender import BaseRecommender
    from prefmover.model.lists import By

__all__ = ["recommend_all"]

BLOCK = 512  # users of a task, and of a part of the checkpoint
DISK_BYTES = 25  # per recommendation, in a checkpoint
PIECE = 128  # users whose scores of all items are in memory at once


def recommend_block(
    shared: tuple[BaseRecommender, Selection],
    by: By,
    users: Ints,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Lists, float]:
    """Return the lists of users by position, and the seconds that they took. Workers run this."""
    from threadpoolctl import threadpool_limits

    model, selection = shared
    start, out = perf_counter(), Lists.empty(len(users), selection.n)

    def work(piece: slice) -> None:
        states = [model.predictor_.state(user) for user in users[piece].tolist()]
        lists = best_items(model, states, by, selection)
        out.positions[piece], out.scores[piece] = lists.positions, lists.scores
        out.ratings[piece], out.how[piece] = lists.ratings, lists.how

    pieces = slices(len(users), PIECE)
    sizes = [piece.stop - piece.start for piece in pieces]
    # The sums of a matrix product depend on the number of threads that share it.
    with threadpool_limits(1, user_api="blas"):
        run(work, pieces, n_threads=n_threads, sizes=sizes, progress=progress)
    return out, perf_counter() - start


def recommend_all(
    model: BaseRecommender,
    by: By,
    selection: Selection,
    executor: Executor,
    folder: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> RecommendationTable:
    """Return the lists of all users, computed block by block.

    A run that was killed resumes from the parts in its folder, with any executor.
    """
    data = model.data_
    everyone = np.arange(data.n_users)
    blocks = [everyone[block] for block in slices(len(everyone), BLOCK)]
    checkpoint = None
    if folder is not None:
        checkpoint = ListCheckpoint(folder, data, selection.n)
        description = {"n": selection.n, "inputs": _digest(model, by, selection)}
        checkpoint.claim(description, len(blocks), DISK_BYTES * len(everyone) * selection.n)

    def start(_: object) -> Callable[[int], Calls[Lists]]:
        n_bytes = _bytes(model)
        executor.begin(n_bytes, n_bytes)
        shared = executor.share((model, selection))  # together, so that their data travel once

        def calls(number: int) -> Calls[Lists]:
            done = yield recommend_block, (shared, by, blocks[number])
            lists: Lists
            lists, seconds = done.value
            executor.summary.record(done.node, {"lists": seconds})
            return lists

        return calls

    parts = run_blocks(executor, blocks, start, checkpoint=checkpoint, progress=progress)
    lists = Lists(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return lists.to_table(data.ratings.users.tolist(), data)


class ListCheckpoint(Checkpoint[Lists]):
    """A folder of finished recommendations: user, items (ids, the best first), scores, ratings, how."""

    job = "recommendations"
    inputs = "models, ratings, items or options"

    def __init__(self, folder: str | PathLike[str], data: Dataset, n: int) -> None:
        super().__init__(folder, data.ratings.users)
        self.ratings, self.n = data.ratings, n

    def _to_table(self, part: Lists, rows: Ints) -> Any:
        import pyarrow as pa

        there, items = part.positions >= 0, self.ratings.items
        offsets = pa.array(np.concatenate(([0], np.cumsum(there.sum(axis=1)))).astype(np.int32))
        id_type, ratings = pa.array(items[:1].tolist()).type, part.ratings[there]
        columns = {
            "items": pa.array(items[part.positions[there]].tolist(), id_type),
            "scores": pa.array(part.scores[there]),
            "ratings": pa.array(ratings, mask=np.isnan(ratings)),
            "how": pa.array(part.how[there]),
        }
        lists = {name: pa.ListArray.from_arrays(offsets, column) for name, column in columns.items()}
        return pa.table({"user": pa.array(self.ratings.users[rows].tolist()), **lists})

    def _from_table(self, table: Any, rows: Ints) -> Lists:
        columns = [table[name].combine_chunks() for name in ("items", "scores", "ratings", "how")]
        lengths = columns[0].value_lengths()
        if any(column.value_lengths() != lengths for column in columns):
            raise ValueError("its lists differ in length")
        counts = lengths.to_numpy(zero_copy_only=False)
        if (counts > self.n).any():
            raise ValueError(f"a list has more than {self.n} items")
        out, there = Lists.empty(len(rows), self.n), np.arange(self.n) < counts[:, None]
        out.positions[there] = self.ratings.item_positions(columns[0].flatten().to_pylist())
        scores, ratings, how = (column.flatten().to_numpy(zero_copy_only=False) for column in columns[1:])
        out.scores[there], out.ratings[there], out.how[there] = scores, ratings, how
        if np.isnan(out.scores[there]).any() or not ((out.how >= 0) & (out.how < len(HOW))).all():
            raise ValueError("a score is missing, or how a rating was predicted")
        return out


def _bytes(model: BaseRecommender) -> int:
    """Return about how many bytes a model takes in a cluster's memory."""
    geometry, matrix = _geometry(model), model.data_.ratings.matrix
    arrays = [array for array in model._stored()[1].values() if isinstance(array, np.ndarray)]
    arrays += [matrix.data, matrix.indices]
    if geometry is not None:
        arrays += [array for array in (geometry.grid, geometry.vectors) if array is not None]
    return sum(array.nbytes for array in arrays)


def _digest(model: BaseRecommender, by: By, selection: Selection) -> str:
    """Return a digest of everything that the lists depend on."""
    digest = hashlib.sha256(model.data_.digest().encode())
    facts, arrays = model._stored()
    geometry = _geometry(model, bool(selection.diversify))
    if geometry is not None:
        digest.update(f"{geometry.digest()} {geometry.to_distance}".encode())
        arrays = {**arrays, "vectors": geometry.vectors}
    for name, array in sorted(arrays.items()):
        if array is not None:
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(array).data)
    settings = {name: repr(value) for name, value in (model.params_ | model.settings_).items()}
    settings.pop("n_threads", None)
    choices = [by, selection.n, selection.novelty, selection.diversify, selection.seen]
    digest.update(json.dumps([facts, settings, choices], sort_keys=True, default=repr).encode())
    digest.update(np.ascontiguousarray(selection.allowed).data)
    return digest.hexdigest()


def _geometry(model: BaseRecommender, diversify: bool = False) -> ItemGeometry | None:
    """Return the distances between items if the lists depend on them."""
    needed = model.uses_geometry or model.predictor_.similarity.measure.needs_geometry
    return geometry_if(model.data_, needed or diversify)
