"""Run an experiment: every method on every split, each finished cell written down at once.

A run that is stopped, by whatever, loses the cells in hand. The next one on the same folder goes on with the
cells that are missing. Repeats are the outer loop, so that there is something of everything early.

A cell is a task: (split, method) in, its record out. Threads of this process work on one after the other; on
a cluster each has a core of its own.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Literal

import numpy as np

from prefmover.data.ratings import Ratings
from prefmover.data.splits import Split, k_fold, published_folds, random_split
from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment, share_name
from prefmover.evaluation.folder import Cell, RunFolder
from prefmover.evaluation.peers import predict_by_peer
from prefmover.evaluation.protocol import Method, methods_of, predict
from prefmover.evaluation.protocol import Task as SplitTask
from prefmover.evaluation.record import scores, versions
from prefmover.execution import Executor, Local, Task, opened
from prefmover.execution.threads import Progress
from prefmover.items.geometry import ItemGeometry, align
from prefmover.measures import find_measure

__all__ = ["Place", "cell_of", "methods", "places", "run_experiment"]

logger = logging.getLogger("prefmover")
Tell = Callable[[str], None]
SAY_EVERY = 30.0  # seconds, of a cell that takes long


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the experiment a split belongs: a share (0 for folds) and a repeat."""

    share: float
    repeat: int


def methods(experiment: Experiment) -> list[Method]:
    """Return all methods in the order they are run: what is quick first."""
    found = [Method(name, "control") for name in experiment.controls]
    for name in experiment.measures:
        found += methods_of(name) if experiment.conventions == "all" else methods_of(name)[:1]
    return found + [Method(name, "peer") for name in experiment.peers]


def places(experiment: Experiment) -> list[Place]:
    """Return all splits in the order they are run."""
    shares = experiment.train if experiment.protocol == "random" else (0.0,)
    return [Place(share, repeat) for repeat in range(experiment.repeats) for share in shares]


def key_of(experiment: Experiment, place: Place, method: Method) -> str:
    """Return the name of a cell, which is also that of its file."""
    share = f"{place.share:g}" if experiment.protocol == "random" else "folds"
    return f"{share}-{place.repeat}-{method.name}-{method.convention}".replace("--", "-").rstrip("-")


def run_experiment(
    experiment: Experiment,
    folder: str | PathLike[str],
    *,
    n_threads: int | None = None,
    tell: Tell | None = None,
    executor: str | Executor | None = None,
) -> RunFolder:
    """Run what is missing of an experiment, and return its folder.

    Parameters
    ----------
    experiment
        The settings.
    folder
        For the records; an earlier run's is continued.
    n_threads
        Threads; None means all cores. Records do not depend on it, apart from what is under ``run``.
    tell
        Called with a line about each finished cell, with an estimate of the time left.
    executor
        Who does the work: ``"threads"`` of this process, ``"ray"``, or a
        :class:`~prefmover.execution.RayExecutor`. Records do not depend on it either.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> small = Experiment("cinema", measures=("jaccard",), controls=("bias",), repeats=1, ks=(5, 40))
    >>> with TemporaryDirectory() as folder:
    ...     cells = run_experiment(small, folder).cells()
    >>> list(cells)
    ['0.8-0-bias', '0.8-0-jaccard-published']
    >>> cells["0.8-0-jaccard-published"]["k"]
    [5, 40]
    """
    place, data = RunFolder(folder), _Data(experiment)
    with place.locked():
        place.claim(experiment, data.about)
        with opened(executor, n_threads) as opened_executor:
            _Run(experiment, place, data, opened_executor, tell or (lambda line: None)).all_cells()
        place.merge()
    return place


class _Data:
    """The data set of an experiment, loaded once, items of ratings and geometry in the same order."""

    def __init__(self, experiment: Experiment) -> None:
        from prefmover import datasets

        self.experiment = experiment
        columns: Any = experiment.columns
        name = experiment.dataset
        self.dataset = datasets.from_files(name, **columns) if columns else datasets.load(name)
        self.ratings = self.dataset.ratings
        self.geometry: ItemGeometry | None = None
        if experiment.geometry != "ratings":
            self.ratings, self.geometry = align(self.ratings, self._geometry(experiment.geometry))
        named = self.geometry.name if self.geometry else "SVD to 50 of each split's training ratings"
        self.about = {
            "ratings": _digest(self.ratings, None),
            "distances": _digest(None, self.geometry),
            "geometry name": named,
        }

    def _geometry(self, name: str) -> ItemGeometry:
        from prefmover.items import features
        from prefmover.items.table import read_item_table

        if name == "best":
            return self.dataset.geometry
        if name == "genres":
            items = self.dataset.items
            if not any(items.genres):
                raise InputError(f"{self.dataset.name} has no genres; choose another geometry")
            made = features.from_genres(items.ids, items.genres)
            about = f"{made.name} of {self.dataset.name}"
            return ItemGeometry.from_vectors(made.items, made.vectors, name=about, zero="far")
        if "." not in name:
            raise InputError(f'geometry is {name!r}; choose "best", "genres", "ratings", or a file of items')
        return read_item_table(name, rated=self.ratings.items)[1]

    def geometry_for(self, split: Split) -> ItemGeometry:
        if self.geometry is not None:
            return self.geometry
        from prefmover.items import features

        made = features.from_ratings(split.train.matrix, split.train.items)
        return ItemGeometry.from_vectors(made.items, made.vectors, name=made.name, zero="far")

    @cached_property
    def folds(self) -> list[Split]:
        if self.experiment.protocol == "k-fold":
            return k_fold(self.ratings, self.experiment.repeats, self.experiment.seed)
        found = published_folds(self.ratings, self.dataset.folds())
        if len(found) < self.experiment.repeats:
            raise InputError(f"{self.dataset.name} has {len(found)} folds; ask for as many repeats at most")
        return found

    def share(self, place: Place) -> float:
        """Return the share of training ratings; of all folds together, which may differ by a rating."""
        if self.experiment.protocol == "random":
            return place.share
        train = sum(fold.train.n_ratings for fold in self.folds)
        return round(train / (len(self.folds) * self.ratings.n_ratings), 6)

    def split(self, place: Place) -> Split:
        if self.experiment.protocol != "random":
            return self.folds[place.repeat]
        stratify: Literal["user"] | None = "user" if self.experiment.stratify else None
        return random_split(self.ratings, place.share, self.experiment.seed + place.repeat, stratify=stratify)


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """What the cells of one split share, the geometry apart, which all splits may share."""

    experiment: Experiment
    place: Place
    task: SplitTask
    share: float


def cell_of(
    cut: Cut, geometry: ItemGeometry, method: Method, *, threads: int = 1, progress: Progress | None = None
) -> Cell:
    """Return the record of one method on one split; a function of its arguments alone, times apart."""
    e, place, task, split = cut.experiment, cut.place, cut.task, cut.task.split
    start = time.perf_counter()
    if method.kind == "peer":
        predictions = predict_by_peer(split, method.name, e.seed + place.repeat)
    else:
        predictions = predict(task, method, geometry, n_threads=threads, progress=progress)
    seconds = time.perf_counter() - start
    return {
        "key": key_of(e, place, method),
        "dataset": e.dataset,
        "geometry": geometry.name,
        "protocol": e.protocol,
        "share": cut.share,
        "repeat": place.repeat,
        "seed": e.seed + place.repeat if e.protocol == "random" else e.seed,
        "stratify": e.stratify,
        "n_train": split.train.n_ratings,
        "n_test": split.n_test,
        "new_users": split.new_users,
        "new_items": split.new_items,
        "method": method.name,
        "label": method.label,
        "kind": method.kind,
        "convention": method.convention,
        "weight": find_measure(method.name).weight if method.kind == "measure" else "-",
        "centering": e.centering if method.by_neighbors else "-",
        "shrinkage": e.shrinkage if method.by_neighbors else 0.0,
        **scores(task, predictions, e.top_n),
        "run": {
            "seconds": round(seconds, 3),
            "solved": predictions.solved,
            "threads": threads,
            "versions": versions(),
        },
    }


class _Run:
    """One pass over the cells that are missing."""

    def __init__(
        self, experiment: Experiment, folder: RunFolder, data: _Data, executor: Executor, tell: Tell
    ) -> None:
        self.experiment, self.folder, self.data = experiment, folder, data
        self.executor, self.tell = executor, tell
        self.done = folder.cells()
        self.seconds = [
            ((cell["method"], cell["convention"]), cell["share"], cell["run"]["seconds"])
            for cell in self.done.values()
        ]

    def all_cells(self) -> None:
        todo = list(self._missing())
        total = len(todo)
        if self.done:
            self.tell(f"{len(self.done)} cells are here from before, {total} to go")
        if not todo:
            return
        here = isinstance(self.executor, Local)
        if not here:  # all at work at once: within a split the heavy methods first, or they end last
            todo = [cell for place in dict(todo) for cell in reversed(todo) if cell[0] == place]
        self.executor.begin(*self._bytes())
        self.executor.summary.resumed = len(self.done)
        waiting, left = iter(todo), dict.fromkeys(todo)
        everywhere = self.data.geometry and self.executor.share(self.data.geometry)
        shared: dict[Place, tuple[Any, Any]] = {}

        def take() -> Task | None:
            place, method = next(waiting, (None, None))
            if place is None or method is None:
                return None
            if place not in shared:
                shared.clear()  # tasks under way keep theirs
                cut = self._cut(place)
                geometry = everywhere or self.executor.share(self.data.geometry_for(cut.task.split))
                shared[place] = self.executor.share(cut), geometry
            report = _Patience(self.tell, method.label) if here else None
            return Task((place, method), cell_of, (*shared[place], method), report)

        for done in self.executor.run(take):
            (place, method), cell = done.key, done.value
            self.folder.add(cell)
            seconds = cell["run"]["seconds"]
            self.executor.summary.record(done.node, {method.label: seconds}, cell["run"]["solved"] or 0)
            self.seconds.append(((method.name, method.convention), place.share, seconds))
            del left[place, method]
            self.tell(self._line(total - len(left), total, cell, list(left)))
        if not here:
            logger.info("prefmover: %s", self.executor.summary)

    def _cut(self, place: Place) -> Cut:
        e, split = self.experiment, self.data.split(place)
        task = SplitTask(split, e.ks, e.centering, e.shrinkage, e.seed + place.repeat)
        return Cut(e, place, task, self.data.share(place))

    def _bytes(self) -> tuple[int, int]:
        """Return the bytes that tasks share, and that one reads: the geometry, and a split of the ratings."""
        ratings, geometry = self.data.ratings, self.data.geometry
        exact = None if geometry is None else geometry.vectors if geometry.grid is None else geometry.grid
        held = 4 * ratings.n_items**2 if exact is None else exact.nbytes
        largest = held + 24 * ratings.n_ratings + 64 * (ratings.n_users + ratings.n_items)
        return largest, largest

    def _missing(self) -> Iterator[tuple[Place, Method]]:
        everything = methods(self.experiment)
        for place in places(self.experiment):
            for method in everything:
                if key_of(self.experiment, place, method) not in self.done:
                    yield place, method

    def _line(self, number: int, total: int, cell: Cell, todo: list[tuple[Place, Method]]) -> str:
        k = cell["k"]
        at = k.index(40) if 40 in k else len(k) - 1
        where = f"train:test {share_name(cell['share'])}, repeat {cell['repeat'] + 1}"
        named = cell["label"] + (f" ({cell['convention']})" if cell["convention"] != "-" else "")
        error = f"MAE {cell['mae'][at]:.4f}" + (f" at K = {k[at]}" if k[at] else "")
        left = f"; about {_time(self._left(todo))} left" if todo else ""
        return f"[{number}/{total}] {where}, {named}: {error}, {cell['run']['seconds']:.1f} s{left}"

    def _left(self, todo: list[tuple[Place, Method]]) -> float:
        """Estimate the seconds that cells will take, by the likest that have been timed."""
        everything = float(np.mean([s for _, _, s in self.seconds]))
        known: dict[tuple[Any, ...], list[float]] = {}
        for name, share, s in self.seconds:
            known.setdefault((name, share), []).append(s)
            known.setdefault((name,), []).append(s)
        total = 0.0
        for place, method in todo:
            name = (method.name, method.convention)
            like = known.get((name, place.share)) or known.get((name,)) or [everything]
            total += float(np.mean(like))
        return total / max(1, self.executor.slots // 2)  # half of what is under way runs, the rest waits


class _Patience:
    """Says how far a long cell has come, now and then."""

    def __init__(self, tell: Tell, label: str) -> None:
        self.tell, self.label = tell, label
        self.start = self.last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.last >= SAY_EVERY and done < total:
            self.last = now
            self.tell(f"    {self.label}: {done:,} of {total:,} users after {_time(now - self.start)}")


def _time(seconds: float) -> str:
    """Return a duration for people.

    >>> _time(45), _time(600), _time(9000)
    ('45 s', '10 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _digest(ratings: Ratings | None, geometry: ItemGeometry | None) -> str:
    digest = hashlib.sha256()
    if ratings is not None:
        for part in (ratings.matrix.indptr, ratings.matrix.indices):
            digest.update(part.astype(np.int64).data)
        digest.update(ratings.matrix.data.data)
        digest.update(repr((ratings.users.tolist(), ratings.items.tolist())).encode())
    if geometry is not None:
        exact = geometry.grid if geometry.grid is not None else geometry.vectors
        digest.update(np.ascontiguousarray(exact).data)
        digest.update(repr((geometry.unit, geometry.items.tolist())).encode())
    return digest.hexdigest()[:16]
