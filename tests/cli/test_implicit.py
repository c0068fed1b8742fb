"""Implicit feedback on the command line: clicks without a number, and counts of plays."""

import json

import numpy as np
import pytest

import prefmover as pm
from prefmover.model import storage
from tests.messages import unnamed

SCENES = {"rock": ("Queen", "Muse", "Kiss", "Rush"), "jazz": ("Monk", "Ella", "Duke", "Chet")}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with clicks, plays and equal plays of 40 listeners, each of whom knows one scene."""
    folder, rng = tmp_path_factory.mktemp("plays"), np.random.default_rng(2)
    lines = []
    for user in range(40):
        scene = list(SCENES)[user % 2]
        artists = sorted(rng.choice(SCENES[scene], 3, replace=False))
        lines += [(f"u{user:02d}", artist, int(rng.choice([1, 3, 50, 900]))) for artist in artists]
    rows = {
        "clicks": [line[:2] for line in lines],
        "plays": lines,
        "equal": [(*line[:2], 7) for line in lines],
    }
    for name, some in rows.items():
        head = "user,artist" if name == "clicks" else "user,artist,plays"
        (folder / f"{name}.csv").write_text("\n".join([head, *(",".join(map(str, row)) for row in some), ""]))
    return folder


@pytest.fixture(autouse=True)
def _in_shop(shop, tmp_path, monkeypatch):
    for file in shop.iterdir():
        (tmp_path / file.name).write_text(file.read_text())
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", ["default", "knn"])
@pytest.mark.parametrize("name", ["clicks", "plays", "equal"])
def test_from_a_file_to_recommendations(run, name, kind, tmp_path):
    code, _, err = run("fit", "-r", f"{name}.csv", "--model-type", kind, "-o", "m")
    assert code == 0, err
    assert "interaction" in err
    model = storage.load("m")
    assert model.data_.ratings.implicit
    user = "u00"
    left = set(SCENES["rock"]) - set(model.data_.ratings[user])
    code, out, err = run("recommend", "-m", "m", "-u", user, "-n", 1)
    assert code == 0
    assert out.split()[1] in left, "the artist of the scene that the listener does not know"
    assert not unnamed(err, user, 3)
    found = json.loads(run("recommend", "-m", "m", "-u", user, "--json")[1])
    assert all(one["rating"] is None for one in found["recommendations"])
    guest = json.loads(
        run("recommend", "-m", "m", "--rated", "Monk", "--rated", "Ella=40", "-n", 1, "--json")[1]
    )
    assert guest["recommendations"][0]["item"] in SCENES["jazz"]
    assert run("recommend", "-m", "m", "--all", "-n", 2, "-o", "all.csv")[0] == 0
    assert (tmp_path / "all.csv").read_text().splitlines()[1].startswith("u00,1,")


@pytest.mark.parametrize("kind", ["default", "knn"])
def test_what_implicit_feedback_has_and_has_not(run, kind):
    assert run("fit", "-r", "plays.csv", "--model-type", kind, "-o", "m")[0] == 0
    code, out, _ = run("neighbors", "-m", "m", "-u", "u00", "-n", 5)
    assert code == 0
    assert {int(line.split()[1][1:]) % 2 for line in out.splitlines()} == {0}, "listeners of the same scene"
    code, out, _ = run("explain", "-m", "m", "-u", "u00", "--other", "u02")
    assert (code, "↔" in out or "%" in out) == (0, True)
    for command in (
        ("predict", "-m", "m", "-u", "u00", "--item", "Monk"),
        ("recommend", "-m", "m", "-u", "u00", "--by", "rating"),
    ):
        code, out, err = run(*command)
        assert (code, out) == (2, "")
        assert "implicit feedback" in err


def test_somebody_who_knows_everything(run, tmp_path):
    (tmp_path / "few.csv").write_text("user,artist\nann,x\nann,y\nbob,x\n")
    code, out, err = run("recommend", "-r", "few.csv", "-u", "ann")
    assert (code, out) == (0, "")
    assert not unnamed(err, "ann", "--seen")


def test_counts_of_updates_are_damped():
    data = pm.Dataset.from_files("plays.csv")
    model = pm.KNNRecommender("jaccard").fit(data).update("u00", {"Monk": 3})
    assert model.data_.ratings["u00"]["Monk"] == 2
