"""The best items for some users or for all: scores of a fitted model, a selection, and predicted ratings.

Lists for all users are made in blocks that any executor runs and a checkpoint keeps. A block is a fixed range
of users, and each piece of :data:`PIECE` users in it is one matrix product on one core. So the lists are the
same, bit for bit, with any number of threads and on a cluster.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.preferences import indptr_from_counts
from prefmover.dataset import Dataset, geometry_if
from prefmover.execution import Executor
from prefmover.execution.checkpoint import Calls, Checkpoint, run_blocks
from prefmover.execution.threads import one_blas_thread, run, slices
from prefmover.explain.reasons import Explainer
from prefmover.explain.recommendation import RecommendationExplanation
from prefmover.items.geometry import ItemGeometry
from prefmover.predict.predictor import HOW, Predictor, UserState, clip, how_predicted
from prefmover.rank.ranker import SideScores
from prefmover.rank.recommendations import RecommendationTable, Selection

if TYPE_CHECKING:
    from prefmover.model.base_recommender import BaseRecommender

__all__ = ["By", "Lists", "best_items", "item_scores", "recommend_all"]

By: TypeAlias = Literal["ranking", "rating"]

BLOCK_USERS = 256  # users whose scores of all items are in memory at once
BLOCK = 512  # users of a task, and of a part of the checkpoint
DISK_BYTES = 25  # per recommendation, in a checkpoint
PIECE = 128  # users whose scores of all items are in memory at once, on each of many cores


class Lists(NamedTuple):
    """The lists of some users: arrays (users, n), as in a RecommendationTable."""

    positions: Ints
    scores: Floats
    ratings: Floats
    how: npt.NDArray[np.int8]

    @classmethod
    def empty(cls, n_users: int, n: int) -> Lists:
        """Return lists without items."""
        nothing = np.full((n_users, n), np.nan)
        return cls(np.full((n_users, n), -1), nothing, nothing.copy(), np.zeros((n_users, n), np.int8))


def best_items(
    model: BaseRecommender,
    states: Sequence[UserState],
    by: By,
    selection: Selection,
    explainer: Explainer | None = None,
) -> RecommendationTable:
    """Return the list of each user, with the reasons for its items if somebody explains them."""
    lists = Lists.empty(len(states), selection.n)
    why: list[list[RecommendationExplanation]] = []
    for block in slices(len(states), BLOCK_USERS):
        some = states[block]
        part = Lists(lists.positions[block], lists.scores[block], lists.ratings[block], lists.how[block])
        scores: list[SideScores | None] = []
        for row, (values, sides) in enumerate(item_scores(model, some, by, sides=explainer is not None)):
            chosen = selection.best(values, some[row].seen)
            part.positions[row, : len(chosen)] = chosen
            part.scores[row, : len(chosen)] = values[chosen]
            scores.append(sides)
        if model._predictor is not None:
            _add_ratings(model._predictor, some, part)
        if explainer is not None:
            for row, state in enumerate(some):
                chosen = part.positions[row][part.positions[row] >= 0]
                ratings = part.ratings[row, : len(chosen)].tolist()
                predicted = [None if rating != rating else rating for rating in ratings]
                why.append(explainer.explain(state, chosen, predicted, scores[row]))
    names = [state.name for state in states]
    return RecommendationTable(names, *lists, model.data_, why if explainer is not None else None)


def item_scores(
    model: BaseRecommender, states: Sequence[UserState], by: By, *, sides: bool = False
) -> Iterator[tuple[Floats, SideScores | None]]:
    """Yield the scores of all items for each user, and if wanted their sides by the ranking."""
    predictor, ranker = model._predictor, model._ranker
    if by == "rating":
        assert predictor is not None  # the model has checked
        everything = np.arange(model.data_.n_items)
        yield from ((predictor.scores(state, everything).values, None) for state in states)
        return
    assert ranker is not None
    if sides:
        scored = (ranker.scores(state) for state in states)
        yield from ((one.total[0], one) for one in scored)
        return
    known = [state.position for state in states if state.is_whole]
    rows = iter(ranker.block(np.array(known)).total if known else ())
    for state in states:
        yield next(rows) if state.is_whole else ranker.scores(state).total[0], None


def _add_ratings(predictor: Predictor, states: Sequence[UserState], lists: Lists) -> None:
    """Predict the ratings of all items in the lists: many known users together, others one by one."""
    known = np.array([state.position for state in states], np.int64)
    together = np.array([state.is_whole and len(states) > 1 for state in states])
    there = (lists.positions >= 0) & together[:, None]
    users, items = np.repeat(known, lists.positions.shape[1])[there.ravel()], lists.positions[there]
    scale = predictor.similarity.data.ratings.scale
    if len(users):
        predicted = predictor.predict(users, items)
        lists.ratings[there] = clip(predicted.values, scale)[0]
        lists.how[there] = how_predicted(users, items, predicted.has_neighbors)
    for row in np.flatnonzero(~together).tolist():
        chosen = lists.positions[row][lists.positions[row] >= 0]
        values, has_neighbors = predictor.expected(states[row], chosen)
        lists.ratings[row, : len(chosen)] = clip(values, scale)[0]
        user = np.full(len(chosen), 0 if states[row].is_known else -1)
        lists.how[row, : len(chosen)] = how_predicted(user, chosen, has_neighbors)


def recommend_block(
    shared: tuple[BaseRecommender, Selection],
    by: By,
    users: Ints,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Lists, float]:
    """Return the lists of users by position, and the seconds that they took. Workers run this."""
    model, selection = shared
    start, out = perf_counter(), Lists.empty(len(users), selection.n)

    def work(piece: slice) -> None:
        table = best_items(model, [model._known(user) for user in users[piece].tolist()], by, selection)
        out.positions[piece], out.scores[piece] = table.positions, table.scores
        out.ratings[piece], out.how[piece] = table.ratings, table.how

    pieces = slices(len(users), PIECE)
    sizes = [piece.stop - piece.start for piece in pieces]
    with one_blas_thread():
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
    return RecommendationTable(data.ratings.users.tolist(), *lists, data)


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
        offsets = pa.array(indptr_from_counts(there.sum(axis=1)).astype(np.int32))
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
    from prefmover.model.storage import fitted_arrays

    geometry, matrix = _geometry(model), model.data_.ratings.matrix
    arrays = [*fitted_arrays(model).values(), matrix.data, matrix.indices]
    if geometry is not None:
        arrays += [array for array in (geometry.grid, geometry.vectors) if array is not None]
    return sum(array.nbytes for array in arrays)


def _digest(model: BaseRecommender, by: By, selection: Selection) -> str:
    """Return a digest of everything that the lists depend on."""
    from prefmover.model.storage import fitted_arrays

    digest = hashlib.sha256(model.data_.digest().encode())
    arrays: dict[str, Any] = {**fitted_arrays(model)}
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
    digest.update(json.dumps([settings, choices], sort_keys=True, default=repr).encode())
    digest.update(np.ascontiguousarray(selection.allowed).data)
    return digest.hexdigest()


def _geometry(model: BaseRecommender, diversify: bool = False) -> ItemGeometry | None:
    """Return the distances between items if the lists depend on them."""
    needed = model.uses_geometry or model.similarity_.measure.needs_geometry
    return geometry_if(model.data_, needed or diversify)
