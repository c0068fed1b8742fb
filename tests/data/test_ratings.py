import copy
import dataclasses
import pickle
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from prefmover.data.ratings import Ratings, Scale, one_user
from prefmover.errors import InputError, UnknownIdError
from tests.messages import names, unnamed

USERS, ITEMS, VALUES = ["bob", "ann", "ann"], [9, 10, 2], [4.0, 3.5, 0.0]
TABLE = {"user": USERS, "item": ITEMS, "rating": VALUES}
FRAMES = {
    "pandas": pd.DataFrame(TABLE),
    "pandas categorical": pd.DataFrame(TABLE).astype({"user": "category"}),
    "pandas object": pd.DataFrame(TABLE).astype({"user": object}),
    "pandas arrow": pd.DataFrame(TABLE).convert_dtypes(dtype_backend="pyarrow"),
    "pandas other index": pd.DataFrame(TABLE, index=[5, 5, 7]),
    "polars": pl.DataFrame(TABLE),
    "polars lazy": pl.LazyFrame(TABLE),
    "polars categorical": pl.DataFrame(TABLE).cast({"user": pl.Categorical}),
    "arrow": pa.table(TABLE),
}


@pytest.fixture
def ratings():
    return Ratings.from_arrays(USERS, ITEMS, VALUES)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_of_all_kinds(frame):
    ratings = Ratings.from_frame(frame)
    assert ratings.users.tolist() == ["ann", "bob"]
    assert ratings.items.tolist() == [2, 9, 10]
    assert ratings["ann"] == {2: 0.0, 10: 3.5}
    assert ratings["bob"] == {9: 4.0}
    assert ratings.scale == Scale(0, 4, 0.5)


def test_shape_and_layout(ratings):
    assert (ratings.n_users, ratings.n_items, ratings.n_ratings) == (2, 3, 3)
    assert isinstance(ratings.matrix, sparse.csr_array)
    assert ratings.matrix.dtype == np.float64
    assert ratings.matrix.indices.dtype == ratings.matrix.indptr.dtype == np.int32
    assert ratings.matrix.indptr.tolist() == [0, 2, 3]
    assert ratings.matrix.indices.tolist() == [0, 2, 1]
    assert ratings.matrix.data.tolist() == [0.0, 3.5, 4.0]
    assert not unnamed(repr(ratings), "Ratings", 2, 3, 0, 4, 0.5)


def test_immutable(ratings):
    with pytest.raises(dataclasses.FrozenInstanceError):
        ratings.users = []
    for array in (
        ratings.users,
        ratings.items,
        ratings.matrix.data,
        ratings.matrix.indices,
        ratings.matrix.indptr,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_source_may_change_afterward():
    matrix = sparse.csr_array([[1.0, 2.0]])
    values = np.array([5.0])
    from_matrix, from_arrays = Ratings.from_csr(matrix), Ratings.from_arrays([1], [1], values)
    matrix.data[:] = 9
    values[:] = 9
    assert from_matrix[0] == {0: 1.0, 1: 2.0}
    assert from_arrays[1] == {1: 5.0}


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies(ratings, clone):
    assert clone(ratings)["ann"] == ratings["ann"]


triples = st.dictionaries(
    st.tuples(st.integers(-5, 5), st.text("abc", min_size=1, max_size=2)),
    st.sampled_from([0.0, 0.5, 1.0, 3.5, 5.0]),
    min_size=1,
)


@given(triples, st.randoms())
def test_row_order_does_not_matter_and_nothing_is_lost(expected, random):
    rows = [(u, i, r) for (u, i), r in expected.items()]
    first = Ratings.from_arrays(*zip(*rows, strict=True))
    random.shuffle(rows)
    second = Ratings.from_arrays(*zip(*rows, strict=True))
    for ratings in (first, second):
        assert {(u, i): r for u in ratings.users for i, r in ratings[u].items()} == expected
        assert ratings.users.tolist() == sorted({u for u, _ in expected})
        assert ratings.items.tolist() == sorted({i for _, i in expected})
    assert first.matrix.data.tobytes() == second.matrix.data.tobytes()
    assert first.matrix.indices.tobytes() == second.matrix.indices.tobytes()


@given(triples)
def test_to_arrow_comes_back(expected):
    ratings = Ratings.from_arrays(*zip(*[(u, i, r) for (u, i), r in expected.items()], strict=True))
    again = Ratings.from_frame(ratings.to_arrow())
    assert ratings.to_arrow().equals(again.to_arrow())
    assert ratings.to_arrow().num_rows == len(expected)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.just(0.0) | st.floats(1e-9, 1e6)),
        min_size=1,
        max_size=30,
    )
)
def test_duplicate_policies(rows):
    groups = {}
    for u, i, r in rows:
        groups.setdefault((u, i), []).append(r)
    columns = list(zip(*rows, strict=True))
    last = Ratings.from_arrays(*columns, duplicates="last")
    mean = Ratings.from_arrays(*columns, duplicates="mean")
    for (u, i), values in groups.items():
        assert last[u][i] == values[-1]
        assert mean[u][i] == pytest.approx(np.mean(values))
    backwards = Ratings.from_arrays(*(c[::-1] for c in columns), duplicates="mean")
    assert backwards.matrix.data.tobytes() == mean.matrix.data.tobytes()
    if len(groups) < len(rows):
        with pytest.raises(InputError, match=names("user")):
            Ratings.from_arrays(*columns)


def test_the_first_duplicate_is_named_with_both_rows():
    with pytest.raises(InputError, match=names(2, 4, 1, 7, "1")):
        Ratings.from_arrays([2, 1, 3, 1, 2], [7, 7, 7, 7, 7], [5, 4, 3, 2, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rating": [1.0, None, 2.0]}, names(2, "'rating'")),
        ({"rating": [1.0, float("nan"), 2.0]}, names(2)),
        ({"rating": [1.0, -2.0, -2.5]}, names(2, -2, 10, "'ann'")),
        ({"rating": [1.0, float("inf"), 2.0]}, names(2)),
        ({"rating": ["1", "2", "x"]}, names(1, "'rating'", "'1'", "str")),
        ({"rating": [True, False, True]}, names(1, "bool")),
        ({"user": ["a", None, "b"]}, names(2, "'user'")),
        ({"item": [1.5, 2.0, 2.5]}, names("item")),
    ],
)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_wrong_values_name_their_row(change, message, kind):
    with pytest.raises(InputError, match=message):
        Ratings.from_frame(kind(TABLE | change))


def test_mixed_columns_name_their_row():
    mixed = pd.DataFrame(TABLE | {"rating": pd.Series([1.0, "x", 2.0], dtype=object)})
    with pytest.raises(InputError, match=names(2, "'rating'", "'x'", "str")):
        Ratings.from_frame(mixed)
    mixed = pd.DataFrame(TABLE | {"user": pd.Series(["a", 1, "b"], dtype=object)})
    with pytest.raises(InputError, match=names("user")):
        Ratings.from_frame(mixed)


def test_wrong_frames():
    with pytest.raises(InputError, match=names("'user'", "'userId'", "user=")):
        Ratings.from_frame(pa.table({"userId": [1], "item": [1], "rating": [1]}))
    with pytest.raises(InputError, match=names("user", "item", "rating")):
        Ratings.from_frame(pa.table(TABLE), item="user")
    with pytest.raises(InputError):
        Ratings.from_frame(pa.table({"user": [], "item": [], "rating": []}))
    with pytest.raises(InputError, match=names("dict")):
        Ratings.from_frame(TABLE)
    with pytest.raises(InputError):
        Ratings.from_arrays([1], [1, 2], [1])


def test_the_decimal_that_a_short_float_stands_for():
    ratings = Ratings.from_arrays([1, 1], [1, 2], np.array([3.7, 4.1], dtype=np.float32))
    assert ratings[1] == {1: 3.7, 2: 4.1}
    assert ratings.scale.step == 0.4


def test_a_given_scale_is_kept_and_checked():
    scale = Scale(1, 5, 1)
    assert Ratings.from_arrays([1], [1], [3], scale=scale).scale == scale
    with pytest.raises(InputError, match=names(2, 6, 1, 5)):
        Ratings.from_arrays([1, 2], [1, 1], [3, 6], scale=scale)
    with pytest.raises(InputError, match=names(1, 5)):
        Ratings.from_arrays([1], [1], [3.5], scale=scale)


@pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_array, sparse.lil_array]
)
def test_from_csr(kind):
    ratings = Ratings.from_csr(kind(np.array([[0, 5, 0], [0, 0, 0], [2, 0, 1]])), users=["c", "a", "b"])
    assert ratings.users.tolist() == ["c", "a", "b"]  # the order of the rows stays
    assert ratings.items.tolist() == [0, 1, 2]
    assert [ratings[u] for u in "cab"] == [{1: 5.0}, {}, {0: 2.0, 2: 1.0}]


def test_from_csr_keeps_stored_zeros_and_sorts_indices():
    matrix = sparse.csr_array(([3.0, 0.0], [2, 0], [0, 2]), shape=(1, 3))
    ratings = Ratings.from_csr(matrix)
    assert ratings[0] == {0: 0.0, 2: 3.0}
    assert ratings.matrix.indices.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("matrix", "ids", "message"),
    [
        (np.eye(2), {}, names("ndarray", "scipy.sparse")),
        (sparse.csr_array((2, 2)), {}, names()),
        (sparse.csr_array(np.eye(2)), {"users": ["a"]}, names(1, 2, "user")),
        (sparse.csr_array(np.eye(2)), {"items": ["a", "a"]}, names("item", "'a'")),
        (sparse.csr_array([[1, -1]]), {}, names(2, -1, 1, 0)),
        (sparse.csr_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 1)), {}, names(1, 2, 0)),
        (sparse.coo_array([1, 2]), {}, names(1)),
    ],
)
def test_wrong_matrices(matrix, ids, message):
    with pytest.raises(InputError, match=message):
        Ratings.from_csr(matrix, **ids)


def test_lookups(ratings):
    assert ratings.user_position("bob") == 1
    assert ratings.item_position(10) == 2
    assert ratings.user_positions(None).tolist() == [0, 1]
    assert ratings.user_positions(["bob", "ann"]).tolist() == [1, 0]
    assert ratings.item_position("10", from_text=True) == 2
    assert ratings.item_index.get([10, 11]).tolist() == [2, -1]
    with pytest.raises(UnknownIdError, match=names("'10'", 10)):
        ratings.item_position("10")
    with pytest.raises(UnknownIdError, match=names("'bop'", "'bob'")):
        ratings.user_position("bop")
    with pytest.raises(UnknownIdError, match=names(3, 2)):
        ratings.item_position(3)


def test_take(ratings):
    part = ratings.take(users=np.array([False, True]))
    assert part.users.tolist() == ["bob"]
    assert part.n_items == 3
    assert part.scale == ratings.scale
    turned = ratings.take(users=[1, 0], items=[2, 0])
    assert turned.items.tolist() == [10, 2]
    assert [turned[u] for u in turned.users] == [{}, {2: 0.0, 10: 3.5}]
    assert turned.matrix.indices.tolist() == [0, 1]
    assert turned.item_position(2) == 1
    assert ratings.take(users=[]).n_users == 0
    with pytest.raises(ValueError, match="read-only"):
        turned.matrix.data[0] = 1


def test_rows(ratings):
    assert ratings.rows().tolist() == [0] * 2 + [1] * (ratings.n_ratings - 2)
    items, values = ratings.row(0)
    assert dict(zip(ratings.items[items].tolist(), values.tolist(), strict=True)) == ratings["ann"]
    assert list(ratings) == ["ann", "bob"]
    assert "ann" in ratings
    assert "cid" not in ratings
    assert [] not in ratings


def test_other_items(ratings):
    wider = ratings.with_items(np.array([99, *ratings.items.tolist()[::-1]]))
    assert [wider[u] for u in wider] == [ratings[u] for u in ratings]
    assert wider.matrix.has_sorted_indices
    assert ratings.with_items(ratings.items) is ratings
    with pytest.raises(UnknownIdError):
        ratings.with_items(np.array([2, 99]))
    fewer = ratings.with_items(np.array([99, 2]), missing="drop")
    assert fewer.items.tolist() == [99, 2]
    assert fewer["ann"] == {item: value for item, value in ratings["ann"].items() if item == 2}


def test_one_more_user(ratings):
    cid = one_user(ratings, "cid", np.array([2, 0]), np.array([1.0, 5.0]))
    assert cid["cid"] == {ratings.items[2]: 1.0, ratings.items[0]: 5.0}
    three = ratings.stack(cid)
    assert list(three) == ["ann", "bob", "cid"]
    assert three["cid"] == cid["cid"]
    assert three["ann"] == ratings["ann"]
    with pytest.raises(InputError):
        ratings.stack(cid.take(items=[0]))


def test_digest(ratings):
    assert ratings.digest() == ratings.take(users=[0, 1]).digest()
    others = (
        ratings.take(users=[1, 0]),
        ratings.take(items=[0, 1]),
        Ratings(ratings.matrix, np.array(["ann", "bop"], object), ratings.items, ratings.scale),
        Ratings(ratings.matrix * 2, ratings.users, ratings.items, ratings.scale),
    )
    assert len({ratings.digest(), *(other.digest() for other in others)}) == 5


@pytest.mark.parametrize("chosen", [[0, 0], [2], [-1], [True], [0.5], ["ann"], [[0]]])
def test_take_checks_its_positions(ratings, chosen):
    with pytest.raises(InputError):
        ratings.take(users=chosen)


@pytest.mark.real_data
def test_movielens(tmp_path, real_data):
    small = Ratings.read(real_data / "ml-100k" / "u.data")
    assert (small.n_users, small.n_items, small.n_ratings) == (943, 1682, 100_000)
    assert small[196][242] == 3.0
    with zipfile.ZipFile(real_data / "ml-1m" / "ml-1m.zip") as archive:
        archive.extract("ml-1m/ratings.dat", tmp_path)
    large = Ratings.read(tmp_path / "ml-1m" / "ratings.dat")
    assert (large.n_users, large.n_items, large.n_ratings) == (6040, 3706, 1_000_209)
    assert large.scale == small.scale == Scale(1, 5, 1)
    assert large[1][1193] == 5.0
    # An independent reading of the same lines.
    lines = (tmp_path / "ml-1m" / "ratings.dat").read_text().splitlines()
    assert large.matrix.sum() == sum(int(line.split("::")[2]) for line in lines)
