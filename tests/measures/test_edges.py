"""Stated behavior at the edges: other scales, flat users, single ratings, users without ratings."""

import numpy as np
import pytest

from prefmover import MEASURES, Dataset, ItemGeometry, Ratings, Scale, pairwise
from tests.measures.conftest import world

STARS = Scale(1, 5, 1)


def one(data, measure, u, v, **options):
    return pairwise(data, measure, users=[u], others=[v], **options).item()


def test_msd_is_a_share_of_the_scale():
    for scale in (STARS, Scale(0.5, 4.5, 0.5), Scale(1, 10, 0.5), Scale(0, 100, 1)):
        low, mid, high = scale.lowest, scale.middle, scale.highest
        data = Dataset(Ratings.from_arrays([1, 2, 3], ["x"] * 3, [low, mid, high], scale=scale))
        np.testing.assert_allclose(pairwise(data, "msd")[0], [0, 0.25, 1])


def test_the_scale_given_counts_not_the_ratings_seen():
    arrays = [1, 2], ["x", "x"], [2, 4]
    assert one(Dataset(Ratings.from_arrays(*arrays, scale=STARS)), "msd", 1, 2) == 0.25
    assert one(Dataset(Ratings.from_arrays(*arrays)), "msd", 1, 2) == 1.0  # inferred: 2 to 4


def test_one_rating_throughout_the_data():
    data = Dataset(Ratings.from_arrays([1, 2], ["x", "x"], [3, 3]))
    assert one(data, "msd", 1, 2) == 0
    assert one(data, "jmsd", 1, 2) == 1


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_scale_free_measures_do_not_see_the_unit(factor, big_world):
    data, _ = big_world
    matrix = data.ratings.matrix * factor
    scaled = Ratings.from_csr(matrix, scale=Scale(factor, 5 * factor, factor))
    other = data.with_ratings(scaled)
    for name in ("cos", "pcc", "msd", "jaccard", "jmsd", "bcf", "n-bcf", "pmd"):
        a, b = (pairwise(d, name, users=range(20)) for d in (data, other))
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    for name in ("urp", "nhsm", "husm", "n-husm"):  # as published: the sigmoids see the unit
        a, b = (pairwise(d, name, users=range(20)) for d in (data, other))
        assert np.nanmax(np.abs(a - b)) > 1e-3


def test_middle_of_the_scale():
    """On half stars from .5 to 5 the middle is 2.75, and only the distance to it counts as significant."""
    scale = Scale(0.5, 5, 0.5)
    data = Dataset(Ratings.from_arrays([1, 2], ["x", "x"], [3, 3], scale=scale))
    pss = 0.5 * (1 / (1 + np.exp(-(0.25**2)))) * 0.5
    assert one(data, "nhsm", 1, 2) == pytest.approx(pss * 0.5)


def test_flat_users():
    rows = [{0: 4.0, 1: 4.0}, {0: 5.0, 1: 3.0, 2: 1.0}, {1: 4.0, 2: 4.0}]
    data, _ = world(rows, 3, STARS)
    s = data.geometry.similarity()
    assert np.isnan(one(data, "pcc", 0, 1))
    assert np.isnan(one(data, "pcc", 0, 0))
    assert one(data, "cos", 0, 2) == 1
    # BCF: a flat user adds nothing to Jaccard, unless Table 1's convention is asked for.
    assert one(data, "bcf", 0, 1) == pytest.approx(2 / 3)
    assert one(data, "n-bcf", 0, 2) == pytest.approx(1 / 3)
    table_1 = one(data, "bcf", 0, 1, convention="table-1")
    assert table_1 == pytest.approx(2 / 3 + s[[0, 1]].sum())
    assert one(data, "urp", 0, 2) == 0.5


def test_flat_on_a_grid_that_binary_cannot_hold():
    """Three times 0.1 is not 0.3 to a computer; the deviation of three 0.1 is 0 all the same."""
    scale = Scale(0.1, 0.9, 0.1)
    rows = [{0: 0.1, 1: 0.1, 2: 0.1}, {0: 0.1, 1: 0.2, 2: 0.3}, {1: 0.2, 2: 0.9}]
    data, _ = world(rows, 3, scale)
    for convention in ("published", "co-rated-means"):
        assert np.isnan(pairwise(data, "pcc", convention=convention)[0]).all()
    assert one(data, "bcf", 0, 1) == 1.0
    # User 1's mean is the rating of item 1: alone, it says nothing.
    single = Dataset(Ratings.from_csr(data.ratings.matrix[:, :2][[1, 2]], scale=scale))
    assert np.isnan(one(single, "pcc", 0, 1, convention="co-rated-means"))


def test_all_ratings_at_the_middle():
    rows = [{0: 3.0, 1: 3.0}, {0: 5.0, 1: 1.0}]
    data, _ = world(rows, 2, STARS)
    assert one(data, "bcf", 0, 1, convention="median") == 1.0


def test_single_ratings():
    rows = [{0: 5.0}, {0: 1.0}, {1: 5.0}]
    data, _ = world(rows, 2, STARS)
    s = data.geometry.similarity()[0, 1]
    assert one(data, "cos", 0, 1) == 1  # one co-rated item: the angle is 0
    assert np.isnan(one(data, "pcc", 0, 1))
    assert one(data, "msd", 0, 1) == 1
    assert one(data, "jaccard", 0, 2) == 0
    assert np.isnan(one(data, "jmsd", 0, 2))
    assert one(data, "urp", 0, 1) == 0.5
    assert one(data, "bcf", 0, 2) == 0
    assert one(data, "bcf", 0, 2, convention="table-1") == pytest.approx(s)
    assert one(data, "husm", 0, 2) > 0
    assert np.cos(one(data, "pmd", 0, 2)) == pytest.approx(s, abs=1e-7)


def test_ratings_of_zero():
    """0 is a rating: it counts as co-rated; a row of nothing else has no angle and no preference."""
    rows = [{0: 0.0}, {0: 0.0, 1: 5.0}]
    data, _ = world(rows, 2, Scale(0, 5, 1))
    assert one(data, "jaccard", 0, 1) == 0.5
    assert np.isnan(one(data, "cos", 0, 1))
    assert one(data, "msd", 0, 1) == 0
    assert np.isnan(one(data, "pmd", 0, 1))
    assert np.isnan(one(data, "pmd", 0, 1, convention="table-1"))


@pytest.mark.parametrize("name", MEASURES)
def test_a_user_without_ratings_has_no_value(name):
    for convention in MEASURES[name].conventions:
        data, _ = world([{0: 5.0, 1: 2.0}, {}, {0: 4.0, 1: 1.0}], 2, STARS)
        values = pairwise(data, name, convention=convention)
        assert np.isnan(values[1]).all()
        assert np.isnan(values[:, 1]).all()
        assert not np.isnan(values[0, 2])


def test_item_means_come_from_all_ratings_given():
    arrays = [1, 2], ["x", "x"], [4, 4]
    few = Dataset(Ratings.from_arrays(*arrays, scale=STARS))
    more = Dataset(Ratings.from_arrays([1, 2, 3], ["x"] * 3, [4, 4, 1], scale=STARS))
    assert one(few, "nhsm", 1, 2) > one(more, "nhsm", 1, 2)


def test_items_that_nobody_rated():
    matrix = Ratings.from_arrays([1, 2], [0, 1], [5, 3], scale=STARS).matrix
    from scipy.sparse import csr_array

    wide = csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(2, 4))
    geometry = ItemGeometry.from_vectors(range(4), np.random.default_rng(0).random((4, 2)))
    data = Dataset(Ratings.from_csr(wide, scale=STARS), geometry)
    for name in ("bcf", "husm"):
        assert np.isfinite(pairwise(data, name)).all()
