import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.errors import InputError
from prefmover.measures import MEASURES, WEIGHTS, weight
from tests.messages import names

DISTANCES = st.floats(0, 3)


@given(DISTANCES, DISTANCES)
def test_nearer_never_weighs_less(d, e):
    near, far = sorted((d, e))
    for name in ("one-minus", "cosine", "exponential(2.5)"):
        a, b = weight(name)([near, far])
        assert a >= b


@given(DISTANCES)
def test_rules(d):
    assert weight("one-minus")(d) == 1 - d
    assert weight("cosine")(d) == pytest.approx(max(0.0, np.cos(d)), abs=1e-15)
    assert weight("exponential(4)")(d) == pytest.approx(np.exp(-4 * d))
    assert weight("as-is")(d) == d


def test_undefined_stays_undefined():
    for name in ("as-is", "one-minus", "cosine", "exponential(1)"):
        assert np.isnan(weight(name)([np.nan])).all()


def test_the_input_is_not_changed():
    d = np.array([0.5, 1.0])
    for name in ("as-is", "one-minus", "cosine", "exponential(1)"):
        weight(name)(d)[:] = 7
    assert d.tolist() == [0.5, 1.0]


def test_names():
    assert str(weight("exponential(4.0)")) == "exponential(4)"
    assert weight(weight("cosine")).name == "cosine"
    rules = {str(weight(row.weight)) for row in MEASURES.values()}
    assert rules == {"as-is", "one-minus", "exponential(4)", "exponential(2)"}
    assert len(WEIGHTS) == 4


@pytest.mark.parametrize(
    "bad", ["cos", "exponential", "exponential()", "exponential(-1)", "exponential(x)", "exponential(inf)"]
)
def test_unknown_rules_list_the_known(bad):
    with pytest.raises(InputError, match=names("one-minus", "cosine", "exponential(g)")):
        weight(bad)
