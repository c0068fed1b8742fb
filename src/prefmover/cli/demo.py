"""``prefmover demo``: neighbors, an explanation, recommendations and an evaluation on the built-in data."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated

import typer

from prefmover.cli.estimator import ModelOptions, fitted
from prefmover.cli.options import Json, Threads
from prefmover.cli.source import SourceOptions
from prefmover.cli.terminal import note, progress
from prefmover.errors import InputError, MissingExtraError
from prefmover.execution.format import counted

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.evaluation.run import Evaluation
    from prefmover.model.base import BaseRecommender
    from prefmover.report.demo_page import Demo, DemoNeighbor, DemoRecommendation

__all__ = ["demo"]

EXAMPLES = (
    "prefmover demo",
    "prefmover demo --viewer noor-r --out noor",
)

N_NEIGHBORS = 8
MEASURES = ("pmd", "cos", "pcc", "msd", "jaccard", "jmsd", "nhsm", "bcf", "husm")
SHARES = (0.05, 0.1, 0.2)
K = 40
NOTE = """\
Each measure predicts as in the paper, from the {k} nearest raters of the item. "default" is the model of this
package, which learns from all ratings at once. "bias" and "user-mean" are controls without neighbors. There
is one random split for each ratio of training to test ratings."""


def demo(
    viewer: Annotated[str, typer.Option(metavar="ID", help="Viewer in the built-in data.")] = "petra-h",
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the report.")
    ] = "prefmover-demo",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Find the neighbors of a viewer in the built-in data, explain them, recommend films, and write a report.

    The films are real, the viewers are simulated. Distances and neighbors are exact. The last line is the
    path of the report.
    """
    from prefmover.cli.output import print_json
    from prefmover.evaluation import evaluate
    from prefmover.explain.plan import explain_users
    from prefmover.explain.text import proof_text, user_lines
    from prefmover.report.demo_page import Demo

    show: Callable[[str], None] = (lambda text: None) if json else typer.echo
    data, _ = SourceOptions(dataset="cinema").open()
    user = data.user_position(viewer)
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out is {out!r}, which is a file; give a folder")
    titles = dict(zip(data.ratings.items.tolist(), data.items.labels, strict=True))
    ratings = [(titles[film], stars) for film, stars in data.ratings[viewer].items()]
    ratings.sort(key=lambda pair: -pair[1])
    show(f"{data.name}: {data.ratings} (simulated viewers)\n")
    show(f"{viewer} rated {len(ratings)} films, best first:")
    for title, stars in ratings[:8]:
        show(f"  {stars:>3g}  {title}")
    if len(ratings) > 8:
        show(f"       and {len(ratings) - 8} more")

    neighbors, timing = _nearest(data, viewer, threads)
    show(f"\nNearest to {viewer}, of {counted(data.n_users - 1, 'viewer')}:")
    for one in neighbors:
        common = f"{counted(one.n_common, 'film')} in common" if one.n_common else "no film in common"
        show(f"  {one.distance:.4f}  {one.user:<12} {common}")

    # The neighbor with the least in common: other measures cannot find such a one.
    stranger = min(neighbors, key=lambda one: (one.n_common, one.distance))
    explanation = explain_users(data, user, data.user_position(stranger.user))
    show(f"\nWhy is {stranger.user} near?")
    for line in user_lines(explanation, 8):
        show(line)
    if explanation.certificate:
        show(proof_text(explanation.certificate))
    show(f"\n{timing}")

    start = time.perf_counter()
    model = fitted(data, None, ModelOptions(), threads)
    show(f"\nThe default model, fitted in {time.perf_counter() - start:.1f} s, recommends:")
    recommendations = _recommend(model, viewer, titles)
    for film in recommendations:
        show(f"  {film.rating:.2f}  {film.title}")
        for reason in film.reasons:
            show(f"          {reason}")

    note("comparing measures with few ratings ...")
    names = ("default", *(f"knn:{name}" for name in MEASURES), "bias", "user-mean")
    with progress("comparing measures") as callback:
        evaluation = evaluate(
            data, names, folder=folder / "comparison", train=SHARES, repeats=1, ks=(K,),
            title="Measures with few ratings: the built-in data", n_threads=threads, progress=callback,
        )  # fmt: skip
    shares, errors = _errors(evaluation)
    notes = [NOTE.format(k=K).replace("\n", " "), "docs/guide/experiments.md has results on real data."]
    show(
        "\nMean absolute error of predicted ratings when few are known, by ratio of training to test ratings"
    )
    show(f"  {'':<12}" + "".join(f"{head:>9}" for head in shares))
    for name, values in errors:
        show(f"  {name:<12}" + "".join(f"{value:9.4f}" for value in values))
    for line in wrap(notes[0], 96, initial_indent="  ", subsequent_indent="  "):
        show(line)

    about = f"The built-in data set {data.name}: {data.ratings}. The films are real, the viewers simulated."
    page = Demo(viewer, about, ratings, neighbors, explanation, recommendations, shares, errors, notes=notes)
    report = _write(page, folder)
    if json:
        print_json(
            {
                "viewer": viewer,
                "neighbors": [one._asdict() for one in neighbors],
                "explanation": explanation.to_dict(),
                "recommendations": [one._asdict() for one in recommendations],
                "errors": dict(errors),
                "report": str(report),
            }
        )
    else:
        show(f"\n{report}")


def _nearest(data: Dataset, viewer: str, threads: int | None) -> tuple[list[DemoNeighbor], str]:
    """Return the neighbors of a viewer, and a sentence on the search for all viewers' neighbors."""
    from prefmover.report.demo_page import DemoNeighbor
    from prefmover.search import nearest

    nearest(data, 1, [viewer], n_threads=threads)  # compiles; the time below is without
    start = time.perf_counter()
    with progress("neighbors") as callback:
        table = nearest(data, N_NEIGHBORS, n_threads=threads, progress=callback)
    seconds, stats = time.perf_counter() - start, table.stats
    rated = data.ratings[viewer].keys()
    neighbors = [
        DemoNeighbor(str(one.user), one.distance, len(rated & data.ratings[one.user].keys()))
        for one in table[viewer]
    ]
    return neighbors, (
        f"The search for the {N_NEIGHBORS} nearest of all {data.n_users} viewers took {seconds:.1f} s. Of "
        f"{stats.pairs:,} pairs, {stats.solved / stats.pairs:.1%} were solved; bounds excluded the others. "
        "The result is exact."
    )


def _recommend(model: BaseRecommender, viewer: str, titles: dict[str, str]) -> list[DemoRecommendation]:
    from prefmover.explain.text import reasons
    from prefmover.report.demo_page import DemoRecommendation

    best = model.recommend(viewer, 5)
    why = model.contributions(viewer, [one.item for one in best])
    return [
        DemoRecommendation(one.title, one.rating, reasons(contributions, titles.__getitem__))
        for one, contributions in zip(best, why, strict=True)
    ]


def _errors(evaluation: Evaluation) -> tuple[list[str], list[tuple[str, list[float]]]]:
    """Return the ratios of training to test ratings, and the errors of each recommender."""
    from prefmover.evaluation.experiment import share_name

    shares = sorted(SHARES)
    errors: dict[str, dict[float, float]] = {}
    for row in evaluation.summary().to_pylist():
        errors.setdefault(row["label"], {})[row["share"]] = row["mae"]
    table = [(label, [by_share[share] for share in shares]) for label, by_share in errors.items()]
    return [share_name(share) for share in shares], table


def _write(page: Demo, folder: Path) -> Path:
    from prefmover.cli.output import write_text
    from prefmover.explain.plot import plan_image
    from prefmover.report import write_report
    from prefmover.report.demo_page import demo_page
    from prefmover.report.render import inline_svg

    try:
        for ending in ("svg", "png"):
            write_text(plan_image(page.explanation, ending), folder / f"plan.{ending}")
        panels = write_report(folder / "comparison")["panels.svg"]
        page.pictures["plan"] = inline_svg((folder / "plan.svg").read_bytes())
        page.pictures["panels"] = inline_svg(panels.read_bytes())
    except MissingExtraError as error:
        note(f"the report has no pictures: {error}")
    report = folder / "report.html"
    write_text(demo_page(page), report)
    return report
