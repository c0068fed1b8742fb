import json
import shlex

import pytest

from prefmover.dataset import geometry_follows_ratings
from prefmover.errors import InputError
from prefmover.evaluation import Experiment, Panel
from prefmover.evaluation.experiment import parse_ks, parse_shares
from tests.messages import names

MANY = Experiment(
    ratings="stars.csv",
    items=("tags.csv", "text, of films.csv"),
    user_column="who",
    recommenders=("default", "knn:bcf:median", "surprise:SVD"),
    train=(0.8, 1 / 3, 0.1234567890123),
    repeats=2,
    seed=7,
    stratify="user",
    ks=(5, 10),
    centering="baseline",
    shrinkage=0.25,
    panels=(Panel(name="a", over="k", train=(0.8,), ks=(5, 10), claim='PMD "wins", always'),),
    title="Über alles\x7f",
)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"recommenders": ("knn:kos",)}, "'cos'"),
        ({"recommenders": ("biases",)}, names("'biases'")),
        ({"recommenders": ()}, names("recommenders")),
        ({"train": (1.5,)}, names("train", 1.5)),
        ({"train": ()}, names("train")),
        ({"repeats": 0}, names("repeats", 0)),
        ({"repeats": True}, names("repeats", "true")),
        ({"trials": True}, names("trials", "true")),
        ({"relevant": True}, names("relevant", "true")),
        ({"shrinkage": True}, names("shrinkage", "true")),
        ({"repeats": 1.9}, names("repeats", 1.9)),
        ({"seed": False}, names("seed", "false")),
        ({"ks": [2.5]}, names("ks", 2.5)),
        ({"ks": [True]}, names("ks", True)),
        ({"repeats": "many"}, names("repeats", "'many'")),
        ({"protocol": "folds"}, names("protocol", "'folds'", "k-fold", "published")),
        ({"centering": "median"}, names("centering", "'median'")),
        ({"ks": (0,)}, names("ks", 0)),
        ({"ks": "5:x"}, names("ks", "'5:x'")),
        ({"ks": "1:1000000"}, names("ks", "'1:1000000'", "10,000")),
        ({"task": "lists"}, names("task", "'lists'")),
        ({"ns": 0}, names("ns", 0)),
        ({"ns": "10,1000"}, names("ns", 1000, 100)),
        ({"relevant": "many"}, names("relevant", "'many'")),
        ({"relevant": float("nan")}, names("relevant", "nan")),
        ({"validation": 1}, names("validation", 1)),
        ({"trials": -1}, names("trials", -1)),
        ({"protocol": "time", "repeats": 3}, names("repeats", 3)),
        ({"protocol": "last", "train": 0.5}, names("train")),
        ({"time_column": "when"}, names("time_column")),
        ({"seed": -1}, names("seed")),
        ({"shrinkage": float("nan")}, names("shrinkage", "nan")),
        ({"protocol": "k-fold", "repeats": 5, "stratify": "user"}, names("stratify")),
        ({"protocol": "k-fold", "repeats": 5, "train": (0.5,)}, names("train")),
        ({"protocol": "k-fold", "repeats": 1}, names("repeats", 1)),
        ({"ratings": "stars.csv"}, names("dataset", "ratings")),
        ({"dataset": ""}, names("dataset", "ratings")),
        ({"user_column": "who"}, names("user_column", "'cinema'")),
        ({"ks": (5,), "panels": [{"name": "a", "over": "k", "train": 0.8, "ks": 10}]}, names("a", 10)),
        ({"panels": [{"name": "a"}]}, names("panels.0", "over")),
        ({"measure": "cos"}, names("'measure'")),
        ({"repeat": 3}, names("'repeat'", "'repeats'")),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        Experiment(**{"dataset": "cinema", **settings})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('dataset = "cinema"\nrecommender = "cos"', names("'recommender'", "'recommenders'")),
        ('recommenders = "bias"', names("dataset")),
        ('dataset = "cinema"\nks = "5:x"', names("ks", "'5:x'")),
        ("dataset = ", names("TOML")),
    ],
)
def test_bad_files(tmp_path, text, message):
    file = tmp_path / "experiment.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        Experiment.read(file)
    assert str(file) in str(caught.value)
    with pytest.raises(InputError, match="nowhere"):
        Experiment.read(tmp_path / "nowhere.toml")


def test_settings_survive_json_and_toml(tmp_path):
    assert Experiment(**json.loads(MANY.model_dump_json())) == MANY
    file = tmp_path / "experiment.toml"
    file.write_text(MANY.to_toml(), encoding="utf-8")
    assert Experiment.read(file) == MANY


def test_options_are_read_back():
    words = shlex.split(" ".join(MANY.to_options()))
    pairs = zip(words[::2], words[1::2], strict=True)
    options = {}
    for name, value in pairs:
        options.setdefault(name.removeprefix("--").replace("-", "_"), []).append(value)
    files = options.pop("items")
    assert files == ["tags.csv", "text, of films.csv"]
    settings = {name: value for name, (value,) in options.items()}
    assert Experiment(**settings, items=files, panels=MANY.panels) == MANY


def test_short_ways_to_write():
    assert Experiment(dataset="cinema", ks=5).ks == (5,)
    assert Experiment(dataset="cinema", ks="1, 10:30:10").ks == (1, 10, 20, 30)
    assert parse_shares(".1, 4:1, 0.8") == (0.8, 0.1)
    assert parse_ks([40, "5:10:5"]) == (5, 10, 40)


def test_experiments_merge():
    same = {"dataset": "cinema", "ks": (5,)}
    panel = {name: Panel(name=name, over="k", train=(0.2,), ks=(5,)) for name in "ab"}
    first = Experiment(
        recommenders="knn:cos", train=0.2, repeats=2, panels=(panel["b"],), title="both", **same
    )
    later = Experiment(recommenders="knn:msd", train=0.1, repeats=1, panels=(panel["a"],), **same)
    merged = first.merged(later)
    assert merged.recommenders == ("knn:cos", "knn:msd")
    assert (merged.train, merged.repeats, merged.title) == ((0.2, 0.1), 2, "both")
    assert merged.panels == (panel["a"], panel["b"])
    assert first.fixed() == later.fixed() == merged.fixed()
    assert "repeats" in Experiment(protocol="k-fold", repeats=3, **same).fixed()


def test_geometries():
    genres = Experiment(dataset="cinema", geometry="genres").load()
    assert "genres" in genres.geometry.name
    ratings = Experiment(dataset="cinema", geometry="ratings").load()
    assert geometry_follows_ratings(ratings)
    assert not geometry_follows_ratings(Experiment(dataset="cinema").load())


def test_files(tmp_path):
    stars, tags = tmp_path / "stars.csv", tmp_path / "tags.csv"
    stars.write_text("who;film;stars\nann;Alien;4.5\nbob;Aliens;5\nbob;Emma;2\n")
    tags.write_text("film,tag\nAlien,space\nAliens,space\nEmma,romance\n")
    settings = {"ratings": str(stars), "separator": ";", "scale": "1:5:0.5", "user_column": "who"}
    data = Experiment(items=(str(tags),), item_column="film", **settings).load()
    assert (data.n_users, data.n_items, data.ratings.scale.lowest) == (2, 3, 1.0)
    assert geometry_follows_ratings(Experiment(**settings).load())
    with pytest.raises(InputError, match=names("genres")):
        Experiment(geometry="genres", **settings).load()
