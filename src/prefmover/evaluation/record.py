"""A record: one recommender on one split, for one task. Its fields are spelled here and nowhere else.

:class:`Record` is about predicted ratings, with all K; :class:`ListRecord` about recommended lists, with all
lengths. Everything outside ``run`` (time, threads, versions) is the same whenever and wherever a record is
computed.

``groups`` holds sums (of absolute errors, or of nDCG) over each of twenty fixed groups of users, drawn by a
hash of the user's position. That is enough for a paired test over users, in a few hundred numbers.
"""

from __future__ import annotations

import platform
import re
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from prefmover.errors import InputError, close_names

__all__ = [
    "ActivityGroup",
    "AnyRecord",
    "DataInfo",
    "Events",
    "FrozenModel",
    "Groups",
    "Kind",
    "ListGroups",
    "ListMetrics",
    "ListRecord",
    "Record",
    "RunInfo",
    "Task",
    "Trial",
    "Tuning",
    "parse_record",
    "record_key",
    "versions",
]

Task: TypeAlias = Literal["rating", "ranking"]
Kind = Literal["measure", "control", "model", "peer"]
PER_K = ("mae", "rmse", "coverage", "neighbors")
PER_LIST = ("coverage", "popularity", "novelty", "diversity")


class FrozenModel(BaseModel):
    """Frozen settings or results; a wrong value is an `InputError` that names the field."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise InputError(self._explain(error)) from None

    @classmethod
    def _explain(cls, error: ValidationError) -> str:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        if first["type"] == "value_error":  # raised by a validator of ours, or by a model inside this one
            message = str(first["ctx"]["error"])
            return message if not first["loc"] or str(first["loc"][0]) in message else f"{name}: {message}"
        if first["type"] == "extra_forbidden":
            close = close_names(name, cls.model_fields, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(cls.model_fields)}"
            return f"there is no field {name!r}; {hint}"
        if first["type"] == "missing":
            return f"{name!r} is missing"
        value = repr(first["input"])
        shown = value if len(value) <= 60 else f"{value[:57]}..."
        return f"{name!r} is {shown}; {first['msg'][0].lower()}{first['msg'][1:]}"


class Groups(FrozenModel):
    """Absolute errors by group of users."""

    n: tuple[int, ...] = Field(description="Test ratings in each group")
    error: tuple[tuple[float, ...], ...] = Field(description="Sum of absolute errors: one row per K")


class RunInfo(FrozenModel):
    """The part of a record that may differ from run to run."""

    seconds: float = Field(description="Time to fit and predict, or to recommend; without the search")
    fit_seconds: float | None = Field(default=None, description="Time to fit")
    answer_seconds: float | None = Field(default=None, description="Time to predict or to recommend")
    trial_seconds: tuple[float, ...] = Field(default=(), description="Time of each trial of the search")
    solved: int | None = Field(default=None, description="Pairs of users that were compared, if counted")
    threads: int = Field(default=1, description="Threads in use")
    versions: dict[str, str] = Field(
        default_factory=dict, description="Versions of the packages that compute"
    )


class DataInfo(FrozenModel):
    """Identity of the data behind the records of a folder."""

    ratings: str = Field(description="Digest of the ratings")
    distances: str = Field(description="Digest of the item distances; empty if each split has its own")
    geometry: str = Field(description="Name of the item geometry")
    times: str = Field(default="", description="Digest of the times of the ratings; empty without times")
    preferences: str = Field(
        default="", description="Digest with the scale, if the caller's data set has its own"
    )


class _BaseRecord(FrozenModel):
    """What records of both tasks have."""

    dataset: str = Field(description="Name of the data set, or file of ratings")
    geometry: str = Field(description="Name of the item geometry")
    protocol: str = Field(description="How the split was made")
    share: float = Field(description="Share of the ratings to train on", gt=0, lt=1)
    repeat: int = Field(description="Number of the split, from 0", ge=0)
    seed: int = Field(description="Seed of the split")
    stratify: str = Field(default="", description="user if every user has the same share of training ratings")
    n_train: int = Field(description="Training ratings")
    n_test: int = Field(description="Test ratings")
    new_users: int = Field(description="Users of the test part without a training rating")
    new_items: int = Field(description="Items of the test part without a training rating")
    recommender: str = Field(description="Full name, such as knn:bcf:median")
    method: str = Field(description="Measure, control, peer or model, such as bcf")
    label: str = Field(description="Name in figures and tables, such as BCF")
    kind: Kind = Field(description="What the method is")
    convention: str = Field(default="", description="Convention of the measure")
    run: RunInfo = Field(description="What may differ from run to run")

    def _common(self, *nested: str) -> dict[str, Any]:
        """Return the fields that every row of a table repeats."""
        common = {name: value for name, value in self if name not in (*nested, "run")}
        common |= {"seconds": self.run.seconds, "solved": self.run.solved, "threads": self.run.threads}
        common |= {"fit_seconds": self.run.fit_seconds, "answer_seconds": self.run.answer_seconds}
        common["versions"] = ", ".join(f"{name} {number}" for name, number in self.run.versions.items())
        return common


class _BaseTrial(FrozenModel):
    """Settings that were tried."""

    settings: dict[str, Any] = Field(description="Settings of the recommender")


class Trial(_BaseTrial):
    """Settings that were tried, and their nDCG on the validation part."""

    ndcg: float = Field(description="nDCG at the first length, on the validation part")


class RatingTrial(_BaseTrial):
    """Settings that were tried, and their mean absolute error on the validation part."""

    mae: float = Field(description="Mean absolute error on the validation part")


class _BaseTuning(FrozenModel):
    """The search for settings, on a part of the training ratings."""

    validation: float = Field(description="Share of the training ratings that was held out")
    budget: int = Field(description="Trials that each recommender may make")


class Tuning(_BaseTuning):
    """The search for the settings of lists."""

    n_users: int = Field(description="Users whose lists were judged; a sample of those with relevant items")
    trials: tuple[Trial, ...] = Field(description="What was tried")


class RatingTuning(_BaseTuning):
    """The search for the settings of predicted ratings."""

    n_ratings: int = Field(description="Held-out ratings that were predicted")
    trials: tuple[RatingTrial, ...] = Field(description="What was tried")


class Record(_BaseRecord):
    """Predicted ratings of one recommender on one split.

    The tuples ``ks``, ``mae``, ``rmse``, ``coverage`` and ``neighbors`` have one entry per K; a recommender
    without neighbors has the single entry ``None`` in ``ks``.
    """

    task: Literal["rating"] = Field(default="rating", description="Predicted ratings")
    weight: str = Field(default="", description="Rule that turns values of the measure into weights")
    centering: str = Field(default="", description="Centering of a neighbor average")
    shrinkage: float = Field(default=0.0, description="Shrinkage of a neighbor average")
    ks: tuple[int | None, ...] = Field(description="Numbers of neighbors")
    mae: tuple[float, ...] = Field(description="Mean absolute error")
    rmse: tuple[float, ...] = Field(description="Root mean squared error")
    coverage: tuple[float, ...] = Field(description="Share of predictions with at least one neighbor")
    neighbors: tuple[float, ...] = Field(description="Mean number of neighbors per prediction")
    settings: dict[str, Any] = Field(default_factory=dict, description="Settings that were chosen")
    tuning: RatingTuning | None = Field(default=None, description="How; None without a search")
    groups: Groups = Field(description="Errors by group of users")

    @model_validator(mode="after")
    def _one_entry_per_k(self) -> Self:
        columns = {name: getattr(self, name) for name in PER_K}
        columns["groups.error"] = self.groups.error
        for name, column in columns.items():
            if len(column) != len(self.ks) or not self.ks:
                raise ValueError(
                    f"{name!r} has {len(column)} entries and 'ks' {len(self.ks)}; give one for each K"
                )
        if any(len(row) != len(self.groups.n) for row in self.groups.error):
            raise ValueError(f"a row of 'groups.error' does not have {len(self.groups.n)} entries")
        return self

    @property
    def key(self) -> str:
        """Name of the record, unique in its folder."""
        return record_key(self.protocol, self.share, self.repeat, self.recommender)

    def column(self, k: int) -> int | None:
        """Return the entry for a K: the only one without neighbors, None if this K was not run."""
        if self.ks == (None,):
            return 0
        return self.ks.index(k) if k in self.ks else None

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row per K, for tables."""
        common = self._common("ks", *PER_K, "settings", "tuning", "groups")
        return [
            common | {"k": k} | {name: getattr(self, name)[at] for name in PER_K}
            for at, k in enumerate(self.ks)
        ]


class ListMetrics(FrozenModel):
    """Metrics of lists, one entry per length (:mod:`prefmover.evaluation.metrics` has the formulas)."""

    ndcg: tuple[float, ...] = Field(description="Discounted gain over that of an ideal list")
    recall: tuple[float, ...] = Field(description="Share of the relevant items that are in the list")
    precision: tuple[float, ...] = Field(description="Share of the list that is relevant")
    mrr: tuple[float, ...] = Field(description="Reciprocal rank of the first relevant item")
    hit_rate: tuple[float, ...] = Field(description="Share of the users with a relevant item in the list")


class ListGroups(FrozenModel):
    """nDCG by group of users."""

    n: tuple[int, ...] = Field(description="Users in each group")
    ndcg: tuple[tuple[float, ...], ...] = Field(description="Sum of nDCG: one row per length")


Activity: TypeAlias = Literal["sparse", "quarter 1", "quarter 2", "quarter 3", "quarter 4"]


class ActivityGroup(FrozenModel):
    """Users with about as many training ratings."""

    name: Activity = Field(description="Name")
    fewest: int = Field(description="Training ratings of the least active of them")
    most: int = Field(description="Training ratings of the most active of them")
    n_users: int = Field(description="Users", ge=1)
    metrics: ListMetrics = Field(description="Metrics of their lists")
    groups: ListGroups = Field(description="nDCG by group of users")


class Events(FrozenModel):
    """What was wrong with the lists; nothing of it is ever counted as a hit."""

    rated: int = Field(default=0, description="Places with an item that the user rated in training")
    unknown: int = Field(default=0, description="Places with an item that is not in the data")
    repeated: int = Field(default=0, description="Places with an item that is in the list already")
    short: int = Field(
        default=0, description="Lists with fewer items than asked for, although there are more"
    )

    def __str__(self) -> str:
        names = {"rated": "rated items", "unknown": "unknown items", "repeated": "repeated items"}
        names["short"] = "lists too short"
        return ", ".join(
            f"{getattr(self, key):,} {name}" for key, name in names.items() if getattr(self, key)
        )


class ListRecord(_BaseRecord):
    """Recommended lists of one recommender on one split; metrics have one entry per length in ``ns``."""

    task: Literal["ranking"] = Field(default="ranking", description="Recommended lists")
    ns: tuple[int, ...] = Field(description="Lengths of the lists", min_length=1)
    relevant: float | None = Field(description="Lowest relevant test rating; None if all are relevant")
    n_users: int = Field(description="Users with a relevant test item: those who are evaluated", ge=1)
    n_relevant: int = Field(description="Relevant test ratings")
    settings: dict[str, Any] = Field(default_factory=dict, description="Settings that were used, or chosen")
    tuning: Tuning | None = Field(default=None, description="How they were chosen; None without a search")
    metrics: ListMetrics = Field(description="Metrics of the lists, means over users")
    coverage: tuple[float, ...] = Field(description="Share of all items that are in some list")
    popularity: tuple[float, ...] = Field(description="Median number of training ratings of listed items")
    novelty: tuple[float, ...] = Field(description="Mean self-information of listed items, in bits")
    diversity: tuple[float | None, ...] = Field(description="Mean distance between two items of a list")
    activity: tuple[ActivityGroup, ...] = Field(description="Metrics by number of training ratings")
    events: Events = Field(default=Events(), description="What was wrong with the lists")
    groups: ListGroups = Field(description="nDCG by group of users")

    @model_validator(mode="after")
    def _one_entry_per_length(self) -> Self:
        columns: dict[str, Any] = {name: getattr(self, name) for name in PER_LIST}
        parts: list[tuple[str, ListRecord | ActivityGroup]] = [("", self)]
        parts += [(f"activity.{one.name}.", one) for one in self.activity]
        for place, one in parts:
            columns |= {f"{place}{name}": column for name, column in one.metrics}
            columns[f"{place}groups.ndcg"] = one.groups.ndcg
            if any(len(row) != len(one.groups.n) for row in one.groups.ndcg):
                raise ValueError(f"a row of '{place}groups.ndcg' does not have {len(one.groups.n)} entries")
        for name, column in columns.items():
            if len(column) != len(self.ns):
                raise ValueError(
                    f"{name!r} has {len(column)} entries and 'ns' {len(self.ns)}; give one for each length"
                )
        return self

    @property
    def key(self) -> str:
        """Name of the record, unique in its folder."""
        return record_key(self.protocol, self.share, self.repeat, self.recommender, "ranking")

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row per length, for tables."""
        nested = ("ns", "settings", "tuning", "metrics", *PER_LIST, "activity", "events", "groups")
        common = self._common(*nested)
        common["settings"] = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        common["trials"] = len(self.tuning.trials) if self.tuning else 0
        common["tune_seconds"] = round(sum(self.run.trial_seconds), 3)
        common |= {f"{name}_events": count for name, count in self.events}
        by_activity = {one.name.replace(" ", "_"): one.metrics.ndcg for one in self.activity}
        return [
            common
            | {"n": n}
            | {name: values[at] for name, values in self.metrics}
            | {"catalog" if name == "coverage" else name: getattr(self, name)[at] for name in PER_LIST}
            | {f"ndcg_{name}": values[at] for name, values in by_activity.items()}
            for at, n in enumerate(self.ns)
        ]


AnyRecord: TypeAlias = Record | ListRecord


def parse_record(**values: Any) -> AnyRecord:
    """Return the record of its task, from the fields in a file."""
    return ListRecord(**values) if values.get("task") == "ranking" else Record(**values)


def record_key(protocol: str, share: float, repeat: int, recommender: str, task: Task = "rating") -> str:
    """Return the name of a record, which is also the name of its file.

    >>> record_key("random", 0.8, 0, "knn:bcf:median"), record_key("k-fold", 0.75, 2, "bias")
    ('0.8-0-knn.bcf.median', 'folds-2-bias')
    >>> record_key("time", 0.8, 0, "ease", "ranking")
    'lists-time-0.8-0-ease'
    """
    split = {"random": f"{share:g}", "time": f"time-{share:g}", "last": "last"}.get(protocol, "folds")
    name = re.sub(r"[^\w.+-]", "_", recommender.replace(":", "."), flags=re.ASCII)
    if "_" in name or len(name) > 80:  # two names must not share a file
        name = f"{name[:80]}-{sha256(recommender.encode()).hexdigest()[:8]}"
    return f"{'lists-' if task == 'ranking' else ''}{split}-{repeat}-{name}"


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute."""
    numbers = {"python": platform.python_version()}
    for name in ("prefmover", "numpy", "scipy", "numba", "scikit-surprise", "implicit"):
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:  # an extra that is not installed
            continue
    return numbers
