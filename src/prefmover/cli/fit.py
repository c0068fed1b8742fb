"""``prefmover fit``: fit a model to ratings and save it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from typing import Annotated, Any

from typer import Option

from prefmover._format import counted
from prefmover.cli.options import Threads
from prefmover.cli.source import ModelOptions, SourceOptions, fitted
from prefmover.cli.terminal import Output, check_folder, note
from prefmover.errors import InputError

EXAMPLES = (
    "prefmover fit --dataset cinema --out cinema-model",
    "prefmover fit --ratings ratings.csv --items tags.csv --out my-model",
    "prefmover fit -r ratings.csv -i films.csv -i tags.csv --paper --k 20 --out paper-model",
)


def fit(
    source: SourceOptions,
    out: Annotated[str, Option("--out", "-o", metavar="FOLDER", help="Folder to save the model in.")],
    options: ModelOptions,
    threads: Threads = None,
) -> Output:
    """Fit a model to ratings and save it, with its data, in a folder.

    The verbs neighbors, recommend, predict, explain, distance, items and serve take the folder as --model. A
    model that is already there is replaced in one step.
    """
    if source.model is not None:
        raise InputError("--model is already fitted; fit a new model to --dataset or --ratings")
    check_folder(out)
    options.make(threads)  # bad options are refused before the data are read
    data, _ = source.open()
    model = fitted(data, None, options, threads)
    model.save(out)
    for line in _best_trials(model.tuning_):
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


def _best_trials(trials: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each measure by which settings were chosen; all trials are in the JSON output."""
    for measure, label, best in (("ndcg", "nDCG", max), ("mae", "mean absolute error", min)):
        tried = [trial for trial in trials if measure in trial]
        if tried:
            chosen = dict(best(tried, key=lambda trial: trial[measure]))
            value = chosen.pop(measure)
            settings = ", ".join(f"{name} {_brief(setting)}" for name, setting in chosen.items())
            head = f"best of {counted(len(tried), 'trial')} on held-out ratings"
            yield f"{head}: {label} {value:.4f} with {settings}"


def _brief(setting: Any) -> str:
    if isinstance(setting, dict):
        return "(" + ", ".join(f"{name} {_brief(value)}" for name, value in setting.items()) + ")"
    return f"{setting:g}" if isinstance(setting, float) else str(setting)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value if isinstance(value, int | float | str | bool | None) else str(value)
