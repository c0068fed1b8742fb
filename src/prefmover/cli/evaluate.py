"""``prefmover evaluate``: measures, controls and other models on the same splits."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefmover.cli.config import configure, read_toml, settings_for
from prefmover.cli.executor import Address, ExecutorName, chosen
from prefmover.cli.source import Jobs, Json, in_option_words
from prefmover.cli.terminal import tell
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.evaluation.experiment import Experiment
    from prefmover.execution import Executor

EXAMPLES = (
    "prefmover evaluate --measures cos,pmd --train 1:9 --k 10,40 --repeats 1 --out few",
    "prefmover evaluate --dataset ratings.csv --geometry tags.csv --measures jmsd,pmd --out mine",
    "prefmover evaluate --config experiment.toml --out again",
)

DEFAULTS: dict[str, Any] = {"dataset": "cinema", "measures": "all", "controls": "all"}

OWN = {"out": str, "jobs": int | None, "report": bool, "executor": str, "address": str, "json": bool}
"""Options that are no settings of the experiment; the file may have them too."""

Out = Annotated[str, typer.Option("--out", "-o", help="Folder for the records; goes on with what is there.")]
Peers = Annotated[
    str | None, typer.Option(help="surprise: five of its models; or names of them, with commas.")
]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Write the report at the end.")]


def evaluate(
    out: Out,
    config: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            is_eager=True,
            callback=configure(OWN, only=OWN),
            help="A TOML file of settings; options given here win.",
        ),
    ] = "",
    dataset: Annotated[
        str | None, typer.Option("--dataset", "-d", help="[cinema], ml-100k, ..., or a file of ratings.")
    ] = None,
    measures: Annotated[str | None, typer.Option(help="Names with commas, none, or [all].")] = None,
    train: Annotated[str | None, typer.Option(help="Shares to train on, with commas: [.8] or 4:1.")] = None,
    k: Annotated[str | None, typer.Option("--k", help="Numbers of neighbors: 10,40 or [5:60:5].")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Random splits, or folds. [5]")] = None,
    geometry: Annotated[
        str | None, typer.Option(help="[best], genres, ratings (of each training part), or a file of items.")
    ] = None,
    protocol: Annotated[str | None, typer.Option(help="[random], k-fold, or published (folds).")] = None,
    stratify: Annotated[str | None, typer.Option(help="user: the same share of each user's ratings.")] = None,
    centering: Annotated[str | None, typer.Option(help="none, [mean], z-score or baseline.")] = None,
    shrinkage: Annotated[
        float | None, typer.Option(min=0, help="λ below the line of the prediction. [0]")
    ] = None,
    conventions: Annotated[
        str | None, typer.Option(help="Of measures that have several: [all] or published.")
    ] = None,
    controls: Annotated[str | None, typer.Option(help="Names with commas, none, or [all].")] = None,
    peers: Peers = None,
    top_n: Annotated[
        int | None, typer.Option("--top-n", min=0, help="Also rank each user's test items.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the splits. [0]")] = None,
    user_column: Annotated[str | None, typer.Option(help="Name of the column of users, in a file.")] = None,
    item_column: Annotated[str | None, typer.Option(help="Name of the column of items.")] = None,
    rating_column: Annotated[str | None, typer.Option(help="Name of the column of ratings.")] = None,
    jobs: Jobs = None,
    report: Report = True,
    executor: ExecutorName = "threads",
    address: Address = "",
    json: Json = False,
) -> None:
    """Predict test ratings by every measure, for every share and K, and write down the errors.

    Finished parts are never computed again: stop it when you like, and give the same command to go on.
    """
    from prefmover.evaluation.experiment import Experiment

    options = {
        "dataset": dataset,
        "geometry": geometry,
        "protocol": protocol,
        "train": train,
        "repeats": repeats,
        "seed": seed,
        "stratify": stratify,
        "ks": k,
        "measures": measures,
        "conventions": conventions,
        "controls": controls,
        "peers": peers,
        "centering": centering,
        "shrinkage": shrinkage,
        "top_n": top_n,
        "user_column": user_column,
        "item_column": item_column,
        "rating_column": rating_column,
    }
    given = {name: value for name, value in options.items() if value is not None}
    settings = {**DEFAULTS, **(_from_file(config) if config else {}), **given}
    if "." in str(settings["dataset"]):
        settings.setdefault("geometry", "ratings")
        if settings["geometry"] == "best":
            raise InputError(
                "best would look at the test ratings of a file; choose --geometry ratings (of each training "
                "part), or a file of items"
            )
    experiment = Experiment.from_dict(settings, config or "the command line")
    with chosen(executor, address, jobs) as who:
        run(experiment, out, jobs, report, json, who)


def _from_file(path: str) -> dict[str, Any]:
    """Return the experiment's settings in a file; keys are those of an experiment, or the options'."""
    content = settings_for(read_toml(path), ["evaluate"])
    given = {key.replace("-", "_"): value for key, value in content.items()}
    return {"ks" if key == "k" else key: value for key, value in given.items() if key not in OWN}


def run(
    experiment: "Experiment",
    out: str,
    jobs: int | None,
    report: bool,
    json: bool = False,
    executor: "Executor | None" = None,
) -> None:
    """Run an experiment and say where its records and its report are."""
    from prefmover.cli.output import print_json
    from prefmover.evaluation.run import run_experiment

    with in_option_words():
        folder = run_experiment(experiment, out, n_threads=jobs, tell=tell, executor=executor)
    files = {"records": str(folder.path / "records.parquet")}
    if report:
        from prefmover.report import write_report

        files["report"] = str(write_report(folder)["report.html"])
    if json:
        print_json(files)
        return
    for path in files.values():
        typer.echo(path)
