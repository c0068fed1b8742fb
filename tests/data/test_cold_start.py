"""Items that nobody has rated, and people with a few ratings, held out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover import Ratings
from prefmover.data.cold_start import cold_items, new_people, people_share
from prefmover.data.splits import validation_split
from prefmover.errors import InputError


def table(n_users=40, n_items=30, seed=0):
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((n_users, n_items)) < rng.random((n_users, 1)))
    return Ratings.from_arrays(users, items, rng.integers(1, 6, users.size))


def pairs(ratings):
    return set(zip(ratings.rows().tolist(), ratings.matrix.indices.tolist(), strict=True))


def held_pairs(split):
    return set(zip(split.users.tolist(), split.items.tolist(), strict=True))


@given(st.floats(0.1, 0.9), st.integers(0, 2**40))
def test_cold_items_are_held_out_whole(share, seed):
    ratings = table()
    split = cold_items(ratings, share, seed)
    train, test = pairs(split.train), held_pairs(split)
    assert not train & test
    assert train | test == pairs(ratings)
    trained, tested = ({item for _, item in some} for some in (train, test))
    cold = tested - trained
    more = cold_items(ratings, min(0.95, share + 0.3), seed)
    held = {item for _, item in held_pairs(more)} - {item for _, item in pairs(more.train)}
    assert len(held & cold) >= 3  # a tenth of 30; an item whose few ratings are all held out may come to it
    assert train <= pairs(more.train)
    warm = [pair for pair in pairs(ratings) if pair[1] not in held & cold]
    assert abs(len(train) - share * len(warm)) <= len(pairs(ratings)) - len(warm) + 1
    assert cold_items(ratings, share, seed).train.digest() == split.train.digest()


@given(st.integers(1, 5), st.integers(0, 2**40))
def test_new_people_give_a_few_ratings(k, seed):
    ratings = table()
    split = new_people(ratings, k, 5, seed=seed)
    people = set(split.users.tolist())
    counts, left = np.diff(ratings.matrix.indptr), np.diff(split.train.matrix.indptr)
    assert len(people) == round(0.1 * (counts > 5).sum())
    for user in range(ratings.n_users):
        assert left[user] == (k if user in people else counts[user])
    assert pairs(split.train) | held_pairs(split) == pairs(ratings)
    if k > 1:  # fewer given ratings are a part of more, of the same people
        fewer = new_people(ratings, k - 1, 5, seed=seed)
        assert pairs(fewer.train) < pairs(split.train)
        assert set(fewer.users.tolist()) == people


@pytest.mark.parametrize("k", [1, 5])
def test_the_share_is_an_expectation(k):
    ratings = table()
    every = [new_people(ratings, k, 5, seed=s).train.n_ratings for s in range(200)]
    assert np.mean(every) / ratings.n_ratings == pytest.approx(people_share(ratings, k, 5), abs=0.01)


def test_validation_parts_are_made_in_the_same_way():
    ratings = table()
    outer = cold_items(ratings, 0.8, 3)
    inner = validation_split(outer, 0.8, 3)
    assert pairs(inner.train) < pairs(outer.train)
    assert held_pairs(inner) == pairs(outer.train) - pairs(inner.train)
    assert inner.new_items >= round(0.1 * len({item for _, item in pairs(outer.train)}))

    outer = new_people(ratings, 2, 5, seed=3)
    inner = validation_split(outer, 0.8, 3)
    counts = np.diff(outer.train.matrix.indptr)
    people = np.unique(inner.users)
    assert len(people) == round(0.2 * (counts > 5).sum())  # a fifth, so that more are judged
    assert not set(people.tolist()) & set(outer.users.tolist())
    assert (np.diff(inner.train.matrix.indptr)[people] == 2).all()


def test_held_out_ratings_have_no_say():
    """Other values of the test ratings change neither the training part nor the validation part."""
    ratings = table()
    for make in (lambda r: cold_items(r, 0.6, 1), lambda r: new_people(r, 3, 5, seed=1)):
        split = make(ratings)
        tested, changed = held_pairs(split), ratings.matrix.copy()
        rows = ratings.rows().tolist()
        at = [
            k
            for k, pair in enumerate(zip(rows, ratings.matrix.indices.tolist(), strict=True))
            if pair in tested
        ]
        changed.data = changed.data.copy()
        changed.data[at] = 6 - changed.data[at]
        other = make(Ratings(changed, ratings.users, ratings.items, ratings.scale))
        assert other.train.digest() == split.train.digest()
        assert validation_split(other).train.digest() == validation_split(split).train.digest()


def test_nobody_has_enough_ratings():
    with pytest.raises(InputError):
        new_people(table(), 3, most=30)
