"""Vectors from outside: a ``.npz`` of ids and vectors, an array, a function of ids, an encoder of texts."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from prefmover._typing import Floats, Ids
from prefmover.data.file_options import find_usual, plain_name
from prefmover.data.ids import as_ids
from prefmover.errors import InputError, install_command
from prefmover.items.features import ItemVectors, finite_rows

__all__ = ["Encoder", "FeatureSource", "encode_texts", "read_npz", "rows_of"]

Encoder: TypeAlias = Callable[[list[str]], Any]
"""A function from n texts to an array (n, d)."""

FeatureSource: TypeAlias = "str | os.PathLike[str] | ItemVectors | Callable[[list[Any]], Any]"
"""A block of features: a ``.npz`` file, vectors, or a function from n item ids to an array (n, d)."""

ID_NAMES = ("ids", "items", "itemids", "id", "keys")
VECTOR_NAMES = ("vectors", "embeddings", "features", "x", "vecs")
UNREADABLE = (
    ValueError, zipfile.BadZipFile, zlib.error, struct.error, EOFError, KeyError, AttributeError, TypeError,
    NotImplementedError, RuntimeError,
)  # fmt: skip


def read_npz(path: str | os.PathLike[str], *, ids: str | None = None) -> ItemVectors:
    """Return the ids and vectors in a ``.npz`` file, as :func:`numpy.savez` writes it.

    Parameters
    ----------
    path
        The file. It has one array of n item ids (``ids``, ``movieId``, ``book_id``, ...), and one of vectors,
        (n, d) (``vectors``, ``embeddings``, or the only array of two dimensions). Items for which an array
        ``has_...`` of n booleans is False have no vector.
    ids
        Name of the array of ids, if there are several.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "sound.npz")
    ...     np.savez(path, song_id=["x", "y"], vectors=[[1.0, 2.0], [0.5, 0.0]])
    ...     sound = read_npz(path)
    >>> sound.name, sound.items.tolist(), sound.vectors.shape
    ('sound', ['x', 'y'], (2, 2))
    """
    file = os.fspath(path)
    arrays = _arrays(file)
    shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items()) or "none"
    tables = [key for key, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "fiu"]
    vectors = _usual(VECTOR_NAMES, tables) or (tables[0] if len(tables) == 1 else None)
    if vectors is None:
        raise InputError(f"{file} has no array 'vectors' of one row per item (arrays: {shapes})")
    n = len(arrays[vectors])
    listed = [key for key, a in arrays.items() if a.ndim == 1 and len(a) == n and a.dtype.kind in "iuUS"]
    position = find_usual("item", listed)
    found = ids if ids in arrays else _usual(ID_NAMES, listed)
    if found is None and (position is not None or len(listed) == 1):
        found = listed[position or 0]
    if found not in listed:
        raise InputError(
            f"{file}: which array has the item ids? Call it 'ids', with one id for each of the {n:,} rows of "
            f"{vectors!r}, or pass item_id= with its name (arrays: {shapes})",
            argument="item_id",
        )
    keys = arrays[found]
    items = as_ids(keys.astype(str) if keys.dtype.kind in "US" else keys, "item")
    rows = np.array(arrays[vectors])
    for key, flags in arrays.items():
        if flags.dtype == bool and flags.shape == (n,) and plain_name(key).startswith("has"):
            rows[~flags] = 0  # whatever is there, such as NaN
    X = finite_rows(f"{file}: {vectors}", rows, items)
    if not X.any():
        raise InputError(f"{file}: every vector is zero; there is nothing to compare items by")
    return ItemVectors(items, X, Path(file).stem)


def _arrays(file: str) -> dict[str, Any]:
    """Return the arrays of a file; what is not one, or would run code, is an error."""
    try:
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as loaded:
            if not isinstance(loaded, np.lib.npyio.NpzFile):
                raise InputError(
                    f"{file} is a single array; save ids too: numpy.savez(path, ids=..., vectors=...)"
                )
            return {key: loaded[key] for key in loaded.files}
    except OSError as error:
        reason = error.strerror or "it is not a .npz file"
        raise InputError(f"{file} cannot be read: {reason}; give a file that numpy.savez wrote") from None
    except UNREADABLE as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise InputError(
            f"{file} is not a .npz file of plain arrays ({reason}); write it with numpy.savez(path, ids=..., "
            "vectors=...), with ids that are whole numbers or text"
        ) from None


def _usual(names: Sequence[str], keys: Sequence[str]) -> str | None:
    return next((key for name in names for key in keys if plain_name(key) == name), None)


def rows_of(source: FeatureSource, ids: Ids, *, item_id: str | None = None, k: int = 0) -> ItemVectors:
    """Return a block of features from any source; functions are called with the ids.

    ``item_id`` names the array of ids in files, and the position ``k`` a function without a name.
    """
    if isinstance(source, ItemVectors):
        return source._replace(vectors=finite_rows(source.name, source.vectors, source.items))
    if isinstance(source, str | os.PathLike):
        return read_npz(source, ids=item_id)
    if not callable(source):
        raise InputError(
            f"features has an entry of type {type(source).__name__}; give a .npz file, ItemVectors, or a "
            "function from item ids to an array"
        )
    name = getattr(source, "__name__", "").strip("<>") or f"features {k + 1}"
    return ItemVectors(ids, finite_rows(f"the result of {name!r}", source(ids.tolist()), ids), name)


def encode_texts(texts: Sequence[str], encoder: Encoder | str) -> Floats:
    """Return the vectors of texts, (n, d); rows of zeros for empty texts, which the encoder never sees.

    >>> encode_texts(["ab", " ", "abc"], lambda texts: [[len(text)] for text in texts])
    array([[2.],
           [0.],
           [3.]])
    """
    encode = _sentence_encoder(encoder) if isinstance(encoder, str) else encoder
    if not callable(encode):
        raise InputError(
            f"encoder is of type {type(encoder).__name__}; give a function from a list of texts to an array, "
            "or the name of a model"
        )
    known = [k for k, text in enumerate(texts) if text.strip()]
    if not known:
        return np.zeros((len(texts), 1))
    found = finite_rows("the encoder's result", encode([texts[k] for k in known]), np.asarray(known))
    out = np.zeros((len(texts), found.shape[1]))
    out[known] = found
    return out


def _sentence_encoder(name: str) -> Encoder:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError(
            f"the encoder {name!r} needs the package sentence-transformers: {install_command('text')}; "
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
