"""The folder of a model: it is read as it was written; damaged, foreign and newer ones are errors."""

import json
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from prefmover.data.ids import as_ids
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.items.catalog import Catalog
from prefmover.measures import Measure, Weight, register_measure, unregister_measure
from prefmover.model import KNNRecommender, Recommender, storage
from prefmover.model import folder as model_folder
from prefmover.predict import RatingSettings
from prefmover.rank import RankingSettings
from tests.messages import names
from tests.predict.conftest import make_data

ARRAYS = {
    "a": np.arange(12, dtype=np.float64).reshape(3, 4),
    "b": np.arange(5, dtype=np.int32),
    "none": np.empty((0, 7), np.float32),
    "odd": np.array([1, 2, 3], np.int8),
    "yes": np.array([True, False]),
    "big": np.arange(3, dtype=np.int64),
}


def save(folder, number=1.0, users=("ann", "bob")):
    about = {"kind": "knn", "parameters": {"k": 3}, "facts": {"number": number}}
    arrays = {**ARRAYS, "number": np.array([number])}
    genres = [["Horror", "Sci-Fi"], [], ["x"]]
    items = Catalog([3, 1, 2], ["Alien", "Heat", "Émile"], [1979, 1995, 0], genres)
    return model_folder.write(folder, about, arrays, as_ids(list(users), "user"), items)


def test_round_trip(tmp_path):
    stored = model_folder.read(save(tmp_path / "deep" / "model"))
    assert (stored.header.kind, stored.header.parameters) == ("knn", {"k": 3})
    assert stored.users.tolist() == ["ann", "bob"]
    assert stored.items.ids.tolist() == [3, 1, 2]
    assert stored.items.ids.dtype == np.int64
    assert stored.items.labels == ["Alien (1979)", "Heat (1995)", "Émile"]
    assert stored.items.genres == (("Horror", "Sci-Fi"), (), ("x",))
    for name, array in ARRAYS.items():
        assert stored.arrays[name].dtype == array.dtype
        assert stored.arrays[name].shape == array.shape
        assert stored.arrays[name].tolist() == array.tolist()
        assert not stored.arrays[name].flags.writeable


def test_readable_without_us(tmp_path):
    from safetensors.numpy import load_file

    folder = save(tmp_path / "m")
    header = json.loads((folder / "header.json").read_text())
    arrays = load_file(folder / header["files"]["arrays"]["name"])
    assert arrays["a"].tolist() == ARRAYS["a"].tolist()


def test_saving_again_replaces_and_leaves_nothing_behind(tmp_path):
    folder = save(tmp_path / "m", 1.0)
    (folder / ("arrays-" + "0" * 16 + ".safetensors")).write_text("left over")
    (folder / (".unfinished-" + "0" * 16)).write_text("left over")
    save(folder, 2.0)
    assert model_folder.read(folder).header.facts == {"number": 2.0}
    assert len(list(folder.iterdir())) == 4


def test_saving_over_files_that_nothing_may_replace(tmp_path, monkeypatch):
    """As on Windows, where the model that is saved maps the files of the folder."""
    folder = save(tmp_path / "m")
    before, replace, unlink = sorted(folder.iterdir()), Path.replace, Path.unlink

    def refuse(path, *args, **options):
        target = Path(args[0]) if args else path
        if target.suffix == ".safetensors" and target.exists():
            raise PermissionError(13, "mapped", str(target))
        return (replace if args else unlink)(path, *args, **options)

    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    assert sorted(save(folder).iterdir()) == before
    save(folder, 2.0)  # the old arrays stay until a later save
    monkeypatch.undo()
    assert model_folder.read(folder).header.facts == {"number": 2.0}
    assert len(list(save(folder, 3.0).iterdir())) == 4


@pytest.mark.parametrize("older", [False, True], ids=["new", "over an older one"])
def test_a_save_killed_within_safetensors_leaves_nothing_behind(tmp_path, older, monkeypatch):
    """safetensors writes to a file with a name of its own, beside the one that it was given."""
    import safetensors.numpy as library

    folder, killed, real = tmp_path / "m", tmp_path / "killed", library.save_file
    if older:
        save(folder, 1.0)

    def until_killed(arrays, path):
        real(arrays, path)
        os.link(path, path.parent / ".tmpAbCdEf")
        shutil.copytree(folder, killed)  # what a kill at this moment leaves

    monkeypatch.setattr(library, "save_file", until_killed)
    save(folder, 2.0)
    monkeypatch.undo()
    if older:
        assert model_folder.read(killed).header.facts == {"number": 1.0}
    save(killed, 2.0)
    assert sorted(p.name for p in killed.iterdir()) == sorted(
        p.name for p in folder.iterdir() if not p.name.startswith(".tmp")
    )
    assert len(list(killed.iterdir())) == 4


def test_same_content_same_names(tmp_path):
    a, b = save(tmp_path / "a"), save(tmp_path / "b")
    assert sorted(p.name for p in a.iterdir()) == sorted(p.name for p in b.iterdir())
    assert {p.stat().st_mode & 0o777 for p in a.glob("*-*")} == {a.stat().st_mode & 0o666}
    save(a)
    assert model_folder.read(a).header.facts == {"number": 1.0}


@pytest.mark.parametrize("role", ["arrays", "users", "items"])
@pytest.mark.parametrize("damage", ["truncate", "flip", "remove", "empty"])
def test_damage_is_found(tmp_path, role, damage):
    folder = save(tmp_path / "m")
    path = folder / getattr(model_folder.read(folder).header.files, role).name
    content = path.read_bytes()
    middle = len(content) // 2
    if damage == "remove":
        path.unlink()
    else:
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"truncate": content[:middle], "flip": flipped, "empty": b""}[damage])
    with pytest.raises(InputError, match=path.name):
        model_folder.read(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(version=99, written_by="7.0"), names("7.0", 99)),
        (lambda h: h.update(format="something else"), names("header.json")),
        (lambda h: h.pop("files"), names("files")),
        (lambda h: h["files"].pop("users"), names("users")),
        (lambda h: h["files"]["arrays"].update(name="../../secret"), names("../../secret")),
        (lambda h: h.update(version="one"), names("version")),
        (lambda h: h.update(version=1, written_by="0.1"), names("0.1", 1)),
        (lambda h: h.update(kind="forest"), names("kind")),
    ],
)
def test_headers(tmp_path, change, message):
    folder = save(tmp_path / "m")
    rewrite(folder, change, mend=False)
    with pytest.raises(InputError, match=message):
        model_folder.read(folder)


def rewrite(folder, change, *, mend):
    """Edit the header, with or without the checksum that fits it."""
    path = folder / "header.json"
    header = json.loads(path.read_text())
    change(header)
    if mend:
        header["sha256"] = model_folder.header_sha256(header)
    path.write_text(json.dumps(header))


def test_a_header_may_be_written_in_another_way(tmp_path):
    folder = save(tmp_path / "m")
    path = folder / "header.json"
    path.write_text(json.dumps(dict(reversed(json.loads(path.read_text()).items()))))
    assert model_folder.read(folder).header.facts == {"number": 1.0}


EDITS = {
    "unit": lambda h: h["facts"]["geometry"].update(unit=h["facts"]["geometry"]["unit"] * 2),
    "scale": lambda h: h["facts"].update(scale=[0, 5, 1]),
    "measure": lambda h: h["parameters"].update(measure="jaccard"),
    "convention": lambda h: h["parameters"].update(convention="table-1"),
    "settings": lambda h: h["facts"]["settings"].update(k=2),
    "name": lambda h: h["facts"]["dataset"].update(name="another"),
    "version of prefmover": lambda h: h.update(written_by="9.9"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_header_is_refused(data, tmp_path, edit):
    """These load without an error and change the answers, or what is said about them."""
    KNNRecommender(k=3).fit(data).save(tmp_path / "m")
    rewrite(tmp_path / "m", edit, mend=False)
    with pytest.raises(InputError, match=names("header.json")):
        KNNRecommender.load(tmp_path / "m")
    assert KNNRecommender.load(tmp_path / "m", verify=False)


def test_not_a_model(tmp_path):
    with pytest.raises(InputError, match=names("nowhere")):
        model_folder.read(tmp_path / "nowhere")
    with pytest.raises(InputError, match=names("header.json")):
        model_folder.read(tmp_path)
    folder = save(tmp_path / "m")
    text = (folder / "header.json").read_text()
    for wrong in ("{ half", text.replace('"number": 1.0', f'"number": {"9" * 5000}')):
        (folder / "header.json").write_text(wrong)
        with pytest.raises(InputError, match=names("header.json")):
            model_folder.read(folder)


def test_other_peoples_folders_are_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"thesis\.tex"):
        save(tmp_path)
    (tmp_path / "thesis.tex").rename(tmp_path / "header.json")
    with pytest.raises(InputError):
        save(tmp_path)
    with pytest.raises(InputError, match=names("header.json")):
        save(tmp_path / "header.json")


def test_models_know_their_kind(data, tmp_path):
    KNNRecommender("cos").fit(data).save(tmp_path / "knn")
    with pytest.raises(InputError, match=names("KNNRecommender", "Recommender")):
        Recommender.load(tmp_path / "knn")
    assert isinstance(storage.load(tmp_path / "knn"), KNNRecommender)
    Recommender("cos").fit(data).save(tmp_path / "knn")  # over the other
    assert isinstance(storage.load(tmp_path / "knn"), Recommender)


def test_the_data_are_saved_with_the_model(data, tmp_path):
    films = Catalog(["i03"], ["Alien"], [1979], [["Horror"]])
    named = Dataset(data.ratings, data.geometry, films, name="films", terms="free", citation="none")
    Recommender().fit(named).save(tmp_path / "m")
    again = Recommender.load(tmp_path / "m").data_
    assert again.catalog.labels == named.catalog.labels
    assert again.catalog.genres == named.catalog.genres
    assert (again.name, again.terms, again.citation) == ("films", "free", "none")
    assert again.ratings.digest() == named.ratings.digest()
    assert again.geometry.name == "random"
    assert again.geometry.grid.tolist() == named.geometry.grid.tolist()


def test_tuned_settings_are_saved(tmp_path):
    larger = make_data(5, n_users=50, n_items=20, per_user=12)
    for model in (Recommender(), KNNRecommender("cos")):
        model.fit(larger).save(tmp_path / "m")
        again = storage.load(tmp_path / "m")
        assert again.settings_ == model.settings_
        assert again.tuning_ == model.tuning_
        assert again.get_params() == model.get_params()
        assert (
            again.predict(larger.ratings).ratings.tolist() == model.predict(larger.ratings).ratings.tolist()
        )


def test_measures_and_weights_of_your_own(data, tmp_path):
    agree = Measure.from_function("agree", lambda u, v: float(len(u.keys() & v.keys())) or None)
    row = register_measure(agree)
    try:
        model = KNNRecommender("agree").fit(data)
        model.save(tmp_path / "m")
        assert list(KNNRecommender.load(tmp_path / "m").neighbors("u00")) == list(model.neighbors("u00"))
    finally:
        unregister_measure(row.name)
    with pytest.raises(InputError, match=names("'agree'")):
        KNNRecommender.load(tmp_path / "m")
    mine = Recommender("jaccard", rating=RatingSettings(Weight("mine", lambda x: x + 1))).fit(data)
    with pytest.raises(InputError, match=names("'mine'")):
        mine.save(tmp_path / "n")
    assert not (tmp_path / "n").exists()


def test_a_loaded_model_is_pickled_whole(data, tmp_path):
    model = Recommender().fit(data)
    model.save(tmp_path / "m")
    content = pickle.dumps(Recommender.load(tmp_path / "m"))
    (tmp_path / "m").rename(tmp_path / "gone")
    assert pickle.loads(content).recommend("u00", 3).to_dict() == model.recommend("u00", 3).to_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["parameters"].update(k=-1), names("k", -1)),
        (lambda h: h["parameters"].update(colour="red"), names("colour")),
        (lambda h: h["facts"].pop("scale"), names("'scale'")),
        (lambda h: h["facts"].update(geometry=None), names("'pmd'")),
        (lambda h: h.update(kind="recommender"), names("m")),
    ],
)
def test_models_that_were_tampered_with(data, tmp_path, change, message):
    KNNRecommender().fit(data).save(tmp_path / "m")
    rewrite(tmp_path / "m", change, mend=True)
    with pytest.raises(InputError, match=message):
        storage.load(tmp_path / "m")


@pytest.mark.parametrize(
    "model",
    [
        Recommender(landmarks=np.int64(9), seed=np.int32(1)),
        Recommender(ranking=RankingSettings(item_penalty=3.0, features=np.float64(0.5))),
        KNNRecommender(k=np.int64(3), shrinkage=np.float32(0.5)),
    ],
    ids=["kernel", "ranking", "knn"],
)
def test_numbers_of_numpy_are_saved(data, tmp_path, model):
    model.fit(data).save(tmp_path / "model")
    again = type(model).load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    guests = [one.guest({"i01": 5, "i02": 2}) for one in (model, again)]
    a, b = (one.recommend(guest, 10).to_dict() for one, guest in zip((model, again), guests, strict=True))
    assert a == b  # to the last bit
