"""Recommender: the contract with every measure, and its own parameters."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.measures import MEASURES
from prefmover.model import Recommender
from prefmover.model.storage import fitted_arrays, fitted_facts, restored
from prefmover.predict import RatingSettings
from prefmover.rank import RankingSettings
from tests.contracts.model import ModelContract
from tests.predict.conftest import make_data

MODELS = {measure: Recommender(measure) for measure in MEASURES}
MODELS |= {"few landmarks": Recommender(landmarks=9), "no geometry": Recommender("jmsd")}


class TestKernel(ModelContract):
    @pytest.fixture(scope="class", params=MODELS)
    @classmethod
    def model(cls, request, data):
        bare = request.param == "no geometry"
        return MODELS[request.param].fit(Dataset(data.ratings) if bare else data)

    def test_contributions_are_weight_times_residual(self, model, pairs):
        for user, item in pairs[::9]:
            why = model.explain_rating(user, item)
            assert min(max(why.total, 1), 5) == why.prediction.rating  # the user's part has the rounding
            for part in why.contributions:
                assert part.value != 0
                assert part.value == pytest.approx(part.weight * part.residual, abs=1e-12)


def test_a_fit_keeps_blas_on_one_thread(data):
    threads = []

    def progress(done, total):
        libraries = [one for one in threadpool_info() if one["user_api"] == "blas"]
        threads.extend(one["num_threads"] for one in libraries if done < total)

    with threadpool_limits(2, user_api="blas"):
        before = {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}
        Recommender().fit(data, progress=progress)
        assert before == {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}
    assert set(threads) == ({1} if before else set())


def test_settings(data):
    model = Recommender(rating=RatingSettings("exponential(2)")).fit(data)
    assert model.settings_["rating"] == RatingSettings("exponential(2)")
    for measure, rule in (("pmd", "exponential(2.5)"), ("cos", "as-is")):
        settings = Recommender(measure).fit(data).settings_
        assert str(settings["rating"].weight) == settings["ranking"].weight == rule


def test_held_out_ratings_do_not_reach_the_geometry():
    data, given = make_data(5, n_users=150, n_items=30, per_user=24), []

    def geometry(ratings):
        given.append(ratings.n_ratings)
        return data.geometry

    Recommender().fit(Dataset(data.ratings, geometry))
    held_out = [n for n in given if n < data.ratings.n_ratings]
    assert len(held_out) == len(given) - 1 > 0  # one for the fit, the others without the held-out ratings


def test_a_stored_calibration_of_another_length_is_refused(tmp_path):
    data = make_data(5, n_users=160, n_items=30)
    model = Recommender(ranking=RankingSettings()).fit(data)
    facts, arrays = fitted_facts(model), fitted_arrays(model)
    facts["calibration"]["coefficients"] = facts["calibration"]["coefficients"][:3]
    with pytest.raises(InputError, match="calibration"):
        restored(model.similarity_, model.settings_, facts, arrays)
