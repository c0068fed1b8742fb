"""Recommender: the contract with every measure, and its own parameters."""

import pytest

from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.measures import MEASURES
from prefmover.model import Recommender
from prefmover.predict import Covariance
from tests.contracts.model import ModelContract
from tests.messages import names


class KernelContract(ModelContract):
    def test_contributions_are_weight_times_residual(self, model, pairs):
        for user, item in pairs[::9]:
            why = model.explain_recommendation(user, item, by="rating")
            assert min(max(why.total, 1), 5) == why.prediction.rating  # the user's part has the rounding
            for part in why.contributions:
                assert part.value != 0
                assert part.value == pytest.approx(part.weight * part.residual, abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES, scope="class")
class TestMeasures(KernelContract):
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, data, measure):
        return Recommender(measure).fit(data)


class TestFewLandmarks(KernelContract):
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, data):
        return Recommender(landmarks=9).fit(data)


class TestWithoutGeometry(KernelContract):
    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, data):
        return Recommender("jmsd").fit(Dataset(data.ratings))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"landmarks": True}, "landmarks"),
        ({"landmarks": 0}, names("landmarks", 0)),
        ({"measure": "pdm"}, names("'pdm'", "'pmd'")),
        ({"convention": "mine"}, "mine"),
        ({"weight": "linear"}, "linear"),
        ({"covariance": {"item": 1}}, names("covariance", "Covariance")),
    ],
)
def test_bad_parameters(data, parameters, message):
    model = Recommender(**parameters)  # no work, and no complaint, before fit
    with pytest.raises(InputError, match=message):
        model.fit(data)


@pytest.mark.parametrize("name", ["k", "centering", "neighborhood", "shrinkage"])
def test_parameters_of_the_other_model_do_not_exist(name):
    with pytest.raises(TypeError, match=name):
        Recommender(**{name: 1})


def test_settings(data):
    model = Recommender(weight="exponential(2)").fit(data)
    chosen = {name: model.settings_[name] for name in ("weight", "covariance")}
    assert chosen == {"weight": "exponential(2)", "covariance": Covariance()}
    assert Recommender().fit(data).settings_["weight"] == "exponential(2.5)"
    assert Recommender("cos").fit(data).settings_["weight"] == "as-is"
