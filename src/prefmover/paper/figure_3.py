"""Figure 3 of the paper, its six panels as experiments.

>>> [panel.name for panel in figure_3("ml-100k").panels]
['a', 'b', 'c']
"""

import tomllib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment, Panel, parse_ks, parse_shares
from prefmover.evaluation.protocol import CONTROLS
from prefmover.measures import MEASURES

__all__ = ["figure_3", "settings"]

TWELVE = tuple(MEASURES)  # those of the package; measures that are registered later are not the paper's


def settings() -> dict[str, Any]:
    """Return what the paper says of its figure, as in ``figure_3.toml``."""
    return tomllib.loads(files("prefmover.paper").joinpath("figure_3.toml").read_text(encoding="utf-8"))


def figure_3(
    dataset: str,
    panels: Iterable[str] | None = None,
    *,
    repeats: int | None = None,
    seed: int = 0,
    peers: tuple[str, ...] = (),
    measures: tuple[str, ...] = TWELVE,
) -> Experiment:
    """Return the experiment behind the panels of a data set.

    Parameters
    ----------
    dataset
        ``"ml-100k"`` has the panels a, b and c, ``"ml-1m"`` d, e and f. On another data set the settings
        of a, b and c are used, without the paper's claims.
    panels
        Some of them; all by default. Only the shares that they need are run.
    repeats, seed, peers, measures
        As in :class:`~prefmover.evaluation.Experiment`; the paper has five repeats.
    """
    paper = settings()
    shares, ks = parse_shares(",".join(paper["shares"])), parse_ks(paper["ks"])
    rows = [row for row in paper["panels"] if row["dataset"] == dataset]
    known = rows or [{**row, "claim": ""} for row in paper["panels"][:3]]
    names = [row["name"] for row in known]
    chosen = names if panels is None else list(panels)
    wrong = [name for name in chosen if name not in names]
    if wrong or not chosen:
        raise InputError(f"panel {', '.join(wrong) or '(none)'}: {dataset} has the panels {', '.join(names)}")
    made = tuple(
        Panel(
            row["name"],
            row["over"],
            parse_shares(row["train"]) if "train" in row else shares,
            parse_ks(row["ks"]) if "ks" in row else ks,
            row["claim"],
        )
        for row in known
        if row["name"] in chosen
    )
    return Experiment(
        dataset,
        train=tuple(share for panel in made for share in panel.train),
        repeats=paper["repeats"] if repeats is None else repeats,
        seed=seed,
        ks=ks,
        measures=measures,
        controls=CONTROLS,
        peers=peers,
        centering=paper["centering"],
        panels=made,
        title=f"Figure 3 of the paper on {dataset}",
    )
