import pytest

from prefmover import datasets
from prefmover.errors import InputError
from prefmover.evaluation import evaluate
from prefmover.evaluation.peers import SurpriseRecommender
from tests.messages import names


def test_peers_on_the_same_splits():
    pytest.importorskip("surprise")
    cinema = datasets.load("cinema")
    recommenders = ["user-mean", "surprise:SVD", "surprise:KNNWithMeans", "surprise:BaselineOnly"]
    first = evaluate(cinema, recommenders, train=0.1)
    again = evaluate(cinema, recommenders, train=0.1)
    errors = {record.method: record.mae[0] for record in first}
    assert errors == {record.method: record.mae[0] for record in again}
    assert {record.kind for record in first} == {"control", "peer"}
    assert errors["BaselineOnly"] < errors["user-mean"]


def test_unknown_peers():
    with pytest.raises(InputError, match=names("'svd'", "SVD")):
        SurpriseRecommender("svd")
