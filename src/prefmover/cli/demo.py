"""``prefmover demo``: neighbors, an explanation, recommendations and an evaluation on the built-in data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

from prefmover._format import counted, duration
from prefmover.cli import Opt
from prefmover.cli.options import USER, ModelOptions, Threads, describe, fitted, item_label, n_common
from prefmover.cli.terminal import Output, check_folder, note, progress
from prefmover.errors import MissingExtraError
from prefmover.execution import atomic

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.explain import UserExplanation

EXAMPLES = ("prefmover demo", "prefmover demo --user noor-r --out noor")

MEASURES = ("pmd", "cos", "pcc", "msd", "jaccard", "jmsd", "nhsm", "bcf", "husm")
SHARES = (0.05, 0.1, 0.2)
LISTS, LISTS_SHARE = ("default", "popularity", "item-knn", "bias"), 0.2
NOTE = (
    'Each measure predicts as in the paper, from the 40 nearest raters of the item. "default" is the model '
    'of this package, which learns from all ratings at once. "bias" and "user-mean" are controls without '
    "neighbors. There is one random split for each ratio of training to test ratings."
)


def demo(
    user: Annotated[str, USER] = "petra-h",
    out: Annotated[
        str, Opt("Where the result goes: a folder for the report.", "FOLDER", "-o")
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
    position, folder = data.user_position(user), check_folder(out)
    nearest(data, 1, [user], n_threads=threads)  # compiles, so that the time below does not include it
    start = time.perf_counter()
    with progress("finding neighbors") as callback:
        table = nearest(data, 8, n_threads=threads, progress=callback)
    search = (
        f"The search for all neighbors took {duration(time.perf_counter() - start)} and solved "
        f"{table.stats.solved / table.stats.pairs:.1%} of all pairs of viewers. The result is exact."
    )
    rated, label = data.ratings[user], partial(item_label, data)
    neighbors = [
        {"user": one.user, "distance": one.distance, "n_common": n_common(data, rated, one.user)}
        for one in table[user]
    ]
    # Other measures cannot find a neighbor without items in common.
    least_common = min(neighbors, key=lambda one: (one["n_common"], one["distance"]))
    model = fitted(data, None, ModelOptions(), threads)
    explanation = explain_users(data, position, data.user_position(least_common["user"]))
    answer: dict[str, Any] = {
        "viewer": user,
        "neighbors": neighbors,
        "explanation": explanation.to_dict(),
        "recommendations": [
            {"title": one.title, "rating": one.rating or 0.0, "reasons": one.reasons}
            for one in model.recommend(user, 5)
        ],
        "lists": _lists(data, folder, threads),
        "errors": _errors(data, folder, threads),
        "report": str(folder / "report.html"),
    }
    page = {
        **answer,
        "about": f"Built-in data: {describe(data.ratings)}. The films are real, the viewers are simulated.",
        "ratings": sorted(((label(film), r) for film, r in rated.items()), key=lambda pair: -pair[1]),
        "shares": [share_name(share) for share in SHARES],
        "explanation": explanation,
        "pictures": _pictures(explanation, folder),
    }
    atomic.write(folder / "report.html", demo_page(page).encode())
    return Output(answer, [*_lines(page, data.n_users, search), answer["report"]])


def _lists(data: Dataset, folder: Path, threads: int | None) -> dict[str, float]:
    """Return nDCG@10 of the lists of each recommender on held-out ratings, the default first."""
    title = "Recommended lists: the built-in data"
    rows = _evaluated(data, LISTS, folder / "lists", title, threads, train=LISTS_SHARE, task="ranking")
    return {row["label"]: row["ndcg"] for row in rows}


def _errors(data: Dataset, folder: Path, threads: int | None) -> dict[str, list[float]]:
    """Return the mean absolute error of each recommender at each share."""
    names = ("default", *(f"knn:{name}" for name in MEASURES), "bias", "user-mean")
    title = "Measures with few ratings: the built-in data"
    errors: dict[str, dict[float, float]] = {}
    settings = {"task": "rating", "train": SHARES, "ks": (40,)}
    for row in _evaluated(data, names, folder / "comparison", title, threads, **settings):
        errors.setdefault(row["label"], {})[row["share"]] = row["mae"]
    return {label: [by_share[share] for share in SHARES] for label, by_share in errors.items()}


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


def _lines(page: dict[str, Any], n_users: int, search: str) -> Iterator[str]:
    user, ratings, explanation = page["viewer"], page["ratings"], page["explanation"]
    yield from (page["about"], "", f"{user} rated {len(ratings)} films, best first:")
    yield from (f"  {rating:>3g}  {title}" for title, rating in ratings[:8])
    if len(ratings) > 8:
        yield f"       and {len(ratings) - 8} more"
    yield from ("", "The default model recommends:")
    for film in page["recommendations"]:
        yield f"  {film['rating']:.2f}  {film['title']}"
        yield from (f"          {reason}" for reason in film["reasons"])
    scores = ", ".join(f"{name} {value:.3f}" for name, value in page["lists"].items())
    yield f"nDCG@10 of such lists on held-out ratings: {scores}"
    yield from ("", f"Nearest to {user}, of {counted(n_users - 1, 'viewer')}:")
    for one in page["neighbors"]:
        common = counted(one["n_common"], "film") if one["n_common"] else "no film"
        yield f"  {one['distance']:.4f}  {one['user']:<12} {common} in common"
    yield from (search, "", f"Why is {explanation.other} near?", *explanation.lines(8))
    if explanation.proof:
        yield explanation.proof
    yield from ("", "Mean absolute error of predicted ratings, by ratio of training to test ratings:")
    yield f"  {'':<12}" + "".join(f"{head:>9}" for head in page["shares"])
    for name, values in page["errors"].items():
        yield f"  {name:<12}" + "".join(f"{value:9.4f}" for value in values)
    yield from wrap(NOTE, 96, initial_indent="  ", subsequent_indent="  ")
    yield ""


def _pictures(explanation: UserExplanation, folder: Path) -> dict[str, str]:
    """Write the pictures of the plan and the panels; return them as SVG, none without matplotlib."""
    from prefmover.explain.page import inline_svg
    from prefmover.explain.plot import plan_image
    from prefmover.report import write_report

    try:
        for ending in ("svg", "png"):
            atomic.write(folder / f"plan.{ending}", plan_image(explanation, ending))
        files = {"plan": folder / "plan.svg", "panels": write_report(folder / "comparison")["panels.svg"]}
        return {name: inline_svg(file.read_bytes()) for name, file in files.items()}
    except MissingExtraError as error:
        note(f"the report has no pictures: {error}")
        return {}


def demo_page(page: dict[str, Any]) -> str:
    """Return the demo as one HTML page, with its pictures inside."""
    from prefmover.report.render import render

    return render(
        "demo.html.j2",
        title=f"Viewers with the taste of {page['viewer']}",
        demo=page,
        ratings=[(title, f"{rating:g}") for title, rating in page["ratings"]],
        neighbors=[
            (one["user"], f"{one['distance']:.4f}", str(one["n_common"])) for one in page["neighbors"]
        ],
        lines=page["explanation"].lines(8),
        lists=[(name, f"{ndcg:.3f}") for name, ndcg in page["lists"].items()],
        errors=[(name, *(f"{error:.4f}" for error in errors)) for name, errors in page["errors"].items()],
        notes=(NOTE, "docs/guide/experiments.md has results on real data."),
    )
