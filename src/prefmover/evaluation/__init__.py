"""Experiments: any recommenders on the same splits, with records that survive a kill.

::

    Experiment ── run.py ──┬── a split ── training data (a Dataset)
    (experiment.py)        ├── each recommender: fit, predict     recommenders.py, baselines.py, peers.py
                           └── a Record (record.py, metrics.py) in the folder of the run (folder.py)
"""

from prefmover.evaluation.experiment import Experiment, Panel
from prefmover.evaluation.record import Record

__all__ = ["Experiment", "Panel", "Record"]
