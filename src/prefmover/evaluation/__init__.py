"""Experiments: any recommenders on the same splits, with records that survive a kill.

::

    Experiment ── run.py ──┬── a split, and its training data (a Dataset)
    (experiment.py)        ├── each recommender                  recommenders.py, controls.py, peers.py
                           ├── fit, predict, score: a Record     compute.py, metrics.py, record.py
                           └── the folder of the run             folder.py
"""

from prefmover.evaluation.experiment import Experiment, Panel
from prefmover.evaluation.folder import RunFolder
from prefmover.evaluation.record import Record
from prefmover.evaluation.run import Evaluation, evaluate, run_experiment

__all__ = ["Evaluation", "Experiment", "Panel", "Record", "RunFolder", "evaluate", "run_experiment"]
