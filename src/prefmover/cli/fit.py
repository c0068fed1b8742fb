"""``prefmover fit``: fit a model to ratings and save it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Annotated, Any

from prefmover._format import counted
from prefmover.cli import Opt
from prefmover.cli.options import DataOptions, ModelOptions, Threads, fitted
from prefmover.cli.terminal import Output, check_folder, note

if TYPE_CHECKING:
    from prefmover.model.base_recommender import BaseRecommender

EXAMPLES = (
    "prefmover fit --dataset cinema --out cinema-model",
    "prefmover fit --ratings ratings.csv --items tags.csv --out my-model",
    "prefmover fit -r ratings.csv -i films.csv -i tags.csv --paper --k 20 --out paper-model",
)


def fit(
    source: DataOptions,
    out: Annotated[str, Opt("Where the result goes: a folder, the --model of other verbs.", "FOLDER", "-o")],
    options: ModelOptions,
    threads: Threads = None,
) -> Output:
    """Fit a model to ratings and save it, with its data, in a folder.

    The verbs neighbors, recommend, predict, explain, distance, items and serve take the folder as --model. A
    model that is already there is replaced in one step.
    """
    check_folder(out)
    options.make(threads)  # bad options are refused before the data are read
    data, _ = source.open()
    model = fitted(data, None, options, threads)
    model.save(out)
    for line in _chosen(model):
        note(line)
    parameters = {name: value for name, value in model.get_params().items() if name != "n_threads"}
    summary = {
        "model": out,
        "data": data.name,
        "type": type(model).__name__,
        "users": data.n_users,
        "items": data.n_items,
        "ratings": data.ratings.n_ratings,
        "geometry": data.geometry.name if data.geometry else None,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "settings": {name: _plain(value) for name, value in model.settings_.items()},
        "tuning": model.tuning_,
    }
    return Output(summary, [out])


def _chosen(model: BaseRecommender) -> Iterator[str]:
    """Yield a line about the settings that were chosen; all trials are in the JSON output."""
    for trial in model.tuning_:
        settings = {name: value for name, value in trial.items() if name != "ndcg"}
        if settings == asdict(model.settings_["ranking"]):
            shown = ", ".join(
                f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
                for name, value in settings.items()
            )
            tried = counted(len(model.tuning_), "trial")
            yield f"chosen in {tried} on held-out ratings: nDCG {trial['ndcg']:.4f} with {shown}"


def _plain(value: Any) -> Any:
    from prefmover.predict import RatingSettings
    from prefmover.rank import RankingSettings

    if isinstance(value, RatingSettings | RankingSettings):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return value if isinstance(value, int | float | str | bool | None) else str(value)
