import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, ndcg_score, root_mean_squared_error

from prefmover.errors import InputError
from prefmover.evaluation import metrics
from tests.messages import names
from tests.oracles import evaluation as slow

numbers = st.floats(-10, 10)


@st.composite
def candidates(draw):
    """Users, distinct scores, and stars of some candidates, in any order."""
    n = draw(st.integers(1, 40))
    users = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    scores = draw(st.permutations(range(n)))
    stars = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return users, [float(s) for s in scores], stars


@given(st.lists(st.tuples(numbers, numbers), min_size=1))
def test_errors_match_scikit_learn(pairs):
    r, p = map(list, zip(*pairs, strict=True))
    assert metrics.mae(r, p) == pytest.approx(mean_absolute_error(r, p))
    assert metrics.rmse(r, p) == pytest.approx(root_mean_squared_error(r, p))


@given(candidates(), st.integers(1, 12))
def test_rankings_match_the_slow_twins(lists, n):
    users, scores, stars = lists
    relevant = [star >= 4 for star in stars]
    assert metrics.precision_at(n, users, scores, relevant) == pytest.approx(
        slow.precision(n, users, scores, relevant)
    )
    if any(relevant):
        assert metrics.recall_at(n, users, scores, relevant) == pytest.approx(
            slow.recall(n, users, scores, relevant)
        )
        assert metrics.hit_rate(n, users, scores, relevant) == pytest.approx(
            slow.hit_rate(n, users, scores, relevant)
        )
    if any(stars):
        assert metrics.ndcg_at(n, users, scores, stars) == pytest.approx(slow.ndcg(n, users, scores, stars))
    chosen = {p for positions in slow.ranked(users, scores).values() for p in positions[:n]}
    items = list(range(len(users)))
    assert metrics.catalog_coverage(n, users, scores, items, 50) == len(chosen) / 50


@given(st.permutations(range(8)), st.lists(st.integers(0, 5), min_size=8, max_size=8), st.integers(1, 9))
def test_ndcg_matches_scikit_learn(scores, stars, n):
    if any(stars):
        ours = metrics.ndcg_at(n, [0] * 8, [float(s) for s in scores], stars)
        assert ours == pytest.approx(ndcg_score([stars], [scores], k=n))


def test_ties_favor_nobody():
    """With all scores equal, the first half of the candidates is chosen about half of the time."""
    n = 4000
    lists = metrics.top_n(np.repeat(np.arange(n // 10), 10), np.zeros(n), 5)
    early = (lists.chosen % 10 < 5).mean()
    assert 0.45 < early < 0.55
    again = metrics.top_n(np.repeat(np.arange(n // 10), 10), np.zeros(n), 5)
    assert np.array_equal(lists.chosen, again.chosen)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.mae([1], [1, 2]), names()),
        (lambda: metrics.mae([], []), names()),
        (lambda: metrics.coverage([]), names()),
        (lambda: metrics.top_n([1], [np.nan], 1), names(0)),
        (lambda: metrics.top_n([1], [1.0], 0), names("n", 0)),
        (lambda: metrics.top_n([1, 2], [1.0], 1), names()),
        (lambda: metrics.ndcg_at(1, [1], [1.0], [-1]), names()),
        (lambda: metrics.ndcg_at(1, [1], [1.0], [0]), names()),
        (lambda: metrics.recall_at(1, [1], [1.0], [False]), names()),
        (lambda: metrics.hit_rate(1, [1], [1.0], [False]), names()),
        (lambda: metrics.catalog_coverage(1, [1], [1.0], [1], 0), names()),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()


@given(candidates(), st.integers(1, 12))
def test_all_metrics_at_once(lists, n):
    users, scores, stars = lists
    relevant = [star >= 4 for star in stars]
    if any(relevant):
        items = [star % 3 for star in stars]
        values = metrics.ranking(n, users, scores, relevant=relevant, gains=stars, items=items, n_items=3)
        assert values == {
            "precision": metrics.precision_at(n, users, scores, relevant),
            "recall": metrics.recall_at(n, users, scores, relevant),
            "ndcg": metrics.ndcg_at(n, users, scores, stars),
            "hit_rate": metrics.hit_rate(n, users, scores, relevant),
            "catalog": metrics.catalog_coverage(n, users, scores, items, 3),
        }
