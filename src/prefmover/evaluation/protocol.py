"""From a split and a method to predictions of the test ratings, for every K at once.

The predictor is that of :mod:`prefmover.predict.base`,

    r̂(u, i) = b(u, i) + σ_u Σ_v w(u, v) e(v, i) / (Σ_v |w(u, v)| + λ),

over the K nearest among those who rated i; the base b and the deviations e are those of a
:class:`~prefmover.predict.centering.Centering`. The paper's has ``"mean"`` and λ = 0.

Similarities are weights as they are: a neighbor with a negative correlation counts with a minus sign, and
|w| below the line. Distances have a rule, stated in the table of measures: PMD exp(-4 D), MSD 1 - MSD.
Predictions are cut off at the ends of the scale. Where no rater has a defined, non-zero weight the
prediction is the base alone; *coverage* is the share of predictions where one had.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from prefmover.data.splits import Split
from prefmover.errors import InputError
from prefmover.evaluation import baselines as controls
from prefmover.execution.threads import Progress, run
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import MEASURES, blocks, find_measure, weight
from prefmover.predict.base import clip
from prefmover.predict.centering import CENTERINGS, Centering
from prefmover.search import NeighborIndex

__all__ = ["CONTROLS", "Method", "Predictions", "Task", "methods_of", "predict"]

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

NO_NEIGHBORS = {"user-mean": "mean", "bias": "baseline"}
CONTROLS = ("uniform", "mean-vector", *NO_NEIGHBORS)
PAIRS_AT_ONCE = 620_000  # test ratings whose neighbors are held at once: 60 x 16 bytes each, three times
THREAD_ROWS = 32


@dataclass(frozen=True, slots=True)
class Method:
    """One way to predict: a measure under a convention, a control, or somebody else's model.

    Attributes
    ----------
    name
        Of the measure, control or peer.
    kind
        ``"measure"``, ``"control"`` or ``"peer"``.
    convention
        Of the measure; ``"-"`` for the others.
    """

    name: str
    kind: Literal["measure", "control", "peer"] = "measure"
    convention: str = "-"

    @property
    def label(self) -> str:
        """As the figures write it."""
        return MEASURES[self.name].label if self.kind == "measure" else self.name

    @property
    def by_neighbors(self) -> bool:
        """Whether predictions depend on K."""
        return self.kind == "measure" or self.name in ("uniform", "mean-vector")


def methods_of(measure: str) -> list[Method]:
    """Return a measure under each of its conventions that differ, the published one first.

    PMD stands for the paper's definition only: the entropic reading of Table 1 is no distance to search by.

    >>> [method.convention for method in methods_of("nhsm")]
    ['published', 'table-1']
    """
    row = find_measure(measure)
    if row.name == "pmd":
        return [Method(row.name, "measure", row.default)]
    distinct: dict[str, str] = {}
    for name in sorted(row.conventions, key=lambda name: name != row.default):
        distinct.setdefault(repr(sorted(row.conventions[name].options.items())), name)
    return [Method(row.name, "measure", name) for name in distinct.values()]


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """What was predicted for the test ratings of a split.

    Attributes
    ----------
    ks
        Numbers of neighbors; one None if there are no neighbors.
    ratings
        (n_test, len(ks)) predictions.
    used
        (n_test, len(ks)) how many neighbors each rests on.
    solved
        Pairs of users whose value was computed, None if there were none.
    """

    ks: tuple[int | None, ...]
    ratings: Floats
    used: npt.NDArray[np.int32]
    solved: int | None = None


@dataclass(frozen=True, eq=False)
class Task:
    """A split made ready: what to expect of users and items, and the training ratings by item.

    Parameters
    ----------
    split
        Train and test.
    ks
        Numbers of neighbors, ascending.
    centering, shrinkage
        Base and deviations, and λ; see the top of this module.
    seed
        Of the random order of the control ``uniform``.
    """

    split: Split
    ks: tuple[int, ...]
    centering: str = "mean"
    shrinkage: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.ks or list(self.ks) != sorted(set(self.ks)) or self.ks[0] < 1:
            raise InputError(f"k is {list(self.ks)}; give whole numbers from 1, ascending")
        if self.centering not in CENTERINGS:
            raise InputError(f"centering is {self.centering!r}; choose one of {', '.join(CENTERINGS)}")
        if not 0 <= self.shrinkage < np.inf:
            raise InputError(f"shrinkage is {self.shrinkage!r}; give a number from 0")

    @cached_property
    def habits(self) -> Centering:
        """What to expect of each user and item, from the training ratings."""
        return Centering.of(self.split.train, self.centering)

    @cached_property
    def by_item(self) -> tuple[Index, Index, Floats]:
        """The training ratings by item: where each begins, who rated it (ascending), deviations."""
        matrix = self.split.train.matrix
        owner = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        deviations = self.habits.deviations(self.split.train)
        order = np.argsort(matrix.indices, kind="stable")
        n = np.bincount(matrix.indices, minlength=matrix.shape[1])
        return np.concatenate(([0], np.cumsum(n))), owner[order], deviations[order]

    @cached_property
    def askers(self) -> tuple[Index, Index]:
        """Users of the test set, and where the test ratings of each begin (they are sorted by user)."""
        users, first = np.unique(self.split.users, return_index=True)
        return users, np.append(first, self.split.n_test)

    def finish(self, shift: Floats, used: npt.NDArray[np.int32]) -> Floats:
        """Return base plus shift, or the fallback where nobody spoke, cut off at the ends of the scale."""
        split, habits = self.split, self.habits
        shift *= habits.spread[split.users, None]
        shift += habits.base(split.users, split.items)[:, None]
        fallback = habits.fallback(split.users, split.items)[:, None]
        return clip(np.where(used > 0, shift, fallback), split.train.scale)[0]


def predict(
    task: Task,
    method: Method,
    geometry: ItemGeometry | None = None,
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Predictions:
    """Return the predictions of a measure or a control for a split, for every K.

    Parameters
    ----------
    geometry
        Over the items of the split, in their order, for what needs one.
    n_threads
        Threads; the predictions do not depend on it.
    progress
        Called with (users done, users in all).

    Examples
    --------
    >>> from prefmover.data.ratings import Ratings
    >>> from prefmover.data.splits import random_split
    >>> ratings = Ratings.from_arrays([1, 1, 2, 2, 3, 3], list("ababab"), [5, 1, 4, 2, 5, 2])
    >>> task = Task(random_split(ratings, 0.7, seed=2), ks=(1, 2))
    >>> predict(task, Method("user-mean", "control")).ratings.ravel()
    array([5., 5.])
    """
    split = task.split
    if not method.by_neighbors:
        if method.name not in NO_NEIGHBORS:
            raise InputError(f"control {method.name!r} is not known; choose one of {', '.join(CONTROLS)}")
        base = Centering.of(split.train, NO_NEIGHBORS[method.name]).base(split.users, split.items)
        inside, _ = clip(base, split.train.scale)
        return Predictions((None,), inside[:, None], np.zeros((split.n_test, 1), np.int32))
    shift = np.zeros((split.n_test, len(task.ks)))
    used = np.zeros(shift.shape, np.int32)
    if method.name == "pmd":
        solved = _by_search(task, geometry, shift, used, n_threads, progress)
    else:
        solved = _by_rows(task, method, geometry, shift, used, n_threads, progress)
    return Predictions(task.ks, task.finish(shift, used), used, solved)


def _by_rows(
    task: Task,
    method: Method,
    geometry: ItemGeometry | None,
    shift: Floats,
    used: npt.NDArray[np.int32],
    n_threads: int | None,
    progress: Progress | None,
) -> int:
    """Rank from rows of values, computed a few hundred at a time."""
    from prefmover.evaluation._rank import predict_rows

    train, (askers, first) = task.split.train, task.askers
    ks, done = np.array(task.ks, np.int64), 0
    larger = method.name == "mean-vector" or (method.kind == "measure" and _row(method).larger_is_closer)
    for positions, values in _rows(task, method, geometry, n_threads):
        weights = np.ones_like(values) if method.name == "uniform" else _weights(method, values)
        start = done

        def work(
            part: slice, values: Floats = values, weights: Floats = weights, some: Index = positions
        ) -> None:
            begin = first[start + part.start : start + min(part.stop, some.size) + 1]  # noqa: B023
            # fmt: off
            predict_rows(values[part], weights[part], larger, some[part], begin, task.split.items,
                         *task.by_item, task.shrinkage, ks, shift, used)
            # fmt: on

        parts = [slice(k, k + THREAD_ROWS) for k in range(0, positions.size, THREAD_ROWS)]
        run(work, parts, n_threads=n_threads)
        done += positions.size
        if progress is not None:
            progress(done, askers.size)
    return askers.size * (train.n_users - 1)


def _rows(
    task: Task, method: Method, geometry: ItemGeometry | None, n_threads: int | None
) -> Iterator[tuple[Index, Floats]]:
    train, (askers, _) = task.split.train, task.askers
    if method.name == "uniform":
        return controls.uniform_blocks(train, askers, task.seed)
    if method.name == "mean-vector":
        if geometry is None:
            raise InputError("the control mean-vector needs an item geometry")
        return controls.mean_vector_blocks(train, geometry, askers)
    convention = None if method.convention == "-" else method.convention
    return blocks(
        train,
        _row(method),
        geometry=geometry,
        users=train.users[askers],
        convention=convention,
        n_threads=n_threads,
    )


def _by_search(
    task: Task,
    geometry: ItemGeometry | None,
    shift: Floats,
    used: npt.NDArray[np.int32],
    n_threads: int | None,
    progress: Progress | None,
) -> int:
    """Rank by exact search, which solves only the pairs that some test rating needs."""
    from prefmover.evaluation._rank import predict_lists

    if geometry is None:
        raise InputError("PMD needs the distances between items: name a geometry")
    split, (askers, first) = task.split, task.askers
    train, rule, solved = split.train, weight(_row(Method("pmd")).weight), 0
    index = NeighborIndex(train, geometry)
    ks = np.array(task.ks, np.int64)
    for low, high in _portions(first):
        pairs = slice(first[low], first[high])

        def report(done: int, _: int, before: int = low) -> None:
            if progress is not None:
                progress(before + done, askers.size)

        found = index.raters(
            train.users[split.users[pairs]],
            train.items[split.items[pairs]],
            task.ks[-1],
            n_threads=n_threads,
            progress=report,
        )
        solved += found.stats.solved
        # fmt: off
        predict_lists(found.indptr, found.neighbors, rule(found.values), split.items[pairs],
                      *task.by_item, task.shrinkage, ks, shift[pairs], used[pairs])
        # fmt: on
    return solved


def _portions(first: Index) -> Iterable[tuple[int, int]]:
    """Yield ranges of users with at most so many test ratings together, one user at least."""
    low, n = 0, first.size - 1
    while low < n:
        high = int(np.searchsorted(first, first[low] + PAIRS_AT_ONCE, "right")) - 1
        high = min(max(high, low + 1), n)
        yield low, high
        low = high


def _row(method: Method) -> Any:
    return find_measure(method.name)


def _weights(method: Method, values: Floats) -> Floats:
    return values if method.kind == "control" else weight(_row(method).weight)(values)
