"""Run an experiment: every recommender on every split, in memory or in a folder that resumes.

A run that is stopped loses only the records in progress; the next run in the same folder computes those that
are missing. Repeats are the outer loop, so that first results for every recommender come early.

A record is one task: a split and a recommender in, the record out. Threads of this process compute one record
after the other; on a cluster each record has a core.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from os import PathLike
from typing import Any

import numpy as np

from prefmover._typing import Progress
from prefmover.data.splits import Split, k_fold, random_split
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.evaluation.compute import TrainTest, compute_record
from prefmover.evaluation.experiment import FILE_SETTINGS, Experiment, share_name
from prefmover.evaluation.folder import RunFolder, record_table
from prefmover.evaluation.recommenders import FitPredict, Method, name_objects
from prefmover.evaluation.record import DataInfo, Record, record_key
from prefmover.execution import Executor, Task, opened
from prefmover.execution.format import duration

__all__ = ["Evaluation", "evaluate", "run_experiment"]

logger = logging.getLogger("prefmover")
Tell = Callable[[str], None]
TELL_SECONDS = 30.0  # between two messages about a record that takes long
METRICS = ("mae", "rmse", "coverage", "seconds")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The records of an experiment: one for each split and recommender, with all K.

    ``experiment`` has the settings, ``data`` identifies the data, and ``folder`` is that of the run (None in
    memory). ``str(evaluation)`` is a table of means.
    """

    records: tuple[Record, ...]
    experiment: Experiment
    data: DataInfo
    folder: RunFolder | None = None

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def to_frame(self) -> Any:
        """Return a `pyarrow.Table` with one row per split, recommender and K.

        ``polars.from_arrow(table)`` and ``table.to_pandas()`` convert it.
        """
        return record_table(self.records)

    def summary(self) -> Any:
        """Return a `pyarrow.Table` of means and standard deviations over the repeats.

        It has one row per share, recommender and K, and two columns per metric, such as mae and mae_std (None
        with a single repeat).
        """
        from pyarrow.compute import VarianceOptions

        keys = ["share", "recommender", "label", "k"]
        names = [*METRICS, *((self.records[0].ranking or ({},))[0])]
        sample = VarianceOptions(ddof=1)
        aggregates = [(name, *how) for name in names for how in (("mean",), ("stddev", sample))]
        groups = self.to_frame().group_by(keys, use_threads=False)  # in the order of the records
        table = groups.aggregate([("repeat", "count"), *aggregates])
        columns = [column for name in names for column in (name, f"{name}_std")]
        order = np.argsort(-table["share"].to_numpy(), kind="stable")  # Arrow's sort is not stable
        return table.rename_columns([*keys, "repeats", *columns]).take(order)

    def __str__(self) -> str:
        lines = [f"{'train:test':>10}  {'recommender':<28} {'K':>3}  {'MAE':>6}  {'RMSE':>6}  {'seconds':>7}"]
        lines += [
            f"{share_name(row['share']):>10}  {row['recommender']:<28} {row['k'] or '':>3}  "
            f"{row['mae']:.4f}  {row['rmse']:.4f}  {row['seconds']:7.1f}"
            for row in self.summary().to_pylist()
        ]
        return "\n".join(lines)


def evaluate(
    data: Dataset,
    recommenders: str | FitPredict | Iterable[str | FitPredict] | Mapping[str, str | FitPredict] = "default",
    *,
    folder: str | PathLike[str] | None = None,
    executor: str | Executor | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    tell: Tell | None = None,
    **settings: Any,
) -> Evaluation:
    """Compare recommenders on the same splits of a data set.

    Parameters
    ----------
    data
        The data set. Each recommender is fitted to ``data.with_ratings(split.train)``: item distances that
        are made from ratings are made from the training ratings.
    recommenders
        Names, such as ``"default"``, ``"knn:pmd"``, ``"bias"`` or ``"surprise:SVD"`` (the table of names is
        in :mod:`prefmover.evaluation.recommenders`), or objects with ``fit(data)`` and ``predict(pairs)``, or
        a mapping from labels to these (names keep their own labels). Objects are copied for each split.
    folder
        Folder for the records. A run that was stopped goes on there, and ``prefmover report`` reads it. In
        memory by default.
    executor
        ``"threads"`` of this process, ``"ray"``, or a :class:`~prefmover.execution.RayExecutor`. The records
        do not depend on it.
    n_threads
        Threads; None means all cores. The records do not depend on it.
    progress
        Called with (records finished, records in all).
    tell
        Called with a line about each finished record, with an estimate of the time left.
    **settings
        Fields of :class:`~prefmover.evaluation.Experiment`: ``train``, ``repeats`` (here one by default),
        ``protocol``, ``seed``, ``ks``, ``centering``, ``shrinkage``, ``top_n``, ...

    Examples
    --------
    >>> from prefmover import datasets
    >>> class Constant:
    ...     def fit(self, data):
    ...         self.mean = data.ratings.matrix.data.mean()
    ...
    ...     def predict(self, pairs):
    ...         return [self.mean] * len(pairs)
    >>> evaluation = evaluate(datasets.load("cinema"), [Constant(), "bias", "knn:jaccard"], ks=(5, 40))
    >>> [(row["label"], row["k"], round(row["mae"], 2)) for row in evaluation.summary().to_pylist()]
    [('Constant', None, 0.72), ('bias', None, 0.61), ('Jaccard', 5, 0.6), ('Jaccard', 40, 0.6)]
    """
    for name in ("dataset", "ratings", "geometry", *FILE_SETTINGS):
        if name in settings:
            raise InputError(f"{name} is a setting of files and named data sets; change the Dataset instead")
    names, objects = name_objects(recommenders)
    if folder is not None and not isinstance(recommenders, Mapping):
        for one in objects.values():
            if " at 0x" in repr(one):  # another object of the class would get the records of this one
                raise InputError(f"give {type(one).__name__} a label, {{'label': ...}}, to save its records")
    settings = {"dataset": data.name or "data", "repeats": 1, **settings, "recommenders": names}
    return run_experiment(
        Experiment(**settings), folder, data=data, objects=objects,
        executor=executor, n_threads=n_threads, progress=progress, tell=tell,
    )  # fmt: skip


def run_experiment(
    experiment: Experiment,
    folder: str | PathLike[str] | None = None,
    *,
    data: Dataset | None = None,
    objects: Mapping[str, FitPredict] | None = None,
    executor: str | Executor | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    tell: Tell | None = None,
) -> Evaluation:
    """Run an experiment whose settings name the data and the recommenders.

    ``data`` and ``objects`` stand for what the settings cannot load: the data set, and recommenders by their
    full name. The other arguments are those of :func:`evaluate`.

    Examples
    --------
    >>> experiment = Experiment(dataset="cinema", recommenders="bias, knn:jaccard", repeats=1, ks=(5, 40))
    >>> [(record.key, record.ks) for record in run_experiment(experiment)]
    [('0.8-0-bias', (None,)), ('0.8-0-knn.jaccard', (5, 40))]
    """
    data = experiment.load() if data is None else data
    info, run_folder = _identify(data), None if folder is None else RunFolder(folder)
    with opened(executor, n_threads) as open_executor:
        run = _Run(experiment, data, objects or {}, open_executor, progress, tell or (lambda line: None))
        if run_folder is None:
            records = {record.key: record for record in run.missing_records({})}
        else:
            with run_folder.locked():
                run_folder.claim(experiment, info)
                for record in run.missing_records(run_folder.records()):
                    run_folder.add(record)
                run_folder.merge()
                records = run_folder.records()
    keys = [record_key(experiment.protocol, *task) for task in run.all_tasks()]
    return Evaluation(tuple(records[key] for key in keys), experiment, info, run_folder)


def _identify(data: Dataset) -> DataInfo:
    ratings = data.ratings.digest()
    if data.geometry_follows_ratings:
        return DataInfo(ratings=ratings, distances="", geometry="from each split's training ratings")
    if data.geometry is None:
        return DataInfo(ratings=ratings, distances="", geometry="none")
    return DataInfo(ratings=ratings, distances=data.geometry.digest(), geometry=data.geometry.name)


@dataclass
class _Run:
    """One pass over the missing records."""

    experiment: Experiment
    data: Dataset
    objects: Mapping[str, FitPredict]
    executor: Executor
    progress: Progress | None
    tell: Tell
    seconds: list[tuple[str, float, float]] = field(default_factory=list)

    def all_tasks(self) -> list[tuple[float, int, str]]:
        """Return the (share, repeat, recommender) of all records, in the order of the run."""
        e = self.experiment
        runs = product(range(e.repeats), e.shares, e.recommenders)
        return [(share, repeat, name) for repeat, share, name in runs]

    def missing_records(self, done: Mapping[str, Record]) -> Iterator[Record]:
        """Compute and yield the records that are not there yet, as they finish."""
        e = self.experiment
        todo = [task for task in self.all_tasks() if record_key(e.protocol, *task) not in done]
        if done:
            self.tell(f"{len(done)} records are finished, {len(todo)} to go")
        if not todo:
            return
        self.seconds = [(record.recommender, record.share, record.run.seconds) for record in done.values()]
        one_by_one = self.executor.slots == 1
        if not one_by_one:  # in parallel, the last recommenders of a split, which are the slow ones, go first
            splits = dict.fromkeys(task[:2] for task in todo)
            todo = [task for split in splits for task in reversed(todo) if task[:2] == split]
        self.executor.begin(self._bytes(), self._bytes())
        self.executor.summary.resumed = len(done)
        waiting, left = iter(todo), dict.fromkeys(todo)
        shared: dict[tuple[float, int], Any] = {}

        def take() -> Task | None:
            task = next(waiting, None)
            if task is None:
                return None
            share, repeat, name = task
            if (share, repeat) not in shared:
                shared.clear()  # tasks in progress hold theirs
                shared[share, repeat] = self.executor.share(self._part(share, repeat))
            method = Method.parse(name)
            report = _tell_progress(self.tell, method.label) if one_by_one else None
            arguments = (shared[share, repeat], method, self.objects.get(name))
            return Task(task, compute_record, arguments, report)

        for finished in self.executor.run(take):
            record: Record = finished.value
            yield record
            self.executor.summary.record(
                finished.node, {record.label: record.run.seconds}, record.run.solved or 0
            )
            self.seconds.append((record.recommender, finished.key[0], record.run.seconds))
            del left[finished.key]
            self.tell(self._line(len(todo) - len(left), len(todo), record, list(left)))
            if self.progress is not None:
                self.progress(len(todo) - len(left), len(todo))
        if not one_by_one:
            logger.info("prefmover: %s", self.executor.summary)

    def _part(self, share: float, repeat: int) -> TrainTest:
        e, ratings = self.experiment, self.data.ratings
        if e.protocol == "random":
            stratify = "user" if e.stratify == "user" else None
            split = random_split(ratings, share, e.seed + repeat, stratify=stratify)  # type: ignore[arg-type]
        else:
            folds = self.folds
            split = folds[repeat]
            # The same share for all, although folds may differ by a rating.
            n_train = sum(fold.train.n_ratings for fold in folds)
            share = round(n_train / (len(folds) * ratings.n_ratings), 6)
        data = self.data.with_ratings(split.train)
        _ = data.geometry  # computed once here rather than in each task
        return TrainTest(e, share, repeat, split, data)

    @cached_property
    def folds(self) -> list[Split]:
        """The folds of the protocol."""
        e = self.experiment
        if e.protocol == "k-fold":
            return k_fold(self.data.ratings, e.repeats, e.seed)
        folds = self.data.folds()
        if len(folds) < e.repeats:
            raise InputError(f"repeats is {e.repeats}, but {self.data.name} has {len(folds)} published folds")
        return folds

    def _bytes(self) -> int:
        """Return the bytes that a task reads: a split and the geometry."""
        ratings, exact = self.data.ratings, None
        if not self.data.geometry_follows_ratings and (geometry := self.data.geometry) is not None:
            exact = geometry.vectors if geometry.grid is None else geometry.grid
        held = 4 * ratings.n_items**2 if exact is None else exact.nbytes
        return held + 24 * ratings.n_ratings + 64 * (ratings.n_users + ratings.n_items)

    def _line(self, n_done: int, total: int, record: Record, todo: list[tuple[float, int, str]]) -> str:
        at = record.ks.index(40) if 40 in record.ks else -1
        named = record.label + (f" ({record.convention})" if record.convention else "")
        error = f"MAE {record.mae[at]:.4f}" + (f" at K = {record.ks[at]}" if record.ks[at] else "")
        left = f"; about {duration(max(round(self._seconds_left(todo)), 1))} left" if todo else ""
        return (
            f"[{n_done}/{total}] train:test {share_name(record.share)}, repeat {record.repeat + 1}, {named}: "
            f"{error}, {record.run.seconds:.1f} s{left}"
        )

    def _seconds_left(self, todo: list[tuple[float, int, str]]) -> float:
        """Estimate the time of the remaining records from the most similar ones that are finished."""
        known: dict[Any, list[float]] = defaultdict(list)
        for name, share, seconds in self.seconds:
            for key in ((name, share), name, None):
                known[key].append(seconds)
        times = [known[name, share] or known[name] or known[None] for share, _, name in todo]
        # Half of the tasks in progress run, the rest wait.
        return sum(float(np.mean(one)) for one in times) / max(1, self.executor.slots // 2)


def _tell_progress(tell: Tell, label: str) -> Progress:
    """Return a callback that tells from time to time how much of a long record is done."""
    start = last = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= TELL_SECONDS and done < total:
            last = now
            tell(f"    {label}: {done:,} of {total:,} users after {duration(now - start)}")

    return progress
