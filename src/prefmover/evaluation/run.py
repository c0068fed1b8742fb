"""Run an experiment: every recommender on every split, in memory or in a folder that resumes.

A run that is stopped loses only the records in progress; the next run in the same folder computes those that
are missing. Repeats are the outer loop, so that first results for every recommender come early.

A record is one task: a split and a recommender in, the record out. Threads of this process compute one record
after the other; on a cluster each record has a core.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import groupby, product
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from prefmover._format import duration
from prefmover._table import Tabular
from prefmover._typing import Floats, Progress
from prefmover.data.cold_start import cold_items, new_people, people_share
from prefmover.data.public_split import public_split, read_codes
from prefmover.data.scale import Scale
from prefmover.data.splits import Split, by_time, hashed, k_fold, leave_last_out, random_split, rating_times
from prefmover.dataset import Dataset, geometry_follows_ratings
from prefmover.datasets.folders import data_folders
from prefmover.errors import InputError
from prefmover.evaluation.baselines.rankers import relevant_from
from prefmover.evaluation.compute import TrainTest, compute_record
from prefmover.evaluation.experiment import FILE_SETTINGS, Experiment, share_name
from prefmover.evaluation.folder import RunFolder, record_table
from prefmover.evaluation.recommenders import (
    AnyRecommender,
    Method,
    Recommenders,
    check_packages,
    grid,
    name_objects,
    tasks_of,
)
from prefmover.evaluation.record import CUTS, METRICS, DataInfo, Record, Task, record_key
from prefmover.evaluation.tasks import task_of
from prefmover.execution import Executor, open_executor
from prefmover.execution import Task as Job
from prefmover.items.geometry import ItemGeometry

Tell = Callable[[str], None]
N_PAIRS = 16  # of items, whose distances tell one geometry from another
TELL_SECONDS = 30.0  # between two messages about a record that takes long
SECONDS = ("seconds", "fit_seconds", "answer_seconds", "tune_seconds")
COLUMNS: dict[Task, tuple[tuple[str, str, str], ...]] = {
    "rating": (("MAE", "mae", "{:.4f}"), ("RMSE", "rmse", "{:.4f}"), ("seconds", "seconds", "{:7.1f}")),
    "ranking": (
        ("nDCG", "ndcg", "{:.4f}"),
        ("recall", "recall", "{:.4f}"),
        ("raters", "popularity", "{:6.0f}"),
        ("fit", "fit_seconds", "{:6.1f}s"),
        ("lists", "answer_seconds", "{:6.1f}s"),
        ("search", "tune_seconds", "{:6.1f}s"),
    ),
    "reasons": (
        ("DEL", "del", "{:.4f}"),
        ("INS", "ins", "{:.4f}"),
        ("CDCG", "cdcg", "{:.4f}"),
        ("seconds", "seconds", "{:7.1f}"),
    ),
}
"""The columns of a printed table: head, metric, format."""


@dataclass(frozen=True, eq=False)
class Evaluation(Tabular):
    """The records of an experiment: one for each task, split and recommender, with all K or lengths of lists.

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

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with one row per split, recommender and K, or length of lists."""
        return record_table(self.records)

    def summary(self, task: Task | None = None) -> Any:
        """Return a `pyarrow.Table` of means and standard deviations over the repeats.

        It has one row per share, recommender and K (or length n of lists), and two columns per metric, such
        as mae and mae_std, or ndcg and ndcg_std (None with a single repeat). After both tasks, ``task`` says
        which.
        """
        from pyarrow.compute import VarianceOptions

        tasks = list(dict.fromkeys(record.task for record in self.records))
        task = tasks[0] if task is None else task
        if task not in tasks:
            raise InputError(f"there are no records of task {task!r}; choose one of {', '.join(tasks)}")
        keys = ["share", "recommender", "label", CUTS[task]]
        names, sample = (*METRICS[task], *SECONDS), VarianceOptions(ddof=1)
        aggregates = [(name, *how) for name in names for how in (("mean",), ("stddev", sample))]
        frame = record_table(record for record in self.records if record.task == task)
        groups = frame.group_by(keys, use_threads=False)  # in the order of the records
        table = groups.aggregate([("repeat", "count"), *aggregates])
        columns = [column for name in names for column in (name, f"{name}_std")]
        order = np.argsort(-table["share"].to_numpy(), kind="stable")  # Arrow's sort is not stable
        return table.rename_columns([*keys, "repeats", *columns]).take(order)

    def __str__(self) -> str:
        tasks = dict.fromkeys(record.task for record in self.records)
        return "\n\n".join("\n".join(self._text(task)) for task in tasks)

    def _text(self, task: Task) -> Iterator[str]:
        """Yield the lines of the table of a task, and what was wrong with lists."""
        columns = COLUMNS[task]
        heads = "".join(f"  {head:>{len(form.format(0.0))}}" for head, _, form in columns)
        cut = CUTS[task]
        yield f"{'train:test':>10}  {'recommender':<28} {cut.upper() if cut == 'k' else cut:>3}{heads}"
        for row in self.summary(task).to_pylist():
            values = "".join(f"  {form.format(row[name])}" for _, name, form in columns)
            yield f"{share_name(row['share']):>10}  {row['recommender']:<28} {row[cut] or '':>3}{values}"
        for one in self.records:
            if one.task == task and str(one.events):
                yield f"{one.label}, train:test {share_name(one.share)}: {one.events}"


def evaluate(
    data: Dataset,
    recommenders: Recommenders = "default",
    *,
    task: Literal["rating", "ranking", "reasons", "both"] = "ranking",
    times: Any = None,
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
        Names, such as ``"default"``, ``"knn:pmd"`` or ``"ease"`` (the table of names is in
        :mod:`prefmover.evaluation.recommenders`); or objects with ``fit(data)`` and ``predict(pairs)`` or
        ``recommend(users, n)``; or a mapping from labels to these. Objects are copied for each split.
    task
        ``"ranking"`` recommends lists from all items that a user has not rated in training; the relevant test
        items in them are the hits. ``"rating"`` predicts the test ratings. ``"both"`` does one after the
        other. Named recommenders choose their settings on a validation part of the training ratings.
    times
        The times of the ratings, for the protocols ``"time"`` and ``"last"``, in any form that
        :func:`~prefmover.data.splits.rating_times` takes.
    folder
        Folder for the records, where a run that was stopped goes on; in memory by default.
    executor, n_threads
        ``"threads"`` of this process, ``"ray"``, or a :class:`~prefmover.execution.RayExecutor`; and threads,
        None for all cores. The records do not depend on them.
    progress, tell
        Called with (records finished, records in all), and with a line about each finished record.
    **settings
        Fields of :class:`~prefmover.evaluation.Experiment`: ``train``, ``repeats`` (here one by default),
        ``protocol``, ``seed``, ``ks``, ``centering``, ``shrinkage``, ``ns``, ``relevant``, ``trials``, ...

    Examples
    --------
    >>> from prefmover import datasets
    >>> class Constant:
    ...     def fit(self, data):
    ...         self.mean = data.ratings.matrix.data.mean()
    ...
    ...     def predict(self, pairs):
    ...         return [self.mean] * len(pairs)
    >>> evaluation = evaluate(
    ...     datasets.load("cinema"), [Constant(), "bias", "knn:jaccard"], task="rating", ks=(5, 40)
    ... )
    >>> [(row["label"], row["k"], round(row["mae"], 2)) for row in evaluation.summary().to_pylist()]
    [('Constant', None, 0.72), ('bias', None, 0.61), ('Jaccard', 5, 0.6), ('Jaccard', 40, 0.6)]
    >>> lists = evaluate(datasets.load("cinema"), ["random", "popularity", "ease"], trials=4)
    >>> [(row["label"], row["n"], round(row["ndcg"], 2)) for row in lists.summary().to_pylist()]
    [('random', 10, 0.02), ('popularity', 10, 0.04), ('EASE', 10, 0.17)]
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
        Experiment(**settings, task=task), folder, data=data, objects=objects, times=times,
        executor=executor, n_threads=n_threads, progress=progress, tell=tell,
    )  # fmt: skip


def run_experiment(
    experiment: Experiment,
    folder: str | PathLike[str] | None = None,
    *,
    data: Dataset | None = None,
    objects: Mapping[str, AnyRecommender] | None = None,
    times: Any = None,
    executor: str | Executor | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    tell: Tell | None = None,
) -> Evaluation:
    """Run an experiment whose settings name the data and the recommenders.

    ``data``, ``objects`` and ``times`` stand for what the settings cannot load: the data set, recommenders by
    their full name, and the times of the ratings. The other arguments are those of :func:`evaluate`.

    Examples
    --------
    >>> experiment = Experiment(
    ...     dataset="cinema", recommenders="bias, knn:jaccard", task="rating", repeats=1, ks=(5, 40)
    ... )
    >>> [(record.key, record.cuts) for record in run_experiment(experiment)]
    [('0.8-0-bias', (None,)), ('0.8-0-knn.jaccard', (5, 40))]
    """
    is_given = data is not None
    data = experiment.load() if data is None else data
    when = _checked_times(experiment, data, times)
    if data.ratings.implicit and "rating" in experiment.tasks:
        raise InputError(
            "the data are implicit: there are no ratings to predict. Pass task='ranking' to judge lists",
            argument="task",
        )
    _check_relevant(experiment, data)
    public = _public_split(experiment, data)
    info = _identify(data, when, is_given, public)
    run_folder = None if folder is None else RunFolder(folder)
    with open_executor(executor, n_threads) as runs:
        # A recommender that cannot do the task is an error, before a folder is made.
        jobs = _all_jobs(experiment, objects or {})
        run = _Run(
            experiment, data, when, public, objects or {}, jobs, runs, progress, tell or (lambda line: None)
        )
        if run_folder is None:
            records = {record.key: record for record in run.missing_records({})}
        else:
            with run_folder.locked():
                run_folder.claim(experiment, info)
                for record in run.missing_records(run_folder.records()):
                    run_folder.add(record)
                run_folder.merge()
                records = run_folder.records()
    return Evaluation(tuple(records[key] for key in jobs if key in records), experiment, info, run_folder)


def _checked_times(experiment: Experiment, data: Dataset, times: Any) -> Floats | None:
    """Return the time of each rating, if the protocol needs it."""
    if experiment.protocol not in ("time", "last"):
        if times is not None:
            raise InputError(f"times are for protocol 'time' or 'last'; it is {experiment.protocol!r}")
        return None
    if times is None and data.has_times:
        return data.times
    if times is None:
        raise InputError(
            f"protocol {experiment.protocol!r} needs the times of the ratings: name the column of a file of "
            "ratings, time_column=NAME, or pass times to evaluate()",
            argument="time_column",
        )
    return rating_times(data.ratings, times)


def _public_split(experiment: Experiment, data: Dataset) -> Split | None:
    """Return the split in the file that the settings name, if there is one."""
    if not experiment.split:
        return None
    path = Path(experiment.split)
    places = [path, *(folder / path for folder in data_folders())]
    found = next((place for place in places if place.is_file()), path)
    return public_split(data.ratings, read_codes(found), data.rows())


def _check_relevant(experiment: Experiment, data: Dataset) -> None:
    """Raise an error if no rating is relevant, before a folder is made."""
    if "ranking" not in experiment.tasks:
        return
    least = relevant_from(data.ratings.scale, experiment.relevant)
    if least is not None and not (data.ratings.matrix.data >= least).any():
        raise InputError(
            f"no rating is {least:g} or higher, so that none is relevant; the highest is "
            f"{data.ratings.matrix.data.max():g}. Give a lower relevant=",
            argument="relevant",
        )


def _identify(data: Dataset, times: Floats | None, is_given: bool, public: Split | None) -> DataInfo:
    facts, ratings = {"ratings": data.ratings.digest()}, data.ratings
    inferred = ratings.implicit or ratings.scale == Scale.from_ratings(ratings.matrix.data)
    if is_given and not inferred:  # else the settings say it
        facts["preferences"] = data.digest()[:16]
    if times is not None:
        facts["times"] = sha256(np.ascontiguousarray(times).tobytes()).hexdigest()[:16]
    if public is not None:
        held = b"" if public.held is None else public.held.tobytes()
        facts["split"] = sha256(public.train.digest().encode() + held).hexdigest()[:16]
    if geometry_follows_ratings(data):
        return DataInfo(distances="", geometry="from each split's training ratings", **facts)
    if data.geometry is None:
        return DataInfo(distances="", geometry="none", **facts)
    return DataInfo(distances=some_distances(data.geometry), geometry=data.geometry.name, **facts)


def some_distances(geometry: ItemGeometry) -> str:
    """Return distances between pairs of items that a hash draws, to tell one geometry from another.

    A digest of all would not do: the last bits of a decomposition follow the processor, and a run must go on
    elsewhere.

    >>> some_distances(ItemGeometry.from_vectors(["a", "b"], [[1, 0], [0, 1]]))[:15]
    '0.0000 0.0000 1'
    """
    a, b = hashed(0, np.arange(2 * N_PAIRS)).reshape(2, -1) % np.uint64(geometry.n_items)
    pairs = zip(a.astype(np.int64), b.astype(np.int64), strict=True)
    return " ".join(f"{geometry.block([i], [j])[0, 0]:.4f}" for i, j in pairs)


class _Job(NamedTuple):
    """The record to compute."""

    share: float
    repeat: int
    name: str
    task: Task


def _all_jobs(experiment: Experiment, objects: Mapping[str, AnyRecommender]) -> dict[str, _Job]:
    """Return the records to compute by key, in the order of the run."""
    e = experiment
    able = {name: tasks_of(name, e.tasks, objects) for name in e.recommenders}
    runs = product(range(e.n_splits), e.shares, e.tasks, e.recommenders)
    jobs = [_Job(share, repeat, name, task) for repeat, share, task, name in runs if task in able[name]]
    return {record_key(e.protocol, *job): job for job in jobs}


@dataclass
class _Run:
    """One pass over the missing records."""

    experiment: Experiment
    data: Dataset
    times: Floats | None
    public: Split | None
    objects: Mapping[str, AnyRecommender]
    jobs: dict[str, _Job]
    executor: Executor
    progress: Progress | None
    tell: Tell

    def missing_records(self, done: Mapping[str, Record]) -> Iterator[Record]:
        """Compute and yield the records that are not there yet, as they finish."""
        todo = [job for key, job in self.jobs.items() if key not in done]
        check_packages(dict.fromkeys(job.name for job in todo))
        if done:
            self.tell(f"{len(done)} records are finished, {len(todo)} to go")
        if not todo:
            return
        self.executor.begin(self._bytes(), self._bytes())
        summary = self.executor.summary
        summary.resumed = len(done)
        tasks, left, finished = self._tasks(todo), dict.fromkeys(todo), list(done.values())
        for one in self.executor.run(lambda: next(tasks, None)):
            record: Record = one.value
            yield record
            summary.record(one.node, {record.label: record.run.seconds}, record.run.solved or 0)
            finished.append(record)
            del left[one.key]
            n_done = len(todo) - len(left)
            # Half of the tasks in progress run, the rest wait.
            remaining = _seconds_left(finished, left) / max(1, self.executor.slots // 2)
            rest = f"; about {duration(max(round(remaining), 1))} left" if left else ""
            self.tell(f"[{n_done}/{len(todo)}] {_line(record)}{rest}")
            if self.progress is not None:
                self.progress(n_done, len(todo))
        if self.executor.slots > 1:
            summary.log()

    def _tasks(self, todo: list[_Job]) -> Iterator[Job]:
        """Yield the tasks by split; in parallel, the last recommenders, which are the slow ones, first."""
        one_by_one = self.executor.slots == 1
        for (share, repeat), jobs in groupby(todo, key=lambda job: job[:2]):
            part = self.executor.share(self._part(share, repeat))
            for job in jobs if one_by_one else reversed(list(jobs)):
                method = Method.parse(job.name)
                report = _tell_progress(self.tell, method.label) if one_by_one else None
                yield Job(job, compute_record, (part, method, self.objects.get(job.name), job.task), report)

    def _part(self, share: float, repeat: int) -> TrainTest:
        e, ratings = self.experiment, self.data.ratings
        if e.protocol == "random":
            stratify: Literal["user"] | None = "user" if e.stratify == "user" else None
            split = random_split(ratings, share, e.seed + repeat, stratify=stratify)
        elif e.protocol == "cold-items":
            split = cold_items(ratings, share, e.seed + repeat)
        elif e.protocol == "new-people":
            split = new_people(ratings, int(share), max(e.given), seed=e.seed + repeat)
        elif e.protocol == "time":
            split = by_time(ratings, self.times, share)
        elif e.protocol == "last":
            split = leave_last_out(ratings, self.times)
            share = round(split.train.n_ratings / ratings.n_ratings, 6)
        elif self.public is not None:
            split = self.public
            share = round(split.train.n_ratings / ratings.n_ratings, 6)
        else:
            folds = self.folds
            split = folds[repeat]
            # The same share for all, although folds may differ by a rating.
            n_train = sum(fold.train.n_ratings for fold in folds)
            share = round(n_train / (len(folds) * ratings.n_ratings), 6)
        given = int(share) if e.protocol == "new-people" else None
        if given is not None:
            share = people_share(ratings, given, max(e.given))
        data = self.data.with_ratings(split.train)
        part = TrainTest(e, share, repeat, split, data, given)
        for task in e.tasks:  # nothing to judge is an error, before anything is fitted
            task_of(e, split, task)
            if any(grid(Method.parse(name), e.trials, task) for name in e.recommenders):
                part.validations(task)
        _ = data.geometry  # computed once here rather than in each task
        return part

    @cached_property
    def folds(self) -> list[Split]:
        """The folds of the protocol."""
        e = self.experiment
        if e.protocol == "k-fold":
            return k_fold(self.data.ratings, e.repeats, e.seed)
        folds = self.data.folds()
        if len(folds) < e.repeats:
            raise InputError(
                f"repeats is {e.repeats}, but {self.data.name} has {len(folds)} published folds; "
                "give at most as many"
            )
        return folds

    def _bytes(self) -> int:
        """Return the bytes that a task reads: a split and the geometry."""
        ratings, exact = self.data.ratings, None
        if not geometry_follows_ratings(self.data) and (geometry := self.data.geometry) is not None:
            exact = geometry.vectors if geometry.grid is None else geometry.grid
        held = 4 * ratings.n_items**2 if exact is None else exact.nbytes
        return held + 24 * ratings.n_ratings + 64 * (ratings.n_users + ratings.n_items)


def _seconds_left(finished: Iterable[Record], todo: Iterable[_Job]) -> float:
    """Estimate the time of the remaining records from the most similar ones that are finished."""
    known: dict[Any, list[float]] = defaultdict(list)
    for record in finished:
        for key in ((record.recommender, record.share), record.recommender, None):
            known[key].append(record.run.total)
    times = [known[job.name, job.share] or known[job.name] or known[None] for job in todo]
    return sum(float(np.mean(one)) for one in times)


def _line(record: Record) -> str:
    """Return the main figure of a record, and its price."""
    named = record.label + (f" ({record.convention})" if record.convention else "")
    searched = f" after {record.run.search:.1f} s of search" if record.tuning else ""
    wrong = f" ({record.events})" if str(record.events) else ""
    if record.reasons is not None:
        figure = f"CDCG {record.main[0]:.4f} without one rating, {record.reasons.n_named:.1f} reasons named"
        wrong = f" ({record.reasons.events})" if str(record.reasons.events) else ""
    elif record.task == "ranking":
        figure = f"nDCG@{record.cuts[0]} {record.main[0]:.4f}"
    else:
        at = record.cuts.index(40) if 40 in record.cuts else -1
        figure = f"MAE {record.main[at]:.4f}" + (f" at K = {record.cuts[at]}" if record.cuts[at] else "")
    return (
        f"train:test {share_name(record.share)}, repeat {record.repeat + 1}, {named}: {figure}, "
        f"{record.run.seconds:.1f} s{searched}{wrong}"
    )


def _tell_progress(tell: Tell, label: str) -> Progress:
    """Return a callback that logs, from time to time, how much of a long record is done."""
    start = last = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= TELL_SECONDS and done < total:
            last = now
            tell(f"    {label}: {done:,} of {total:,} users after {duration(now - start)}")

    return progress
