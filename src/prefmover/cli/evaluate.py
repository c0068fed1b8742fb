"""``prefmover evaluate``: recommenders on the same splits, by their lists or by their predicted ratings.

The options are the fields of :class:`~prefmover.evaluation.experiment.Experiment`.
"""

import json
from dataclasses import asdict, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from typer import Option

from prefmover.cli.options import (
    DatasetName,
    ExecutorOptions,
    Out,
    Report,
    Threads,
    file_option,
    library_errors,
    option_name,
)
from prefmover.cli.terminal import Output, note, resumable
from prefmover.data.file_options import SETTINGS
from prefmover.evaluation.experiment import REPEATABLE, Experiment, Source
from prefmover.evaluation.run import run_experiment
from prefmover.execution import Executor

EXAMPLES = (
    "prefmover evaluate --dataset cinema --recommenders default,simple,ease --repeats 1 --out run",
    "prefmover evaluate --dataset cinema --task rating --recommenders default,knn:pmd,bias --out ratings",
    "prefmover evaluate --ratings ratings.csv --items tags.csv --recommenders default,bias --out mine",
    "prefmover evaluate --dataset cinema --task reasons --recommenders default,ease,item-knn --out reasons",
    "prefmover evaluate --config experiment.toml --out mine",
    "prefmover evaluate --config run/experiment.json --out again",
)

MAX_LINES = 60  # lines of the table on the terminal; the report has all
SHORT = {"dataset": "-d", "ratings": "-r", "items": "-i"}
METAVARS = dict.fromkeys(("ratings", "items", "features", "split"), "FILE")
METAVARS |= dict.fromkeys(("ks", "ns", "given"), "NUMBERS")
METAVARS |= {"recommenders": "NAMES", "train": "SHARES", "dataset": "NAME", "protocol": "NAME"}
PANELS = dict.fromkeys((*Source.model_fields, "geometry"), "Data") | {"seed": "Run"}
FILES = {setting.name: setting for setting in SETTINGS}


def _option(name: str) -> tuple[str, Any, Any]:
    """Return an option for a field of an experiment; None stands for the default of the field."""
    if name in FILES:
        return name, file_option(FILES[name]), FILES[name].default
    field = Experiment.model_fields[name]
    kind: Any = DatasetName if name == "dataset" else list[str] if name in REPEATABLE else field.annotation
    if get_origin(kind) is Literal:
        kind = Literal[tuple(choice for choice in get_args(kind) if choice)]
    elif kind == float | None:
        kind = float
    elif get_origin(kind) is Annotated or kind not in (int, float, list[str]):
        kind = str
    metavar = METAVARS.get(name, {int: "N", float: "N", str: "TEXT"}.get(kind))
    default = ",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
    option = Option(
        option_name(name),
        *([SHORT[name]] if name in SHORT else []),
        help=f"{field.description}" + (f"; {default} by default." if default not in ("", None) else "."),
        metavar=metavar,
        rich_help_panel=PANELS.get(name),
        hidden=name == "panels",  # JSON, which a configuration file fills
    )
    return name, Annotated[kind | None, option], None


Settings = make_dataclass("Settings", [_option(name) for name in Experiment.model_fields])


def evaluate(
    out: Out,
    settings: Settings,  # type: ignore[valid-type]
    *,
    threads: Threads = None,
    report: Report = True,
    cluster: ExecutorOptions,
) -> Output:
    """Compare recommenders on the same splits: their lists, or their predicted ratings (--task rating).

    Recommenders: default (this package's model), knn:MEASURE (the paper's neighbor average) and knn:all,
    bias. For lists: simple (popularity, liked-popularity, random, bias), kernel:DISTANCE and kernels, peers
    (ease, item-knn, irspack:ials, ...), content-peers (cease, l3ae, ..., which know what items are about);
    settings are chosen on a part of the training ratings. For ratings: controls (uniform, mean-vector,
    user-mean, bias), estimated:pmd, surprise:MODEL and surprise. Finished parts are saved: after an
    interruption, run the same command again to resume.
    """
    chosen = {name: value for name, value in asdict(settings).items() if value is not None}
    if "panels" in chosen:
        chosen["panels"] = json.loads(chosen["panels"])
    experiment = Experiment(**chosen)
    with cluster.open(threads) as executor:
        return run(experiment, out, threads, report, executor)


def run(
    experiment: Experiment, out: str, threads: int | None, report: bool, executor: Executor | None = None
) -> Output:
    """Run an experiment; return its figures, and the paths of its records and its report."""
    with library_errors(), resumable(out):
        evaluation = run_experiment(experiment, out, n_threads=threads, tell=note, executor=executor)
    files = {"records": str(Path(out) / "records.parquet")}
    if report:
        from prefmover.report import write_report

        files["report"] = str(write_report(out)["report.html"])
    lines = str(evaluation).splitlines()
    table = [*lines, ""] if len(lines) <= MAX_LINES else []
    names = {"rating": "summary", "ranking": "lists", "reasons": "reasons"}
    tasks = dict.fromkeys(record.task for record in evaluation)
    facts = {names[task]: evaluation.summary(task).to_pylist() for task in tasks}
    return Output({**files, **facts}, [*table, *files.values()])
