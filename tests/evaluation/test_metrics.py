"""Metrics against slow twins, worked examples, and the implementations of other packages."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, ndcg_score, root_mean_squared_error

from prefmover import ItemGeometry
from prefmover.errors import InputError
from prefmover.evaluation import metrics
from tests.messages import names
from tests.oracles import evaluation as slow

numbers = st.floats(-10, 10)
N_ITEMS = 12


@st.composite
def rankings(draw):
    """A permutation of all items, the set of relevant ones, and a length."""
    order = draw(st.permutations(range(N_ITEMS)))
    relevant = draw(st.sets(st.integers(0, N_ITEMS - 1), min_size=1))
    return order, relevant, draw(st.integers(1, N_ITEMS))


def of_one(order, relevant, n):
    """Return the metrics of one user's list as numbers."""
    hits = [[item in relevant for item in order]]
    return {name: float(value[0]) for name, value in metrics.user_metrics(hits, [len(relevant)], n).items()}


@given(st.lists(st.tuples(numbers, numbers), min_size=1))
def test_errors_match_scikit_learn(pairs):
    r, p = map(list, zip(*pairs, strict=True))
    assert metrics.mae(r, p) == pytest.approx(mean_absolute_error(r, p))
    assert metrics.rmse(r, p) == pytest.approx(root_mean_squared_error(r, p))


@given(rankings())
def test_lists_match_the_slow_twin(ranking):
    assert of_one(*ranking) == pytest.approx(slow.list_metrics(*ranking))


@given(rankings())
def test_ndcg_matches_scikit_learn(ranking):
    order, relevant, n = ranking
    gains = [[float(item in relevant) for item in range(N_ITEMS)]]
    scores = [[-order.index(item) for item in range(N_ITEMS)]]
    assert of_one(*ranking)["ndcg"] == pytest.approx(ndcg_score(gains, scores, k=n))


@given(rankings())
def test_lists_against_implicit(ranking):
    """The same nDCG; implicit's precision divides by min(R, n)."""
    evaluation = pytest.importorskip("implicit.evaluation")
    from scipy.sparse import csr_matrix

    order, relevant, n = ranking
    assume(len(relevant) < N_ITEMS)  # its AUC divides by the number of the others

    class Fixed:
        def recommend(self, users, user_items, N):
            return np.tile(np.array(order[:N], dtype=np.int32), (len(users), 1)), np.zeros((len(users), N))

    train = csr_matrix(([1.0], ([1], [0])), shape=(2, N_ITEMS))  # user 0 is asked, and has rated nothing
    row = sorted(relevant)
    test = csr_matrix((np.ones(len(row)), ([0] * len(row), row)), shape=(2, N_ITEMS))
    theirs = evaluation.ranking_metrics_at_k(Fixed(), train, test, K=n, show_progress=False, num_threads=1)
    ours = of_one(*ranking)
    assert ours["ndcg"] == pytest.approx(theirs["ndcg"])
    assert ours["precision"] * n / min(len(relevant), n) == pytest.approx(theirs["precision"])


def test_a_worked_example():
    """Hits in places 1 and 3 of 4, three relevant items: by hand."""
    values = metrics.user_metrics([[True, False, True, False]], [3], 4)
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert {name: float(v[0]) for name, v in values.items()} == pytest.approx(
        {"ndcg": 1.5 / ideal, "recall": 2 / 3, "precision": 1 / 2, "mrr": 1.0, "hit_rate": 1.0}
    )


@given(st.lists(st.lists(st.integers(0, 5), unique=True, max_size=4), min_size=1, max_size=6))
def test_what_lists_hold(lists):
    raters, n_users = np.array([0, 1, 5, 5, 9, 20]), 20
    positions = np.full((len(lists), 4), -1)
    for row, items in zip(positions, lists, strict=True):
        row[: len(items)] = items
    flat = [item for items in lists for item in items]
    geometry = ItemGeometry.from_vectors(list("abcdef"), np.eye(6) + np.arange(6)[:, None])
    assert metrics.list_coverage(positions, 6) == len(set(flat)) / 6
    assert metrics.popularity(positions, raters) == (np.median(raters[flat]) if flat else 0)
    assert metrics.average_popularity(positions, raters) == pytest.approx(
        np.mean(raters[flat]) if flat else 0
    )
    assert metrics.gini(positions, 6) == pytest.approx(slow.gini([flat.count(item) for item in range(6)]))
    assert metrics.tail_share(positions, raters) == (
        np.mean([item in slow.tail(raters) for item in flat]) if flat else 0
    )
    bits = [-math.log2((raters[item] + 1) / 21) for item in flat]
    assert metrics.novelty(positions, raters, n_users) == pytest.approx(np.mean(bits) if bits else 0)
    far = metrics.diversity(positions, geometry)
    if any(len(items) > 1 for items in lists):
        cell = geometry.block(range(6), range(6))
        assert far == pytest.approx(slow.diversity(lists, lambda i, j: cell[i, j]))
    else:
        assert far is None


@given(st.dictionaries(st.integers(0, 19), st.floats(0, 1)))
def test_packed_values_are_unpacked(values):
    users, given_ = np.array([*values], np.int64), np.array([*values.values()])
    found = metrics.unpacked(metrics.packed(given_, users, 20))
    assert len(found) == 20
    assert np.isnan(np.delete(found, users)).all()
    assert found[users] == pytest.approx(given_, abs=0.5 / 254)


def test_a_sample_of_many_users_is_kept(monkeypatch):
    monkeypatch.setattr(metrics, "MAX_PACKED", 10)
    values, users = np.linspace(0, 1, 40), np.arange(0, 80, 2)
    found = metrics.unpacked(metrics.packed(values, users, 80))
    again = metrics.unpacked(metrics.packed(1 - values, users, 80))
    assert (np.isnan(found) == np.isnan(again)).all()
    assert (~np.isnan(found)).sum() == 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.mae([1], [1, 2]), names()),
        (lambda: metrics.mae([], []), names()),
        (lambda: metrics.coverage([]), names()),
        (lambda: metrics.user_metrics([True], [1]), names("hits", "n_relevant")),
        (lambda: metrics.user_metrics([[True]], [1, 1]), names("hits", "n_relevant")),
        (lambda: metrics.user_metrics([[True]], [1], 0), names("n", 0)),
        (lambda: metrics.user_metrics([[True]], [1], 2), names("n", 2)),
        (lambda: metrics.user_metrics([[True], [True]], [1, 0]), names(1)),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
