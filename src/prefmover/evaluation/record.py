"""From predictions to a record: errors, coverage, and what is needed to compute it again.

A cell holds one method on one split with all its K. What is under ``run`` (time, threads, pairs solved,
versions) may differ from run to run; everything else may not.

``groups`` has the sum of absolute errors over each of twenty fixed groups of users, drawn by a hash of
the user's place: enough for a paired test over users, in a few hundred numbers instead of all users'.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover.data.splits import Split, hashed
from prefmover.errors import InputError
from prefmover.evaluation import metrics
from prefmover.evaluation.folder import Cell
from prefmover.evaluation.protocol import Predictions, Task
from prefmover.execution import atomic

__all__ = ["GROUPS", "flat_rows", "groups_of", "scores", "versions", "write_parquet"]

GROUPS = 20
GROUP_SEED = 20


def groups_of(split: Split) -> npt.NDArray[np.int64]:
    """Return the group of the user of each test rating; it is the same in every split of a data set."""
    return (hashed(GROUP_SEED, split.users) % np.uint64(GROUPS)).astype(np.int64)


def scores(task: Task, predictions: Predictions, top_n: int = 0) -> dict[str, Any]:
    """Return what is recorded of some predictions: lists with an entry for each K."""
    split = task.split
    errors = predictions.ratings - split.ratings[:, None]
    group = groups_of(split)
    out: dict[str, Any] = {
        "k": list(predictions.ks),
        "mae": [_short(x) for x in np.abs(errors).mean(axis=0)],
        "rmse": [_short(x) for x in np.sqrt((errors**2).mean(axis=0))],
        "coverage": [_short(x) for x in (predictions.used > 0).mean(axis=0)],
        "neighbors": [_short(x) for x in predictions.used.mean(axis=0)],
    }
    if top_n:
        out["top_n"] = [_ranking(split, column, top_n) for column in predictions.ratings.T]
    out["groups"] = {
        "n": np.bincount(group, minlength=GROUPS).tolist(),
        "error": [
            [round(float(x), 3) for x in np.bincount(group, column, GROUPS)] for column in np.abs(errors).T
        ],
    }
    return out


def _ranking(split: Split, predicted: npt.NDArray[np.float64], n: int) -> dict[str, float]:
    """Rank each user's test items by prediction. Relevant: in the upper quarter of the scale (4 and 5)."""
    scale = split.train.scale
    relevant = split.ratings >= scale.lowest + 0.75 * (scale.highest - scale.lowest)
    if scale.highest == scale.lowest:
        raise InputError("top_n: all ratings are equal, so there is nothing to rank")
    if not relevant.any():
        raise InputError("top_n: no test rating is in the upper quarter of the scale, so none is relevant")
    found = metrics.ranking(
        n,
        split.users,
        predicted,
        relevant=relevant,
        gains=split.ratings - scale.lowest,
        items=split.items,
        n_items=split.train.n_items,
    )
    return {name: _short(value) for name, value in found.items()}


def _short(x: float) -> float:
    return round(float(x), 8)


@cache
def versions() -> dict[str, str]:
    """Return the versions of what computes."""
    found = {"python": platform.python_version()}
    for name in ("prefmover", "numpy", "scipy", "numba", "scikit-surprise"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # an extra that is not installed
            continue
    return found


def flat_rows(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Return one row for each split, method and K."""
    rows = []
    for cell in cells:
        shared = {
            name: value
            for name, value in cell.items()
            if name not in ("k", "mae", "rmse", "coverage", "neighbors", "groups", "top_n", "run", "key")
        }
        run = cell["run"]
        for at, k in enumerate(cell["k"]):
            row = {**shared, "k": k}
            row |= {name: cell[name][at] for name in ("mae", "rmse", "coverage", "neighbors")}
            row |= cell["top_n"][at] if "top_n" in cell else {}
            row |= {"seconds": run["seconds"], "solved": run["solved"], "threads": run["threads"]}
            row["versions"] = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
            rows.append(row)
    return rows


def write_parquet(cells: Iterable[Cell], path: Path) -> None:
    """Write the flat table of records."""
    import pyarrow as pa
    from pyarrow import parquet

    buffer = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(flat_rows(cells)), buffer)
    atomic.write(path, buffer.getvalue().to_pybytes())
