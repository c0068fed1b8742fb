"""Experiments in TOML, and short texts for numbers of neighbors and shares."""

import tempfile
from pathlib import Path

import oracle

oracle.load()

from prefmover.evaluation.experiment import Experiment, parse_ks, parse_shares


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    kind = choices.below(4)
    if kind == 2:
        assert all(k >= 1 for k in parse_ks(choices.rest().decode("utf-8", "replace")))
    elif kind == 3:
        assert all(0 < share < 1 for share in parse_shares(choices.rest().decode("utf-8", "replace")))
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "experiment.toml")
            path.write_bytes(choices.rest())
            experiment = Experiment.read(path)
            assert Experiment(**experiment.model_dump()) == experiment
            path.write_text(experiment.to_toml(), encoding="utf-8")
            assert Experiment.read(path) == experiment


def seeds() -> list[bytes]:
    return [
        (
            b'\x00dataset = "cinema"\nrecommenders = "knn:pmd,knn:jmsd"\ntrain = [0.1, 0.8]\n'
            b'ks = "5:60:5"\nrepeats = 2\n'
        ),
        (
            b'\x00dataset = "ml-100k"\nprotocol = "k-fold"\nks = [5, 10]\n[[panels]]\nname = "a"\n'
            b'over = "k"\ntrain = [0.8]\nks = [5, 10]\n'
        ),
        b'\x00dataset = "x"\nshrinkage = 1e3\nseed = -0\ntop_n = 1_0\nrecommenders = ["controls"]\n',
        b"\x021, 5:20:5",
        b"\x03.1, 4:1, 1:9",
    ]


if __name__ == "__main__":
    oracle.main("settings", target, seeds())
