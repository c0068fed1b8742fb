"""The choice of the best items."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.errors import InputError
from prefmover.predict.selection import Selection
from tests.messages import names
from tests.predict.conftest import make_data

DATA = make_data(3, n_users=12, n_items=30, per_user=6)


@given(
    st.lists(st.one_of(st.integers(0, 4).map(float), st.just(float("nan"))), min_size=30, max_size=30),
    st.integers(1, 35),
    st.sets(st.integers(0, 29)),
)
def test_best_is_a_sort(scores, n, rated):
    eligible = (k for k, s in enumerate(scores) if s == s and k not in rated)
    expected = sorted(eligible, key=lambda k: (-scores[k], k))[:n]
    selection = Selection.make(DATA, n)
    assert selection.best(np.array(scores), np.array(sorted(rated), np.int64)).tolist() == expected


@pytest.mark.parametrize("n", [0, 2.5, True])
def test_a_bad_number(n):
    with pytest.raises(InputError, match=names("n", n)):
        Selection.make(DATA, n)
