"""How good a geometry is: how its distances spread, and how they agree with the Tag Genome's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from prefmover.datasets.tag_genome import Genome
from prefmover.errors import InputError
from prefmover.items.geometry import ItemGeometry

__all__ = ["agreement", "summary"]

SAMPLE = 1000


def summary(geometry: ItemGeometry, sample: int = SAMPLE) -> dict[str, str | int | float]:
    """Return facts about the distances between ``sample`` items, taken at equal steps from all.

    Examples
    --------
    >>> geometry = ItemGeometry.from_vectors([1, 2, 3], [[1, 0], [1, 1], [0, 2]], name="angles")
    >>> facts = summary(geometry)
    >>> facts["items"], round(facts["median"], 4), facts["share at the largest distance"]
    (3, 0.7854, 0.3333333333333333)
    """
    if geometry.n_items < 2:
        raise InputError(f"the geometry {geometry.name!r} has {geometry.n_items} item; two make a distance")
    n = min(sample, geometry.n_items)
    chosen = np.unique(np.linspace(0, geometry.n_items - 1, n).astype(np.int64))
    D = geometry.block(chosen, chosen)
    pairs = D[np.triu_indices(len(D), 1)]
    np.fill_diagonal(D, np.inf)
    facts: dict[str, str | int | float] = {"geometry": geometry.name, "items": geometry.n_items}
    facts["items looked at"] = len(chosen)
    facts["metric"] = {True: "yes", False: "no", None: "unknown"}[geometry.is_metric]
    for label, q in (
        ("smallest", 0),
        ("1 %", 1),
        ("10 %", 10),
        ("median", 50),
        ("90 %", 90),
        ("largest", 100),
    ):
        facts[label] = float(np.percentile(pairs, q))
    facts["median to the nearest item"] = float(np.median(D.min(axis=1)))
    facts["share at zero"] = float((pairs == 0).mean())
    facts["share at the largest distance"] = float((pairs >= pairs.max()).mean())
    return facts


def agreement(
    geometry: ItemGeometry, genome: Genome, movies: npt.ArrayLike, among: npt.ArrayLike | None = None
) -> float:
    """Return Spearman's rank correlation of the distances with the angles between genome rows.

    Parameters
    ----------
    movies : sequence of int, of shape (n_items,)
        MovieLens id of each item of the geometry, -1 for none.
    among : sequence of int, optional
        Only pairs of these movies.
    """
    from scipy.stats import spearmanr

    ids = np.asarray(movies, dtype=np.int64)
    usable = np.isin(ids, genome.movies)
    if among is not None:
        usable &= np.isin(ids, np.asarray(among, dtype=np.int64))
    _, first = np.unique(ids, return_index=True)  # two items may be one movie
    positions = np.intersect1d(first, np.flatnonzero(usable))
    if len(positions) < 3:
        raise InputError(f"{len(positions)} items of the geometry have a genome row; 3 are needed")
    rows = genome.rows(ids[positions]).astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    upper = np.triu_indices(len(positions), 1)
    angles = np.arccos(np.clip(rows @ rows.T, 0.0, 1.0))[upper]
    return float(spearmanr(geometry.block(positions, positions)[upper], angles).statistic)
