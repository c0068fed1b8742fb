"""Experiments: splits, predictions for every K at once, figures of merit, records that survive a kill.

::

    Experiment ─ runner.py ──┬─ a split (splits.py) ─ Task            protocol.py
    (experiment.py)          ├─ each method: Predictions, all K       protocol.py, controls.py, peers.py
                             └─ scores ─ a cell in the run's folder   metrics.py, records.py, folder.py
"""

from prefmover.evaluation.experiment import Experiment, Panel
from prefmover.evaluation.folder import RunFolder
from prefmover.evaluation.protocol import CONTROLS, Method, Predictions, Task, predict
from prefmover.evaluation.run import run_experiment

__all__ = [
    "CONTROLS",
    "Experiment",
    "Method",
    "Panel",
    "Predictions",
    "RunFolder",
    "Task",
    "predict",
    "run_experiment",
]
