"""Masses against exact rational arithmetic."""

from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.data.preferences import preferences
from prefmover.data.ratings import Ratings, Scale
from prefmover.data.scale import LARGEST, SMALLEST


def masses(values):
    """Return the masses of a single user with these ratings, zeros included."""
    items = np.arange(len(values))
    scale = Scale(0.0, float(max(values)), 0.0)
    users = preferences(Ratings.from_arrays(np.zeros_like(items), items, values, scale=scale))
    out = np.zeros(len(values), dtype=np.int64)
    out[users.indices] = users.mass
    assert users.total == [out.sum()]
    return out


def shares(values):
    total = sum(values)
    return [Fraction(v) / total for v in values]


@given(
    st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 2**20)]),
    st.lists(st.integers(0, 200), min_size=1, max_size=60).filter(any),
)
def test_ratings_on_a_grid_are_exact(step, counts):
    exact = [step * n for n in counts]
    mass = masses(np.array([float(x) for x in exact])).tolist()
    assert shares(mass) == shares(exact)
    assert gcd(*mass) == 1


@given(st.lists(st.just(0.0) | st.floats(SMALLEST, LARGEST), min_size=1, max_size=60).filter(any))
def test_other_ratings_are_right_within_a_billionth(values):
    mass = masses(values).tolist()
    assert 0 < sum(mass) < 2**31
    expected = shares([Fraction(v) for v in values])
    assert max(abs(a - b) for a, b in zip(shares(mass), expected, strict=True)) <= Fraction(1, 10**9)
    assert all(m == 0 for m, v in zip(mass, values, strict=True) if v == 0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5], [1]),
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),
        ([2, 4], [1, 2]),
        ([4.5, 3.0], [3, 2]),
        ([0.1, 0.2, 0.7], [1, 2, 7]),
        ([0, 3, 0], [0, 1, 0]),
        ([0.000001, 5], [1, 5_000_000]),
        ([2**-20, 1], [1, 2**20]),
        ([0.1 + 0.2, 0.3], None),  # not the same float: no grid, rounded
        ([123456789, 987654321], [13717421, 109739369]),
    ],
)
def test_examples(values, expected):
    mass = masses(values)
    assert mass.dtype == np.int64
    if expected is None:
        assert mass.sum() <= 2**30
        assert mass[0] / mass.sum() == pytest.approx(0.5, abs=1e-9)
    else:
        assert mass.tolist() == expected


def test_an_exact_total_beyond_31_bits_is_rounded():
    values = np.full(1000, 4.999999)
    values[0] = 5.0
    mass = masses(values)
    assert mass.sum() < 2**31
    assert np.abs(mass / mass.sum() - values / values.sum()).max() <= 1e-9


def test_ratings_of_every_size_have_masses_without_warnings():
    assert masses([LARGEST, LARGEST]).tolist() == [1, 1]
    assert masses([SMALLEST, SMALLEST]).tolist() == [1, 1]
    assert masses([LARGEST, SMALLEST]).tolist() == [1, 0]


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 8), st.integers(0, 12)),
        st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.5, 0.1, 1e-12]), st.floats(SMALLEST, 10)),
        min_size=1,
    )
)
def test_all_users_at_once_are_as_one_by_one(triples):
    """Rows on a grid, off it, of zeros only and empty ones side by side."""
    ratings = Ratings.from_arrays(*zip(*[(u, i, r) for (u, i), r in triples.items()], strict=True))
    ratings = ratings.take(items=np.arange(ratings.n_items) % 2 == 0)  # leaves empty rows
    users = preferences(ratings)
    assert len(users.indptr) == ratings.n_users + 1
    for u in range(ratings.n_users):
        part = slice(users.indptr[u], users.indptr[u + 1])
        row = slice(ratings.matrix.indptr[u], ratings.matrix.indptr[u + 1])
        values = ratings.matrix.data[row]
        expected = masses(values) if (values > 0).any() else np.zeros(len(values), dtype=int)
        assert users.mass[part].tolist() == expected[expected > 0].tolist()
        assert users.indices[part].tolist() == ratings.matrix.indices[row][expected > 0].tolist()
        assert users.total[u] == expected.sum()


def test_immutable():
    users = preferences(Ratings.from_arrays([1], [1], [3]))
    for array in (users.indptr, users.indices, users.mass, users.total):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2
