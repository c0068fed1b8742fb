"""The data and the model of a verb: a fitted model, a data set by name, or files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from prefmover._format import counted
from prefmover.cli.options import Convention, DatasetName, Measure
from prefmover.cli.terminal import note, progress
from prefmover.data.file_options import SETTINGS, FileOptions, Setting
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.data.ratings import Ratings
    from prefmover.dataset import Dataset
    from prefmover.items.table import ItemFiles
    from prefmover.model.base_recommender import BaseRecommender

DEFAULT_ONLY = ("landmarks", "seed")
KNN_ONLY = ("k", "weight", "centering", "neighborhood", "shrinkage")


def option_name(name: str) -> str:
    """Return the option of a field or a setting.

    >>> option_name("on_bad_lines")
    '--on-bad-lines'
    """
    return f"--{name.replace('_', '-')}"


def file_option(setting: Setting) -> Any:
    """Return the type of an option for files, which has the same shape in all verbs."""
    name = option_name(setting.name)
    about: Any = {"metavar": setting.metavar, "rich_help_panel": "Options of your files"}
    if setting.kind is list:
        return Annotated[list[str] | None, Option(name, help=f"{setting.help}; repeatable.", **about)]
    if setting.kind is bool:
        name += name.replace("--", "/--no-", 1)
    kind = setting.kind if setting.default else setting.kind | None
    return Annotated[kind, Option(name, help=f"{setting.help}.", **about)]


@dataclass
class SourceOptions:
    """The options that say which data to use: one of the first three, and details of the third.

    The fields of :class:`~prefmover.FileOptions` follow; :attr:`file_options` has their values.
    """

    model: Annotated[
        str | None, Option("--model", "-m", metavar="FOLDER", help="Model saved by `prefmover fit`.")
    ] = None
    dataset: Annotated[
        DatasetName | None, Option("--dataset", "-d", case_sensitive=False, help="Data set by name.")
    ] = None
    ratings: Annotated[
        str | None, Option("--ratings", "-r", metavar="FILE", help="Ratings file: CSV, TSV or Parquet.")
    ] = None
    items: Annotated[
        list[str] | None,
        Option("--items", "-i", metavar="FILE", help="File of tags, genres, texts or vectors; repeatable."),
    ] = None
    features: Annotated[
        list[str] | None,
        Option(metavar="FILE", help="Vectors of the items: .npz with ids and vectors; repeatable."),
    ] = None

    @property
    def file_options(self) -> FileOptions:
        """How files are read."""
        return FileOptions.from_settings(vars(self))

    def open(self, threads: int | None = None) -> tuple[Dataset, BaseRecommender | None]:
        """Return the data, and the model that they come from with ``--model``."""
        self.check()
        with library_errors(), progress(f"reading {self.model or self.dataset or self.ratings}"):
            if self.model is not None:
                from prefmover.model import storage

                model = storage.load(self.model, n_threads=threads)
                return model.data_, model
            data = self._read_files() if self.dataset is None else _load(self.dataset)
            return data, None

    def check(self) -> None:
        """Raise an error unless the options name one source of data."""
        chosen = [f"--{name}" for name in ("model", "dataset", "ratings") if getattr(self, name) is not None]
        if len(chosen) != 1:
            raise InputError(
                "name the data with one of --model FOLDER, --dataset NAME or --ratings FILE "
                f"(with --items FILE); given: {' and '.join(chosen) or 'none'}"
            )
        for option in fields(self)[3:] if self.ratings is None else ():
            if getattr(self, option.name) not in (option.default, []):
                raise InputError(f"{option_name(option.name)} goes with --ratings, not with {chosen[0]}")

    def _read_files(self) -> Dataset:
        from prefmover.dataset import Dataset

        options = self.file_options
        data = Dataset.from_files(str(self.ratings), self.items or (), self.features or (), options=options)
        note(f"{data.name}: {describe(data.ratings)}")
        return data

    def read_items(self) -> ItemFiles:
        """Return the items of files alone, without ratings."""
        from prefmover.items.table import ItemFiles

        with library_errors():
            return ItemFiles.read(*self.items or (), options=self.file_options, features=self.features or ())


if not TYPE_CHECKING:
    SourceOptions = make_dataclass(
        "SourceOptions",
        [(one.name, file_option(one), field(default=one.default)) for one in SETTINGS if one.field != "time"],
        bases=(SourceOptions,),
    )


def _load(name: str) -> Dataset:
    """Return a data set; the terms of a copy that `data get` and `data add` have not installed are shown."""
    from prefmover import datasets
    from prefmover.datasets import BUILT_IN, folders
    from prefmover.datasets.registry import find_source

    data = datasets.load(name)
    if name.casefold() not in BUILT_IN:
        path = folders.locate(find_source(name)).path
        if not any((folder / "installed.json").exists() for folder in (path, path.parent)):
            note(f"{data.name}: {data.terms}")
    return data


def describe(ratings: Ratings) -> str:
    """Return the size and the scale of ratings in words."""
    scale = ratings.scale
    users, items = counted(ratings.n_users, "user"), counted(ratings.n_items, "item")
    noun = "interaction" if scale.implicit else "rating"
    ends = f"from {scale.lowest:g} to {scale.highest:g}"
    step = f" in steps of {scale.step:g}" if scale.step else ""
    values = f", {ends}{step}"
    if scale.implicit:
        values = (
            f", strengths {ends} (counts damped by {scale.damping})" if scale.lowest < scale.highest else ""
        )
    return f"{counted(ratings.n_ratings, noun)} of {items} by {users}{values}"


@contextmanager
def library_errors() -> Iterator[None]:
    """Turn the argument that an error of the library names into the option of the command line."""
    try:
        yield
    except InputError as error:
        if error.argument:
            names = {one.name: one.name for one in fields(SourceOptions)}
            names |= {error.argument: error.argument} | {one.field: one.name for one in SETTINGS}
            pattern = rf"\b({'|'.join(names)})="
            error.args = (re.sub(pattern, lambda m: f"{option_name(names[m[1]])} ", str(error)),)
        raise


@dataclass(slots=True)
class ModelOptions:
    """The parameters of a model. Those that are not set have the defaults of the library."""

    model_type: Annotated[
        Literal["default", "knn"] | None,
        Option(help="Kernel model (default), or average over the nearest neighbors (knn)."),
    ] = None
    paper: Annotated[bool, Option("--paper", help="Neighbor average with the settings of the paper.")] = False
    measure: Measure = None
    convention: Convention = None
    weight: Annotated[
        str | None,
        Option(
            metavar="RULE", help='knn: rule that turns a distance into a weight, such as "exponential(4)".'
        ),
    ] = None
    landmarks: Annotated[
        int | None, Option(metavar="N", min=1, help="Number of landmark users; 500 by default.")
    ] = None
    seed: Annotated[
        int | None, Option(metavar="N", min=0, help="Seed for the choice of landmarks; 0 by default.")
    ] = None
    k: Annotated[
        int | None, Option("--k", metavar="N", min=1, help="knn: number of neighbors; 40 by default.")
    ] = None
    centering: Annotated[
        Literal["none", "mean", "z-score", "baseline"] | None,
        Option(help="knn: what ratings are centered on; baseline by default."),
    ] = None
    neighborhood: Annotated[
        Literal["raters", "global"] | None,
        Option(help="knn: neighbors among the raters of an item (default), or among all users."),
    ] = None
    shrinkage: Annotated[
        float | None,
        Option(metavar="N", min=0, help="knn: total weight at which a prediction is half baseline."),
    ] = None

    def chosen(self) -> dict[str, Any]:
        """Return the options that the user has set."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if value is not None and value is not False}

    def make(self, threads: int | None) -> BaseRecommender:
        """Return the estimator that the options describe, not fitted yet."""
        from prefmover.model import KNNRecommender, Recommender

        chosen = self.chosen()
        knn = self.paper or self.model_type == "knn"
        for name in DEFAULT_ONLY if knn else KNN_ONLY:
            if name in chosen and knn:
                raise InputError(f"--{name} is not an option of --model-type knn and --paper; leave it out")
            if name in chosen:
                raise InputError(f"--{name} needs a neighbor average; add --model-type knn or --paper")
        if self.paper and self.model_type == "default":
            raise InputError("--paper is a neighbor average; leave --model-type out, or give knn")
        for name in ("model_type", "paper"):
            chosen.pop(name, None)
        estimator: Any = KNNRecommender.paper if self.paper else KNNRecommender if knn else Recommender
        model: BaseRecommender = estimator(**chosen, n_threads=threads)
        return model


def fitted(
    data: Dataset, model: BaseRecommender | None, options: ModelOptions, threads: int | None
) -> BaseRecommender:
    """Return the model that was loaded, or fit the one that the options describe."""
    if model is None:
        with progress("fitting the model") as callback:
            return options.make(threads).fit(data, progress=callback)
    for name in options.chosen():
        option = name.replace("_", "-")
        raise InputError(f"--{option} is an option for fitting; the model of --model is already fitted")
    return model
