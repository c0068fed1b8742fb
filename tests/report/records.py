"""Records made by hand, and the results made of them."""

import numpy as np

from prefmover.evaluation import Experiment
from prefmover.evaluation.record import DataInfo, Groups, Record, RunInfo
from prefmover.measures import MEASURES
from prefmover.report import Results

DATA = DataInfo(ratings="r", distances="d", geometry="toy")
NAMES = {"measure": "knn:{}", "control": "{}", "model": "{}", "peer": "surprise:{}"}


def make_record(
    method, mae, *, repeat=0, share=0.8, convention="published", kind="measure", ks=(5, 40), spread=0.0
):
    """Return a record with the error of each K (or the only error), and groups of users around it."""
    n = np.full(20, 100)
    wave = spread * np.sin(np.arange(20) + len(method))
    errors = [mae] if np.isscalar(mae) else list(mae)
    return Record(
        dataset="toy", geometry="toy", protocol="random", share=share, repeat=repeat, seed=repeat,
        n_train=800, n_test=2000, new_users=1, new_items=2,
        recommender=NAMES[kind].format(method) + (f":{convention}" if convention != "published" else ""),
        method=method,
        label=MEASURES[method].label if method in MEASURES else method,
        kind=kind, convention=convention if kind == "measure" else "",
        task="rating", cuts=ks if len(errors) == len(ks) else (None,),
        metrics={
            "mae": errors, "rmse": errors, "coverage": [1.0] * len(errors), "neighbors": [5.0] * len(errors),
        },
        groups=Groups(n=n.tolist(), sums=[((x + wave) * n).tolist() for x in errors]),
        run=RunInfo(seconds=1.0, solved=3, versions={"prefmover": "0"}),
    )  # fmt: skip


def make_results(records, **settings):
    """Return the results of records, with an experiment that names their recommenders."""
    recommenders = tuple(dict.fromkeys(record.recommender for record in records))
    settings = {"task": "rating", **settings}
    return Results(
        records, Experiment(dataset="toy", recommenders=recommenders, ks=(5, 40), **settings), DATA
    )


def only_table(records):
    """Return the table of the only panel."""
    results = make_results(records)
    (panel,) = results.panels()
    return results.table(panel)
