"""Each row of the table, compared with what its measure does."""

import copy
import pickle
from math import pi

import numpy as np
import pytest
from hypothesis import given, settings

from prefmover import Dataset, ItemGeometry, Ratings, Scale, nearest
from prefmover.errors import InputError
from prefmover.measures import MEASURES, Measure, find_measure, pairwise, unregister_measure, weight
from tests.measures.conftest import small_worlds
from tests.messages import names

EXTENSIONS = ["pmd-agreement", "pmd-opinions"]
PAPER = ["cos", "pcc", "msd", "jaccard", "urp", "jmsd", "nhsm", "bcf", "n-bcf", "husm", "n-husm", "pmd"]


def test_the_twelve_in_the_order_of_the_paper():
    assert [name for name, row in MEASURES.items() if not row.extension] == PAPER
    assert list(MEASURES) == PAPER + EXTENSIONS


@pytest.mark.parametrize("row", MEASURES.values(), ids=MEASURES)
def test_rows_are_complete(row):
    assert row.name == row.label.lower()
    assert row.summary.endswith(".")
    assert row.reference
    assert row.breakdown
    assert row.style
    assert row.value_name == ("similarity" if row.larger_is_closer else "distance")
    assert row.default in row.conventions
    assert {"published", "table-1"} <= set(row.conventions)
    assert row.range[0] < row.range[1]
    assert weight(row.weight)
    assert (row.weight == "as-is") == row.larger_is_closer
    assert repr(row).startswith(f"Measure('{row.name}', a ")
    assert find_measure(row.label) is find_measure(row) is row


@pytest.mark.parametrize("row", MEASURES.values(), ids=MEASURES)
@given(small_worlds())
@settings(max_examples=40, deadline=None)
def test_rows_tell_the_truth(row, case):
    data, rows = case
    values = pairwise(data, row, n_threads=1)
    defined = values[~np.isnan(values)]
    assert (defined >= row.range[0] - 1e-9).all()
    assert (defined <= row.range[1] + 1e-9).all()
    if row.symmetric:
        np.testing.assert_allclose(values, values.T, rtol=1e-9, atol=1e-12)
    for u, a in enumerate(rows):
        for v, b in enumerate(rows):
            if not a or not b or (row.needs_overlap and not a.keys() & b.keys()):
                assert np.isnan(values[u, v])
            elif row.name.startswith("pmd"):
                assert np.isnan(values[u, v]) == (max(a.values()) == 0 or max(b.values()) == 0)
            elif not row.needs_overlap:
                assert not np.isnan(values[u, v])
    if row.metric:
        around = values[:, :, None] + values[None, :, :]
        assert not (values[:, None, :] > around + 1e-9).any()
        assert (np.diagonal(values)[~np.isnan(np.diagonal(values))] == 0).all()


def test_the_asymmetric_ones_are():
    ratings = Ratings.from_arrays([1, 1, 1, 2], list("xyzx"), [5, 3, 1, 4], scale=Scale(1, 5, 1))
    geometry = ItemGeometry.from_similarity(list("xyz"), np.full((3, 3), 0.5) + 0.5 * np.eye(3))
    data = Dataset(ratings, geometry)
    for row in MEASURES.values():
        values = pairwise(data, row)
        assert (values[0, 1] == pytest.approx(values[1, 0], rel=1e-9, nan_ok=True)) == row.symmetric

    # Seen from user 1, a third of the items is shared; from user 2, all.
    def sig(x):
        return 1 / (1 + np.exp(-x))

    husm = pairwise(data, "husm")
    assert husm[0, 1] / husm[1, 0] == pytest.approx(sig(1 / 3) / sig(1))


def test_pmd_reaches_its_range():
    ratings = Ratings.from_arrays([1, 2], ["x", "y"], [5, 3])
    data = Dataset(ratings, ItemGeometry.from_vectors(["x", "y"], np.eye(2)))
    assert pairwise(data, "pmd")[0, 1] == pytest.approx(pi / 2, abs=1e-7)


def _agreement(u, v):
    return float(len(u.keys() & v.keys()))


def test_measures_and_weights_are_pickled_and_copied():
    for row in MEASURES.values():
        assert pickle.loads(pickle.dumps(row)) is row  # by name
        assert copy.deepcopy(row) is row
    own = Measure.from_function("agreement", _agreement, symmetric=True, weight="exponential(2)")
    again = pickle.loads(pickle.dumps(own))
    assert (again.name, again.weight, again.symmetric) == ("agreement", "exponential(2)", True)
    data = Dataset(Ratings.from_arrays(["a", "a", "b"], ["x", "y", "x"], [1, 2, 3]))
    assert pairwise(data, again).tolist() == [[2, 1], [1, 1]]
    with pytest.raises(TypeError):
        again.conventions["mine"] = None
    matrix = Measure.from_matrix("table", [[1, 0.5], [0.25, 1]], ["a", "b"])
    for twin in (pickle.loads(pickle.dumps(matrix)), copy.deepcopy(matrix)):
        assert pairwise(data, twin).tolist() == [[1, 0.5], [0.25, 1]]
    for name in ("as-is", "one-minus", "cosine", "exponential(2.5)"):
        rule = pickle.loads(pickle.dumps(weight(name)))
        assert str(rule) == name
        assert rule([0.0, 0.5]).tolist() == weight(name)([0.0, 0.5]).tolist()


@pytest.mark.parametrize("row", MEASURES.values(), ids=MEASURES)
def test_rows_tell_whether_others_matter(row, big_world):
    data, _ = big_world
    two = data.with_ratings(data.ratings.take(users=[3, 7]))
    alone = pairwise(two, row, [3], [7])
    assert (alone == pytest.approx(pairwise(data, row, [3], [7]), rel=1e-12)) != row.uses_others


def test_only_exact_transports_are_searched_by_bounds():
    by_bounds = [
        (name, convention)
        for name, row in MEASURES.items()
        for convention in row.conventions
        if row.searches_by_bounds(convention)
    ]
    assert by_bounds == [("pmd", "published")] + [(name, "published") for name in EXTENSIONS]


def test_unknown_convention_lists_the_known():
    with pytest.raises(InputError, match=names("published", "median", "table-1")):
        MEASURES["bcf"].convention("medain")


def test_a_new_user_with_the_id_of_a_user_in_the_data():
    data = Dataset(Ratings.from_arrays([1, 1, 2], [10, 20, 20], [5, 3, 4]))
    new = Ratings.from_arrays([2], [10], [1])
    common = Measure.from_function("common", lambda u, v: len(u.keys() & v.keys()))
    assert nearest(data, 2, measure=common, new=new).values.tolist() == [1, 0]


def test_only_distances_that_are_zero_for_themselves_say_so(big_world):
    data, _ = big_world
    for row in MEASURES.values():
        itself = np.diagonal(pairwise(data, row, range(10), range(10)))
        assert row.is_zero_for_itself == (itself == 0).all()
    for diagonal in (0.0, 0.3):
        own = Measure.from_matrix("own", [[diagonal, 1], [1, 0]], ["a", "b"], larger_is_closer=False)
        assert own.is_zero_for_itself == (diagonal == 0)
    assert not Measure.from_function("gap", lambda u, v: 1.0, larger_is_closer=False).is_zero_for_itself


def test_the_table_is_read_only():
    with pytest.raises(TypeError):
        MEASURES["mine"] = MEASURES["cos"]
    with pytest.raises(InputError, match="cos"):
        unregister_measure("cos")
