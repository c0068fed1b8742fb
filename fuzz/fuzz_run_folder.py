"""Damaged folders of experiments: settings and records, and the results made of them."""

import gzip
import json
import tempfile
from pathlib import Path

import oracle

oracle.load()

from fuzz_model import tampered

from prefmover.evaluation.folder import RunFolder
from prefmover.report.results import Results

CUT = b"\x00\x00"
RECORD = {
    "dataset": "cinema",
    "geometry": "g",
    "protocol": "random",
    "share": 0.8,
    "repeat": 0,
    "seed": 0,
    "stratify": "",
    "n_train": 8,
    "n_test": 2,
    "new_users": 0,
    "new_items": 0,
    "recommender": "knn:pmd",
    "method": "pmd",
    "label": "PMD",
    "kind": "measure",
    "convention": "published",
    "task": "rating",
    "settings": {"weight": "as-is"},
    "cuts": [5, 10],
    "metrics": {"mae": [0.7, 0.6], "rmse": [0.9, 0.8], "coverage": [1.0, 1.0], "neighbors": [4.0, 8.0]},
    "groups": {"n": [1] * 20, "sums": [[0.5] * 20, [0.4] * 20]},
    "run": {"seconds": 1.0, "solved": 3, "threads": 1, "versions": {"python": "3.11"}},
}
SETTINGS = {
    "format": 3,
    "settings": {"dataset": "cinema", "recommenders": ["knn:pmd"], "ks": [5, 10]},
    "data": {"ratings": "x", "distances": "y", "geometry": "g"},
}


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    settings, record = json.dumps(SETTINGS).encode(), json.dumps(RECORD).encode()
    kind = choices.below(4)
    if kind == 0:
        settings, _, record = choices.rest().partition(CUT)
    elif kind == 1:
        settings = json.dumps(tampered(SETTINGS, choices)).encode()
    else:
        record = json.dumps(tampered(RECORD, choices)).encode()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "experiment.json").write_bytes(settings)
        Path(folder, "records.jsonl.gz").write_bytes(gzip.compress(record))
        run = RunFolder(folder)
        content = run.content()
        Results(run.records().values(), content.settings, content.data)


def seeds() -> list[bytes]:
    whole = json.dumps(SETTINGS).encode() + CUT + json.dumps(RECORD).encode()
    return [b"\x00" + whole, *(bytes((kind, *range(k, k + 8))) for kind in (1, 2) for k in (0, 30, 60))]


if __name__ == "__main__":
    oracle.main("run_folder", target, seeds())
