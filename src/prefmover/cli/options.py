"""Options that several verbs share, and what people name with them: data, models, users, items, measures."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, fields, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from prefmover._format import counted
from prefmover.cli import Opt
from prefmover.cli.terminal import STATE, note, progress
from prefmover.data.file_options import SETTINGS, FileOptions, Setting
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.data.ratings import Ratings
    from prefmover.dataset import Dataset
    from prefmover.items.table import ItemFiles
    from prefmover.measures import Measure as MeasureRow
    from prefmover.model.base_recommender import BaseRecommender

    ConventionName: TypeAlias = str
    DatasetName: TypeAlias = str
    MeasureName: TypeAlias = str
else:
    from prefmover.datasets.registry import BUILT_IN, SOURCES

    # The names in the table of measures, again: help does not import the table. A test compares them.
    MeasureName = Literal[
        *("cos", "pcc", "msd", "jaccard", "urp", "jmsd", "nhsm", "bcf", "n-bcf", "husm", "n-husm", "pmd"),
        *("pmd-agreement", "pmd-opinions"),
    ]
    ConventionName = Literal["published", "table-1", "co-rated-means", "median"]
    DatasetName = Literal[
        *BUILT_IN, *(name for name, source in SOURCES.items() if source.form not in ("genome", "tags"))
    ]

FITTED_AT_ONCE = 1000  # ratings below which a fit takes no longer than to read the model of an earlier one
DEFAULT_ONLY = ("landmarks",)
KNN_ONLY = ("k", "weight", "centering", "neighborhood", "shrinkage")


def option_name(name: str) -> str:
    """Return the option of a field or a setting.

    >>> option_name("on_bad_lines")
    '--on-bad-lines'
    """
    return f"--{name.replace('_', '-')}"


Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None

MEASURE = Opt(
    "Measure between users (`prefmover measures`); the model's, or pmd, by default.", "NAME", panel="Model",
    case_sensitive=False,
)  # fmt: skip
USER = Opt("Id of the user.", "ID", "-u")
DATASET = Opt("Data set by name (`prefmover data list`).", "NAME", "-d", panel="Data", case_sensitive=False)

Threads = Annotated[
    int | None, Opt("Number of threads; all cores by default.", "--threads", "-t", panel="Run", min=1)
]
Measure = Annotated[MeasureName | None, MEASURE]
Convention = Annotated[
    ConventionName | None,
    Opt("Variant of the measure; the model's, or published, by default.", "NAME", panel="Model"),
]
Seed = Annotated[int, Opt("Seed of whatever is random.", panel="Run", min=0)]
Refit = Annotated[bool, Opt("New fit, even if the model of the same data and options is kept.")]
TableFile = Annotated[
    str, Opt("Where the result goes: a .csv or .parquet file, not the terminal.", "FILE", "-o")
]
Out = Annotated[str, Opt("Where the result goes: a folder; an unfinished run resumes.", "FOLDER", "-o")]
Report = Annotated[bool, Opt("Report with figures and tables at the end.", "--report/--no-report")]


def file_option(setting: Setting) -> Any:
    """Return the type of an option for files, which has the same shape in all verbs."""
    name, kind = option_name(setting.name), list[str] if setting.kind is list else setting.kind
    names = [f"{name}/--no-{name[2:]}"] if kind is bool else []
    option = Opt(f"{setting.help}.", *names, *filter(None, [setting.metavar]), panel="Columns of your files")
    return Annotated[kind if setting.default else kind | None, option]


@dataclass
class DataOptions:
    """The options that say which data to use: one of the first two, and details of the second.

    The fields of :class:`~prefmover.FileOptions` follow; :attr:`file_options` has their values.
    """

    PANEL: ClassVar = "Data"
    SOURCES: ClassVar[tuple[str, ...]] = ("dataset", "ratings")

    ratings: Annotated[Text, Opt("Ratings file: CSV, TSV, Parquet or JSON Lines.", "FILE", "-r")] = None
    items: Annotated[
        Texts, Opt("File of tags, genres, texts or vectors; it may be --ratings.", "FILE", "-i")
    ] = None
    features: Annotated[Texts, Opt("Vectors of the items: .npz with ids and vectors.", "FILE")] = None
    dataset: Annotated[DatasetName | None, DATASET] = None

    @property
    def file_options(self) -> FileOptions:
        """How files are read."""
        return FileOptions.from_settings(vars(self))

    def open(self, threads: int | None = None) -> tuple[Dataset, BaseRecommender | None]:
        """Return the data, and the model that they come from with ``--model``."""
        (source,) = self.check()
        with library_errors(), progress(f"reading {getattr(self, source)}"):
            if source == "model":
                from prefmover.model import storage

                model = storage.load(getattr(self, source), n_threads=threads)
                return model.data_, model
            if self.dataset is not None:
                return _load(self.dataset), None
            from prefmover.dataset import Dataset

            files = str(self.ratings), self.items or (), self.features or ()
            data = Dataset.from_files(*files, options=self.file_options)
            note(f"{data.name}: {describe(data.ratings)}")
            return data, None

    def check(self) -> list[str]:
        """Return the source of the data, unless the options name none or several.

        One that is typed wins over those of a configuration file.
        """
        chosen = [name for name in self.SOURCES if getattr(self, name) is not None]
        if len(chosen) > 1:
            chosen = [name for name in chosen if not STATE.is_from_file(name)] or chosen
        if len(chosen) != 1:
            model = "--model FOLDER, " if "model" in self.SOURCES else ""
            raise InputError(
                f"name the data with one of {model}--dataset NAME or --ratings FILE (with --items FILE); "
                f"given: {' and '.join(f'--{name}' for name in chosen) or 'none'}"
            )
        for name in self.SOURCES:
            if name not in chosen:
                setattr(self, name, None)
        for option in fields(self) if self.ratings is None else ():
            given = option.name not in self.SOURCES and getattr(self, option.name) not in (option.default, [])
            if given and not STATE.is_from_file(option.name):
                raise InputError(f"{option_name(option.name)} goes with --ratings, not with --{chosen[0]}")
        return chosen

    def read_items(self) -> ItemFiles:
        """Return the items of files alone, without ratings."""
        from prefmover.items.table import ItemFiles

        with library_errors():
            return ItemFiles.read(*self.items or (), options=self.file_options, features=self.features or ())


if not TYPE_CHECKING:
    DataOptions = make_dataclass(
        "DataOptions",
        [(one.name, file_option(one), field(default=one.default)) for one in SETTINGS if one.field != "time"],
        bases=(DataOptions,),
    )


@dataclass
class SourceOptions(DataOptions):
    """Data, or a fitted model with its data."""

    SOURCES: ClassVar[tuple[str, ...]] = ("model", "dataset", "ratings")

    model: Annotated[Text, Opt("Model saved by `prefmover fit`, with its data.", "FOLDER", "-m")] = None


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

    PANEL: ClassVar = "Model"

    model_type: Annotated[
        Literal["default", "knn"] | None,
        Opt("Kernel model (default), or average over the nearest neighbors (knn)."),
    ] = None
    paper: Annotated[bool, Opt("Neighbor average with the settings of the paper.")] = False
    measure: Measure = None
    convention: Convention = None
    weight: Annotated[
        Text, Opt('knn: rule that turns a distance into a weight, such as "exponential(4)".', "RULE")
    ] = None
    landmarks: Annotated[int | None, Opt("Number of landmark users; 500 by default.", min=1)] = None
    seed: Seed = 0
    k: Annotated[int | None, Opt("knn: neighbors in the average; 40 by default.", "--k", min=1)] = None
    centering: Annotated[
        Literal["none", "mean", "z-score", "baseline"] | None,
        Opt("knn: what ratings are centered on; baseline by default."),
    ] = None
    neighborhood: Annotated[
        Literal["raters", "global"] | None,
        Opt("knn: neighbors among the raters of an item (default), or among all users."),
    ] = None
    shrinkage: Annotated[
        float | None, Opt("knn: total weight at which a prediction is half baseline.", min=0)
    ] = None
    refit: Refit = False

    def chosen(self) -> dict[str, Any]:
        """Return the parameters that are set, apart from the seed, which every verb may be given."""
        values = asdict(self) | {"seed": None}
        return {name: value for name, value in values.items() if value is not None and value is not False}

    def make(self, threads: int | None) -> BaseRecommender:
        """Return the estimator that the options describe, not fitted yet."""
        from prefmover.model import KNNRecommender, Recommender

        chosen = self.chosen()
        knn = self.paper or self.model_type == "knn"
        for name in DEFAULT_ONLY if knn else KNN_ONLY:
            if name in chosen and not STATE.is_from_file(name):
                remedy = (
                    "is for the default model; leave it out" if knn else "needs --model-type knn or --paper"
                )
                raise InputError(f"--{name} {remedy}")
            chosen.pop(name, None)
        if self.paper and self.model_type == "default":
            raise InputError("--paper is a neighbor average; leave --model-type out, or give knn")
        for name in ("model_type", "paper", "refit"):
            chosen.pop(name, None)
        if not knn:
            chosen["seed"] = self.seed
        estimator: Any = KNNRecommender.paper if self.paper else KNNRecommender if knn else Recommender
        model: BaseRecommender = estimator(**chosen, n_threads=threads)
        return model


def fitted(
    data: Dataset, model: BaseRecommender | None, options: ModelOptions, threads: int | None
) -> BaseRecommender:
    """Return the model that was loaded, or fit the one that the options describe."""
    if model is None:
        made = options.make(threads)
        with progress("fitting the model") as callback:
            if data.ratings.n_ratings < FITTED_AT_ONCE:
                return made.fit(data, progress=callback)
            from prefmover.model.cache import fit_once

            model = fit_once(made, data, refit=options.refit, n_threads=threads, progress=callback)
        if not hasattr(made, "data_"):
            note("the model was fitted before, to the same data and options (--refit fits it again)")
        return model
    for name in options.chosen():
        if not STATE.is_from_file(name):
            raise InputError(
                f"{option_name(name)} is an option for fitting; the model of --model is already fitted"
            )
    return model


@dataclass(slots=True)
class ExecutorOptions:
    """Where the work runs."""

    PANEL: ClassVar = "Run"

    executor: Annotated[Literal["threads", "ray"], Opt("Threads of this machine, or a Ray cluster.")] = (
        "threads"
    )
    address: Annotated[str, Opt("Ray cluster, or auto; a new local one by default.", "HOST:PORT")] = ""

    def open(self, threads: int | None) -> AbstractContextManager[Any]:
        """Open the executor; None means threads of this process."""
        if self.executor == "ray":
            from prefmover.execution import RayExecutor

            return RayExecutor(self.address or None, n_threads=threads)
        if self.address:
            raise InputError("--address names a Ray cluster; add --executor ray")
        return nullcontext()


@dataclass(slots=True)
class PeopleOptions:
    """Whom a verb is about: users, a person who is not in the data, or all users."""

    user: Annotated[Texts, Opt("Id of a user.", "ID", "-u")] = None
    rated: Annotated[Texts, Opt("Rating by a person who is not in the data.", "ITEM=RATING")] = None
    all_users: Annotated[bool, Opt("All users; needs --out.", "--all")] = False

    def check(self, together: bool, cluster: ExecutorOptions, out: str, example: str) -> None:
        """Raise an error unless one kind is given, and other options go with it; ``example`` is a file."""
        if sum((bool(self.user), bool(self.rated), self.all_users)) != 1:
            raise InputError(
                "give one of --user ID, --rated ITEM=RATING (a person who is not in the data) or --all"
            )
        if self.all_users and not out:
            raise InputError(f"--all needs a file: add --out {example} (or .csv)")
        if together and len(self.user or ()) < 2:
            raise InputError("--together needs two or more people: give --user twice or more")
        if cluster.executor != "threads" and not self.all_users:
            raise InputError("--executor ray is for --all; a few users need no cluster")

    def find(self, data: Dataset) -> tuple[list[Any], dict[Any, float | None]]:
        """Return the ids of the users, and the ratings of the person who is not in the data."""
        return [user_id(data, one) for one in self.user or ()], parse_rated(data, self.rated or ())


def user_id(data: Dataset, text: str) -> Any:
    """Return the id of a user as typed."""
    return data.ratings.users.tolist()[data.user_position(text)]


def item_id(data: Dataset, text: str) -> Any:
    """Return the id of an item, typed as its id or its title (a part is enough)."""
    return data.ratings.items.tolist()[data.item_position(text)]


def item_label(data: Dataset, item: Any) -> str:
    """Return the title of an item, by id."""
    return data.catalog.label(data.ratings.item_position(item))


def n_common(data: Dataset, rated: Container[Any], user: Any) -> int:
    """Return how many items a user and another person have rated."""
    return sum(item in rated for item in data.ratings[user])


def parse_rated(data: Dataset, texts: Sequence[str]) -> dict[Any, float | None]:
    """Return ratings that were typed as ITEM=RATING; for implicit feedback, ITEM alone is a like: None."""
    ratings: dict[Any, float | None] = {}
    for text in texts:
        title, sign, number = text.rpartition("=")
        rating: float | None
        try:
            rating = float(number)
        except ValueError:
            sign = ""
        if not sign and data.ratings.implicit:
            title, rating = text, None
        elif not sign:
            raise InputError(f"--rated is {text!r}; give an item and its rating, such as 'Alien=4.5'")
        item = item_id(data, title)
        if item in ratings:
            raise InputError(f"--rated: {item_label(data, item)} is rated twice; rate each item once")
        ratings[item] = rating
    return ratings


def measure_of(
    model: BaseRecommender | None, name: str | None, convention: str | None
) -> tuple[MeasureRow, str | None]:
    """Return the measure and its convention: as typed, else the model's, else PMD.

    The model's convention goes with the model's measure only. Other measures may not have it, or may mean
    something else by it.
    """
    from prefmover.measures import find_measure

    if model is None:
        return find_measure(name or "pmd"), convention
    fitted = find_measure(model.measure)
    row = find_measure(name) if name else fitted
    return row, convention or (model.convention if row is fitted else None)
