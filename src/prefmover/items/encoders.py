"""Texts as vectors, by a sentence encoder: any function, or a model of the package sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from prefmover._typing import Floats
from prefmover.errors import InputError
from prefmover.items.rows import finite_rows

__all__ = ["Encoder", "encode_texts"]

Encoder: TypeAlias = Callable[[list[str]], Any]
"""A function from n texts to an array (n, d)."""


def encode_texts(texts: Sequence[str], encoder: Encoder | str) -> Floats:
    """Return the vectors of texts, (n, d); rows of zeros for empty texts, which the encoder never sees.

    >>> encode_texts(["ab", " ", "abc"], lambda texts: [[len(text)] for text in texts])
    array([[2.],
           [0.],
           [3.]])
    """
    encode = _load(encoder) if isinstance(encoder, str) else encoder
    if not callable(encode):
        raise InputError(
            f"encoder is of type {type(encoder).__name__}; give a function from a list of texts to an array, "
            "or the name of a model"
        )
    known = [k for k, text in enumerate(texts) if text.strip()]
    if not known:
        return np.zeros((len(texts), 1))
    found = np.asarray(encode([texts[k] for k in known]))
    if found.ndim != 2 or len(found) != len(known) or not found.shape[1]:
        raise InputError(
            f"the encoder returned an array of shape {found.shape} for {len(known):,} texts; expected "
            f"({len(known)}, d), one row for each text"
        )
    out = np.zeros((len(texts), found.shape[1]))
    out[known] = finite_rows("the encoder's result", found, np.asarray(known))
    return out


def _load(name: str) -> Encoder:
    """Return the encoder of a model of sentence-transformers, by name or folder."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError(
            f"the encoder {name!r} needs the package sentence-transformers: pip install 'prefmover[text]', "
            "or pass a function from a list of texts to an array"
        ) from None
    try:
        encode: Encoder = SentenceTransformer(name).encode
    except Exception as error:  # OSError, ValueError and those of the hub: its documentation names none
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise InputError(
            f"sentence-transformers cannot load the model {name!r} ({reason}); give a model that it can "
            "download, or the folder of one that you have"
        ) from error
    return encode
