"""Surprise's KNNWithMeans on the same split of MovieLens-100K, where the definitions coincide.

They coincide for: mean-centered, K nearest among the raters of the item, Surprise's own turn of the measure
into a weight (below). Surprise takes neighbors of similarity 0 (undefined included) or less into the K but
lets them say nothing; weights cut off at 0 do the same. Ties of similarity at the K-th place are resolved
differently, so pairs are compared where K reaches all raters, and otherwise counted.
"""

import numpy as np
import pytest

from prefmover.measures.weights import Weight
from prefmover.model import UserKNN

pytestmark = pytest.mark.real_data

TURNS = {
    "msd": ("msd", None, lambda D: 1 / (1 + 16 * D)),
    "cosine": ("cos", None, lambda s: s),
    "pearson": ("pcc", "co-rated-means", lambda s: np.maximum(s, 0)),
}


@pytest.fixture(scope="module")
def split(real_data):
    from prefmover import datasets
    from prefmover.data.splits import random_split

    whole = datasets.load("ml-100k").ratings
    return random_split(whole.take(users=np.arange(0, whole.n_users, 3)), 0.8, seed=1)


@pytest.mark.parametrize("name", TURNS)
@pytest.mark.parametrize("k", [40, 1000])
def test_predictions_agree(split, name, k):
    surprise = pytest.importorskip("surprise")
    measure, convention, turn = TURNS[name]
    model = UserKNN.paper(measure, k, weight=Weight(name, turn), convention=convention).fit(split.train)
    mine = model.predictor_.answer(split.users, split.items)

    frame = split.train.to_frame()
    columns = (frame[c].to_pylist() for c in ("user", "item", "rating"))
    rows = [(u, i, r, None) for u, i, r in zip(*columns, strict=True)]
    train = surprise.Dataset(surprise.Reader(rating_scale=(1, 5))).construct_trainset(rows)
    algorithm = surprise.KNNWithMeans(k=k, sim_options={"name": name}, verbose=False)
    algorithm.fit(train)
    users, items = split.train.users[split.users].tolist(), split.train.items[split.items].tolist()
    theirs = [algorithm.predict(u, i, clip=False) for u, i in zip(users, items, strict=True)]

    possible = np.array([not p.details["was_impossible"] for p in theirs])
    estimate = np.array([p.est for p in theirs])
    assert possible.mean() > 0.9
    off = np.abs(mine.values - estimate)[possible]
    if k == 1000:  # everybody speaks: no ties to resolve
        assert off.max() < 1e-9
    else:
        assert (off < 1e-9).mean() > 0.95
        assert np.median(off) < 1e-12
