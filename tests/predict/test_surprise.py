"""Surprise's KNNWithMeans on the same split of MovieLens-100K, where the definitions coincide.

They coincide for residuals from users' means, the K nearest among the raters of the item, and Surprise's
rules that turn values into weights (below). Surprise counts neighbors of similarity 0 (or undefined) or less
among the K but gives them no weight; weights clipped at 0 do the same. Ties of similarity at rank K are
resolved differently, so all pairs are compared where K reaches all raters, and most pairs otherwise.
"""

import numpy as np
import pytest

from prefmover.dataset import Dataset
from prefmover.measures import Weight
from prefmover.model import KNNRecommender

pytestmark = pytest.mark.real_data

RULES = {
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


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("k", [40, 1000])
def test_predictions_agree(split, name, k):
    surprise = pytest.importorskip("surprise")
    measure, convention, rule = RULES[name]
    model = KNNRecommender.paper(measure, k, weight=Weight(name, rule), convention=convention)
    mine = model.fit(Dataset(split.train)).predictor_.predict(split.users, split.items)

    frame = split.train.to_arrow()
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
    if k == 1000:  # all raters are neighbors: no ties to resolve
        assert off.max() < 1e-9
    else:
        assert (off < 1e-9).mean() > 0.95
        assert np.median(off) < 1e-12
