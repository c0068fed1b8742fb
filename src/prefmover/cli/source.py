"""Where a verb's data come from: a fitted model, a data set by name, or files; one place for all verbs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from prefmover.cli.terminal import progress, tell
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.data.ratings import Ratings
    from prefmover.items.catalog import Catalog
    from prefmover.items.geometry import ItemGeometry
    from prefmover.measures import Measure as MeasureRow
    from prefmover.model import UserKNN

__all__ = [
    "Data",
    "Jobs",
    "Json",
    "ModelOptions",
    "SourceOptions",
    "fitted",
    "given_options",
    "in_option_words",
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Threads; all cores by default.")]


def _datasets() -> list[str]:
    from prefmover.datasets.registry import BUILT_IN, SOURCES

    return [*BUILT_IN, *SOURCES]


def _measures() -> list[str]:
    from prefmover.measures import MEASURES

    return list(MEASURES)


Rated = Annotated[
    list[str] | None,
    typer.Option("--rated", metavar="ITEM=RATING", help="Of somebody who is not in the data; repeatable."),
]
Measure = Annotated[
    str | None,
    typer.Option(
        "--measure", autocompletion=_measures, help="pmd, cos, pcc, msd, jaccard, nhsm, ...; pmd by default."
    ),
]
Convention = Annotated[str | None, typer.Option(help="A named convention of the measure, such as table-1.")]


@dataclass(slots=True)
class SourceOptions:
    """The options that say which data: one of the first three."""

    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="FOLDER", help="A model made by `prefmover fit`.")
    ] = None
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", "-d", autocompletion=_datasets, help="A data set by name: cinema, ml-100k, ..."
        ),
    ] = None
    ratings: Annotated[
        str | None, typer.Option("--ratings", "-r", metavar="FILE", help="Ratings: CSV, TSV, Parquet, ...")
    ] = None
    items: Annotated[
        list[str] | None,
        typer.Option(
            "--items", "-i", metavar="FILE", help="What items are: tags, genres, text or vectors; repeatable."
        ),
    ] = None
    user_column: Annotated[str | None, typer.Option(help="Name of the column of users.")] = None
    item_column: Annotated[str | None, typer.Option(help="Name of the column of items.")] = None
    rating_column: Annotated[str | None, typer.Option(help="Name of the column of ratings.")] = None
    separator: Annotated[str | None, typer.Option(help="Between columns of the ratings; found out.")] = None
    encoding: Annotated[str | None, typer.Option(help="Of the files; utf-8 by default.")] = None
    duplicates: Annotated[
        str | None, typer.Option(help="An item rated twice by a user: error (default), last or mean.")
    ] = None
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH:STEP", help="Of the ratings, such as 0.5:5:0.5; by default what they show."
        ),
    ] = None
    missing: Annotated[
        str | None, typer.Option(help="Rated items without description: error (default), drop or far.")
    ] = None

    def open(self, jobs: int | None = None) -> Data:
        """Return the data that the options mean."""
        self._check()
        name = self.model or self.dataset or self.ratings
        with in_option_words(), progress(f"reading {name}"):
            if self.model is not None:
                return _of_model(self.model, jobs)
            if self.dataset is not None:
                return _of_dataset(self.dataset)
            return self._of_files()

    def _check(self) -> None:
        given = [name for name in ("model", "dataset", "ratings") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(f"--{name}" for name in given) or "none of them"
            raise InputError(
                "say which data: one of --model FOLDER, --dataset NAME or --ratings FILE "
                f"(with --items FILE); {found} {'are' if len(given) > 1 else 'is'} given"
            )
        if given != ["ratings"]:
            for option in fields(self)[3:]:
                if getattr(self, option.name):
                    raise InputError(
                        f"--{option.name.replace('_', '-')} belongs to --ratings; --{given[0]} is given"
                    )

    def _of_files(self) -> Data:
        from prefmover.data.scale import Scale
        from prefmover.datasets.own import from_files

        read = from_files(
            str(self.ratings),
            self.items or (),
            user=self.user_column,
            item=self.item_column,
            rating=self.rating_column,
            separator=self.separator,
            encoding=self.encoding or "utf-8",
            duplicates=cast(Any, self.duplicates or "error"),
            scale=Scale.parse(self.scale) if self.scale else None,
            missing=cast(Any, self.missing or "error"),
        )
        tell(f"{read.name}: {read.ratings}; items by {read.geometry.name}")
        return Data(read.name, read.ratings, read.items, read.geometry)


@dataclass(slots=True)
class ModelOptions:
    """The parameters of a model; what is not given is as the library has it."""

    measure: Measure = None
    k: Annotated[
        int | None, typer.Option("--k", min=1, help="How many neighbors speak, for --predictor average.")
    ] = None
    paper: Annotated[bool, typer.Option("--paper", help="The setting of the paper.")] = False
    predictor: Annotated[str | None, typer.Option(help="kernel (default) or average.")] = None
    weight: Annotated[str | None, typer.Option(help='From distance to say, such as "exponential(2.5)".')] = (
        None
    )
    centering: Annotated[str | None, typer.Option(help="none, mean, z-score or baseline (default).")] = None
    neighborhood: Annotated[str | None, typer.Option(help="raters (default) or global.")] = None
    shrinkage: Annotated[float | None, typer.Option(min=0, help="Neighbors' worth of doubt.")] = None
    convention: Convention = None
    landmarks: Annotated[int | None, typer.Option(min=1, help="Users that all are compared with.")] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Of landmarks and of --tune.")] = None
    tune: Annotated[bool, typer.Option("--tune", help="Choose settings on a tenth of the ratings.")] = False

    @property
    def given(self) -> dict[str, Any]:
        """What was given for the model's constructor."""
        others = {
            one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("paper", "tune")
        }
        return {name: value for name, value in others.items() if value is not None}


@dataclass(eq=False)
class Data:
    """Ratings, what was rated, and the distance between items; from a model, also that.

    Attributes
    ----------
    name
        For people.
    catalog
        Titles, where they are known.
    model
        The fitted model, if that is where the data come from.
    """

    name: str
    ratings: Ratings
    catalog: Catalog
    geometry: ItemGeometry | None
    model: UserKNN | None = None
    labels: dict[Any, str] = field(init=False)

    def __post_init__(self) -> None:
        self.labels = self.catalog.labels()

    @cached_property
    def _users(self) -> dict[str, Any]:
        return {str(user): user for user in self.ratings.users.tolist()}

    def user(self, text: str) -> Any:
        """Return the id of a user as typed."""
        if text in self._users:
            return self._users[text]
        return self.ratings.users[
            self.ratings.user_position(self._as_typed(text))
        ]  # raises, and names close ids

    def item(self, text: str) -> Any:
        """Return the id of an item, given by id or by title (a part is enough)."""
        known = self._items.get(text.strip())
        return self.catalog.find(text) if known is None else known

    def user_or_text(self, text: str) -> Any:
        """Return the id of a user, or what was typed if there is no such user."""
        return self._users.get(text, self._as_typed(text))

    def item_or_text(self, text: str) -> Any:
        """Return the id of an item, or the text if there is no such id."""
        return self._items.get(text, text)

    @cached_property
    def _items(self) -> dict[str, Any]:
        return {str(item): item for ids in (self.ratings.items, self.catalog.ids) for item in ids.tolist()}

    def _as_typed(self, text: str) -> Any:
        whole = text.removeprefix("-").isdigit() and self.ratings.users.dtype != object
        return int(text) if whole else text

    def label(self, item: Any) -> str:
        """Return an item's title, or its id."""
        return self.labels.get(item, str(item))

    def rated(self, texts: Sequence[str]) -> dict[Any, float]:
        """Return somebody's ratings, typed as ITEM=RATING."""
        out: dict[Any, float] = {}
        for text in texts:
            title, sign, number = text.rpartition("=")
            try:
                rating = float(number)
            except ValueError:
                sign = ""
            if not sign:
                raise InputError(f"--rated is {text!r}; give an item and its rating, such as 'Alien=4.5'")
            item = self.item(title)
            if item in out:
                raise InputError(f"--rated: {self.label(item)} is given twice")
            out[item] = rating
        return out

    def measure(self, name: str | None, convention: str | None) -> tuple[MeasureRow, str | None]:
        """Return the measure that is meant, and its convention: as typed, else the model's, else PMD.

        The model's convention goes with the model's measure only: names of conventions mean something else,
        or nothing, for another one.
        """
        from prefmover.measures import find_measure

        if self.model is None:
            return find_measure(name or "pmd"), convention
        own = find_measure(self.model.measure)
        row = find_measure(name) if name else own
        return row, convention or (self.model.convention if row is own else None)

    def free_name(self, name: str) -> str:
        """Return a name that no user of the data has: this one, or one much like it."""
        while name in self._users:
            name += "'"
        return name

    def in_common(self, one: Any, other: Any) -> int:
        """Return how many items two users have both rated."""
        return len(self.ratings[one].keys() & self.ratings[other].keys())


def given_options(options: ModelOptions) -> list[str]:
    """Return the names of the parameters of a model that were given."""
    return [*options.given, *(name for name in ("paper", "tune") if getattr(options, name))]


def fitted(data: Data, options: ModelOptions, jobs: int | None) -> UserKNN:
    """Return the model that the data come from, or one that is fitted now."""
    if data.model is not None:
        given = given_options(options)
        if given:
            raise InputError(f"--{given[0]} is for fitting; the model in {data.name} is fitted already")
        return data.model
    from prefmover.model import UserKNN

    make = UserKNN.paper if options.paper else UserKNN
    model = make(**options.given, n_threads=jobs)
    with progress("comparing users") as callback:
        return model.fit(data.ratings, data.geometry, tune=options.tune, progress=callback)


def _of_model(folder: str, jobs: int | None) -> Data:
    from prefmover.items.catalog import Catalog
    from prefmover.model import UserKNN
    from prefmover.model.catalog_file import read_catalog

    model = UserKNN.load(folder, n_threads=jobs)
    items = model.ratings_.items
    none: list[tuple[str, ...]] = [()] * len(items)
    catalog = read_catalog(folder) or Catalog(items, list(map(str, items)), [0] * len(items), none)
    return Data(folder, model.ratings_, catalog, model.geometry_, model)


def _of_dataset(name: str) -> Data:
    from prefmover import datasets

    loaded = datasets.load(name)
    return Data(loaded.name, loaded.ratings, loaded.items, loaded.geometry)


OPTIONS = {
    "user": "--user-column ",
    "item": "--item-column ",
    "rating": "--rating-column ",
    "separator": "--separator ",
    "encoding": "--encoding ",
    "duplicates": "--duplicates ",
    "missing": "--missing ",
}


@contextmanager
def in_option_words() -> Iterator[None]:
    """Turn what the library says about its arguments into what it means on the command line."""
    try:
        yield
    except InputError as error:
        names = "|".join(OPTIONS)
        said = re.sub(rf"\b({names})=(?=['\"]|with |\s|$|;)", lambda m: OPTIONS[m[1]], str(error))
        raise type(error)(said) from error
