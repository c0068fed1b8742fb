"""``prefmover evaluate``: prediction errors of recommenders on the same splits.

The options are the fields of :class:`~prefmover.evaluation.experiment.Experiment`.
"""

from dataclasses import fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from prefmover.cli.options import Address, DatasetName, ExecutorName, Json, Threads, open_executor
from prefmover.cli.source import library_errors
from prefmover.cli.terminal import note, resumable
from prefmover.evaluation.experiment import Experiment

if TYPE_CHECKING:
    from prefmover.execution import Executor

EXAMPLES = (
    "prefmover evaluate --dataset cinema --recommenders default,knn:pmd,bias --repeats 1 --out run",
    "prefmover evaluate --ratings ratings.csv --items tags.csv --recommenders knn:jmsd,knn:pmd --out mine",
    "prefmover evaluate --config experiment.toml --out again",
)

Out = Annotated[
    str,
    typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the records; an unfinished run resumes."),
]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Report at the end.")]

MAX_LINES = 60  # of the table on the terminal; the report has all
SHORT = {"dataset": "-d", "ratings": "-r", "items": "-i"}
METAVARS = {"ratings": "FILE", "items": "FILE", "recommenders": "NAMES", "train": "SHARES", "ks": "NUMBERS"}


def _option(name: str) -> tuple[str, Any, Any]:
    """Return an option for a field of an experiment; the library knows its default."""
    field = Experiment.model_fields[name]
    kind: Any = field.annotation
    if name == "dataset":
        kind = DatasetName
    elif name == "items":
        kind = list[str]
    elif get_origin(kind) is Literal:
        kind = Literal[tuple(choice for choice in get_args(kind) if choice)]
    elif kind not in (int, float):
        kind = str
    default: Any = field.default
    if isinstance(default, tuple):
        default = ",".join(map(str, default))
    option = typer.Option(
        f"--{name.replace('_', '-')}",
        *([SHORT[name]] if name in SHORT else []),
        help=f"{field.description}.",
        show_default=str(default) if default not in ("", None) else False,
        metavar=METAVARS.get(
            name, "N" if kind in (int, float) else "NAME" if name.endswith("column") else None
        ),
        hidden=name == "panels",  # JSON, which a configuration file fills
    )
    return name, Annotated[kind | None, option], None


Settings = make_dataclass("Settings", [_option(name) for name in Experiment.model_fields])


def evaluate(
    settings: Settings,  # type: ignore[valid-type]
    out: Out,
    threads: Threads = None,
    report: Report = True,
    executor: ExecutorName = "threads",
    address: Address = "",
    json: Json = False,
) -> None:
    """Compare the prediction errors of recommenders on the same splits.

    Recommenders: default (this package's model), knn:MEASURE (the paper's neighbor average) and knn:all,
    controls (uniform, mean-vector, user-mean, bias), surprise:MODEL and surprise. Finished parts are saved:
    after an interruption, run the same command again to resume.
    """
    from json import loads

    values = {one.name: getattr(settings, one.name) for one in fields(settings)}
    chosen = {name: value for name, value in values.items() if value is not None}
    if "panels" in chosen:
        chosen["panels"] = loads(chosen["panels"])
    experiment = Experiment(**chosen)
    with open_executor(executor, address, threads) as cluster:
        run(experiment, out, threads, report, json, cluster)


def run(
    experiment: Experiment,
    out: str,
    threads: int | None,
    report: bool,
    json: bool = False,
    executor: "Executor | None" = None,
) -> None:
    """Run an experiment, and print the paths of its records and its report."""
    from prefmover.cli.output import print_json
    from prefmover.evaluation.run import run_experiment

    with library_errors(), resumable(out):
        evaluation = run_experiment(experiment, out, n_threads=threads, tell=note, executor=executor)
    files = {"records": str(Path(out) / "records.parquet")}
    if report:
        from prefmover.report import write_report

        files["report"] = str(write_report(out)["report.html"])
    if json:
        print_json({**files, "summary": evaluation.summary().to_pylist()})
        return
    lines = str(evaluation).splitlines()
    if len(lines) <= MAX_LINES:
        typer.echo("\n".join([*lines, ""]))
    for path in files.values():
        typer.echo(path)
