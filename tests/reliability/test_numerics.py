"""Numbers at the edges: vectors of every type and size, many items, long rows, many users."""

import numpy as np
import pytest

import prefmover as pm
from prefmover import Dataset, InputError, ItemGeometry, Ratings
from tests.messages import names

IDS = [1, 2, 3]
PLAIN = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
ANGLES = ItemGeometry.from_vectors(IDS, PLAIN).block()


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.int64, np.uint8, np.bool_]
)
def test_vectors_of_every_real_type(dtype):
    vectors = PLAIN.astype(dtype)
    expected = ItemGeometry.from_vectors(IDS, vectors.astype(np.float64)).block()
    assert (ItemGeometry.from_vectors(IDS, vectors).block() == expected).all()


@pytest.mark.parametrize("dtype", [np.complex128, object, "U5", "datetime64[s]"])
def test_vectors_of_no_real_type(dtype):
    with pytest.raises(InputError):
        ItemGeometry.from_vectors(IDS, PLAIN.astype(np.int64).astype(dtype))


@pytest.mark.parametrize("size", [5e-324, 2.0**-1060, 1e-308, 1e-30, 1.0, 1e30, 1e300, 1.7e308 / 2])
def test_the_length_of_vectors_does_not_matter(size):
    found = ItemGeometry.from_vectors(IDS, PLAIN * size).block()
    assert np.abs(found - ANGLES).max() <= 2.0**-25


def test_cosines_a_hair_above_one():
    # Parallel vectors whose cosine comes out as 1.0000000000000002, and float32 matrices that exceed 1.
    rng = np.random.default_rng(0)
    base = rng.normal(size=(50, 7))
    both = np.vstack([base, base * rng.uniform(0.1, 9, size=(50, 1))])
    unit = both / np.linalg.norm(both, axis=1, keepdims=True)
    assert (unit @ unit.T).max() > 1
    D = ItemGeometry.from_vectors(np.arange(100), both).block()
    assert np.isfinite(D).all()
    assert np.diagonal(D[:50, 50:]).max() <= 2.0**-24
    S = np.clip((unit @ unit.T).astype(np.float32), 0, None)
    S = np.maximum(S, S.T)
    S[0, 50] = S[50, 0] = np.float32(1.0000001)
    assert np.isfinite(ItemGeometry.from_similarity(np.arange(100), S).block()).all()
    S[0, 50] = S[50, 0] = 1.001
    with pytest.raises(InputError):
        ItemGeometry.from_similarity(np.arange(100), S)


def random_ratings(n_users, n_items, per_user, seed=0):
    rng = np.random.default_rng(seed)
    users = np.repeat(np.arange(n_users), per_user)
    first = rng.integers(0, n_items, size=n_users)
    step = rng.integers(1, n_items // per_user, size=n_users)
    items = (first[:, None] + step[:, None] * np.arange(per_user)).ravel() % n_items
    return Ratings.from_arrays(users, items, rng.integers(1, 6, users.size))


def geometry_of(n_items, seed=0, **options):
    vectors = np.random.default_rng(seed).normal(size=(n_items, 8))
    return ItemGeometry.from_vectors(np.arange(n_items), vectors, **options)


def test_a_hundred_thousand_items_are_not_made_dense():
    geometry = geometry_of(100_000)
    assert geometry.grid is None
    assert geometry.near(5, n=3)[0][1] > 0
    ratings = random_ratings(30, 100_000, 5)
    lazy = geometry.take(ratings.items)
    dense = ItemGeometry.from_vectors(ratings.items, geometry.vectors[ratings.items])
    assert lazy.grid is None
    assert dense.grid is not None
    found, expected = pm.nearest(Dataset(ratings, lazy), k=3), pm.nearest(Dataset(ratings, dense), k=3)
    assert found.values.tolist() == expected.values.tolist()
    assert found.neighbors.tolist() == expected.neighbors.tolist()


def test_more_items_than_a_matrix_of_distances_takes():
    data = Dataset(random_ratings(20, 25_000, 3), geometry_of(25_000))
    assert data.geometry.grid is None  # distances are made from vectors when they are needed
    model = pm.Recommender(n_threads=1).fit(data)
    best = model.recommend(0, 3)
    assert len(best) == 3
    assert np.isfinite([one.score for one in best]).all()


def one_long_row(n_long):
    users = np.concatenate([np.zeros(n_long, np.int64), np.repeat([1, 2, 3], 4)])
    items = np.concatenate([np.arange(n_long), np.tile([3, 5, 7, 11], 3)])
    values = np.concatenate([1 + np.arange(n_long) % 5, [5, 1, 2, 3, 4, 4, 1, 1, 2, 5, 5, 1]])
    return Ratings.from_arrays(users, items, values)


def test_one_user_with_two_thousand_ratings():
    data = Dataset(one_long_row(2_000), geometry_of(2_000))
    found = pm.nearest(data, k=3, users=[0])
    distances = {other: pm.pmd(data, 0, other).distance for other in (1, 2, 3)}
    assert found.values.tolist() == sorted(distances.values())


@pytest.mark.slow
def test_one_user_with_fifty_thousand_ratings(monkeypatch):
    # One pair can be solved. A search would hold 50,000 x 50,000 distances, which is refused beforehand.
    data = Dataset(one_long_row(50_000), geometry_of(50_000))
    found = pm.pmd(data, 0, 1)
    assert 0 < found.distance < np.pi / 2
    monkeypatch.setenv("PREFMOVER_MEMORY", "4G")
    with pytest.raises(InputError, match=names("50,000")):
        pm.nearest(data, k=2, users=[0])


@pytest.mark.slow
@pytest.mark.parametrize("n_users", [20_000, 1_000_000])
def test_very_many_users_with_two_ratings(n_users):
    data = Dataset(random_ratings(n_users, 500, 2), geometry_of(500))
    found = pm.nearest(data, k=3, users=[0, n_users // 2, n_users - 1])
    some = np.random.default_rng(1).choice(n_users, 50, replace=False)
    for row, user in enumerate((0, n_users // 2, n_users - 1)):
        worst = found.values[found.indptr[row + 1] - 1]
        for other in some[some != user][:10].tolist():
            listed = other in found.neighbors[found.indptr[row] : found.indptr[row + 1]]
            assert listed or pm.pmd(data, user, other).distance >= worst
