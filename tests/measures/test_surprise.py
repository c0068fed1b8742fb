"""COS, PCC and MSD against Surprise, where the definitions coincide.

=========  ===================================================  =====================================
           Surprise                                             here
=========  ===================================================  =====================================
cosine     0 without a co-rated item; 1 on the diagonal         undefined; 1
pearson    0 where undefined; co-rated means                    undefined; convention co-rated-means
msd        1 / (1 + mean squared difference), in rating units   a distance, as a share of the scale
=========  ===================================================  =====================================

So values are compared where ours are defined, and Surprise must say 0 where ours are not.
"""

import numpy as np
import pytest

from prefmover import Dataset, Ratings, Scale, pairwise
from prefmover.data.file_options import FileOptions


def check(data):
    surprise = pytest.importorskip("surprise.similarities", reason="needs the extra 'peers'")
    ratings = data.ratings
    columns = ratings.matrix.tocsc()
    raters = {
        i: [
            (int(columns.indices[e]), float(columns.data[e]))
            for e in range(columns.indptr[i], columns.indptr[i + 1])
        ]
        for i in range(ratings.n_items)
    }
    off = ~np.eye(ratings.n_users, dtype=bool)
    width = ratings.scale.highest - ratings.scale.lowest
    for ours, theirs in (
        (pairwise(data, "cos"), surprise.cosine),
        (pairwise(data, "pcc", convention="co-rated-means"), surprise.pearson),
        (1 / (1 + pairwise(data, "msd") * width**2), surprise.msd),
    ):
        expected = theirs(ratings.n_users, raters, 1)
        defined = ~np.isnan(ours)
        np.testing.assert_allclose(ours[defined & off], expected[defined & off], rtol=1e-9, atol=1e-9)
        assert (expected[~defined & off] == 0).all()


def test_synthetic(big_world):
    check(big_world[0])


@pytest.mark.real_data
def test_movielens_100k(real_data):
    path = real_data / "ml-100k" / "u.data"
    check(Dataset(Ratings.read(path, FileOptions(user=0, item=1, rating=2, scale=Scale(1, 5, 1)))))
