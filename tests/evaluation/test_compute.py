import numpy as np
import pytest

from prefmover import datasets
from prefmover.errors import InputError
from prefmover.evaluation import evaluate
from tests.messages import names


class Wrong:
    def __init__(self, answer):
        self.answer = answer

    def fit(self, data):
        pass

    def predict(self, pairs):
        return self.answer(len(pairs))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.zeros(n - 1), names("Wrong")),
        (lambda n: [None] * (n - 1) + [float("nan")], names("Wrong", "user", "item")),
        (lambda n: ["good"] * n, names("Wrong")),
        (lambda n: None, names("Wrong")),
    ],
)
def test_wrong_predictions_are_named(answer, message):
    with pytest.raises(InputError, match=message):
        evaluate(datasets.load("cinema"), Wrong(answer), task="rating")
