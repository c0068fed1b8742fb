import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover.data.ratings import Ratings, Scale
from prefmover.data.splits import (
    by_time,
    hashed,
    k_fold,
    leave_last_out,
    published_folds,
    random_split,
    rating_times,
    validation_split,
)
from prefmover.errors import InputError
from tests.messages import names, unnamed


def table(n_users=12, n_items=9, seed=0):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < 0.6)
    stars = rng.integers(1, 6, users.size)
    return Ratings.from_arrays(users * 10, items + 100, stars, scale=Scale(0.0, 5.0, 1.0))


def triples(split):
    """Return train and test as sets of (user position, item position, rating)."""
    matrix = split.train.matrix.tocoo()
    train = set(zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True))
    test = set(zip(split.users.tolist(), split.items.tolist(), split.ratings.tolist(), strict=True))
    return train, test


def whole(ratings):
    matrix = ratings.matrix.tocoo()
    return set(zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True))


@given(st.floats(0.05, 0.95), st.integers(0, 2**40), st.sampled_from([None, "user"]))
def test_a_split_deals_every_rating_once(share, seed, stratify):
    ratings = table()
    split = random_split(ratings, share, seed, stratify=stratify)
    train, test = triples(split)
    assert train | test == whole(ratings)
    assert not train & test
    assert abs(len(train) - share * ratings.n_ratings) <= 0.5 + 1e-9
    assert split.train.users is ratings.users
    assert split.train.scale == ratings.scale
    assert (np.diff(split.users) >= 0).all()
    if stratify:
        n, n_train = np.diff(ratings.matrix.indptr), np.diff(split.train.matrix.indptr)
        assert (np.abs(n_train - share * n) <= 1).all()


def test_the_same_on_every_machine():
    """The very ratings are fixed: a change would make every recorded figure unrepeatable."""
    assert hashed(0, np.arange(3)).tolist() == [
        0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F  # the first outputs of SplitMix64
    ]  # fmt: skip
    u, i = np.divmod(np.arange(30), 6)
    split = random_split(Ratings.from_arrays(u, i, 1 + (u + i) % 5), 0.2, seed=7)
    assert split.train.matrix.indices.tolist() == [3, 5, 2, 0, 1, 3]


def test_row_order_does_not_matter_and_seeds_do():
    ratings = table()
    matrix = ratings.matrix.tocoo()
    order = np.random.default_rng(1).permutation(matrix.nnz)
    shuffled = Ratings.from_arrays(
        ratings.users[matrix.row[order]],
        ratings.items[matrix.col[order]],
        matrix.data[order],
        scale=ratings.scale,
    )
    assert triples(random_split(ratings, 0.5, 3)) == triples(random_split(shuffled, 0.5, 3))
    assert triples(random_split(ratings, 0.5, 3)) != triples(random_split(ratings, 0.5, 4))


def test_a_small_share_is_part_of_a_larger_one():
    small, large = (triples(random_split(table(), share, 5))[0] for share in (0.2, 0.6))
    assert small < large


def test_lots_are_fair():
    """Each rating lands in a tenth of the training sets, within five deviations."""
    ratings = table(20, 20)
    counts = np.zeros(ratings.n_ratings)
    for seed in range(400):
        train = {(u, i) for u, i, _ in triples(random_split(ratings, 0.1, seed))[0]}
        matrix = ratings.matrix.tocoo()
        counts += [(u, i) in train for u, i in zip(matrix.row.tolist(), matrix.col.tolist(), strict=True)]
    assert abs(counts.mean() - 40) < 1
    assert np.abs(counts - 40).max() < 5.5 * np.sqrt(400 * 0.09)


@given(st.integers(2, 10), st.integers(0, 100))
def test_folds_test_every_rating_once(folds, seed):
    ratings = table()
    parts = k_fold(ratings, folds, seed)
    tested = [triples(split)[1] for split in parts]
    assert len(parts) == folds
    assert sum(map(len, tested)) == ratings.n_ratings
    assert set.union(*tested) == whole(ratings)
    assert max(map(len, tested)) - min(map(len, tested)) <= 1
    assert all(triples(split)[0] == whole(ratings) - test for split, test in zip(parts, tested, strict=True))


def test_the_new_are_counted():
    ratings = Ratings.from_arrays([1, 2, 3, 3], ["a", "b", "a", "c"], [1, 2, 3, 4])
    parts = ratings.take(users=[0]), ratings.take(users=[1, 2])
    (split,) = published_folds(ratings, [parts])
    assert (split.train.n_users, split.train.n_items) == (3, 3)
    assert (split.new_users, split.new_items) == (2, 2)  # users 2 and 3, items b and c
    assert not unnamed(repr(split), 3)


def test_published_folds_must_be_of_the_table():
    ratings = Ratings.from_arrays([1, 2], ["a", "b"], [1, 2])
    other = Ratings.from_arrays([1], ["a"], [5])
    stranger = Ratings.from_arrays([9], ["a"], [5])
    one, two = ratings.take(users=[0]), ratings.take(users=[1])
    with pytest.raises(InputError):
        published_folds(ratings, [(other, two)])
    with pytest.raises(InputError, match=names(9)):
        published_folds(ratings, [(stranger, two)])
    with pytest.raises(InputError):
        published_folds(ratings, [(one, one)])


@pytest.mark.parametrize("share", [0, 1, -0.1, 2, float("nan")])
def test_shares_lie_between_0_and_1(share):
    with pytest.raises(InputError, match=names(0, 1)):
        random_split(table(), share)


def test_other_bad_arguments():
    with pytest.raises(InputError, match=names("seed", -1)):
        random_split(table(), 0.5, -1)
    with pytest.raises(InputError, match="stratify"):
        random_split(table(), 0.5, stratify="item")
    with pytest.raises(InputError, match=names("folds", 1)):
        k_fold(table(), 1)
    with pytest.raises(InputError):
        random_split(table(), 1e-9)


def test_test_pairs():
    split = random_split(Ratings.from_arrays([1, 1, 2, 2], list("abab"), [1, 2, 3, 4]), 0.5)
    assert len(split.test_pairs()) == split.n_test == 2
    assert all(item not in split.train[user] for user, item in split.test_pairs())


def clock(ratings, seed=0):
    """Return a whole number for each rating of a table, with some equal ones, by (user, item)."""
    matrix = ratings.matrix.tocoo()
    times = np.random.default_rng(seed).integers(0, 30, ratings.n_ratings).tolist()
    pairs = zip(ratings.users[matrix.row].tolist(), ratings.items[matrix.col].tolist(), strict=True)
    return dict(zip(pairs, times, strict=True))


def test_the_earliest_ratings_train():
    ratings = table()
    times = clock(ratings)
    split = by_time(ratings, times, 0.7)
    tested = {times[pair] for pair in split.test_pairs()}
    trained = {times[user, item] for user in split.train for item in split.train[user]}
    assert max(trained) <= min(tested)
    assert split.train.n_ratings == round(0.7 * ratings.n_ratings)
    assert split.times.max() == max(trained)
    inner = validation_split(split)
    assert inner.times.max() <= min(times[pair] for pair in inner.test_pairs())
    assert not {*inner.test_pairs()} & {*split.test_pairs()}


@pytest.mark.parametrize("n", [1, 3])
def test_the_last_ratings_of_each_user_are_tested(n):
    ratings = table(n_users=8, n_items=6)
    times = clock(ratings)
    split = leave_last_out(ratings, times, n)
    tested = split.test_pairs()
    for user in ratings:
        own, rest = [pair for pair in tested if pair[0] == user], split.train[user]
        assert len(own) == (n if len(ratings[user]) > n else 0)
        if own:
            assert min(times[pair] for pair in own) >= max(times[user, item] for item in rest)
    inner = validation_split(split)
    assert len(inner.test_pairs()) == sum(len(split.train[user]) > 1 for user in ratings)
    assert not {*inner.test_pairs()} & {*tested}


def test_times_in_any_form():
    import pandas as pd
    import polars as pl

    ratings = table()
    times = clock(ratings)
    users, items = zip(*times, strict=True)
    columns = {"user": users, "item": items, "time": list(times.values())}
    expected = list(times.values())
    shuffled = np.random.default_rng(1).permutation(len(users))
    frame = pd.DataFrame(columns).iloc[shuffled]
    for form in (times, expected, frame, pl.DataFrame(columns), Ratings.from_frame(frame, rating="time")):
        assert rating_times(ratings, form).tolist() == expected


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_a_validation_part_is_inside_the_training_part(seed):
    ratings = table(40, 30)
    for outer in (random_split(ratings, 0.5, seed), random_split(ratings, 0.5, seed, stratify="user")):
        inner = validation_split(outer, 0.8, seed)
        train, test = triples(inner)
        assert train | test == triples(outer)[0]
        assert not train & test
        assert abs(inner.n_test - 0.2 * outer.train.n_ratings) <= 0.5


def test_bad_times():
    ratings = table()
    times = clock(ratings)
    for wrong in ([1.0], [float("nan")] * ratings.n_ratings, "yesterday", {3: 4}):
        with pytest.raises(InputError, match="times"):
            by_time(ratings, wrong)
    user, item = next(iter(times))
    with pytest.raises(InputError, match=names(repr(user), repr(item))):
        by_time(ratings, {pair: time for pair, time in times.items() if pair != (user, item)})
    with pytest.raises(InputError, match=names(0, 1)):
        by_time(ratings, times, 1.5)
    with pytest.raises(InputError, match=names(9)):
        leave_last_out(ratings, times, 9)
    with pytest.raises(InputError, match=names("n", 0)):
        leave_last_out(ratings, times, 0)


@pytest.mark.real_data
@pytest.mark.usefixtures("real_data")
def test_the_folds_of_ml_100k():
    from prefmover import datasets

    data = datasets.load("ml-100k")
    splits = data.folds()
    assert [split.n_test for split in splits] == [20_000] * 5
    assert set.union(*(triples(split)[1] for split in splits)) == whole(data.ratings)
