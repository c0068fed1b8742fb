"""What a reader needs to know about the figures: how they were made, on what, and how to make them again."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment, Panel, share_name, share_text
from prefmover.execution.format import counted
from prefmover.report.results import LEVEL, Book

__all__ = ["commands", "notes", "provenance"]

CONTROLS = (
    "Controls: uniform draws K raters at random and weights them equally; mean-vector takes neighbors by "
    "the cosine of users' mean item vectors; user-mean and bias have no neighbors."
)
SHRINKAGE = (
    "Shrinkage is in units of weight, and a neighbor weighs 1 under uniform, up to 1 by a similarity, a few "
    "hundredths by PMD: the same number is more doubt for PMD than for others. To compare measures, use 0."
)
CONVENTIONS = (
    "Measures with several conventions are shown, panel by panel, under the one with the lowest mean error "
    "on the test ratings, which favors them; PMD has one."
)


def notes(book: Book) -> list[str]:
    """Return how to read the figures."""
    e = book.experiment
    shrunk = f", shrinkage {e.shrinkage:g}" if e.shrinkage else ""
    predictor = (
        "Every method predicts the same test ratings from the same training ratings. Prediction: the K "
        f"nearest among those who rated the item, centering “{e.centering}”{shrunk}, cut off at the ends of "
        "the scale; where no neighbor has a defined weight, what is expected without one. Similarities are "
        "weights as they are (negative ones too, their absolute value below the line); PMD has the weight "
        "exp(-4 D), MSD 1 - MSD. All of this was fixed before this run; the 4 comes from a prototype on "
        "other splits of MovieLens-100K."
    )
    tests = (
        "Bold is the lowest of the measures. Win, tie, loss: paired t-test over "
        f"{len(book.cells[0]['groups']['n'])} fixed random groups of users at each point, p < {LEVEL:g}, not "
        "corrected for the number of comparisons. The last columns test the panel's mean difference, over "
        "groups of users, and over repeats (which share ratings, so that this p is optimistic)."
    )
    return [predictor, *([SHRINKAGE] if e.shrinkage else []), CONVENTIONS, tests, CONTROLS]


def commands(book: Book) -> list[str]:
    """Return the commands that make the records and this report."""
    e = book.experiment
    report = "prefmover report FOLDER"
    peers = [f"--peers {','.join(e.peers)}"] if e.peers else []
    if _is_papers(e):
        words = ["prefmover paper figures", f"--dataset {e.dataset}"]
        words += ["--panels " + ",".join(panel.name for panel in e.panels), f"--repeats {e.repeats}"]
        return [" ".join([*words, f"--seed {e.seed}", *peers, "--out FOLDER"]), report]
    words = ["prefmover evaluate", *(["--config panels.toml"] if e.panels else [])]
    words += [f"--dataset {shlex.quote(e.dataset)}", f"--geometry {shlex.quote(e.geometry)}"]
    words += [f"--{column}-column {shlex.quote(name)}" for column, name in e.columns.items()]
    if e.protocol == "random":
        words.append("--train " + ",".join(map(share_text, e.train)))
    else:
        words.append(f"--protocol {e.protocol}")
    words += [f"--repeats {e.repeats}", f"--seed {e.seed}", "--k " + ",".join(map(str, e.ks))]
    words += [f"--stratify {e.stratify}"] if e.stratify else []
    words += ["--measures " + (",".join(e.measures) or "none")]
    words += ["--controls " + (",".join(e.controls) or "none"), *peers]
    words += [f"--conventions {e.conventions}", f"--centering {e.centering}", f"--shrinkage {e.shrinkage:g}"]
    words += [f"--top-n {e.top_n}"] if e.top_n else []
    files = ["# panels.toml\n" + "\n".join(map(_toml, e.panels))] if e.panels else []
    return [*files, " ".join([*words, "--out FOLDER"]), report]


def _is_papers(e: Experiment) -> bool:
    """Whether the experiment is what ``prefmover paper figures`` runs."""
    from prefmover.paper.figure_3 import figure_3

    try:
        names = [panel.name for panel in e.panels]
        made = figure_3(e.dataset, names, repeats=e.repeats, seed=e.seed, peers=e.peers)
    except InputError:
        return False
    return replace(made, title=e.title) == e


def _toml(panel: Panel) -> str:
    shares = ", ".join(f'"{share_text(share)}"' for share in panel.train)
    said = [f"claim = {json.dumps(panel.claim, ensure_ascii=False)}"] if panel.claim else []
    lines = ["[[panels]]", f"name = {json.dumps(panel.name, ensure_ascii=False)}", f'over = "{panel.over}"']
    return "\n".join([*lines, f"train = [{shares}]", f"ks = {list(panel.ks)}", *said, ""])


def provenance(book: Book) -> list[str]:
    """Return which data, which splits, which versions."""
    about = book.about
    data = (
        f"Data: {book.experiment.dataset} (digest of the ratings {about['ratings']}). Item geometry: "
        f"{about['geometry name']} (digest {about['distances']})."
    )
    new = {c["share"]: (c["new_users"], c["new_items"]) for c in book.cells if c["repeat"] == 0}
    splits = []
    for share, train, test in sorted({(c["share"], c["n_train"], c["n_test"]) for c in book.cells})[::-1]:
        left = f" ({new[share][0]:,} and {new[share][1]:,})" if share in new else ""
        splits.append(f"{share_name(share)}: {train:,} + {test:,}{left}")
    sizes = (
        "Splits, train + test ratings (in brackets users and items without a training rating in the first "
        f"repeat): {'; '.join(splits)}."
    )
    kinds = sorted({tuple(sorted(c["run"]["versions"].items())) for c in book.cells})
    software = " / ".join(", ".join(f"{name} {number}" for name, number in one) for one in kinds)
    return [
        data,
        sizes,
        f"{counted(len(book.cells), 'record')}, {_time(book.seconds)} of computing. {software}.",
    ]


def _time(seconds: float) -> str:
    return counted(round(seconds / 60), "minute") if seconds >= 90 else counted(round(seconds), "second")
