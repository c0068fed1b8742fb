"""Equal values are equal to the last bit, so that the order of users decides, and nothing else."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefmover import Dataset, InputError, Ratings, Scale, nearest, pairwise
from prefmover.measures import _corated, _pmd
from tests.measures.conftest import ROWS, SCALES, world
from tests.messages import names

EXACT = [
    ("cos", None),
    ("pcc", None),
    ("pcc", "co-rated-means"),
    ("msd", None),
    ("jmsd", None),
    ("jaccard", None),
]
STEPPED = [name for name, scale in SCALES.items() if scale.step]


def random_world(scale, n_users, n_items, seed):
    """Return users with up to all items, on any scale."""
    rng = np.random.default_rng(seed)
    n_steps = round((scale.highest - scale.lowest) / scale.step) if scale.step else 0
    rows = []
    for _ in range(n_users):
        rated = sorted(rng.choice(n_items, rng.integers(1, n_items + 1), replace=False).tolist())
        levels = rng.integers(0, n_steps + 1, len(rated)) if n_steps else rng.random(len(rated))
        rows.append(
            {i: scale.lowest + float(x) * (scale.step or 1) for i, x in zip(rated, levels, strict=True)}
        )
    return world(rows, n_items, scale)


def exact_square(measure, convention, first, second, everything, scale):
    """Return sign · value² of a pair in rational arithmetic; None where undefined."""
    whole = [
        {i: Fraction(round((x - scale.lowest) / scale.step)) for i, x in r.items()} for r in (first, second)
    ]
    start = Fraction(scale.lowest / scale.step).limit_denominator(1000)
    common = sorted(set(first) & set(second))
    width = Fraction(round((scale.highest - scale.lowest) / scale.step))
    jaccard = Fraction(len(common), len(set(first) | set(second)))
    if measure == "jaccard":
        return jaccard**2
    if not common:
        return None
    if measure in ("msd", "jmsd"):
        msd = sum((whole[0][i] - whole[1][i]) ** 2 for i in common) / len(common) / width**2
        return msd**2 if measure == "msd" else (jaccard * (1 - msd)) ** 2
    if measure == "cos":
        x, y = ([side[i] + start for i in common] for side in whole)
    else:
        over = [side if convention is None else {i: side[i] for i in common} for side in whole]
        x, y = (
            [side[i] - sum(o.values()) / len(o) for i in common] for side, o in zip(whole, over, strict=True)
        )
    xy, xx, yy = (sum(a * b for a, b in zip(p, q, strict=True)) for p, q in ((x, y), (x, x), (y, y)))
    return None if xx * yy == 0 else abs(xy) * xy / (xx * yy)


@pytest.mark.parametrize("scale", STEPPED)
@pytest.mark.parametrize(("measure", "convention"), EXACT)
def test_values_are_equal_exactly_if_the_rational_numbers_are(measure, convention, scale):
    data, rows = random_world(SCALES[scale], 40, 5, seed=3)
    found = pairwise(data, measure, convention=convention, n_threads=1)
    by_value = {}
    for u in range(40):
        for v in range(40):
            square = exact_square(measure, convention, rows[u], rows[v], rows, SCALES[scale])
            assert (square is None) == np.isnan(found[u, v])
            if square is not None:
                by_value.setdefault(square, set()).add(found[u, v])
    assert len(by_value) > 10
    for square, bits in by_value.items():
        (value,) = bits
        assert np.copysign(value**2, value) == pytest.approx(float(square), rel=1e-14, abs=1e-300)


@given(st.integers(-(2**50), 2**50), st.integers(1, 2**53 - 1), st.integers(1, 2**53 - 1))
@settings(max_examples=300, deadline=None)
def test_the_cosine_of_whole_numbers_is_rounded_once(xy, xx, yy):
    if xy * xy > xx * yy:
        xy = isqrt(xx * yy)
    shift = 400  # of the integer root, for 120 digits
    root = Fraction(isqrt(xx * yy << shift), 1 << shift // 2)
    assert _corated.cosine(float(xy), float(xx), float(yy)) == float(Fraction(xy) / root)


@given(st.integers(0, 2**55), st.integers(0, 2**28 - 1), st.integers(1, 2**62 - 1))
@settings(max_examples=300, deadline=None)
def test_the_quotient_of_integers_is_rounded_once(high, low, total):
    assert _pmd.as_distance(high, low, total, 1.0) == (high * 2**28 + low) / total


@pytest.mark.parametrize("scale", SCALES)
def test_one_co_rated_item_is_one_or_minus_one(scale):
    s = SCALES[scale]
    rng = np.random.default_rng(1)
    levels = np.arange(s.lowest, s.highest + s.step / 2, s.step) if s.step else rng.random(50)
    rows = [{0: float(rng.choice(levels)), k + 1: float(rng.choice(levels))} for k in range(150)]
    data, _ = world(rows, 151, s)
    for measure in ("cos", "pcc"):
        values = pairwise(data, measure, n_threads=1)
        off = values[~np.eye(len(rows), dtype=bool)]
        assert set(off[~np.isnan(off)].tolist()) <= {-1.0, 1.0}


@pytest.mark.parametrize(("measure", "convention"), ROWS)
def test_twins_get_the_same_value_from_everybody(measure, convention):
    _, rows = random_world(SCALES["tenths"], 7, 6, seed=9)
    twins, _ = world([*rows, *rows], 6, SCALES["tenths"])
    values = pairwise(twins, measure, convention=convention, n_threads=1)
    np.testing.assert_array_equal(values[:, :7], values[:, 7:])


def test_ties_go_by_the_order_of_users():
    """User 0 shares one item with each of the others: COS and PCC are exactly 1 for all of them."""
    levels = [0.1 * k for k in range(1, 10)]
    rows = [{0: levels[7], 1: levels[2]}, *({0: levels[k % 8 + 1], k + 2: levels[0]} for k in range(40))]
    data, _ = world(rows, 42, Scale(0.1, 0.9, 0.1))
    for measure in ("cos", "pcc"):
        found = nearest(data, k=5, users=[0], measure=measure)
        assert found.values.tolist() == [1.0] * 5
        assert found.neighbors.tolist() == [1, 2, 3, 4, 5]


def test_means_between_two_levels_are_not_rounded():
    columns = [1, 1, 1, 2, 2], list("xxyxy"), [3, 4, 5, 3, 4]
    data = Dataset(Ratings.from_arrays(*columns, scale=Scale(1, 5, 1), duplicates="mean"))
    assert pairwise(data, "cos")[0, 1] == pytest.approx((3.5 * 3 + 5 * 4) / np.hypot(3.5, 5) / 5)


@pytest.mark.parametrize("measure", ["pcc", "cos"])
@pytest.mark.parametrize("convention", ["published", "table-1"])
def test_one_rating_elsewhere_does_not_change_a_pair(measure, convention):
    users, items, ratings = [1, 1, 1, 2, 2, 2], list("abcabc"), [1, 2, 3, 1, 2, 4]
    plain = Dataset(Ratings.from_arrays(users, items, ratings))
    outlier = Dataset(Ratings.from_arrays([*users, 3], [*items, "z"], [*ratings, 1e12]))
    expected = pairwise(plain, measure, [1], [2], convention=convention)
    found = pairwise(outlier, measure, [1], [2], convention=convention)
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("rating", [1e200, 1e-200, 5e-324, 1e16])
def test_ratings_beyond_computing_are_refused(rating):
    with pytest.raises(InputError, match=names("'b'", 2)):
        Ratings.from_arrays([1, 2, 2], list("abc"), [1, rating, 2])


@pytest.mark.parametrize(("measure", "convention"), ROWS)
@pytest.mark.parametrize("unit", [1e-14, 1e14])
def test_the_largest_and_smallest_ratings_have_values(measure, convention, unit):
    rows = [{0: unit, 1: 2 * unit, 2: 4 * unit}, {0: 2 * unit, 1: unit}, {0: 3 * unit, 1: unit, 2: unit}]
    data, _ = world(rows, 3, Scale(unit, 4 * unit, 0))
    small, _ = world([{i: x / unit for i, x in row.items()} for row in rows], 3, Scale(1, 4, 0))
    found = pairwise(data, measure, convention=convention, n_threads=1)
    assert np.isfinite(found).all()
    if measure in ("cos", "pcc", "msd", "jmsd", "jaccard", "bcf", "n-bcf", "pmd"):
        expected = pairwise(small, measure, convention=convention, n_threads=1)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
