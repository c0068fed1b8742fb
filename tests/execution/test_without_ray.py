"""Ray is optional: without it everything else imports and works."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import importlib, pkgutil, sys
sys.modules["ray"] = None  # importing it raises ImportError

import prefmover as pm
for module in pkgutil.walk_packages(pm.__path__, "prefmover."):
    if module.name.rpartition(".")[2] != "__main__":
        importlib.import_module(module.name)
for name in pm.__all__:
    getattr(pm, name)

from prefmover.errors import MissingExtraError
data = pm.datasets.synthetic(60, 40, ratings=(3, 9))
neighbors = pm.nearest(data, k=3)
assert (pm.nearest(data, k=3, executor="threads").values == neighbors.values).all()
pm.within(data, 0.5)
for model in (pm.Recommender(), pm.KNNRecommender()):
    model.fit(data).recommend(0, 3)

from tempfile import TemporaryDirectory
from prefmover.evaluation import Experiment, run_experiment
small = Experiment(dataset="cinema", recommenders="knn:jaccard, bias", task="rating", repeats=1, ks=(5,))
with TemporaryDirectory() as folder:
    assert len(run_experiment(small, folder)) == 2
try:
    pm.nearest(data, k=3, executor="ray")
except MissingExtraError as error:
    print(error)
from prefmover.cli import main
main(["neighbors", "--dataset", "cinema", "--all", "--out", sys.argv[1], "--executor", "ray"])
"""


def test_everything_else_works(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path / "out.csv")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("Ray is not installed: pip install "), done.stderr
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("prefmover: error: Ray is not installed")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.csv").exists()
