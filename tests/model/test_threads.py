"""Threads share one fitted model, as a service does: all get the answers of one thread alone."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from prefmover import datasets
from prefmover.model import KNNRecommender, Recommender
from prefmover.rank import RankingSettings


@pytest.fixture
def switching_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def answers(model, user):
    """Everything that a model computes for a user and for a guest with the same ratings."""
    rated = model.data_.ratings[user]
    guest = model.guest(dict(list(rated.items())[:5]), name=f"guest of {user}")
    best = model.recommend(user, 3)
    return (
        best.to_dict(),
        model.recommend(guest, 3).to_dict(),
        model.recommend(model.without(user, list(rated)[:2]), 3).to_dict(),
        [(one.user, one.value) for one in model.neighbors(user, 3)],
        [(one.user, one.value) for one in model.neighbors(guest, 3)],
        model.explain_recommendation(user, best[0].item).to_dict(),
        model.predict_one(guest, best[0].item).rating,
    )


@pytest.mark.parametrize(
    "model", [Recommender(ranking=RankingSettings(), n_threads=1), KNNRecommender(k=5, n_threads=1)], ids=type
)
@pytest.mark.usefixtures("switching_often")
def test_threads_get_the_answers_of_one(model):
    cinema = datasets.load("cinema")
    model.fit(cinema.with_ratings(cinema.ratings.take(users=range(160))))  # so many are estimated
    users = model.data_.ratings.users[:12].tolist()
    with ThreadPoolExecutor(16) as pool:  # first, so that nothing is computed beforehand
        shared = list(pool.map(lambda user: answers(model, user), users * 2))
    alone = [answers(model, user) for user in users]
    assert shared == alone * 2


@pytest.mark.parametrize("model", [Recommender(ranking=RankingSettings()), KNNRecommender(k=5)], ids=type)
def test_answers_do_not_make_pickles_larger(model):
    cinema = datasets.load("cinema")
    model.fit(cinema.with_ratings(cinema.ratings.take(users=range(160))))
    before = pickle.dumps(model)
    shown = answers(model, model.data_.ratings.users.tolist()[0])
    after = pickle.dumps(model)
    assert len(after) < 1.1 * len(before)  # the data keep their masses; no index, no lists
    assert answers(pickle.loads(after), model.data_.ratings.users.tolist()[0]) == shown
