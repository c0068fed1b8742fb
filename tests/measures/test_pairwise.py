import numpy as np
import pytest

from prefmover import Dataset, ItemGeometry
from prefmover.errors import InputError, UnknownIdError
from prefmover.measures import MEASURES, Measure, find_measure, pairwise, value_blocks
from tests.messages import names, unnamed

NAMES = [name for name in MEASURES if name != "pmd"]


def blocks(data, measure, **options):
    everyone = np.arange(data.n_users)
    return value_blocks(data, find_measure(measure), None, everyone, everyone, **options)


@pytest.mark.parametrize("measure", NAMES)
def test_blocks_and_threads_change_nothing(measure, big_world):
    data, _ = big_world
    one = pairwise(data, measure, n_threads=1)
    many = pairwise(data, measure, n_threads=3)
    np.testing.assert_array_equal(one, many)
    seen = []
    for positions, values in blocks(data, measure, block_rows=37):
        np.testing.assert_array_equal(values, one[positions])
        seen += positions.tolist()
    assert seen == list(range(data.n_users))


def test_a_block_can_be_changed(big_world):
    data = big_world[0]
    expected = pairwise(data, "urp")
    for positions, values in blocks(data, "urp", block_rows=100):
        np.testing.assert_array_equal(values, expected[positions])  # not touched by the change before
        values[:] = 0


def test_progress_counts_rows(big_world):
    calls = []
    pairwise(big_world[0], "cos", n_threads=2, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (150, 150)
    assert calls == sorted(calls)
    calls.clear()
    for _ in blocks(big_world[0], "cos", block_rows=64, progress=lambda *c: calls.append(c)):
        pass
    assert calls == [(64, 150), (128, 150), (150, 150)]


def test_empty_selections(big_world):
    data, _ = big_world
    for measure in NAMES:
        assert pairwise(data, measure, users=[]).shape == (0, 150)
        assert pairwise(data, measure, others=[]).shape == (150, 0)


def test_geometry_may_know_more_items_in_another_order(big_world):
    data, _ = big_world
    order = np.random.default_rng(1).permutation(40)
    vectors = np.random.default_rng(0).random((40, 3)) + 0.01
    shuffled = ItemGeometry.from_vectors(
        np.r_[1000, np.arange(40)[order]], np.vstack([[1, 2, 3], vectors[order]])
    )
    other = Dataset(data.ratings, shuffled)
    assert other.n_items == 41
    np.testing.assert_allclose(pairwise(data, "bcf"), pairwise(other, "bcf"), rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measure": "jacard"}, names("'jaccard'")),
        ({"measure": "bcf"}, names("BCF", "geometry")),
        ({"measure": "cos", "convention": "median"}, names("published", "table-1")),
        ({"measure": "cos", "n_threads": 0}, "n_threads"),
    ],
)
def test_errors_name_the_remedy(arguments, message, big_world):
    with pytest.raises(InputError, match=message):
        pairwise(Dataset(big_world[0].ratings), **arguments)


def test_unknown_users(big_world):
    with pytest.raises(UnknownIdError, match="900"):
        pairwise(big_world[0], "cos", users=[900])


def test_own_function_by_object_and_by_name(big_world):
    from prefmover.measures import register_measure, unregister_measure

    data, rows = big_world
    row = Measure.from_function(
        "overlap", lambda u, v: len(u.keys() & v.keys()) or None, symmetric=True, summary="common items"
    )
    expected = np.array(
        [[len(a.keys() & b.keys()) or np.nan if a and b else np.nan for b in rows] for a in rows]
    )
    np.testing.assert_array_equal(pairwise(data, row), expected)
    register_measure(row)
    try:
        np.testing.assert_array_equal(pairwise(data, "Overlap", users=[3]), expected[[3]])
        with pytest.raises(InputError):
            register_measure(row)
        assert register_measure(row, replace=True) is row
    finally:
        unregister_measure("overlap")


def test_own_function_errors_name_the_pair(big_world):
    data = big_world[0]

    def broken(u, v):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no") as caught:
        pairwise(data, Measure.from_function("broken", broken), users=[1], others=[2], n_threads=1)
    assert not unnamed("".join(caught.value.__notes__), "'broken'", 1, 2)
    with pytest.raises(InputError, match=names("1", "2")):
        pairwise(data, Measure.from_function("huge", lambda u, v: np.inf), users=[1], others=[2], n_threads=1)


def test_own_matrix(big_world):
    data = big_world[0]
    order = np.random.default_rng(2).permutation(150)
    values = np.random.default_rng(3).random((150, 150))
    row = Measure.from_matrix("given", values[np.ix_(order, order)], users=order)
    np.testing.assert_array_equal(pairwise(data, row), values)
    assert not row.symmetric
    assert row.larger_is_closer
    few = Measure.from_matrix("few", np.eye(2), users=[4, 9], larger_is_closer=False)
    assert (few.symmetric, few.weight, few.range) == (True, "exponential(1)", (0.0, 1.0))
    assert pairwise(data, few, users=[9], others=[9, 4]).tolist() == [[1.0, 0.0]]
    with pytest.raises(InputError, match=names("'few'", 5)):
        pairwise(data, few, users=[5], others=[9])
    with pytest.raises(InputError, match=names(3)):
        Measure.from_matrix("odd", np.eye(2), users=[1, 2, 3])
    with pytest.raises(InputError):
        Measure.from_matrix("odd", [[np.inf]], users=[1])
    with pytest.raises(InputError, match=names("Odd")):
        Measure.from_matrix("Odd", np.eye(1), users=[1])
