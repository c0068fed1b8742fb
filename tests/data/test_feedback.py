"""Implicit feedback from every kind of source, and zeros that mean "no rating"."""

import logging
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from prefmover import Dataset, ItemGeometry, Ratings
from prefmover.data.file_options import FileOptions
from prefmover.data.ratings import one_user
from prefmover.data.scale import Scale, damped
from prefmover.data.splits import random_split
from prefmover.errors import InputError, ZeroRatingsWarning
from tests.data.conftest import as_dicts
from tests.messages import names, unnamed

PLAYS = {"user": ["ann", "ann", "bob", "ann"], "item": ["x", "y", "x", "x"], "plays": [3, 1, 7, 4]}
STRENGTHS = {"ann": {"x": 3.0, "y": 1.0}, "bob": {"x": 3.0}}


@pytest.mark.parametrize(
    "text",
    [
        "user,item\na,x\na,y\nb,x\n",
        "item,user\nx,a\ny,a\nx,b\n",
        "user id,item id\na,x\na,y\nb,x\n",
        "a,x\na,y\nb,x\n",
        "a\tx\na\ty\nb\tx\n",
        "a x\na y\nb x\n",
        "a::x\na::y\nb::x\n",
        "user;item;timestamp\na;x;978300760\na;y;978300761\nb;x;978300762\n",
        "timestamp,visitorid,event,itemid,transactionid\n1,a,view,x,\n2,a,view,y,\n3,b,addtocart,x,17\n",
    ],
)
def test_a_file_without_ratings_is_implicit(write, text):
    ratings = Ratings.read(write(text))
    assert ratings.implicit is True
    assert as_dicts(ratings) == {"a": {"x": 1.0, "y": 1.0}, "b": {"x": 1.0}}
    assert ratings.scale == Scale(1, 1, 1, implicit=True, damping="log")
    assert repr(ratings) == "Ratings(2 users x 2 items, 3 interactions)"


@pytest.mark.parametrize(
    ("values", "options", "implicit"),
    [
        ([1, 2, 2, 3, 540], {}, True),
        ([1, 2, 2, 3, 540], {"feedback": "explicit"}, False),
        ([1, 2, 2, 3, 540], {"scale": Scale(1, 1000, 1)}, False),
        ([1, 2, 2, 3, 540.5], {}, False),
        ([10, 20, 55, 70, 100], {}, False),
        ([400, 500, 500, 600, 900], {}, False),
    ],
)
def test_a_column_without_a_name_has_counts_if_a_few_are_far_larger(write, values, options, implicit):
    text = "".join(f"u{k}\tx\t{value}\n" for k, value in enumerate(values))
    assert Ratings.read(write(text), FileOptions(**options)).implicit is implicit
    headed = FileOptions(**options, user="who")
    assert Ratings.read(write("who\titem\trating\n" + text), headed).implicit is False


def test_numbers_in_two_columns_are_ids(write):
    assert as_dicts(Ratings.read(write("1,20\n1,30\n2,20\n"))) == {1: {20: 1.0, 30: 1.0}, 2: {20: 1.0}}


def test_a_header_over_two_columns_of_numbers_is_not_data(write):
    with pytest.raises(InputError, match=names("input.csv", "'user'", "'Kunde'", "'Film'")):
        Ratings.read(write("Kunde,Film\n1,20\n"))


@pytest.mark.parametrize("name", ["plays", "count", "weight", "play_count", "Clicks", "n", "quantity"])
def test_counts_go_by_usual_names(write, name):
    rows = "".join(f"{u},{i},{n}\n" for u, i, n in zip(*PLAYS.values(), strict=True))
    ratings = Ratings.read(write(f"user,item,{name}\n{rows}"))
    assert ratings.implicit
    assert as_dicts(ratings) == STRENGTHS
    assert ratings.scale == Scale(1.0, 3.0, 0.0, implicit=True, damping="log")
    assert not unnamed(repr(ratings), 2, 3, "interactions", "log")


def test_the_same_from_frames_arrays_matrices_and_parquet(tmp_path):
    pq.write_table(pa.table(PLAYS), tmp_path / "plays.parquet")
    matrix = sparse.coo_array((PLAYS["plays"], ([0, 0, 1, 0], [0, 1, 0, 0])))
    for ratings in (
        Ratings.from_frame(pd.DataFrame(PLAYS)),
        Ratings.from_frame(pl.LazyFrame(PLAYS)),
        Ratings.from_frame(pa.table(PLAYS)),
        Ratings.read(tmp_path / "plays.parquet"),
        Ratings.from_arrays(*PLAYS.values(), feedback="implicit"),
        Ratings.from_csr(matrix, ["ann", "bob"], ["x", "y"], feedback="implicit"),
    ):
        assert as_dicts(ratings) == STRENGTHS
        assert ratings.implicit


def test_frames_and_arrays_without_ratings():
    pairs = {name: PLAYS[name] for name in ("user", "item")}
    for ratings in (Ratings.from_frame(pl.DataFrame(pairs)), Ratings.from_arrays(*pairs.values())):
        assert as_dicts(ratings) == {"ann": {"x": np.log2(3), "y": 1.0}, "bob": {"x": 1.0}}


def test_a_choice_of_the_caller_wins(write):
    path = write("user,item,plays,rating\na,x,3,5\nb,x,1,4\n")
    assert Ratings.read(path)["a"] == {"x": 5.0}
    assert not Ratings.read(path).implicit
    assert Ratings.read(path, FileOptions(feedback="implicit"))["a"] == {"x": 2.0}
    assert Ratings.read(path, FileOptions(rating="rating", feedback="implicit", damping="none"))["a"] == {
        "x": 5.0
    }
    explicit = Ratings.read(path, FileOptions(rating="plays"))
    assert not explicit.implicit
    assert explicit["a"] == {"x": 3.0}
    assert Ratings.read(path, FileOptions(rating=2, feedback="implicit"))["a"] == {"x": 2.0}


def test_a_column_of_numbers_that_may_be_ratings_is_not_passed_over(write):
    path = write("user,item,opinion\na,x,5\n")
    with pytest.raises(InputError, match=names("input.csv", "rating='opinion'", "feedback='implicit'")):
        Ratings.read(path)
    with pytest.raises(InputError, match=names("rating='opinion'")):
        Ratings.from_frame(pd.DataFrame({"user": [1], "item": [2], "opinion": [3]}))
    assert Ratings.read(path, FileOptions(feedback="implicit"))["a"] == {"x": 1.0}
    assert Ratings.read(write("user,item,remark\na,x,fine\n")).implicit


@pytest.mark.parametrize(
    ("damping", "expected"),
    [(None, [1, 2, 10]), ("log", [1, 2, 10]), ("sqrt", [1, 3**0.5, 1023**0.5]), ("none", [1, 3, 1023]),
     ("binary", [1, 1, 1])],
)  # fmt: skip
def test_damping(damping, expected):
    ratings = Ratings.from_arrays([1, 1, 2], [7, 8, 7], [1, 3, 1023], feedback="implicit", damping=damping)
    assert ratings.matrix.data.tolist() == expected
    assert ratings.scale.damping == (damping or "log")
    assert ratings.scale.strengths([1, 3, 1023]).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 9)), min_size=1), st.randoms())
def test_counts_of_a_pair_are_added_before_they_are_damped(rows, random):
    counts: dict = {}
    for user, item, count in rows:
        counts[user, item] = counts.get((user, item), 0) + count
    counts = {pair: count for pair, count in counts.items() if count}
    random.shuffle(rows)
    if not counts:
        with pytest.raises(InputError):
            Ratings.from_arrays(*zip(*rows, strict=True), feedback="implicit")
        return
    ratings = Ratings.from_arrays(*zip(*rows, strict=True), feedback="implicit")
    actual = {(user, item): value for user in ratings for item, value in ratings[user].items()}
    assert actual == {pair: np.log2(1 + count) for pair, count in counts.items()}


def test_the_flag_travels_with_the_ratings():
    ratings = Ratings.from_arrays(*PLAYS.values(), feedback="implicit", damping="sqrt")
    guest = one_user(ratings, "cid", np.array([1]), ratings.scale.strengths([4]))
    assert guest["cid"] == {"y": 2.0}
    for other in (
        ratings.take(users=[0]),
        ratings.with_items(np.array(["z", "y", "x"], dtype=object)),
        guest,
        ratings.stack(guest),
        random_split(ratings, 0.5).train,
        Dataset(ratings).ratings,
    ):
        assert other.implicit
        assert other.scale.damping == "sqrt"
    assert "interactions" in repr(Dataset(ratings))
    assert ratings.to_arrow().column_names == ["user", "item", "strength"]


def test_tables_that_mean_different_things_are_not_stacked():
    plays = Ratings.from_arrays(["a"], ["x"], feedback="implicit")
    for other in (Ratings.from_arrays(["b"], ["x"], [1]), Ratings.from_arrays(["b"], ["x"], damping="sqrt")):
        with pytest.raises(InputError, match=names("log")):
            plays.stack(other)


def test_the_digest_tells_counts_from_ratings():
    explicit = Ratings.from_arrays(["a"], ["x"], [1])
    assert explicit.digest() == "be282a617dd99f0d"  # as before there was implicit feedback
    assert Ratings.from_arrays(["a"], ["x"]).digest() != explicit.digest()


def test_items_compared_by_interactions():
    users, items = [1, 1, 2, 2, 3, 3, 4, 4], list("xyxyzwzw")
    near = ItemGeometry.from_ratings(Ratings.from_arrays(users, items)).near("x", 1)
    assert near == [("y", pytest.approx(0, abs=1e-6))]


def test_equal_counts_are_all_one_strength():
    ratings = Ratings.from_arrays([1, 1, 2], [7, 8, 7], [4, 4, 4], feedback="implicit")
    assert ratings.scale == Scale(np.log2(5), np.log2(5), 1, implicit=True)
    assert repr(ratings) == "Ratings(2 users x 2 items, 3 interactions)"


@pytest.mark.parametrize("count", [0, -1, np.nan, np.inf])
def test_strengths_of_what_is_not_a_count(count):
    with pytest.raises(InputError, match=names(f"{count:g}")):
        Scale(1, 5, 0, implicit=True).strengths([1, count])
    with pytest.raises(InputError):
        Scale(1, 5, 1).strengths([1])


@pytest.mark.parametrize("scale", [(1, 5, 1, False, "log"), (1, 5, 0, True, "cubic"), (1, 5, 0, "yes")])
def test_scales_that_contradict_themselves(scale):
    with pytest.raises(InputError):
        Scale(*scale)


def test_a_scale_is_made_again_from_its_facts():
    for scale in (Scale(1, 5, 1), Scale(1, 5, 0, implicit=True, damping="sqrt")):
        assert Scale(*scale.facts()) == scale
    assert Scale(1, 5, 1).facts() == [1, 5, 1]


BOOKS = "user,item,rating\n" + "".join(
    f"u{k % 9},b{k % 20 + k // 9},{k % 5 if k % 2 else 0}\n" for k in range(120)
)


def test_many_zeros_are_worth_a_warning(write):
    path = write(BOOKS)
    with pytest.warns(ZeroRatingsWarning, match=names("input.csv", 72, 120, "60%", 'zeros="missing"')):
        ratings = Ratings.read(path, FileOptions(duplicates="last"))
    assert ratings.scale.lowest == 0


def test_zeros_by_choice(write, caplog):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = Ratings.read(write(BOOKS), FileOptions(duplicates="last", zeros="rating"))
        with caplog.at_level(logging.INFO, "prefmover"):
            dropped = Ratings.read(write(BOOKS), FileOptions(duplicates="last", zeros="missing"))
    assert (kept.matrix.data == 0).any()
    assert dropped.scale == Scale(1, 4, 1)
    assert not unnamed(caplog.text, "input.csv", 72, 120)


def test_likes_and_dislikes_are_a_scale():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Ratings.from_arrays(list(range(200)), [1] * 200, [0, 1] * 100).scale == Scale(0, 1, 1)


def test_users_with_zeros_only_are_gone_and_lines_keep_their_numbers(write):
    ratings = Ratings.read(write("user,item,rating\na,x,0\nb,x,5\n"), FileOptions(zeros="missing"))
    assert as_dicts(ratings) == {"b": {"x": 5.0}}
    with pytest.raises(InputError, match=names("input.csv", 4, -1)):
        Ratings.read(write("user,item,rating\na,x,0\nb,x,5\nc,x,-1\n"), FileOptions(zeros="missing"))


def test_zeros_of_a_matrix_are_dropped_but_its_users_stay():
    matrix = sparse.csr_array(([0.0, 3.0], ([0, 1], [0, 1])), shape=(2, 2))
    ratings = Ratings.from_csr(matrix, zeros="missing")
    assert as_dicts(ratings) == {0: {}, 1: {1: 3.0}}


def test_times_are_ignored_if_every_row_counts_the_same(write):
    path = write("1,20,978300760\n1,30,978300761\n2,20,978300762\n")
    ratings = Ratings.read(path, FileOptions(feedback="implicit", damping="binary"))
    assert as_dicts(ratings) == {1: {20: 1.0, 30: 1.0}, 2: {20: 1.0}}


def test_damped_is_one_for_one_event():
    for damping in ("log", "sqrt", "none", "binary"):
        assert damped([1], damping).tolist() == [1.0]
