import json

import pytest

from prefmover.errors import InputError
from prefmover.evaluation import Record
from prefmover.evaluation.record import record_key
from tests.messages import names

METRICS = {"mae": [0.7, 0.6], "rmse": [0.9, 0.8], "coverage": [1.0, 1.0], "neighbors": [4.0, 8.0]}
FIELDS = {
    "dataset": "cinema",
    "geometry": "genres",
    "protocol": "random",
    "share": 0.8,
    "repeat": 1,
    "seed": 1,
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
    "cuts": [5, 10],
    "metrics": METRICS,
    "groups": {"n": [1, 1], "sums": [[0.5, 0.5], [0.4, 0.5]]},
    "run": {"seconds": 1.5, "solved": 3, "threads": 1, "versions": {"python": "3.11"}},
}


def test_records_survive_json():
    record = Record(**FIELDS)
    assert Record(**json.loads(record.model_dump_json())) == record
    assert record.key == "0.8-1-knn.pmd"
    assert (record.column(10), record.column(7)) == (1, None)
    assert record.run.seconds == 1.5


def test_rows_are_flat():
    first, second = Record(**FIELDS).rows()
    assert (first["k"], first["mae"], first["task"], first["seconds"]) == (5, 0.7, "rating", 1.5)
    assert (second["k"], second["mae"]) == (10, 0.6)
    assert not any(isinstance(value, dict | tuple | list) for value in first.values())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": METRICS | {"mae": [0.5]}}, names("'metrics.mae'")),
        ({"metrics": METRICS | {"mae": "low"}}, names("mae", "'low'")),
        ({"metrics": {"mae": [0.7, 0.6]}}, names("metrics", "rmse")),
        ({"task": "ranking"}, names("metrics", "ndcg")),
        ({"share": 1.5}, names("share", 1.5)),
        ({"kind": "other"}, names("kind", "'other'")),
        ({"extra": 1}, names("'extra'")),
        ({"run": {}}, names("run", "seconds")),
        ({"groups": {"n": [1], "sums": [[1.0]]}}, names("groups.sums")),
        ({"groups": {"n": [1, 1], "sums": [[1.0], [1.0]]}}, names("groups.sums")),
    ],
)
def test_bad_records(changes, message):
    with pytest.raises(InputError, match=message):
        Record(**{**FIELDS, **changes})


def test_keys_are_file_names():
    labels = ["object:KNN(k=3)", "object:KNN(k=4)", "object:" + "x" * 300, "object:../../etc"]
    keys = {record_key("random", 0.5, 0, label) for label in labels}
    assert len(keys) == len(labels)
    assert all(len(key) < 120 and "/" not in key and ":" not in key for key in keys)
