"""The options of a model, and the model they make."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from prefmover.cli.options import Convention, Measure
from prefmover.cli.terminal import progress
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.model.base_recommender import BaseRecommender

DEFAULT_ONLY = ("landmarks", "seed")
KNN_ONLY = ("k", "centering", "neighborhood", "shrinkage")


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
        Option(metavar="RULE", help='Rule that turns a distance into a weight, such as "exponential(2.5)".'),
    ] = None
    landmarks: Annotated[
        int | None,
        Option(metavar="N", min=1, help="Number of landmark users; 500 by default."),
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
    tune: Annotated[bool, Option("--tune", help="Tune the parameters on a tenth of the ratings.")] = False

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
        for name in ("model_type", "paper", "tune"):
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
            return options.make(threads).fit(data, tune=options.tune, progress=callback)
    for name in options.chosen():
        option = name.replace("_", "-")
        raise InputError(f"--{option} is an option for fitting; the model of --model is already fitted")
    return model
