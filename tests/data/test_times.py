"""Half-lives: weights, masses, data sets, models and the command line."""

import json
import logging
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prefmover as pm
from prefmover.data.splits import leave_last_out
from prefmover.data.times import duration, half_life_weights
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


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("180d", 180 * DAY),
        ("2w", 14 * DAY),
        ("1y", 365.25 * DAY),
        (".5h", 1800.0),
        (90, 90.0),
        (timedelta(1), DAY),
    ],
)
def test_durations(value, seconds):
    assert duration(value) == seconds


@pytest.mark.parametrize(
    "value", ["180", "d", "-3d", "0d", "3 months", 0, -1, np.nan, np.inf, None, True, "1e3d"]
)
def test_what_is_no_duration(value):
    with pytest.raises(InputError, match=names("half_life")):
        duration(value)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20), st.floats(1.0, 1e9))
def test_weights_halve_with_every_half_life(times, half_life):
    ratings = pm.Ratings.from_arrays([1] * len(times), range(len(times)), [3] * len(times))
    weights = half_life_weights(ratings, np.array(times, float), half_life)
    assert weights.max() == 1.0
    for when, weight in zip(times, weights, strict=True):
        assert weight == pytest.approx(2.0 ** (-(max(times) - when) / half_life))


def test_a_rating_without_a_time_is_new():
    ratings = pm.Ratings.from_arrays(["a", "a", "b"], [1, 2, 2], [5, 3, 4])
    weights = half_life_weights(ratings, np.array([0.0, np.nan, 30.0]), 10.0)
    assert weights.tolist() == [0.125, 1.0, 1.0]


def test_masses_are_whole_numbers_and_shares_correct_within_a_billionth(films):
    data, times = films
    aged = data.with_half_life("60d").preferences
    assert aged.mass.dtype == np.int64
    for u, user in enumerate(data.ratings):
        row = slice(*aged.indptr[u : u + 2])
        given = data.ratings[user]
        latest = max(times[user, item] for item in given)
        exact = {i: r * 2 ** ((times[user, i] - latest) / (60 * DAY)) for i, r in given.items()}
        total = sum(exact.values())
        found = dict(zip(data.ratings.items[aged.indices[row]].tolist(), aged.mass[row], strict=True))
        assert aged.total[u] == aged.mass[row].sum()
        for item, mass in exact.items():
            assert found.get(item, 0) / aged.total[u] == pytest.approx(mass / total, abs=2e-9)


def test_a_long_half_life_changes_next_to_nothing_and_a_short_one_leaves_the_last_rating(films):
    data, times = films
    assert np.abs(pm.distances(data.with_half_life("99999y")) - pm.distances(data)).max() < 1e-4
    last = data.with_half_life(1).preferences
    assert np.diff(last.indptr).tolist() == [1] * data.n_users
    for u, user in enumerate(data.ratings):
        latest = max(data.ratings[user], key=lambda item: times[user, item])
        assert data.ratings.items[last.indices[u]] == latest


def test_ratings_stay_and_parts_of_the_data_keep_their_times(films):
    data, times = films
    aged = data.with_half_life("60d")
    assert aged.ratings is data.ratings
    assert data.half_life is None
    split = leave_last_out(data.ratings, data.times)
    part = aged.with_ratings(split.train)
    assert part.half_life == 60 * DAY
    pairs = zip(part.ratings.rows(), part.ratings.matrix.indices, strict=True)
    users, items = part.ratings.users.tolist(), part.ratings.items.tolist()
    assert part.times.tolist() == [times[users[u], items[i]] for u, i in pairs]
    assert aged.with_half_life(None).half_life is None


def test_data_without_times(films):
    data = pm.Dataset(films[0].ratings, films[0].geometry, name="plain")
    assert not data.has_times
    for wrong in (lambda: data.times, lambda: data.with_half_life("9d")):
        with pytest.raises(InputError, match=names("plain", "times")):
            wrong()
    with pytest.raises(InputError):
        pm.Dataset(films[0].ratings, times={(0, 0): 1.0}).times  # noqa: B018


def test_models_are_saved_and_updated_with_their_half_life(films, tmp_path):
    data = films[0].with_half_life("30d")
    model = pm.Recommender().fit(data)
    assert not np.allclose(
        model.neighbors(0, 5).values, pm.Recommender().fit(films[0]).neighbors(0, 5).values
    )
    model.update(0, {11: 5})
    model.save(tmp_path / "model")
    again = pm.Recommender.load(tmp_path / "model")
    assert again.data_.half_life == 30 * DAY
    assert again.neighbors(0, 5).values.tolist() == model.neighbors(0, 5).values.tolist()
    assert [one.item for one in again.recommend(3)] == [one.item for one in model.recommend(3)]


def test_files_and_the_command_line(films, tmp_path, capsys):
    from prefmover.cli import main

    data, times = films
    file = tmp_path / "ratings.csv"
    rows = [f"{u},{i},{r},{times[u, i]:.0f}" for u in data.ratings for i, r in data.ratings[u].items()]
    file.write_text("\n".join(["user,item,rating,when", *rows]) + "\n")
    read = pm.Dataset.from_files(file, time="when")
    assert read.times.tolist() == data.times.tolist()
    expected = pm.nearest(read.with_half_life("60d"), 3, [0])[0]

    def run(*args):
        with pytest.raises(SystemExit) as caught:
            main(["-q", "neighbors", *args, "--user", "0", "-k", "3", "--json"])
        return caught.value.code or 0, *capsys.readouterr()

    code, out, _ = run("--ratings", str(file), "--time-column", "when", "--half-life", "60d")
    assert code == 0
    found = json.loads(out)["users"][0]["neighbors"]
    assert [one["user"] for one in found] == [one.user for one in expected]
    assert [one["distance"] for one in found] == pytest.approx([one.value for one in expected])
    for wrong in (("--half-life", "60d"), ("--time-column", "when", "--half-life", "soon")):
        code, out, err = run("--ratings", str(file), *wrong)
        assert (code, out, len(err.splitlines())) == (2, "", 1)


def test_experiments_take_the_times_of_the_data(films):
    from prefmover.evaluation import evaluate

    data = films[0]
    options = {"recommenders": "bias", "protocol": "last", "repeats": 1}
    own, given = (evaluate(data, times=times, **options) for times in (None, films[1]))
    assert [record.mae for record in own] == [record.mae for record in given]


@pytest.mark.parametrize("measure", ["pmd", "pmd-opinions"])
def test_ages_stay_when_new_users_are_compared(films, measure):
    """By every pair and by an index, neighbors of new users and explanations of guests see the same ages."""
    data = films[0].with_half_life("30d")
    new = pm.Ratings.from_arrays(["new"] * 3, [0, 4, 7], [5, 3, 1])
    aligned = data.ratings.one_user("new", np.array([0, 4, 7]), np.array([5.0, 3.0, 1.0]))
    by_pairs = pm.nearest(data, 40, measure=measure, new=aligned)["new"]
    by_index = pm.NeighborIndex(data, measure).nearest(k=40, new=aligned)["new"]
    assert [(one.user, one.distance) for one in by_pairs] == [(one.user, one.distance) for one in by_index]
    in_full = pm.nearest(films[0], 40, measure=measure, new=aligned)["new"]
    assert [one.distance for one in by_pairs] != [one.distance for one in in_full]
    model = pm.KNNRecommender(measure).fit(data)
    guest = model.guest(dict(new["new"]))
    nearest = model.neighbors(guest, 1)[0]
    assert model.explain(guest, nearest.user).value == nearest.distance


def test_a_group_is_the_mixture_of_what_its_members_like_now(films):
    """With a short half-life, a member is the latest rating."""
    plain, times = films
    data = plain.with_half_life("1s")
    latest = {u: max((t, i) for (v, i), t in times.items() if v == u)[1] for u in range(40)}
    ratings = pm.Ratings.from_arrays(list(range(40)), [latest[u] for u in range(40)], [1] * 40)
    only = pm.Dataset(ratings, plain.geometry.take(plain.geometry.positions(ratings.items)))
    found, expected = (pm.search.nearest_to_group(some, [3, 8], k=5) for some in (data, only))
    assert [one.distance for one in found] == pytest.approx([one.distance for one in expected], abs=1e-6)


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_dates_of_every_unit_are_times(unit):
    ratings = pm.Ratings.from_arrays(["ann", "ann"], ["x", "y"], [4, 4])
    dates = np.array(["2026-01-01", "2026-01-02"], f"datetime64[{unit}]")
    masses = pm.Dataset(ratings, times=dates).with_half_life("1d").preferences
    assert masses.mass[1] / masses.mass[0] == pytest.approx(2.0)


@pytest.mark.parametrize("per_second", [1, 10**3, 10**6, 10**9])
def test_numbers_of_every_unit_are_times(per_second):
    ratings = pm.Ratings.from_arrays(["ann", "ann"], ["x", "y"], [4, 4])
    numbers = np.array([1_500_000_000, 1_500_086_400]) * per_second
    data = pm.Dataset(ratings, times=numbers).with_half_life("1d")
    assert data.times == pytest.approx([1.5e9, 1.5e9 + DAY])
    assert data.preferences.mass[1] / data.preferences.mass[0] == pytest.approx(2.0)


def test_milliseconds_in_a_file(tmp_path, caplog):
    file = tmp_path / "log.csv"
    file.write_text("user,item,rating,ts\nann,x,4,1500000000000\nann,y,4,1500086400000\nbob,y,2,0\n")
    with caplog.at_level(logging.WARNING, "prefmover"):
        data = pm.Dataset.from_files(file, time="ts")
    assert data.times == pytest.approx([1.5e9, 1.5e9 + DAY, 0.0])
    assert "milliseconds" in caplog.text
    file.write_text("user,item,rating,ts\nann,x,4,1500000000000\nann,y,4,1500086400\n")
    with pytest.raises(InputError, match=names(1500086400, 1500000000000)):
        pm.Dataset.from_files(file, time="ts")


def test_no_time_is_known():
    ratings = pm.Ratings.from_arrays(["ann", "ann"], ["x", "y"], [4, 4])
    masses = pm.Dataset(ratings, times=np.array([np.nan, np.nan])).with_half_life("1d").preferences
    assert masses.mass[0] == masses.mass[1]


def test_a_log_with_repeats(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("user,item,ts\nann,x,0\nann,y,0\nann,x,86400\nbob,y,5\n")
    data = pm.Dataset.from_files(file, feedback="implicit", time="ts").with_half_life("1d")
    x, y = data.preferences.mass[:2] / data.preferences.total[0]
    counts = data.ratings["ann"]
    assert x / y == pytest.approx(2 * counts["x"] / counts["y"])
    with pytest.raises(InputError, match=names("'nope'")):
        pm.Dataset.from_files(file, feedback="implicit", time="nope")


@pytest.mark.parametrize(
    "times",
    [
        np.array(["2020-01-01", "x", None], object),
        np.array([5.0, -1.0, 3.0]),
        np.array(["1950-01-01"] * 3, "M8[D]"),
    ],
)
def test_times_that_are_none(times):
    ratings = pm.Ratings.from_arrays(["a", "a", "b"], [1, 2, 2], [5, 3, 4])
    with pytest.raises(InputError):
        pm.Dataset(ratings, times=times)
