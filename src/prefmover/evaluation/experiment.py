"""An experiment as settings: the data, the splits, the recommenders, and what the report shows.

A setting is one field of :class:`Experiment`. TOML and JSON files, the options of ``prefmover evaluate``, the
check before a run is resumed and the command that reproduces a report are all derived from the fields.
"""

from __future__ import annotations

import json
import math
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, create_model, model_validator

from prefmover.data.file_options import SETTINGS, FileOptions, Setting
from prefmover.errors import InputError
from prefmover.evaluation.recommenders import expand
from prefmover.evaluation.record import FrozenModel, Task
from prefmover.predict.centering import CenteringName

if TYPE_CHECKING:
    from prefmover.dataset import Dataset

MAX_KS = 10_000
MAX_N = 100


def share_name(share: float) -> str:
    """Return a share of training ratings as the ratio train:test, if that has small numbers.

    >>> share_name(0.8), share_name(0.1), share_name(0.123)
    ('4:1', '1:9', '0.123')
    """
    ratio = Fraction(share).limit_denominator(20)
    if abs(float(ratio) - share) > 1e-9 or not 0 < share < 1:
        return f"{share:g}"
    return f"{ratio.numerator}:{ratio.denominator - ratio.numerator}"


def parse_shares(value: Any) -> tuple[float, ...]:
    """Return shares of training ratings, largest first, from numbers or from text with ratios.

    >>> parse_shares(".1, 4:1")
    (0.8, 0.1)
    """
    shares = {_share(part) for part in _listed(value, "train")}
    if not shares:
        raise InputError("train is empty; give the share to train on (.8) or a ratio (4:1)")
    return tuple(sorted(shares, reverse=True))


def _share(value: Any) -> float:
    try:
        train, _, test = str(value).partition(":")
        share = float(train) / (float(train) + float(test)) if test else float(value)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        share = math.nan
    if not 0 < share < 1:
        raise InputError(f"train is {value!r}; give the share to train on (.8) or a ratio (4:1)")
    return share


def parse_ks(value: Any, name: str = "ks") -> tuple[int, ...]:
    """Return numbers of neighbors, ascending, from numbers or from text with ranges.

    >>> parse_ks("1, 10:30:10"), parse_ks(5)
    ((1, 10, 20, 30), (5,))
    """
    try:
        ranges = [_range(*map(int, str(part).split(":"))) for part in _listed(value, name)]
        n = sum(map(len, ranges))
    except (ValueError, TypeError, OverflowError):  # TypeError: more than three numbers
        raise InputError(f"{name} is {value!r}; give numbers (5,10) or ranges with a step (5:60:5)") from None
    if n > MAX_KS:
        raise InputError(f"{name} is {value!r}, more than {MAX_KS:,} numbers; give a larger step")
    ks = sorted({k for numbers in ranges for k in numbers})
    if not ks or ks[0] < 1:
        raise InputError(f"{name} is {value!r}; give whole numbers from 1")
    return tuple(ks)


def _range(start: int, end: int | None = None, step: int = 1) -> range:
    return range(start, (start if end is None else end) + 1, step)


def _listed(value: Any, name: str) -> list[Any]:
    """Return the entries of a list, or of text with commas; a number is a list of one."""
    if isinstance(value, int | float):
        return [value]
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
        raise InputError(f"{name} is {value!r}; give a list, or text with commas")
    return list(value)


def _no_bool(value: Any) -> Any:
    """Return a value, unless it is true or false, which pydantic would take for 1 or 0."""
    if isinstance(value, bool):
        raise ValueError(f"expected a number, not {str(value).lower()}")
    return value


Shares = Annotated[tuple[float, ...], BeforeValidator(parse_shares)]
Ks = Annotated[tuple[int, ...], BeforeValidator(parse_ks)]
Ns = Annotated[tuple[Annotated[int, Field(le=MAX_N)], ...], BeforeValidator(partial(parse_ks, name="ns"))]
Files = Annotated[tuple[str, ...], BeforeValidator(partial(_listed, name="items"))]
Columns = Annotated[tuple[str, ...], BeforeValidator(partial(_listed, name="columns"))]
Names = Annotated[tuple[str, ...], BeforeValidator(lambda value: expand(_listed(value, "recommenders")))]
Number = Annotated[float, BeforeValidator(_no_bool), Field(ge=0, allow_inf_nan=False)]
Whole = Annotated[int, BeforeValidator(_no_bool), Field(ge=0, lt=2**63)]

Protocol = Literal["random", "k-fold", "published", "time", "last", "file", "cold-items", "new-people"]

REPEATABLE = {"items", "features", *(one.name for one in SETTINGS if one.kind is list)}
"""Settings that are options with one value each, as often as needed."""

ONE_SPLIT = ("time", "last", "file")
"""Protocols with one split for each share."""

GROWING = {"recommenders", "task", "train", "repeats", "panels", "title"}
"""Settings that may differ between runs in one folder: the folder then covers both."""


class Panel(FrozenModel):
    """One picture: the error over the share of training ratings, or over K."""

    name: str = Field(description="Short name, such as a")
    over: Literal["train", "k"] = Field(description="Horizontal axis")
    train: Shares = Field(description="Shares of training ratings")
    ks: Ks = Field(description="Numbers of neighbors")
    claim: str = Field(
        default="", description="Claim made beforehand, which the report compares with the result"
    )

    @property
    def title(self) -> str:
        """The settings in words.

        >>> Panel(name="b", over="k", train=0.8, ks="5,10").title
        'train:test 4:1, K from 5 to 10'
        """
        first, last = share_name(self.train[0]), share_name(self.train[-1])
        if self.over == "train":
            return f"train:test from {first} to {last}, K = {self.ks[0]}"
        ks = f" from {self.ks[0]} to {self.ks[-1]}" if len(self.ks) > 1 else f" = {self.ks[0]}"
        return f"train:test {first}, K{ks}"

    def points(self) -> list[tuple[float, int]]:
        """Return the (share, K) of the panel's points, left to right."""
        return [(share, k) for share in self.train for k in self.ks]


def _file_setting(setting: Setting) -> tuple[Any, Any]:
    """Return the type and the field of a setting for a file; an empty text is not set."""
    kind = Columns if setting.kind is list else setting.kind if setting.default else setting.kind | None
    unset = BeforeValidator(lambda value: setting.default if value == "" else value)
    default = () if setting.kind is list else setting.default
    return Annotated[kind, unset], Field(default=default, description=setting.help)


FILE_SETTINGS = ("items", "features", *(setting.name for setting in SETTINGS))
"""Settings that belong to a file of ratings."""


class Source(FrozenModel):
    """Where the data come from."""

    dataset: str = Field(default="", description="Data set by name, such as cinema or ml-100k")
    ratings: str = Field(default="", description="Ratings file, instead of a data set")
    items: Files = Field(default=(), description="Files that describe the items of the ratings file")
    features: Files = Field(default=(), description="Vectors of the items, .npz files of ids and vectors")


if TYPE_CHECKING:
    FileSettings = Source
else:
    FileSettings = create_model(
        "FileSettings", __base__=Source, **{one.name: _file_setting(one) for one in SETTINGS}
    )


class Experiment(FileSettings):
    """All settings of an experiment.

    >>> experiment = Experiment(dataset="cinema", recommenders="knn:pmd, controls", train="4:1, .1")
    >>> experiment.recommenders
    ('knn:pmd', 'uniform', 'mean-vector', 'user-mean', 'bias')
    >>> Experiment(dataset="cinema", repeat=3)
    Traceback (most recent call last):
    prefmover.errors.InputError: there is no field 'repeat'; did you mean 'repeats'?
    """

    geometry: Literal["best", "genres", "ratings"] = Field(
        default="best",
        description="Item distances: the best available (for MovieLens, tags if they are installed, else "
        "genres), from genres, or from the training ratings",
    )
    recommenders: Names = Field(
        default=("default",),
        min_length=1,
        description="Recommenders to compare, such as knn:pmd, knn:all, controls, surprise:SVD",
    )
    task: Literal["rating", "ranking", "reasons", "both"] = Field(
        default="ranking",
        description="What is judged: recommended lists (ranking), predicted ratings (rating), both, or the "
        "reasons of lists by what happens without them (reasons)",
    )
    protocol: Protocol = Field(
        default="random",
        description="Kind of split: random, k-fold with as many folds as repeats, published folds, by time "
        "(the earliest ratings train), last (each user's last ratings are tested), that of a file (split), "
        "cold-items (a tenth of the items has no training rating), or new-people (a tenth of the users has "
        "few training ratings: given)",
    )
    given: Annotated[tuple[int, ...], BeforeValidator(partial(parse_ks, name="given"))] = Field(
        default=(1, 2, 3, 5, 10), description="Numbers of ratings that new people have given"
    )
    split: str = Field(
        default="",
        description="File of a public split: .npz or text, with 0 (training), 1 (validation) or 2 (test) "
        "for each rating in the order of its file; a path from here, or from the folder of data sets",
    )
    train: Shares = Field(default=(0.8,), description="Shares of the ratings to train on (.8 or 4:1)")
    repeats: Whole = Field(default=5, ge=1, description="Random splits per share, or number of folds")
    seed: Whole = Field(default=0, description="Seed of whatever is random; repeat r has seed + r")
    stratify: Literal["", "user"] = Field(
        default="", description="user: the same share of training ratings for every user"
    )
    ks: Ks = Field(
        default=tuple(range(5, 61, 5)),
        description="Numbers of neighbors (10,40 or 5:60:5), all computed in one run",
    )
    centering: CenteringName = Field(default="mean", description="Centering of the neighbor averages")
    shrinkage: Number = Field(default=0.0, description="Shrinkage of the neighbor averages")
    ns: Ns = Field(default=(10,), description="Lengths of the recommended lists (10 or 5,10,100)")
    relevant: Annotated[float | None, BeforeValidator(_no_bool)] = Field(
        default=None,
        allow_inf_nan=False,
        description="Lowest relevant test rating; three quarters up the scale (4 of 5) by default",
    )
    validation: float = Field(
        default=0.2,
        gt=0,
        lt=1,
        description="Share of the training ratings that is held out to choose settings",
    )
    trials: Annotated[int, BeforeValidator(_no_bool), Field(ge=0, le=1000)] = Field(
        default=30, description="Settings that each recommender may try on the validation part; 0 for none"
    )
    judged: Whole = Field(default=200, ge=1, description="Users whose reasons task reasons judges")
    refits: Whole = Field(
        default=0,
        description="Users for whom task reasons also fits anew, without a reason; 0 leaves the model fixed",
    )
    panels: tuple[Panel, ...] = Field(
        default=(), description="Pictures in the report; chosen from the records by default"
    )
    title: str = Field(default="", description="Title of the report")

    @model_validator(mode="before")
    @classmethod
    def _file(cls, values: Any) -> Any:
        """Take a split in a file for a protocol."""
        return {"protocol": "file", **values} if isinstance(values, dict) and values.get("split") else values

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if bool(self.dataset) == bool(self.ratings):
            raise ValueError("give either dataset, such as cinema or ml-100k, or ratings, a file")
        for name in FILE_SETTINGS if not self.ratings else ():
            if getattr(self, name) != _default(name):
                raise ValueError(f"{name} belongs to a file of ratings; dataset is {self.dataset!r}")
        if self.protocol == "k-fold" and self.repeats < 2:
            raise ValueError(f"repeats is {self.repeats}; give at least 2 folds")
        for name in ("judged", "refits") if self.task != "reasons" else ():
            if getattr(self, name) != _default(name):
                raise ValueError(f"{name} is for task 'reasons'; task is {self.task!r}")
        used = {"random": ("train", "stratify"), "new-people": ("given",)}
        used |= dict.fromkeys(("time", "cold-items"), ("train",))
        for name in {"train", "stratify", "given"} - set(used.get(self.protocol, ())):
            if getattr(self, name) != _default(name):
                raise ValueError(f"{name} is for other splits; protocol is {self.protocol!r}")
        if "default:guest" in self.recommenders and self.protocol != "new-people":
            raise ValueError(f"default:guest is for protocol 'new-people'; it is {self.protocol!r}")
        if bool(self.split) != (self.protocol == "file"):
            raise ValueError(f"protocol is {self.protocol!r}; give split, a file, with protocol 'file' only")
        if self.protocol in ONE_SPLIT and self.repeats not in (1, _default("repeats")):
            raise ValueError(f"repeats is {self.repeats}; there is one split by {self.protocol}")
        if self.file_options.time and self.protocol not in ("time", "last"):
            raise ValueError(f"time_column is for protocol time or last; protocol is {self.protocol!r}")
        for panel in self.panels:
            unknown = set(panel.ks) - set(self.ks)
            if unknown:
                raise ValueError(f"panel {panel.name} shows K = {min(unknown)}, which is not among ks")
        return self

    @property
    def file_options(self) -> FileOptions:
        """How the files are read."""
        return FileOptions.from_settings(self.model_dump())

    @property
    def shares(self) -> tuple[float, ...]:
        """Shares to train on, or numbers of ratings of new people; else the single entry 0."""
        if self.protocol == "new-people":
            return tuple(map(float, self.given))
        return self.train if self.protocol in ("random", "time", "cold-items") else (0.0,)

    @property
    def n_splits(self) -> int:
        """Splits for each share; there is one by time, and one in a file."""
        return 1 if self.protocol in ONE_SPLIT else self.repeats

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, those of lists first."""
        return ("ranking", "rating") if self.task == "both" else (self.task,)

    @property
    def data_name(self) -> str:
        """Name of the data set, or path of the file of ratings."""
        return self.dataset or self.ratings

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Return the experiment in a TOML file."""
        try:
            settings = tomllib.loads(Path(path).read_text(encoding="utf-8"))
            return cls(**settings)
        except OSError as error:
            raise InputError(
                f"{path} cannot be read: {error.strerror}; give a TOML file of settings"
            ) from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        # TOMLDecodeError, bytes that are not UTF-8, a number of 5,000 digits; brackets that are nested deeply
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is not TOML: {error}") from error

    def to_toml(self) -> str:
        """Return the settings that differ from the defaults, as a TOML file.

        >>> print(Experiment(dataset="cinema", train="1:9", repeats=2).to_toml())
        dataset = "cinema"
        train = [0.1]
        repeats = 2
        """
        chosen = self.model_dump(mode="json", exclude_defaults=True)
        panels = chosen.pop("panels", [])
        lines = [f"{name} = {_toml(value)}" for name, value in chosen.items()]
        for panel in panels:
            lines += ["", "[[panels]]", *(f"{name} = {_toml(value)}" for name, value in panel.items())]
        return "\n".join(lines)

    def to_options(self) -> list[str]:
        """Return the settings that differ from the defaults as options of ``prefmover evaluate``.

        Panels have no option: they need the file that :meth:`to_toml` writes.

        >>> " ".join(Experiment(dataset="cinema", train=(0.8, 1 / 3), ks=(5, 10)).to_options())
        '--dataset cinema --train 0.8,1:2 --ks 5,10'
        """
        words: list[str] = []
        for name, value in self.model_dump(exclude_defaults=True, exclude={"panels"}).items():
            if isinstance(value, bool):
                words.append(f"--{'' if value else 'no-'}{name.replace('_', '-')}")
                continue
            texts = value if name in REPEATABLE else [_option(value)]  # a name of a file may have a comma
            for text in texts:
                words += [f"--{name.replace('_', '-')}", shlex.quote(text)]
        return words

    def fixed(self) -> dict[str, Any]:
        """Return the settings that all records of a folder share; the others may grow from run to run."""
        other_folds = {"repeats"} if self.protocol == "k-fold" else set()  # other folds, not more of them
        return self.model_dump(mode="json", exclude=GROWING - other_folds)

    def merged(self, later: Experiment) -> Experiment:
        """Return the experiment that covers this one and a later one in the same folder."""
        if self.task != later.task and "reasons" in (self.task, later.task):
            raise InputError(
                f"the records are of task {self.task!r}, not {later.task!r}; choose another folder"
            )
        panels = {panel.name: panel for panel in (*self.panels, *later.panels)}
        return later.model_copy(
            update={
                "recommenders": tuple(dict.fromkeys((*self.recommenders, *later.recommenders))),
                "train": tuple(sorted({*self.train, *later.train}, reverse=True)),
                "repeats": max(self.repeats, later.repeats),
                "task": self.task if self.task == later.task else "both",
                "panels": tuple(panels[name] for name in sorted(panels)),
                "title": later.title or self.title,
            }
        )

    def load(self) -> Dataset:
        """Return the data, with the item distances that the settings name."""
        from prefmover import datasets
        from prefmover.dataset import Dataset, geometry_from_ratings
        from prefmover.items import features
        from prefmover.items.geometry import ItemGeometry

        if self.dataset:
            data = datasets.load(self.dataset)
        else:
            data = Dataset.from_files(self.ratings, self.items, self.features, options=self.file_options)
        if self.geometry == "best":
            return data
        if self.geometry == "ratings":
            return data.with_geometry(geometry_from_ratings)
        if not any(data.catalog.genres):
            raise InputError(f"{data.name} has no genres; choose another geometry")
        block = features.from_genres(data.catalog.ids, data.catalog.genres)
        name = f"{block.name} of {data.name}"
        return data.with_geometry(
            ItemGeometry.from_vectors(block.items, block.vectors, name=name, zero="far")
        )


def _default(name: str) -> Any:
    return Experiment.model_fields[name].default


def _toml(value: Any) -> str:
    # Text, numbers and lists look the same in TOML, apart from one control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _option(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(_share_option(one) if isinstance(one, float) else str(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _share_option(share: float) -> str:
    """Return the shortest text that is read back as the same share."""
    return next(text for text in (f"{share:g}", share_name(share), repr(share)) if _share(text) == share)
