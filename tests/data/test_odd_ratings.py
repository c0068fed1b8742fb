"""Files that can be read, and whose ratings cannot be meant."""

import numpy as np
import pandas as pd
import pytest

from prefmover import Ratings
from prefmover.data.file_options import FileOptions
from prefmover.data.scale import Scale
from prefmover.errors import InputError
from tests.messages import names


def rows(rating, n=150):
    return "".join(f"u{k % 30},i{k // 30},{rating(k)}\n" for k in range(n))


def test_times_in_a_column_of_ratings(write):
    path = write("user,item,rating\n" + rows(lambda k: 1_700_000_000 + k))
    with pytest.raises(InputError, match=names("input.csv", "rating", 1700000000)):
        Ratings.read(path)
    with pytest.raises(InputError, match=names("rating", 1700000000)):
        Ratings.from_frame(pd.read_csv(path))
    assert Ratings.read(path, FileOptions(rating="rating")).scale.lowest == 1_700_000_000  # as one likes


@pytest.mark.parametrize("stray", [55, 720])
def test_a_rating_far_above_all_others(write, stray):
    path = write("user,item,rating\n" + rows(lambda k: stray if k == 149 else 1 + k % 5))
    with pytest.raises(InputError, match=names("line 151", stray, 1, 5, f"1:{stray}")):
        Ratings.read(path)
    assert Ratings.read(path, FileOptions(scale=Scale(1, stray, 1))).scale.highest == stray


@pytest.mark.parametrize(
    "rating",
    [
        lambda k: 10 if k == 149 else 7 + k % 3,  # of a scale whose ends are rare
        lambda k: 55 if k % 9 == 0 else 1 + k % 5,  # not rare
        lambda k: 2 ** (k // 5),  # a long tail
        lambda k: 9 if k == 149 else 1,  # no scale to be far from
    ],
)
def test_ratings_that_may_be_meant(write, rating):
    assert Ratings.read(write("user,item,rating\n" + rows(rating))).n_ratings == 150


@pytest.mark.parametrize("name", ["ratingId", "rating_id", "average_rating", "mean rating", "ratings_count"])
def test_columns_about_ratings_are_no_ratings(write, name):
    ratings = Ratings.read(write(f"user,item,{name}\n" + rows(lambda k: k)))
    assert ratings.implicit
    assert np.unique(ratings.matrix.data).tolist() == [1.0]
    beside = write(f"user,item,{name},my rating\n" + rows(lambda k: f"{k},{1 + k % 5}"))
    assert Ratings.read(beside).scale == Scale(1, 5, 1)


@pytest.mark.parametrize(("name", "implicit"), [("Hours", True), ("event", True), ("Feedback", False)])
def test_the_only_numbers_left_are_guessed_by_their_name(write, name, implicit):
    ratings = Ratings.read(
        write(f"user,item,{name},when\n" + rows(lambda k: f"{1 + k % 5},2024-01-0{1 + k % 9}"))
    )
    assert (ratings.implicit, ratings.scale.lowest, len(np.unique(ratings.matrix.data))) == (implicit, 1.0, 5)
    with pytest.raises(InputError, match=names(f"'{name}'")):  # not the only ones
        Ratings.read(write(f"user,item,{name},price\n" + rows(lambda k: f"{1 + k % 5},{k}")))
