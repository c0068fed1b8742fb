"""Models of many items: vectors alone, a head and a tail of items, fewer directions, loaded by mapping."""

import tracemalloc

import numpy as np
import pytest

from prefmover import Dataset, ItemGeometry, Ratings, Recommender
from prefmover.errors import InputError
from prefmover.model import folder, storage
from prefmover.predict import solver
from prefmover.rank import RankingSettings, item_side
from prefmover.rank.item_side import SimilarItems
from tests.messages import names


def vectors(n, d=6, zeros=0):
    rng = np.random.default_rng(1)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.6)
    X[rng.choice(n, zeros, replace=False)] = 0.0
    return X


def both(X):
    """The same geometry, dense and from vectors on demand."""
    ids = np.arange(len(X))
    return [ItemGeometry.from_vectors(ids, X, zero="far", budget=budget) for budget in (2**30, 0)]


@pytest.fixture(scope="module")
def data():
    """260 users, 90 items, of which the last 10 have no ratings; no dense distances."""
    rng = np.random.default_rng(3)
    likely = 1 / np.arange(3, 83)
    rows = [
        (u, i)
        for u in range(260)
        for i in rng.choice(80, rng.integers(5, 30), replace=False, p=likely / likely.sum())
    ]
    users, items = np.array(rows).T
    ratings = Ratings.from_arrays(users, items, rng.integers(1, 6, len(rows)))
    return Dataset(ratings, ItemGeometry.from_vectors(np.arange(90), vectors(90), zero="far", budget=0))


@pytest.mark.parametrize("k", [1, 4, 70])
def test_nearest_items_from_vectors_are_those_of_the_dense_matrix(k):
    X = vectors(150, zeros=40)
    X[20:30] = X[10:20]  # ties
    dense, lazy = both(X)
    rows, columns = np.arange(0, 150, 2), np.arange(1, 150, 2)
    for some in (columns, np.arange(150)):
        expected, found = dense.nearest(rows, some, k), lazy.nearest(rows, some, k)
        assert (found[0] == expected[0]).all()
        assert (found[1] == expected[1]).all()


def test_nothing_is_as_large_as_all_pairs_of_items():
    n = 10_000
    tracemalloc.start()
    geometry = ItemGeometry.from_vectors(np.arange(n), vectors(n, zeros=7_500), zero="far")
    SimilarItems.fit(np.arange(0, n, 20), geometry)  # most items have neither ratings nor a vector
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert geometry.grid is None
    assert peak < n**2 / 4  # bytes; the distances would take 4 n²


def test_a_head_of_few_items_ranks_about_as_the_whole(data, monkeypatch):
    whole = Recommender(ranking=RankingSettings()).fit(data)
    monkeypatch.setattr(item_side, "MAX_HEAD", 30)
    some = Recommender(ranking=RankingSettings()).fit(data)
    assert len(np.unique(some.ranker_.item_side.matrix.nonzero()[0])) <= 30
    a, b = (model.ranker_.block(np.arange(260)).total for model in (whole, some))
    assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > 0.9
    state = some._state(data.ratings.users[0].item())
    parts = some.ranker_.terms(state, np.arange(90), np.arange(260))
    assert parts.item_terms.sum(axis=0) + parts.user_terms.sum(axis=0) == pytest.approx(b[0], abs=1e-3)


def test_fewer_directions_predict_about_the_same(data, monkeypatch):
    pairs = [(u, i) for u in range(0, 260, 5) for i in range(0, 90, 7)]
    settings = {"ranking": RankingSettings()}
    whole = Recommender(**settings).fit(data).predict(pairs).ratings
    monkeypatch.setattr(solver, "LARGE", 100)
    monkeypatch.setattr(solver, "LARGE_RANK", 40)
    model = Recommender(**settings).fit(data)
    assert model.predictor_.kernel.rank == model.predictor_.items.rank == 40
    assert np.abs(model.predict(pairs).ratings - whole).mean() < 0.05


def test_a_large_model_is_mapped_and_not_read(data, tmp_path, monkeypatch):
    monkeypatch.setattr(item_side, "MAX_HEAD", 30)
    model = Recommender(ranking=RankingSettings()).fit(data)
    model.save(tmp_path / "model")
    monkeypatch.setattr(folder, "QUICK", 0)
    monkeypatch.setattr(storage, "LARGE_ARRAY", 0)
    loaded = Recommender.load(tmp_path / "model")
    for array in (
        loaded.ranker_.item_side.matrix.data,
        loaded.ranker_.user_side.weights,
        loaded.ranker_.user_side.kernel.features,
        loaded.predictor_.solved.item_factors,
        loaded.predictor_.solved.alpha,
        loaded.data_.geometry.vectors,
    ):
        assert _is_mapped(array)
    one, guest = data.ratings.users[3].item(), {0: 5.0, 7: 2.0, 50: 4.0}
    assert [r.item for r in loaded.recommend(one)] == [r.item for r in model.recommend(one)]
    scores = [m.ranker_.scores(m.guest(guest)).total for m in (model, loaded)]
    assert (scores[0] == scores[1]).all()
    (file,) = (tmp_path / "model").glob("arrays-*")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError) as error:
        Recommender.load(tmp_path / "model", verify=True)
    assert names(error, file.name)


def _is_mapped(array):
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


def test_rows_in_any_order_are_the_same_ratings(tmp_path):
    rng = np.random.default_rng(5)
    users, items = np.divmod(np.sort(rng.choice(50 * 40, 600, replace=False)), 40)
    lines = [f"{u},{i},{0.5 + (u + i) % 10 / 2},9649" for u, i in zip(users, items, strict=True)]
    tables = []
    for k, order in enumerate((np.arange(600), rng.permutation(600))):
        file = tmp_path / f"{k}.csv"
        file.write_text("userId,movieId,rating,timestamp\n" + "\n".join(lines[j] for j in order))
        tables.append(Ratings.read(file))
    tables.append(Ratings.from_arrays(users, items, 0.5 + (users + items) % 10 / 2))
    for table in tables[1:]:
        assert (table.matrix != tables[0].matrix).nnz == 0
        assert (table.users.tolist(), table.items.tolist()) == (
            tables[0].users.tolist(),
            tables[0].items.tolist(),
        )
