"""nDCG against a slow loop, and the selection of the largest scores against a sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.rank.tuning import _top, ndcg
from tests.oracles import ranking as oracle


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_ndcg_is_that_of_a_slow_loop(seed, n):
    rng = np.random.default_rng(seed)
    scores, hits = rng.normal(size=(6, 9)), rng.random((6, 9)) < 0.3
    expected = [oracle.ndcg(s, h, n) for s, h in zip(scores, hits, strict=True) if h.any()]
    assert ndcg(scores, hits, n) == pytest.approx(expected)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 200))
def test_the_top_is_that_of_a_sort(seed, k, n_columns):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 40, (4, n_columns)).astype(np.float32)  # with ties
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    scores[3] = -np.inf
    k = min(k, n_columns)
    rows, columns, ranks = _top(scores, k)
    found = np.full((4, k), -1)
    found[rows, ranks] = columns
    assert found.tolist() == np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()
