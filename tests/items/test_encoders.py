"""Texts by an encoder: any function, or a named model."""

import sys
from types import ModuleType

import numpy as np
import pytest

from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.blocks import encode_texts
from tests.messages import names


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


@pytest.mark.parametrize(
    ("encoder", "named"),
    [
        (lambda texts: np.ones(len(texts)), ["(2,)", 2]),
        (lambda texts: np.ones((1, 4)), ["(1, 4)", 2]),
        (lambda texts: np.ones((len(texts), 0)), ["(2, 0)"]),
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
        InputError, match=names("all-MiniLM-L6-v2", "sentence-transformers", "prefmover[text]")
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
