"""The options of a model, and the model they make."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from prefmover.cli.options import Convention, Measure
from prefmover.cli.terminal import progress
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.model.base import BaseRecommender

__all__ = ["ModelOptions", "fitted"]

DEFAULT_ONLY = ("landmarks", "seed")
KNN_ONLY = ("k", "centering", "neighborhood", "shrinkage")


@dataclass(slots=True)
class ModelOptions:
    """The parameters of a model. Those that are not set have the defaults of the library."""

    model_type: Annotated[
        Literal["default", "knn"] | None,
        typer.Option(
            help="Kernel model (default), or average over the nearest neighbors (knn).",
            show_default="default",
        ),
    ] = None
    paper: Annotated[
        bool, typer.Option("--paper", help="Neighbor average with the settings of the paper.")
    ] = False
    measure: Measure = None
    convention: Convention = None
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help='Weight of a neighbor at a distance, such as "exponential(2.5)".',
            show_default="the measure's rule",
        ),
    ] = None
    landmarks: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Number of users that all users are compared with.", show_default="500"
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Seed for the choice of landmarks.", show_default="0"),
    ] = None
    k: Annotated[
        int | None,
        typer.Option("--k", metavar="N", min=1, help="knn: number of neighbors.", show_default="40"),
    ] = None
    centering: Annotated[
        Literal["none", "mean", "z-score", "baseline"] | None,
        typer.Option(help="knn: what ratings are measured from.", show_default="baseline"),
    ] = None
    neighborhood: Annotated[
        Literal["raters", "global"] | None,
        typer.Option(
            help="knn: neighbors among the raters of an item, or among all users.", show_default="raters"
        ),
    ] = None
    shrinkage: Annotated[
        float | None,
        typer.Option(metavar="N", min=0, help="knn: total weight at which a prediction is half baseline."),
    ] = None
    tune: Annotated[bool, typer.Option("--tune", help="Tune the parameters on a tenth of the ratings.")] = (
        False
    )

    def chosen(self) -> list[str]:
        """Return the names of the options that the user has set."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return [name for name, value in values.items() if value is not None and value is not False]

    def make(self, threads: int | None) -> BaseRecommender:
        """Return the estimator that the options describe, not fitted yet."""
        from prefmover.model import KNNRecommender, Recommender

        knn = self.paper or self.model_type == "knn"
        for name in DEFAULT_ONLY if knn else KNN_ONLY:
            if getattr(self, name) is not None and knn:
                raise InputError(f"--{name} is not an option of --model-type knn and --paper; leave it out")
            if getattr(self, name) is not None:
                raise InputError(
                    f"--{name} is an option of the neighbor average; add --model-type knn or --paper"
                )
        if self.paper and self.model_type == "default":
            raise InputError("--paper is a neighbor average; leave --model-type out, or give knn")
        names = set(self.chosen()) - {"model_type", "paper", "tune"}
        parameters: dict[str, Any] = {name: getattr(self, name) for name in names}
        estimator: Any = KNNRecommender.paper if self.paper else KNNRecommender if knn else Recommender
        model: BaseRecommender = estimator(**parameters, n_threads=threads)
        return model


def fitted(
    data: Dataset,
    model: BaseRecommender | None,
    options: ModelOptions,
    threads: int | None,
) -> BaseRecommender:
    """Return the model that was loaded, or fit the one that the options describe."""
    if model is not None:
        chosen = options.chosen()
        if chosen:
            name = chosen[0].replace("_", "-")
            raise InputError(f"--{name} is an option for fitting; the model of --model is already fitted")
        return model
    estimator = options.make(threads)
    with progress("comparing users") as callback:
        return estimator.fit(data, tune=options.tune, progress=callback)
