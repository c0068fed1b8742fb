"""The data of a verb: a fitted model, a data set by name, or files. Every verb takes these options."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from prefmover._format import counted
from prefmover.cli.options import DatasetName
from prefmover.cli.terminal import note, progress
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.data.ratings import Ratings
    from prefmover.dataset import Dataset
    from prefmover.items.table import ItemFiles
    from prefmover.measures import Measure
    from prefmover.model.base_recommender import BaseRecommender


@dataclass(slots=True)
class SourceOptions:
    """The options that say which data to use: one of the first three, and details of the third."""

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
    user_column: Annotated[str | None, Option(metavar="NAME", help="Name of the user column.")] = None
    item_column: Annotated[str | None, Option(metavar="NAME", help="Name of the item column.")] = None
    rating_column: Annotated[str | None, Option(metavar="NAME", help="Name of the rating column.")] = None
    separator: Annotated[
        str | None, Option(metavar="TEXT", help="Column separator of the ratings; detected by default.")
    ] = None
    encoding: Annotated[str, Option(metavar="NAME", help="Encoding of the files.")] = "utf-8"
    duplicates: Annotated[
        Literal["error", "last", "mean"], Option(help="What to do if a user rated an item twice.")
    ] = "error"
    scale: Annotated[
        str | None,
        Option(metavar="LOW:HIGH:STEP", help="Rating scale; the range of the ratings by default."),
    ] = None
    feedback: Annotated[
        Literal["explicit", "implicit"] | None,
        Option(help="Ratings, or clicks, plays, purchases and their counts; recognized by default."),
    ] = None
    damping: Annotated[
        Literal["log", "sqrt", "none", "binary"] | None,
        Option(help="How counts of implicit feedback are damped; log by default."),
    ] = None
    zeros: Annotated[
        Literal["rating", "missing"] | None,
        Option(help="Whether 0 is a rating (default), or means that there is none."),
    ] = None
    missing: Annotated[
        Literal["error", "drop", "far"], Option(help="What to do with rated items that no file describes.")
    ] = "error"
    on_bad_lines: Annotated[
        Literal["error", "skip", "warn"], Option(help="What to do with damaged lines; skip leaves them out.")
    ] = "error"
    id_column: Annotated[
        str | None, Option(metavar="NAME", help="Id column of --items; --item-column by default.")
    ] = None
    title_column: Annotated[str | None, Option(metavar="NAME", help="Title column of --items.")] = None
    tag_column: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Column of --items that is tags too, such as author; repeatable."),
    ] = None
    text_column: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Column of --items that is text to compare items by; repeatable."),
    ] = None
    column_weight: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=NUMBER",
            help="Weight of a column of --items, or of a file of --features; text .1, others 1; repeatable.",
        ),
    ] = None
    text_encoder: Annotated[
        str | None,
        Option(metavar="NAME", help="Model of sentence-transformers for columns of text; tf-idf without."),
    ] = None
    choose_weights: Annotated[
        bool | None,
        Option(
            "--choose-weights/--no-choose-weights",
            help="Let the ratings choose weights that are not given; by default with --features.",
        ),
    ] = None

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
                name = option.name.replace("_", "-")
                raise InputError(f"--{name} goes with --ratings, not with {chosen[0]}")

    def _read_files(self) -> Dataset:
        from prefmover.data.scale import Scale
        from prefmover.dataset import Dataset
        from prefmover.items.files import parse_weights

        data = Dataset.from_files(
            str(self.ratings),
            self.items or (),
            user=self.user_column,
            item=self.item_column,
            rating=self.rating_column,
            separator=self.separator,
            encoding=self.encoding,
            duplicates=self.duplicates,
            scale=Scale.parse(self.scale) if self.scale else None,
            feedback=self.feedback,
            damping=self.damping,
            zeros=self.zeros,
            missing=self.missing,
            on_bad_lines=self.on_bad_lines,
            item_id=self.id_column,
            title=self.title_column,
            tags=self.tag_column or (),
            text=self.text_column or (),
            weights=parse_weights(self.column_weight or ()),
            features=self.features or (),
            encoder=self.text_encoder,
            choose_weights=self.choose_weights,
        )
        note(f"{data.name}: {describe(data.ratings)}")
        return data

    def read_items(self) -> ItemFiles:
        """Return the items of files alone, without ratings."""
        from prefmover.items.files import ItemColumns, parse_weights
        from prefmover.items.table import ItemFiles

        columns = ItemColumns(
            self.id_column or self.item_column,
            self.title_column,
            self.tag_column or (),
            self.text_column or (),
            parse_weights(self.column_weight or ()),
        )
        files, lines = self.items or (), self.on_bad_lines
        with library_errors():
            return ItemFiles.read(
                *files, columns=columns, encoding=self.encoding, on_bad_lines=lines,
                features=self.features or (), encoder=self.text_encoder,
            )  # fmt: skip


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
    ends, step = (
        f"from {scale.lowest:g} to {scale.highest:g}",
        f" in steps of {scale.step:g}" if scale.step else "",
    )
    values = f", {ends}{step}"
    if scale.implicit:
        values = (
            f", strengths {ends} (counts damped by {scale.damping})" if scale.lowest < scale.highest else ""
        )
    return f"{counted(ratings.n_ratings, noun)} of {items} by {users}{values}"


OPTIONS = {
    **{name: f"--{name}-column" for name in ("user", "item", "rating", "title", "text", "time")},
    "item_id": "--id-column",
    "tags": "--tag-column",
    "weights": "--column-weight",
    "encoder": "--text-encoder",
}
"""Options that are not called like the argument they stand for."""


@contextmanager
def library_errors() -> Iterator[None]:
    """Turn the argument that an error of the library names into the option of the command line."""
    try:
        yield
    except InputError as error:
        if error.argument:
            names = "|".join([*OPTIONS, *(one.name for one in fields(SourceOptions)), error.argument])
            error.args = (re.sub(rf"\b({names})=", _option, str(error)),)
        raise


def _option(match: re.Match[str]) -> str:
    name = match[1]
    return OPTIONS.get(name, f"--{name.replace('_', '-')}") + " "


def user_id(data: Dataset, text: str) -> Any:
    """Return the id of a user as typed."""
    return data.ratings.users.tolist()[data.user_position(text)]


def item_id(data: Dataset, text: str) -> Any:
    """Return the id of an item, typed as its id or its title (a part is enough)."""
    return data.ratings.items.tolist()[data.item_position(text)]


def item_label(data: Dataset, item: Any) -> str:
    """Return the title of an item, by id."""
    return data.items.label(data.ratings.item_position(item))


def n_common(data: Dataset, rated: Container[Any], user: Any) -> int:
    """Return how many items a user and another person have rated."""
    return sum(item in rated for item in data.ratings[user])


def parse_rated(data: Dataset, texts: Sequence[str]) -> dict[Any, float]:
    """Return ratings that were typed as ITEM=RATING; for implicit feedback, ITEM alone is one interaction."""
    ratings: dict[Any, float] = {}
    for text in texts:
        title, sign, number = text.rpartition("=")
        try:
            rating = float(number)
        except ValueError:
            sign = ""
        if not sign and data.ratings.implicit:
            title, rating = text, 1.0
        elif not sign:
            raise InputError(f"--rated is {text!r}; give an item and its rating, such as 'Alien=4.5'")
        item = item_id(data, title)
        if item in ratings:
            raise InputError(f"--rated: {item_label(data, item)} is rated twice; rate each item once")
        ratings[item] = rating
    return ratings


def measure_of(
    model: BaseRecommender | None, name: str | None, convention: str | None
) -> tuple[Measure, str | None]:
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
