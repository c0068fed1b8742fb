"""KNNRecommender: the contract with every measure and variant, and the paper's example by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.dataset import Dataset
from prefmover.measures import MEASURES
from prefmover.model import KNNRecommender
from prefmover.paper.table_1 import table_1
from tests.contracts.model import ModelContract

MODELS = [KNNRecommender.paper(measure, k=5) for measure in MEASURES]
MODELS += [
    KNNRecommender(neighborhood="global", k=8),
    KNNRecommender(centering="z-score"),
    KNNRecommender(centering="none"),
    KNNRecommender(centering="baseline", shrinkage=1.5),
]


class TestKNN(ModelContract):
    @pytest.fixture(scope="class", params=MODELS, ids=repr)
    @classmethod
    def model(cls, request, data):
        return request.param.fit(data)


def test_table_1_by_hand():
    """The example that docs/guide/predictions.md works out."""
    model = KNNRecommender.paper().fit(table_1().data())
    p = model.predict_one("u1", "Bat Man")
    # u1: 5/10 Iron Man, 2/10 Spider Man, 3/10 Titanic. u2 has Bat Man for Iron Man. u4: a third each hero.
    to_u2 = 0.5 * np.arccos(0.8)
    to_u4 = 1 / 6 * np.arccos(0.8) + 0.3 * np.arccos(0.3)
    w = np.exp(-4 * np.array([to_u2, to_u4]))
    assert p.rating == pytest.approx(10 / 3 + (w[0] * (5 - 10 / 3) + w[1] * 0) / w.sum(), abs=1e-6)
    assert p.rating == pytest.approx(4.433, abs=5e-4)
    why = model.explain_rating("u1", "Bat Man")
    assert {part.user: part.rating for part in why.contributions} == {"u2": 5, "u4": 5}
    assert [part.measure_value for part in why.contributions] == pytest.approx([to_u2, to_u4], abs=1e-6)


def test_settings(data):
    assert KNNRecommender().fit(data).settings_ == {"weight": "exponential(4)", "k": 40, "shrinkage": 0.0}
    assert KNNRecommender.paper("cos", 7).fit(data).settings_["k"] == 7
    assert KNNRecommender.paper().centering == "mean"


def test_one_rating_is_not_the_best_of_the_world():
    """Half-star ratings: an item that one user gave the highest rating is not ranked above known ones."""
    rng = np.random.default_rng(3)
    n_users, n_items = 60, 40
    dense = np.zeros((n_users, n_items + 20))
    for u in range(n_users):
        seen = rng.choice(n_items, 15, replace=False)
        dense[u, seen] = rng.integers(4, 10, 15) / 2
        if u < 20:
            dense[u, n_items + u] = 5.0  # rated once, by this user
    ratings = Ratings.from_csr(csr_array(dense), scale=Scale(0.5, 5, 0.5))
    for model in (KNNRecommender("cos"), KNNRecommender.paper("cos")):
        model.fit(Dataset(ratings))
        for best in model.recommend_all(10):
            assert min(one.n_ratings for one in best) > 1
        rare = [one.n_ratings for best in model.recommend_all(3, by="rating") for one in best]
        assert min(rare) == 1, "expected ratings favor what few people know"
