"""A measure bound to a data set gives the values of the measures, for users and guests."""

from dataclasses import replace

import numpy as np
import pytest

from prefmover.data.ratings import one_user
from prefmover.measures import MEASURES, pairwise
from prefmover.measures.estimates import calibrate
from prefmover.predict.similarity import UserSimilarity


@pytest.mark.parametrize("name", MEASURES)
def test_values(data, name):
    similarity = UserSimilarity(data, MEASURES[name])
    expected = pairwise(data, name)
    everyone = np.arange(data.n_users)
    assert similarity.exact_values(everyone[::2], everyone).tolist() == pytest.approx(
        expected[::2], nan_ok=True
    )
    rows = np.concatenate([rows for _, rows in similarity.exact_blocks(everyone)])
    assert rows == pytest.approx(expected, nan_ok=True)
    self_values = similarity.self_values(everyone)
    if not MEASURES[name].is_zero_for_itself:
        assert self_values == pytest.approx(np.diagonal(expected), nan_ok=True)
    else:
        assert not self_values.any()


@pytest.mark.parametrize("name", MEASURES)
def test_a_guest_is_one_more_user(data, name):
    fewer = data.with_ratings(data.ratings.take(users=np.arange(20)))
    guest = one_user(data.ratings, "guest", *data.ratings.row(22))
    whole = data.with_ratings(fewer.ratings.stack(guest))
    expected = pairwise(whole, name, users=["guest"])[0]
    others = np.array([3, 0, 17])
    similarity = replace(UserSimilarity(fewer, MEASURES[name]), landmarks=others)
    assert similarity.exact_values(guest, others)[0] == pytest.approx(expected[others], nan_ok=True)
    values, to_self = similarity.to_landmarks(guest)
    assert values == pytest.approx(expected[others], nan_ok=True)
    if not MEASURES[name].is_zero_for_itself:
        assert to_self == pytest.approx(expected[-1], nan_ok=True)


def test_only_the_transport_of_a_sum_is_estimated(data):
    pmd, both = (UserSimilarity(data, MEASURES[name]) for name in ("pmd", "pmd-agreement"))
    calibration = calibrate(data)
    everyone = np.arange(data.n_users)
    term = pairwise(data, "pmd-agreement") - pairwise(data, "pmd")
    estimates = [
        replace(one, calibration=calibration).estimated_values(everyone, everyone) for one in (pmd, both)
    ]
    assert estimates[1] == pytest.approx(estimates[0] + term)
    guest = one_user(data.ratings, "guest", *data.ratings.row(5))
    landmarks = np.array([0, 3, 5])
    found = [
        replace(one, calibration=calibration, landmarks=landmarks).to_landmarks(guest) for one in (pmd, both)
    ]
    assert found[1][0] == pytest.approx(found[0][0] + term[5, landmarks])
    assert found[1][1] == pytest.approx(term[5, 5])


@pytest.mark.parametrize("name", ["pmd", "pmd-agreement", "pmd-opinions", "jmsd"])
def test_neighbors_of_users_and_guests(data, name):
    similarity = UserSimilarity(data, MEASURES[name])
    nearest = similarity.nearest(np.array([5]), 4)
    guest = one_user(data.ratings, "guest", *data.ratings.row(5))
    of_guest = similarity.nearest(guest, 5)
    assert set(nearest.neighbors.tolist()) <= {*of_guest.neighbors.tolist()}
    item = int(data.ratings.row(5)[0][0])
    raters = similarity.nearest(np.array([5]), 3, raters_of=np.array([item]))
    assert 5 not in raters.neighbors
    assert set(raters.neighbors.tolist()) <= set(data.ratings.matrix.tocsc()[:, [item]].nonzero()[0].tolist())
