"""Vectors from outside: .npz files, functions and encoders of texts, good and bad."""

import sys
from types import ModuleType

import numpy as np
import pytest

from prefmover.data.file_options import FileOptions
from prefmover.dataset import Dataset, geometry_follows_ratings
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.blocks import encode_texts, read_npz, rows_of
from prefmover.items.features import ItemVectors
from tests.messages import names

X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])


@pytest.fixture
def save(tmp_path):
    def save(name="sound.npz", **arrays):
        path = tmp_path / name
        np.savez(path, **arrays)
        return path

    return save


@pytest.mark.parametrize(
    "arrays",
    [
        {"ids": [3, 1, 2], "vectors": X},
        {"movieId": [3, 1, 2], "imdbId": [8, 9, 7], "vectors": X.astype(np.float16)},
        {"book_id": [3, 1, 2], "embeddings": X, "other": np.ones((4, 2))},
        {"key": [3, 1, 2], "whatever": X},
    ],
)
def test_usual_names(save, arrays):
    found = read_npz(save(**arrays))
    assert found.name == "sound"
    assert found.items.tolist() == [3, 1, 2]
    assert found.vectors.dtype == np.float64
    assert found.vectors.tolist() == X.tolist()


def test_a_named_array_of_ids_and_flags(save):
    path = save(movieId=[3, 1, 2], imdbId=["a", "b", "c"], vectors=X, has_sound=[True, False, True])
    found = read_npz(path, ids="imdbId")
    assert found.items.tolist() == ["a", "b", "c"]
    assert found.vectors.tolist() == [[1, 0], [0, 0], [3, 3]]


@pytest.mark.parametrize(
    ("arrays", "named"),
    [
        ({"ids": [1, 2, 3]}, ["vectors"]),
        ({"ids": [1, 2, 3], "one": X, "two": X}, ["one", "two"]),
        ({"vectors": X}, ["ids", "item_id"]),
        ({"left": [1, 2, 3], "right": [4, 5, 6], "vectors": X}, ["left", "right", "item_id"]),
        ({"ids": [1, 2], "vectors": X}, ["ids", 3]),
        ({"ids": [1, 2, 1], "vectors": X}, [1]),
        ({"ids": [1, 2, 3], "vectors": X * [[1], [np.nan], [1]]}, [2]),
        ({"ids": [1, 2, 3], "vectors": X * 0}, ["sound.npz"]),
        ({"ids": np.array([1, "b", None], object), "vectors": X}, ["numpy.savez"]),
    ],
)
def test_bad_arrays(save, arrays, named):
    with pytest.raises(InputError, match=names(*named)):
        read_npz(save(**arrays))


def test_bad_files(tmp_path):
    (tmp_path / "text.npz").write_text("not an archive")
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04 cut off")
    np.save(tmp_path / "one.npy", X)
    for name in ("text.npz", "cut.npz", "one.npy", "absent.npz"):
        with pytest.raises(InputError, match=names(name)):
            read_npz(tmp_path / name)


def test_functions_and_vectors():
    ids = np.array([5, 6])
    found = rows_of(lambda items: [[i, 1] for i in items], ids)
    assert found.vectors.tolist() == [[5, 1], [6, 1]]
    block = ItemVectors(ids, np.eye(2), "made")
    assert rows_of(block, ids).name == "made"

    def short(items):
        return np.ones((1, 3))

    with pytest.raises(InputError, match=names("short", "(1, 3)", 2)):
        rows_of(short, ids)
    with pytest.raises(InputError, match=names("int")):
        rows_of(3, ids)


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "stars.csv"
    path.write_text(
        "user,film,rating\n" + "".join(f"{u},{i},{1 + (u + i) % 5}\n" for u in range(9) for i in (1, 2, 3))
    )
    return path


def test_files_of_features_alone(ratings, save):
    path = save(ids=["1", "2", "3", "9"], vectors=np.eye(4))
    data = Dataset.from_files(ratings, features=[path])
    assert data.ratings.items.tolist() == [1, 2, 3, 9]  # with the type of the rated ones
    assert not geometry_follows_ratings(data)  # a single block has no weight to choose


def test_features_beside_a_table(ratings, save, tmp_path):
    films = tmp_path / "films.csv"
    films.write_text("film,title,genres\n1,A,x|y\n2,B,x\n4,D,y\n")
    path = save(movieId=[1, 3, 7], vectors=np.eye(3))
    data = Dataset.from_files(
        ratings,
        [films],
        features=[path, lambda ids: np.ones((len(ids), 1))],
        options=FileOptions(item_id=None),
    )
    # 3 is described by the vectors alone; 7 is neither listed nor rated
    assert sorted(data.ratings.items.tolist()) == [1, 2, 3, 4]
    assert [(one.name, one.weight) for one in data.geometry.blocks] == [
        ("genres: 2", 1), ("sound: 3 numbers", 1), ("lambda: 1 numbers", 1)
    ]  # fmt: skip
    assert [one.n_items for one in data.geometry.blocks] == [3, 2, 0]  # a constant says nothing
    assert geometry_follows_ratings(data)
    given = Dataset.from_files(
        ratings, [films], features=[path], options=FileOptions(weights={"sound": 0.5}, choose_weights=False)
    )
    assert [one.weight for one in given.geometry.blocks] == [1, 0.5]
    assert not geometry_follows_ratings(given)
    with pytest.raises(InputError, match=names("sounds", "sound")):
        Dataset.from_files(ratings, [films], features=[path], options=FileOptions(weights={"sounds": 0.5}))
    with pytest.raises(InputError, match=names("sound")):
        Dataset.from_files(ratings, [films], features=[path, path])
    with pytest.raises(InputError, match=names("features")):
        Dataset.from_files(ratings, [films], features=str(path))


def test_an_encoder_for_a_column_of_text(ratings, tmp_path):
    films = tmp_path / "films.csv"
    films.write_text("film,genres,plot\n1,x,aa\n2,x,ab\n3,y,\n")
    data = Dataset.from_files(
        ratings,
        [films],
        options=FileOptions(encoder=lambda texts: [[text.count("a"), text.count("b")] for text in texts]),
    )
    assert [(one.name, one.n_items) for one in data.geometry.blocks] == [
        ("genres: 2", 3),
        ("plot: 2 numbers", 2),
    ]
    films.write_text("film,genres\n1,x\n2,x\n3,y\n")
    with pytest.raises(InputError, match=names("text")):
        Dataset.from_files(ratings, [films], options=FileOptions(encoder=len))
    with pytest.raises(InputError, match=names("encoder")):
        Dataset.from_files(ratings, options=FileOptions(encoder=len))


def test_rows_that_are_marked_as_absent_may_hold_anything(save):
    filled = X.copy()
    filled[1] = np.nan
    found = read_npz(save(ids=[3, 1, 2], vectors=filled, has_sound=np.array([True, False, True])))
    assert found.vectors[1].tolist() == [0.0, 0.0]


def test_damage_inside_a_compressed_file(tmp_path):
    path = tmp_path / "sound.npz"
    np.savez_compressed(path, ids=np.arange(500), vectors=np.random.default_rng(0).random((500, 9)))
    whole = path.read_bytes()
    for at in range(60, len(whole) - 60, len(whole) // 40):
        path.write_bytes(whole[:at] + b"\xff\x00\xff" + whole[at + 3 :])
        with pytest.raises(InputError, match=names("sound.npz")):
            read_npz(path)


def letters(texts):
    return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float16)


def test_empty_texts_are_not_encoded():
    seen = []

    def encoder(texts):
        seen.extend(texts)
        return letters(texts)

    found = encode_texts(["aa", "", "ab", "  "], encoder)
    assert seen == ["aa", "ab"]
    assert found.dtype == np.float64
    assert found.tolist() == [[2, 0], [0, 0], [1, 1], [0, 0]]
    assert encode_texts(["", " "], encoder).tolist() == [[0], [0]]


def test_from_text_with_an_encoder_is_centered():
    v = features.from_text([1, 2, 3], ["aab", "abb", ""], encoder=letters, name="plot")
    assert v.name == "plot: 2 numbers"
    assert np.allclose(v.vectors, [[0.5**0.5, -(0.5**0.5)], [-(0.5**0.5), 0.5**0.5], [0, 0]])
    with pytest.raises(InputError, match=names("dimensions")):
        features.from_text([1], ["a"], encoder=letters, dimensions=3)
    with pytest.raises(InputError, match=names("(2, 0)")):
        features.from_text([1, 2], ["a", "b"], encoder=lambda texts: np.ones((len(texts), 0)))


@pytest.mark.parametrize(
    ("encoder", "named"),
    [
        (lambda texts: np.ones(len(texts)), ["(2,)", 2]),
        (lambda texts: np.ones((1, 4)), ["(1, 4)", 2]),
        (lambda texts: [["x"]] * len(texts), ["<U1"]),
        (lambda texts: [[1.0], [np.inf]], [1]),
        (7, ["int"]),
    ],
)
def test_encoders_of_the_wrong_shape(encoder, named):
    with pytest.raises(InputError, match=names(*named)):
        encode_texts(["one", "two"], encoder)


def test_a_named_encoder_needs_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(
        InputError, match=names("all-MiniLM-L6-v2", "sentence-transformers", "pip install", "[text]")
    ):
        encode_texts(["one"], "all-MiniLM-L6-v2")


def test_a_named_encoder(monkeypatch):
    package = ModuleType("sentence_transformers")

    class SentenceTransformer:
        def __init__(self, name):
            if name != "good":
                raise OSError(f"{name} is not a local folder")
            self.encode = letters

    package.SentenceTransformer = SentenceTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", package)
    assert encode_texts(["ab"], "good").tolist() == [[1, 1]]
    with pytest.raises(InputError, match=names("missing", "not a local folder")):
        encode_texts(["ab"], "missing")
