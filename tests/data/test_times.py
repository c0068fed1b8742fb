"""Times of ratings: units, forms, and parts of the data."""

import logging

import numpy as np
import pytest

import prefmover as pm
from prefmover.data.splits import leave_last_out
from prefmover.errors import InputError
from tests.messages import names

DAY = 86400.0


@pytest.fixture(scope="module")
def films():
    """40 users, 12 films, times over a year."""
    rng = np.random.default_rng(7)
    rows = [(u, int(i)) for u in range(40) for i in rng.choice(12, 6, replace=False)]
    users, items = zip(*rows, strict=True)
    ratings = pm.Ratings.from_arrays(users, items, rng.integers(1, 6, len(rows)))
    times = {pair: float(t) for pair, t in zip(rows, rng.integers(0, 365 * DAY, len(rows)), strict=True)}
    geometry = pm.ItemGeometry.from_vectors(range(12), rng.random((12, 4)))
    return pm.Dataset(ratings, geometry, times=times), times


def lazily(times):
    return lambda: times


@pytest.mark.parametrize("form", [lambda times: times, lazily], ids=["at once", "when needed"])
def test_parts_of_the_data_keep_their_times(films, form):
    data, times = films
    listed = np.array(data.times)
    for given in (times, listed):
        whole = pm.Dataset(data.ratings, data.geometry, times=form(given))
        part = whole.with_ratings(leave_last_out(data.ratings, listed).train)
        pairs = zip(part.ratings.rows(), part.ratings.matrix.indices, strict=True)
        users, items = part.ratings.users.tolist(), part.ratings.items.tolist()
        assert part.times.tolist() == [times[users[u], items[i]] for u, i in pairs]
        assert whole.with_geometry(None).times.tolist() == listed.tolist()


def test_times_of_dropped_ratings():
    ratings = pm.Ratings.from_arrays(["a", "a", "b"], ["x", "y", "x"], [5, 3, 4])
    geometry = pm.ItemGeometry.from_vectors(["x"], [[1.0, 0.0]])
    with pytest.warns(pm.errors.MissingItemsWarning):
        data = pm.Dataset(ratings, geometry, missing="drop", times=lambda: np.array([1.0, 2.0, 3.0]))
    assert data.times.tolist() == [1.0, 3.0]


def test_data_without_times(films):
    data = pm.Dataset(films[0].ratings, films[0].geometry, name="plain")
    assert not data.has_times
    with pytest.raises(InputError, match=names("plain", "times")):
        data.times  # noqa: B018
    with pytest.raises(InputError):
        pm.Dataset(films[0].ratings, times={(0, 0): 1.0}).times  # noqa: B018


def test_files(films, tmp_path):
    data, times = films
    file = tmp_path / "ratings.csv"
    rows = [f"{u},{i},{r},{times[u, i]:.0f}" for u in data.ratings for i, r in data.ratings[u].items()]
    file.write_text("\n".join(["user,item,rating,when", *rows]) + "\n")
    assert (
        pm.Dataset.from_files(file, options=pm.FileOptions(time="when")).times.tolist() == data.times.tolist()
    )


def test_experiments_take_the_times_of_the_data(films):
    from prefmover.evaluation import evaluate

    data = films[0]
    options = {"recommenders": "bias", "protocol": "last", "repeats": 1}
    own, given = (evaluate(data, times=times, **options) for times in (None, films[1]))
    assert [record.main for record in own] == [record.main for record in given]


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_dates_of_every_unit_are_times(unit):
    ratings = pm.Ratings.from_arrays(["ann", "ann"], ["x", "y"], [4, 4])
    dates = np.array(["2026-01-01", "2026-01-02"], f"datetime64[{unit}]")
    assert np.diff(pm.Dataset(ratings, times=dates).times).tolist() == [DAY]


@pytest.mark.parametrize("per_second", [1, 10**3, 10**6, 10**9])
def test_numbers_of_every_unit_are_times(per_second):
    ratings = pm.Ratings.from_arrays(["ann", "ann"], ["x", "y"], [4, 4])
    numbers = np.array([1_500_000_000, 1_500_086_400]) * per_second
    assert pm.Dataset(ratings, times=numbers).times == pytest.approx([1.5e9, 1.5e9 + DAY])


def test_milliseconds_in_a_file(tmp_path, caplog):
    file = tmp_path / "log.csv"
    file.write_text("user,item,rating,ts\nann,x,4,1500000000000\nann,y,4,1500086400000\nbob,y,2,0\n")
    with caplog.at_level(logging.WARNING, "prefmover"):
        data = pm.Dataset.from_files(file, options=pm.FileOptions(time="ts"))
    assert data.times == pytest.approx([1.5e9, 1.5e9 + DAY, 0.0])
    assert "milliseconds" in caplog.text
    file.write_text("user,item,rating,ts\nann,x,4,1500000000000\nann,y,4,1500086400\n")
    with pytest.raises(InputError, match=names(1500086400, 1500000000000)):
        pm.Dataset.from_files(file, options=pm.FileOptions(time="ts"))


def test_a_log_with_repeats(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("user,item,ts\nann,x,0\nann,y,0\nann,x,86400\nbob,y,5\n")
    data = pm.Dataset.from_files(file, options=pm.FileOptions(feedback="implicit", time="ts"))
    assert data.times.tolist() == [86400.0, 0.0, 5.0]  # the last of ann's two
    with pytest.raises(InputError, match=names("'nope'")):
        pm.Dataset.from_files(file, options=pm.FileOptions(feedback="implicit", time="nope"))


@pytest.mark.parametrize(
    "times",
    [
        np.array(["2020-01-01", "x", None], object),
        np.array([5.0, -1.0, 3.0]),
        np.array([5.0, np.nan, 3.0]),
        np.array(["1950-01-01"] * 3, "M8[D]"),
    ],
)
def test_times_that_are_none(times):
    ratings = pm.Ratings.from_arrays(["a", "a", "b"], [1, 2, 2], [5, 3, 4])
    with pytest.raises(InputError):
        pm.Dataset(ratings, times=times)
