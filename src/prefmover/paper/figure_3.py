"""The six panels of the paper's Figure 3 as experiments.

>>> [panel.name for panel in figure_3("ml-100k").panels]
['a', 'b', 'c']
"""

import tomllib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment, Panel
from prefmover.evaluation.recommenders import expand

RECOMMENDERS = expand(["controls", "knn:all:all"])
"""The controls, and the twelve measures under each convention that differs.

Fixed on import: measures that are registered later do not belong to the paper.
"""


def settings() -> dict[str, Any]:
    """Return the paper's settings, claims and gaps, as in ``figure_3.toml``."""
    return tomllib.loads(files("prefmover.paper").joinpath("figure_3.toml").read_text(encoding="utf-8"))


def figure_3(
    dataset: str,
    panels: Iterable[str] | None = None,
    *,
    repeats: int | None = None,
    seed: int = 0,
    recommenders: Iterable[str] = RECOMMENDERS,
) -> Experiment:
    """Return the experiment behind the panels of a data set.

    ``"ml-100k"`` has the panels a, b and c, ``"ml-1m"`` d, e and f; other data sets use the settings of a, b
    and c, without the paper's claims. Only the shares of the chosen panels are run. The rest is as in
    :class:`~prefmover.evaluation.Experiment`; the paper has five repeats.
    """
    paper = settings()
    known = [row for row in paper["panels"] if row["dataset"] == dataset]
    known = known or [{**row, "claim": ""} for row in paper["panels"][:3]]
    names = [row["name"] for row in known]
    chosen = names if panels is None else list(panels)
    wrong = [name for name in chosen if name not in names]
    if wrong or not chosen:
        raise InputError(f"panel {', '.join(wrong) or '(none)'}: {dataset} has the panels {', '.join(names)}")
    common = {"train": paper["shares"], "ks": paper["ks"]}
    chosen_panels = tuple(
        Panel(**common | {key: value for key, value in row.items() if key != "dataset"})
        for row in known
        if row["name"] in chosen
    )
    return Experiment(
        dataset=dataset,
        task="rating",
        train=tuple(share for panel in chosen_panels for share in panel.train),
        repeats=paper["repeats"] if repeats is None else repeats,
        seed=seed,
        ks=paper["ks"],
        recommenders=tuple(recommenders),
        centering=paper["centering"],
        panels=chosen_panels,
        title=f"Figure 3 of the paper on {dataset}",
    )
