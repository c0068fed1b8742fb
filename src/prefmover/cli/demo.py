"""``prefmover demo``: neighbors, an explanation, recommendations and an evaluation on the built-in data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from prefmover._format import counted, duration
from prefmover.cli.options import ModelOptions, Threads, describe, fitted, item_label, n_common
from prefmover.cli.terminal import Output, check_folder, note, progress, write_text
from prefmover.errors import MissingExtraError

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.explain import UserExplanation

EXAMPLES = ("prefmover demo", "prefmover demo --viewer noor-r --out noor")

MEASURES = ("pmd", "cos", "pcc", "msd", "jaccard", "jmsd", "nhsm", "bcf", "husm")
SHARES = (0.05, 0.1, 0.2)
LISTS, LISTS_SHARE = ("default", "popularity", "item-knn", "bias"), 0.2
NOTE = (
    'Each measure predicts as in the paper, from the 40 nearest raters of the item. "default" is the model '
    'of this package, which learns from all ratings at once. "bias" and "user-mean" are controls without '
    "neighbors. There is one random split for each ratio of training to test ratings."
)


@dataclass(slots=True)
class Demo:
    """The content of the page."""

    user: str
    about: str  # the data
    ratings: list[tuple[str, float]]  # (title, rating), best first
    neighbors: list[dict[str, Any]]  # user, distance, n_common: items that both rated
    explanation: UserExplanation  # why one of the neighbors is near
    recommendations: list[dict[str, Any]]  # title, predicted rating, reasons
    lists: list[tuple[str, float]] = field(default_factory=list)  # (method, nDCG@10 of its lists)
    shares: list[str] = field(default_factory=list)  # ratios of training to test ratings: heads of the errors
    errors: list[tuple[str, list[float]]] = field(default_factory=list)  # (method, error at each share)
    pictures: dict[str, str] = field(default_factory=dict)  # SVG of plan and panels; none without matplotlib
    notes: list[str] = field(default_factory=list)


def demo(
    viewer: Annotated[str, Option(metavar="ID", help="Viewer in the built-in data.")] = "petra-h",
    out: Annotated[
        str, Option("--out", "-o", metavar="FOLDER", help="Folder to write the report to.")
    ] = "prefmover-demo",
    threads: Threads = None,
) -> Output:
    """Find the neighbors of a viewer in the built-in data, explain them, recommend films, and write a report.

    The films are real, the viewers are simulated. Distances and neighbors are exact. The last line is the
    path of the report.
    """
    from prefmover import datasets
    from prefmover.evaluation.experiment import share_name
    from prefmover.explain.plan import explain_users
    from prefmover.search import nearest

    data = datasets.load("cinema")
    user, folder = data.user_position(viewer), check_folder(out)
    nearest(data, 1, [viewer], n_threads=threads)  # compiles, so that the time below does not include it
    start = time.perf_counter()
    with progress("finding neighbors") as callback:
        table = nearest(data, 8, n_threads=threads, progress=callback)
    search = (
        f"The search for all neighbors took {duration(time.perf_counter() - start)} and solved "
        f"{table.stats.solved / table.stats.pairs:.1%} of all pairs of viewers. The result is exact."
    )
    rated, label = data.ratings[viewer], partial(item_label, data)
    neighbors = [
        {"user": one.user, "distance": one.distance, "n_common": n_common(data, rated, one.user)}
        for one in table[viewer]
    ]
    # Other measures cannot find a neighbor without items in common.
    least_common = min(neighbors, key=lambda one: (one["n_common"], one["distance"]))
    start = time.perf_counter()
    model = fitted(data, None, ModelOptions(), threads)
    fit = f"The default model, fitted in {duration(time.perf_counter() - start)}, recommends:"
    best = model.recommend(viewer, 5)
    page = Demo(
        user=viewer,
        about=f"Built-in data: {describe(data.ratings)}. The films are real, the viewers are simulated.",
        ratings=sorted(((label(film), r) for film, r in rated.items()), key=lambda pair: -pair[1]),
        neighbors=neighbors,
        explanation=explain_users(data, user, data.user_position(least_common["user"])),
        recommendations=[
            {"title": one.title, "rating": one.rating or 0.0, "reasons": one.reasons} for one in best
        ],
        shares=[share_name(share) for share in SHARES],
        lists=_lists(data, folder, threads),
        errors=_errors(data, folder, threads),
        notes=[NOTE, "docs/guide/experiments.md has results on real data."],
    )
    report = _write(page, folder)
    answer = {
        "viewer": viewer,
        "neighbors": page.neighbors,
        "explanation": page.explanation.to_dict(),
        "recommendations": page.recommendations,
        "lists": dict(page.lists),
        "errors": dict(page.errors),
        "report": str(report),
    }
    return Output(answer, [*_lines(page, data.n_users, search, fit), str(report)])


def _lists(data: Dataset, folder: Path, threads: int | None) -> list[tuple[str, float]]:
    """Return nDCG@10 of the lists of each recommender on held-out ratings, the default first."""
    title = "Recommended lists: the built-in data"
    rows = _evaluated(data, LISTS, folder / "lists", title, threads, train=LISTS_SHARE, task="ranking")
    return [(row["label"], row["ndcg"]) for row in rows]


def _errors(data: Dataset, folder: Path, threads: int | None) -> list[tuple[str, list[float]]]:
    """Return the mean absolute error of each recommender at each share."""
    names = ("default", *(f"knn:{name}" for name in MEASURES), "bias", "user-mean")
    title = "Measures with few ratings: the built-in data"
    errors: dict[str, dict[float, float]] = {}
    for row in _evaluated(data, names, folder / "comparison", title, threads, train=SHARES, ks=(40,)):
        errors.setdefault(row["label"], {})[row["share"]] = row["mae"]
    return [(label, [by_share[share] for share in SHARES]) for label, by_share in errors.items()]


def _evaluated(
    data: Dataset, names: tuple[str, ...], folder: Path, title: str, threads: int | None, **settings: Any
) -> list[dict[str, Any]]:
    from prefmover.evaluation import evaluate

    with progress("comparing recommenders") as callback:
        evaluation = evaluate(
            data, names, folder=folder, title=title, n_threads=threads, progress=callback, **settings
        )
    rows: list[dict[str, Any]] = evaluation.summary().to_pylist()
    return rows


def _lines(page: Demo, n_users: int, search: str, fit: str) -> Iterator[str]:
    yield from (page.about, "", f"{page.user} rated {len(page.ratings)} films, best first:")
    yield from (f"  {rating:>3g}  {title}" for title, rating in page.ratings[:8])
    if len(page.ratings) > 8:
        yield f"       and {len(page.ratings) - 8} more"
    yield from ("", fit)
    for film in page.recommendations:
        yield f"  {film['rating']:.2f}  {film['title']}"
        yield from (f"          {reason}" for reason in film["reasons"])
    scores = ", ".join(f"{name} {value:.3f}" for name, value in page.lists)
    yield f"nDCG@10 of such lists on held-out ratings: {scores}"
    yield ""
    yield f"Nearest to {page.user}, of {counted(n_users - 1, 'viewer')}:"
    for one in page.neighbors:
        common = counted(one["n_common"], "film") if one["n_common"] else "no film"
        yield f"  {one['distance']:.4f}  {one['user']:<12} {common} in common"
    yield search
    yield ""
    yield f"Why is {page.explanation.other} near?"
    yield from page.explanation.lines(8)
    if page.explanation.proof:
        yield page.explanation.proof
    yield ""
    yield "Mean absolute error of predicted ratings, by ratio of training to test ratings:"
    yield f"  {'':<12}" + "".join(f"{head:>9}" for head in page.shares)
    for name, values in page.errors:
        yield f"  {name:<12}" + "".join(f"{value:9.4f}" for value in values)
    yield from wrap(NOTE, 96, initial_indent="  ", subsequent_indent="  ")
    yield ""


def _write(page: Demo, folder: Path) -> Path:
    """Write the page and its pictures; return the path of the page."""
    from prefmover.explain.page import inline_svg
    from prefmover.explain.plot import plan_image
    from prefmover.report import write_report

    try:
        for ending in ("svg", "png"):
            write_text(plan_image(page.explanation, ending), folder / f"plan.{ending}")
        panels = write_report(folder / "comparison")["panels.svg"]
        page.pictures["plan"] = inline_svg((folder / "plan.svg").read_bytes())
        page.pictures["panels"] = inline_svg(panels.read_bytes())
    except MissingExtraError as error:
        note(f"the report has no pictures: {error}")
    write_text(demo_page(page), folder / "report.html")
    return folder / "report.html"


def demo_page(demo: Demo) -> str:
    """Return the demo as one HTML page, with its pictures inside."""
    from prefmover.report.render import render

    return render(
        "demo.html.j2",
        title=f"Viewers with the taste of {demo.user}",
        demo=demo,
        ratings=[(title, f"{rating:g}") for title, rating in demo.ratings],
        neighbors=[(one["user"], f"{one['distance']:.4f}", str(one["n_common"])) for one in demo.neighbors],
        lines=demo.explanation.lines(8),
        proof=demo.explanation.proof,
        lists=[(name, f"{ndcg:.3f}") for name, ndcg in demo.lists],
        errors=[(name, *(f"{error:.4f}" for error in errors)) for name, errors in demo.errors],
    )
