"""A record: one recommender on one split, with all its K. Its fields are spelled here and nowhere else.

Everything outside ``run`` (time, threads, versions) is the same whenever and wherever a record is computed.

``groups`` holds the sum of absolute errors over each of twenty fixed groups of users, drawn by a hash of the
user's position. That is enough for a paired test over users, in a few hundred numbers.
"""

from __future__ import annotations

import platform
import re
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from prefmover.data.ids import close_names
from prefmover.errors import InputError

__all__ = ["DataInfo", "FrozenModel", "Groups", "Kind", "Record", "RunInfo", "record_key", "versions"]

Kind = Literal["measure", "control", "model", "peer"]
PER_K = ("mae", "rmse", "coverage", "neighbors")


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

    seconds: float = Field(description="Time to fit and predict")
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


class Record(FrozenModel):
    """One recommender on one split.

    The tuples ``ks``, ``mae``, ``rmse``, ``coverage``, ``neighbors`` (and ``ranking``) have one entry per K;
    a recommender without neighbors has the single entry ``None`` in ``ks``.
    """

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
    weight: str = Field(default="", description="Rule that turns values of the measure into weights")
    centering: str = Field(default="", description="Centering of a neighbor average")
    shrinkage: float = Field(default=0.0, description="Shrinkage of a neighbor average")
    ks: tuple[int | None, ...] = Field(description="Numbers of neighbors")
    mae: tuple[float, ...] = Field(description="Mean absolute error")
    rmse: tuple[float, ...] = Field(description="Root mean squared error")
    coverage: tuple[float, ...] = Field(description="Share of predictions with at least one neighbor")
    neighbors: tuple[float, ...] = Field(description="Mean number of neighbors per prediction")
    ranking: tuple[dict[str, float], ...] | None = Field(
        default=None, description="Precision, recall, ndcg, hit_rate and catalog of top-n lists"
    )
    groups: Groups = Field(description="Errors by group of users")
    run: RunInfo = Field(description="What may differ from run to run")

    @model_validator(mode="after")
    def _one_entry_per_k(self) -> Self:
        columns = {name: getattr(self, name) for name in (*PER_K, "ranking")}
        columns["groups.error"] = self.groups.error
        for name, column in columns.items():
            if column is not None and (len(column) != len(self.ks) or not self.ks):
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
        nested = ("ks", *PER_K, "ranking", "groups", "run")
        common = {name: value for name, value in self if name not in nested}
        common |= {"seconds": self.run.seconds, "solved": self.run.solved, "threads": self.run.threads}
        common["versions"] = ", ".join(f"{name} {number}" for name, number in self.run.versions.items())
        return [
            common
            | {"k": k}
            | {name: getattr(self, name)[at] for name in PER_K}
            | (self.ranking[at] if self.ranking is not None else {})
            for at, k in enumerate(self.ks)
        ]


def record_key(protocol: str, share: float, repeat: int, recommender: str) -> str:
    """Return the name of a record, which is also the name of its file.

    >>> record_key("random", 0.8, 0, "knn:bcf:median"), record_key("k-fold", 0.75, 2, "bias")
    ('0.8-0-knn.bcf.median', 'folds-2-bias')
    """
    split = f"{share:g}" if protocol == "random" else "folds"
    name = re.sub(r"[^\w.+-]", "_", recommender.replace(":", "."), flags=re.ASCII)
    if "_" in name or len(name) > 80:  # two names must not share a file
        name = f"{name[:80]}-{sha256(recommender.encode()).hexdigest()[:8]}"
    return f"{split}-{repeat}-{name}"


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute."""
    numbers = {"python": platform.python_version()}
    for name in ("prefmover", "numpy", "scipy", "numba", "scikit-surprise"):
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:  # an extra that is not installed
            continue
    return numbers
