import numpy as np
import pytest
from hypothesis import assume, given
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


def ranking(n, users, scores, relevant=None, gains=None, items=None, n_items=50):
    """Return the metrics of a ranking; what a test leaves out is relevant, has gain 1, is another item."""
    relevant = [True] * len(users) if relevant is None else relevant
    gains = [1] * len(users) if gains is None else gains
    items = range(len(users)) if items is None else items
    return metrics.ranking(n, users, scores, relevant=relevant, gains=gains, items=items, n_items=n_items)


@given(candidates(), st.integers(1, 12))
def test_rankings_match_the_slow_twins(lists, n):
    users, scores, stars = lists
    relevant = [star >= 4 for star in stars]
    assume(any(relevant))
    chosen = {p for positions in slow.ranked(users, scores).values() for p in positions[:n]}
    assert ranking(n, users, scores, relevant, stars) == pytest.approx(
        {
            "precision": slow.precision(n, users, scores, relevant),
            "recall": slow.recall(n, users, scores, relevant),
            "ndcg": slow.ndcg(n, users, scores, stars),
            "hit_rate": slow.hit_rate(n, users, scores, relevant),
            "catalog": len(chosen) / 50,
        }
    )


@given(st.permutations(range(8)), st.lists(st.integers(0, 5), min_size=8, max_size=8), st.integers(1, 9))
def test_ndcg_matches_scikit_learn(scores, stars, n):
    assume(any(stars))
    ours = ranking(n, [0] * 8, [float(s) for s in scores], gains=stars)["ndcg"]
    assert ours == pytest.approx(ndcg_score([stars], [scores], k=n))


def test_ties_favor_nobody():
    """With all scores equal, the first half of the candidates is chosen about half of the time."""
    n = 4000
    users, early = np.repeat(np.arange(n // 10), 10), np.arange(n) % 10 < 5
    values = ranking(5, users, np.zeros(n), relevant=early)
    assert 0.45 < values["precision"] < 0.55
    assert values == ranking(5, users, np.zeros(n), relevant=early)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.mae([1], [1, 2]), names()),
        (lambda: metrics.mae([], []), names()),
        (lambda: metrics.coverage([]), names()),
        (lambda: ranking(1, [1], [np.nan]), names(0)),
        (lambda: ranking(0, [1], [1.0]), names("n", 0)),
        (lambda: ranking(1, [1, 2], [1.0]), names()),
        (lambda: ranking(1, [1], [1.0], gains=[-1]), names(-1)),
        (lambda: ranking(1, [1], [1.0], gains=[np.nan]), names("nan")),
        (lambda: ranking(1, [1], [1.0], gains=[0]), names()),
        (lambda: ranking(1, [1], [1.0], relevant=[False]), names()),
        (lambda: ranking(1, [1], [1.0], n_items=0), names(0)),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
