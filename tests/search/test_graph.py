"""The sparse graph, in the real scikit-learn."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors

from prefmover import Dataset, ItemGeometry, Ratings
from prefmover.errors import InputError
from prefmover.measures import pairwise
from prefmover.search import nearest, within


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 9, 60)
    users = np.repeat([f"u{k:02d}" for k in range(60)], lengths)
    items = np.concatenate([rng.choice(30, n, replace=False) for n in lengths])
    ratings = Ratings.from_arrays(users, items, rng.integers(1, 6, users.size))
    geometry = ItemGeometry.from_vectors(ratings.items, rng.random((ratings.n_items, 5)) ** 3)
    return Dataset(ratings, geometry)


def test_rows_are_sorted_and_start_with_oneself(data):
    graph = nearest(data, 6).to_graph()
    assert graph.shape == (60, 60)
    assert graph.nnz == 60 * 7
    rows = graph.data.reshape(60, 7)
    assert (np.diff(rows) >= 0).all()
    np.testing.assert_array_equal(graph.indices.reshape(60, 7)[:, 0], np.arange(60))
    assert nearest(data, 6).to_graph(include_self=False).nnz == 60 * 6


def test_neighbors_of_the_graph_are_those_of_the_matrix(data):
    D = pairwise(data)
    dense = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(D)
    sparse = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(nearest(data, 6).to_graph())
    expected, _ = dense.kneighbors()
    found, _ = sparse.kneighbors()
    np.testing.assert_array_equal(found, expected)


def test_dbscan_of_a_radius_graph_is_that_of_the_matrix(data):
    eps = 0.45
    expected = DBSCAN(eps=eps, min_samples=3, metric="precomputed").fit_predict(pairwise(data))
    graph = within(data, eps).to_graph()
    found = DBSCAN(eps=eps, min_samples=3, metric="precomputed").fit_predict(graph)
    np.testing.assert_array_equal(found, expected)
    assert len(set(expected.tolist())) > 1


def test_tsne_takes_the_graph(data):
    graph = nearest(data, 19).to_graph()
    flat = TSNE(perplexity=5, metric="precomputed", init="random", random_state=0, max_iter=250)
    assert np.isfinite(flat.fit_transform(graph)).all()


def test_a_few_queries_make_a_few_rows(data):
    users, items = data.ratings.users, data.ratings.items
    graph = nearest(data, 3, users=users[[5, 2]]).to_graph()
    assert graph.shape == (2, 60)
    assert graph.indices[[0, 4]].tolist() == [5, 2]
    new = Ratings.from_arrays(["new"], items[:1], [5])
    assert nearest(data, 3, new=new).to_graph().nnz == 3
    same_id = data.ratings.take(users=[4])
    assert nearest(data, 3, new=same_id).to_graph().nnz == 3


def test_similarities_are_no_graph_of_distances(data):
    with pytest.raises(InputError, match="similarity"):
        nearest(data, k=2, measure="jaccard").to_graph()
