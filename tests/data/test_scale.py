import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.data.scale import Scale
from prefmover.errors import InputError
from tests.messages import names


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 3, 4, 5], Scale(1, 5, 1)),
        ([5, 1, 3], Scale(1, 5, 2)),
        ([0.5, 4, 4.5], Scale(0.5, 4.5, 0.5)),
        ([0, 10, 25], Scale(0, 25, 5)),
        ([0.1, 0.2, 0.7], Scale(0.1, 0.7, 0.1)),
        ([0.1 + 0.2, 0.3, 0.6], Scale(0.3, 0.6, 0.3)),
        ([3], Scale(3, 3, 1)),
        ([2.5, 2.5], Scale(2.5, 2.5, 0.5)),
        ([0], Scale(0, 0, 1)),
        ([1, 1 + 1 / 3], Scale(1, 1 + 1 / 3, 0)),
        ([0, 1e12], Scale(0, 1e12, 1e12)),
        ([0, 1e13], Scale(0, 1e13, 0)),
        ([0, 1e-6, 2], Scale(0, 2, 0)),
        ([1e6, 1e6 + 1], Scale(1e6, 1e6 + 1, 1)),
    ],
)
def test_of(values, expected):
    scale = Scale.from_ratings(np.array(values, dtype=float))
    assert (scale.lowest, scale.highest) == pytest.approx((expected.lowest, expected.highest), abs=1e-12)
    assert scale.step == expected.step


@given(
    st.sampled_from([1, 0.5, 0.25, 0.1, 0.01, 3]), st.integers(0, 20), st.sets(st.integers(0, 60), min_size=2)
)
def test_every_rating_is_a_level_of_the_inferred_scale(step, lowest, steps):
    values = np.array([lowest + step * k for k in sorted(steps)])
    scale = Scale.from_ratings(values)
    assert scale.step >= step * (1 - 1e-9)
    assert (scale.lowest, scale.highest) == (values[0], values[-1])
    n_steps = (values - scale.lowest) / scale.step
    assert np.abs(n_steps - np.round(n_steps)).max() < 1e-6


def test_middle():
    assert Scale(0.1, 0.5, 0.1).middle == pytest.approx(0.3)


@pytest.mark.parametrize(
    "values", [(5, 1, 1), (-1, 5, 1), (1, 5, -1), (1, np.inf, 1), (np.nan, 5, 1), (1, 5, 3)]
)
def test_impossible_scales(values):
    with pytest.raises(InputError):
        Scale(*values)


def test_ratings_that_differ_by_a_rounding_are_one_level():
    assert Scale.from_ratings(np.array([1.0, np.nextafter(1.0, 2)])).step == 1.0
    assert Scale.from_ratings(np.array([1.0, 0.1 + 0.2, 0.3])).step == 0.7


def test_ends_of_a_narrow_type():
    assert Scale(np.float16(1), np.float16(5), np.float16(1)).middle == 3
    with pytest.raises(InputError, match=names("1e+15")):
        Scale(0, np.float64(1e16), 0)
