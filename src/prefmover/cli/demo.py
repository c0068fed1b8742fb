"""``prefmover demo``: the whole job on the built-in data, and a report with pictures."""

from __future__ import annotations

import time
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefmover.cli.neighbors import search_users
from prefmover.cli.recommend import ASKED, reasons
from prefmover.cli.source import Data, Jobs, Json, ModelOptions, SourceOptions, fitted
from prefmover.cli.terminal import tell
from prefmover.errors import InputError, MissingExtraError
from prefmover.execution.format import counted

if TYPE_CHECKING:
    from prefmover.measures.pmd import UserTransport
    from prefmover.model import UserKNN
    from prefmover.report.demo_page import Advice, Near, Tour

__all__ = ["demo"]

EXAMPLES = (
    "prefmover demo",
    "prefmover demo --viewer noor-r --out noor",
)

VIEWER = "petra-h"
NEAREST = 8
MEASURES = ("cos", "pcc", "msd", "jaccard", "jmsd", "nhsm", "bcf", "husm", "pmd")
SHARES = (0.05, 0.1, 0.2)
K = 40
NOTE = """\
Each measure predicts as in the paper, from the {k} nearest raters of the item; UserKNN() is this package's
default, which lets all like-minded viewers speak at once; bias and user-mean are controls without neighbors.
One random split for each share."""


def demo(
    viewer: Annotated[str, typer.Option(help="A viewer of the built-in data.")] = VIEWER,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="Where the report goes.")
    ] = "prefmover-demo",
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Find like-minded viewers in the built-in data, say why, recommend, compare, and write a report.

    The viewers are simulated, the films are real. Distances and neighbors are exact. The path of the report
    is printed last.
    """
    say = (lambda text: None) if json else typer.echo
    data = SourceOptions(dataset="cinema").open()
    data.ratings.user_position(viewer)
    place = Path(out)
    if place.exists() and not place.is_dir():
        raise InputError(f"--out is {out!r}, which is a file; name a folder")
    tour = _ratings(data, viewer)
    say(f"{data.name}: {data.ratings} (simulated viewers)\n")
    _show_ratings(tour, say)
    tour.near, line = _nearest(data, viewer, jobs)
    _show_nearest(tour, data, say)
    answer = _explain(data, viewer, tour)
    for text in ["", *tour.why]:
        say(text)
    say(f"\n{line}")
    start = time.perf_counter()
    model = fitted(data, ModelOptions(), jobs)
    say(f"\nA model of everybody's taste, fitted in {time.perf_counter() - start:.1f} s, recommends:")
    tour.advice = _recommend(data, model, viewer)
    for one in tour.advice:
        say(f"  {one.rating:.2f}  {one.title}")
        for reason in one.reasons:
            say(f"          {reason}")
    tour.errors, tour.shares, folder = _compare(data, place, jobs)
    _show_errors(tour, say)
    report = _write(tour, data, answer, place, folder)
    if json:
        from prefmover.cli.output import print_json

        print_json(
            {
                "viewer": viewer,
                "neighbors": [one._asdict() for one in tour.near],
                "distance": answer.distance,
                "recommendations": [one._asdict() for one in tour.advice],
                "errors": dict(tour.errors),
                "report": str(report),
            }
        )
    else:
        say(f"\n{report}")


def _ratings(data: Data, viewer: str) -> Tour:
    from prefmover.report.demo_page import Tour

    rated = sorted(data.ratings[viewer].items(), key=lambda pair: -pair[1])
    about = f"The built-in data set {data.name}: {data.ratings}. Films are real, viewers simulated."
    return Tour(viewer, about, [(data.label(film), stars) for film, stars in rated])


def _show_ratings(tour: Tour, say: Any) -> None:
    say(f"{tour.viewer} rated {len(tour.rated)} films, best first:")
    for title, stars in tour.rated[:8]:
        say(f"  {stars:>3g}  {title}")
    if len(tour.rated) > 8:
        say(f"       and {len(tour.rated) - 8} more")


def _nearest(data: Data, viewer: str, jobs: int | None) -> tuple[list[Near], str]:
    from prefmover.report.demo_page import Near

    few = Data(data.name, data.ratings.take(users=list(range(80))), data.catalog, data.geometry)
    search_users(few, None, 1, jobs=jobs)  # the first time this compiles, which is not what is timed
    start = time.perf_counter()
    found = search_users(data, None, NEAREST, jobs=jobs)
    seconds, stats = time.perf_counter() - start, found.stats
    near = [Near(str(o.id), o.distance, data.in_common(viewer, o.id)) for o in found.of(viewer)]
    line = (
        f"The {NEAREST} nearest of all {data.ratings.n_users} viewers took {seconds:.1f} s: of "
        f"{stats.pairs:,} pairs, {stats.solved / stats.pairs:.1%} were solved, the others ruled out by "
        "bounds. The answer is exact."
    )
    return near, line


def _show_nearest(tour: Tour, data: Data, say: Any) -> None:
    say(f"\nNearest to {tour.viewer}, of {counted(data.ratings.n_users - 1, 'other')}:")
    for one in tour.near:
        n = one.in_common
        common = "no film in common" if n == 0 else f"{counted(n, 'film')} in common"
        say(f"  {one.distance:.4f}  {one.name:<12} {common}")


def _explain(data: Data, viewer: str, tour: Tour) -> UserTransport:
    """Explain the nearest of those who have the least in common: that is what other measures cannot."""
    from prefmover.measures.pmd import pmd

    assert data.geometry is not None
    stranger = min(tour.near, key=lambda one: (one.in_common, one.distance))
    answer = pmd(data.ratings, data.geometry, viewer, stranger.name)
    tour.why = [f"Why {answer.v}? Turning {answer.u}'s taste into theirs takes work {answer.distance:.4f}:"]
    for flow in sorted(answer.flows, key=lambda flow: -flow.mass)[:8]:
        source, target = data.label(flow.source), data.label(flow.target)
        moves = f"{source} ↔ {target}, {flow.distance:.2f} apart"
        tour.why.append(f"  {flow.mass:6.1%} {f'stays at {source}' if flow.source == flow.target else moves}")
    proof = answer.transport.certificate
    tour.why.append(
        f"  Proof that no plan is cheaper: this one costs {proof.primal:.9f}, and prices show that none "
        f"can cost less than {proof.dual:.9f}."
    )
    return answer


def _recommend(data: Data, model: UserKNN, viewer: str) -> list[Advice]:
    from prefmover.report.demo_page import Advice

    best = model.recommend(viewer, n=5)
    said = model.reasons(viewer, [p.item for p in best], ASKED)
    return [
        Advice(data.label(p.item), p.rating, reasons(data, why)) for p, why in zip(best, said, strict=True)
    ]


def _compare(
    data: Data, place: Path, jobs: int | None
) -> tuple[list[tuple[str, list[float]]], list[str], Any]:
    """Run a small experiment, and the default model on its splits; return errors by method and share."""
    import numpy as np

    from prefmover.data.splits import random_split
    from prefmover.evaluation.experiment import Experiment, share_name
    from prefmover.evaluation.run import run_experiment
    from prefmover.model import UserKNN

    tell("comparing measures where ratings are few ...")
    experiment = Experiment(
        "cinema",
        train=SHARES,
        repeats=1,
        ks=(K,),
        measures=MEASURES,
        conventions="published",
        controls=("user-mean", "bias"),
        title="Measures where ratings are few: the built-in data",
    )
    folder = run_experiment(experiment, place / "comparison", n_threads=jobs)
    cells = folder.cells().values()
    errors: dict[str, list[float]] = {}
    for share in SHARES:
        for cell in cells:
            if cell["share"] == share:
                errors.setdefault(cell["label"], []).append(cell["mae"][0])
        split = random_split(data.ratings, share, experiment.seed)
        model = UserKNN(n_threads=jobs).fit(split.train, data.geometry)
        users, items = split.train.users[split.users], split.train.items[split.items]
        predicted = model.predict(list(zip(users.tolist(), items.tolist(), strict=True))).ratings
        errors.setdefault("UserKNN()", []).append(float(np.abs(predicted - split.ratings).mean()))
    ours = ("UserKNN()", "PMD")  # first; then the other measures, then the controls
    order = sorted(errors, key=lambda name: (name not in ours, name.islower(), -len(name) * (name in ours)))
    return [(name, errors[name]) for name in order], [share_name(share) for share in SHARES], folder


def _show_errors(tour: Tour, say: Any) -> None:
    say("\nMean absolute error of predicted ratings where few are known, by train:test")
    say(f"  {'':<12}" + "".join(f"{head:>9}" for head in tour.shares))
    for name, values in tour.errors:
        say(f"  {name:<12}" + "".join(f"{value:9.4f}" for value in values))
    tour.notes = [NOTE.format(k=K), "docs/guide/experiments.md tells what holds on real data."]
    for line in wrap(tour.notes[0], 96, initial_indent="  ", subsequent_indent="  "):
        say(line)


def _write(tour: Tour, data: Data, answer: UserTransport, place: Path, folder: Any) -> Path:
    from prefmover.cli.output import write_text
    from prefmover.predict.explanations import explain_users
    from prefmover.report import write_report
    from prefmover.report.demo_page import tour_page
    from prefmover.report.plan import draw_plan

    assert data.geometry is not None
    try:
        plan = explain_users(data.ratings, data.geometry, answer.u, answer.v, data.labels)
        for ending in ("svg", "png"):
            write_text(draw_plan(plan, ending), place / f"plan.{ending}")
        tour.pictures["plan"] = (place / "plan.svg").read_bytes()
        tour.pictures["panels"] = write_report(folder)["panels.svg"].read_bytes()
    except MissingExtraError as error:
        tell(f"the report is without pictures: {error}")
    report = place / "report.html"
    write_text(tour_page(tour), report)
    return report
