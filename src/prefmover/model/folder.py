"""The folder of a model: a JSON header, arrays in safetensors, ids and titles in Parquet. No pickle.

::

    my-model/
      header.json                kind of model, parameters, checksums of the other files and its own
      arrays-3f9c….safetensors   mapped into memory when loaded, not read
      users-….parquet            ids
      items-….parquet            ids, titles, years and genres

Files other than the header are named after their content and never changed. Saving writes each in a folder
for that (``.unfinished-…``), moves them beside the old ones, and then replaces the header in one step, so
that a process that is killed at any moment leaves the old model or the new one. Files that the header does
not name are removed by the next save.

Everything in a folder is checked before it is used. An untrusted model raises an error at worst.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import reprlib
import shutil
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, StringConstraints, ValidationError

from prefmover._typing import Ids
from prefmover.data.columns import open_arrow
from prefmover.data.ids import as_ids
from prefmover.errors import InputError
from prefmover.execution import atomic
from prefmover.items.catalog import Catalog

__all__ = ["FORMAT_VERSION", "QUICK", "Header", "StoredFile", "StoredModel", "header_sha256", "read", "write"]

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]

FORMAT_VERSION = 7
MAX_HEADER = 1 << 24  # bytes; a real header has a few thousand
QUICK = 2**28
"""Bytes of a file whose checksum is compared by default; SHA-256 reads these in a fifth of a second."""

HEADER = "header.json"
DATA_FILE = r"^(arrays|users|items)-[0-9a-f]{16}\.(safetensors|parquet)$"
UNFINISHED = ".unfinished-"
WRITTEN = re.compile(rf"{DATA_FILE}|^{re.escape(UNFINISHED)}\w{{8,16}}$")
"""Names of the files that saving makes, besides the header."""

ITEM_COLUMNS = ["id", "title", "year", "genres"]

TYPES = {"F64": "f8", "F32": "f4", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1", "BOOL": "?"}
"""The types of arrays by their names in safetensors."""


class StoredFile(BaseModel, extra="forbid"):
    """A file of the model, by its name within the folder."""

    name: Annotated[str, StringConstraints(pattern=DATA_FILE)]
    size: int
    sha256: str


class StoredFiles(BaseModel, extra="forbid"):
    """The files of the model."""

    arrays: StoredFile
    users: StoredFile
    items: StoredFile


class Stamp(BaseModel):
    """The part of ``header.json`` that all versions of the layout have; a version of prefmover wrote it."""

    format: Literal["prefmover-model"]
    version: int
    written_by: str


class Header(Stamp, extra="forbid"):
    """The content of ``header.json``.

    Attributes
    ----------
    parameters
        The parameters of the model when it was fitted, as its constructor takes them.
    facts
        Everything else that is not an array: settings, scale, properties of the geometry.
    sha256
        Checksum of all other fields; see :func:`header_sha256`.
    """

    kind: Literal["recommender", "knn"]
    parameters: dict[str, Any]
    facts: dict[str, Any]
    files: StoredFiles
    sha256: str


class StoredModel(NamedTuple):
    """The content of a folder: header, arrays (read-only views of the file), user ids and items."""

    header: Header
    arrays: dict[str, npt.NDArray[Any]]
    users: Ids
    items: Catalog


def write(
    folder: str | PathLike[str], about: Mapping[str, Any], arrays: Arrays, users: Ids, items: Catalog
) -> Path:
    """Write a model, over an older one if there is one, and return the folder.

    Parameters
    ----------
    about
        Kind, parameters and facts of the :class:`Header`.

    Raises
    ------
    InputError
        If the folder holds something else, or cannot be written. Its content is then as it was before.
    """
    import pyarrow as pa
    from pyarrow.parquet import write_table

    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; a model is a folder")
    user_ids, item_ids = pa.array(users.tolist()), pa.array(items.ids.tolist())
    titles, years = pa.array(items.titles, pa.string()), pa.array(items.years.tolist(), pa.int64())
    genres = pa.array([list(genres) for genres in items.genres], pa.list_(pa.string()))
    writers = {
        "arrays": partial(_write_arrays, arrays),
        "users": partial(write_table, pa.table({"id": user_ids})),
        "items": partial(write_table, pa.table([item_ids, titles, years, genres], ITEM_COLUMNS)),
    }
    with atomic.translate_os_errors(path):
        if path.is_dir():
            _refuse_foreign(path)
        path.mkdir(parents=True, exist_ok=True)
        atomic.require_disk(path, sum(array.nbytes for array in arrays.values()), f"the model in {path}")
        with atomic.lock_folder(path):  # another process would remove files that are not of its model
            # In a folder of its own: safetensors writes beside the file under a name of its own choice, which
            # a killed process leaves there.
            with TemporaryDirectory(prefix=UNFINISHED, dir=path, ignore_cleanup_errors=True) as home:
                file = Path(home, "file")
                files = {role: _write_file(path, file, role, writer) for role, writer in writers.items()}
                stamp = {"format": "prefmover-model", "version": FORMAT_VERSION}
                stamp["written_by"] = version("prefmover")
                header = Header.model_validate({**stamp, **about, "files": files, "sha256": ""})
                content = json.loads(header.model_dump_json())
                content["sha256"] = header_sha256(content)
                file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
                _sync(file)
                file.replace(path / HEADER)  # the one step from the old model to the new
            _sync(path)
            named = {HEADER, *(file.name for file in files.values())}
            for old in path.iterdir():  # files of older models, and of saves that did not finish
                if old.name in named or not WRITTEN.match(old.name):
                    continue
                if old.is_dir() and not old.is_symlink():
                    shutil.rmtree(old, ignore_errors=True)
                else:
                    with suppress(PermissionError):  # mapped, on Windows: a later save removes it
                        old.unlink(missing_ok=True)
    return path


def header_sha256(content: Mapping[str, Any]) -> str:
    """Return the checksum of a header: of its JSON with sorted keys, without the checksum itself.

    A number that somebody edits (the unit of the distances, the scale) would change results silently.

    >>> header_sha256({"version": 3, "kind": "knn"})[:16]
    '23b18aeb876aa326'
    """
    others = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()


def _write_file(folder: Path, unfinished: Path, role: str, writer: Callable[[Path], None]) -> StoredFile:
    """Write one file, and move it to a name that depends on its content."""
    writer(unfinished)
    unfinished.chmod(folder.stat().st_mode & 0o666)  # safetensors lets only the owner read
    digest, size = _sha256(unfinished), unfinished.stat().st_size
    name = f"{role}-{digest[:16]}.{'safetensors' if role == 'arrays' else 'parquet'}"
    _sync(unfinished)
    try:
        unfinished.replace(folder / name)
    except PermissionError:  # on Windows, nothing replaces a file that is mapped, such as this model's
        if not (folder / name).is_file() or _sha256(folder / name) != digest:
            raise
    return StoredFile(name=name, size=size, sha256=digest)


def read(folder: str | PathLike[str], *, verify: bool | None = None) -> StoredModel:
    """Read a model.

    Parameters
    ----------
    verify
        True compares checksums, which reads every byte once. False compares sizes only, and a header that
        was edited is accepted. None, the default, compares the checksums of the header and of files up to
        :data:`QUICK` bytes, and the sizes of larger files.

    Raises
    ------
    InputError
        If the folder does not exist, is not a model, was written by another version, or is damaged.
    """
    path = Path(folder)
    header = _read_header(path, verify is not False)
    files = header.files
    arrays, users, items = (
        _checked_file(path, file, verify) for file in (files.arrays, files.users, files.items)
    )
    try:
        user_ids = as_ids(_read_columns(users, ["id"])["id"], "user")
    except InputError as error:
        raise InputError(f"{users}: {error}") from None
    return StoredModel(header, _map_arrays(arrays), user_ids, _read_items(items))


def _read_header(folder: Path, verify: bool) -> Header:
    path = folder / HEADER
    if not folder.exists():
        raise InputError(f"there is no folder {folder}; save a model there first")
    if not path.is_file():
        raise InputError(
            f"{folder} is not a model of prefmover: it has no {HEADER} (a first save that was interrupted "
            "leaves none)"
        )
    try:
        if path.stat().st_size > MAX_HEADER:
            raise InputError(
                f"{path} is damaged: it has {path.stat().st_size:,} bytes, more than a model has"
            )
        content = path.read_bytes()
        stamp = Stamp.model_validate_json(content)
        if stamp.version == FORMAT_VERSION:
            header = Header.model_validate_json(content)
            if verify and header.sha256 != header_sha256(json.loads(content)):
                raise InputError(
                    f"{path} was changed after the model was saved (its checksum differs); copy it again, or "
                    "save the model again"
                )
            return header
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error})") from None
    except InputError:
        raise
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "content"
        value = "" if first["type"] == "missing" else f" is {reprlib.repr(first['input'])}"
        raise InputError(f"{path} is damaged: {where}{value}: {first['msg']}; save the model again") from None
    except ValueError as error:  # a number of thousands of digits, which pydantic takes
        raise InputError(f"{path} is damaged ({error}); save the model again") from None
    newer = stamp.version > FORMAT_VERSION
    age, remedy = ("a newer", "update prefmover") if newer else ("an older", "fit the model again")
    raise InputError(
        f"{folder} was written by {age} prefmover ({stamp.written_by}, format {stamp.version}); this one "
        f"reads format {FORMAT_VERSION}: {remedy}"
    )


def _checked_file(folder: Path, file: StoredFile, verify: bool | None) -> Path:
    path = folder / file.name
    if not path.is_file():
        raise InputError(f"{folder} lacks {file.name}; copy the whole folder, or save the model again")
    size = path.stat().st_size
    if size != file.size:
        raise InputError(
            f"{path} has {size:,} bytes instead of {file.size:,}: it is cut off or damaged; copy it again, "
            "or save the model again"
        )
    verify = size <= QUICK if verify is None else verify
    if verify and _sha256(path) != file.sha256:
        raise InputError(f"{path} is damaged (its checksum differs); copy it again, or save the model again")
    return path


def _map_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a safetensors file as views of the mapped file.

    The layout is 8 bytes with the length of the JSON table, the table, then the arrays. (The library would
    read them into memory.)
    """
    try:
        whole = np.memmap(path, mode="r", dtype=np.uint8)
        (length,) = struct.unpack("<Q", whole[:8].tobytes())
        if length > min(MAX_HEADER, len(whole)):
            raise ValueError(f"a table of {length:,} bytes")
        table = json.loads(whole[8 : 8 + length].tobytes())
        data = whole[8 + length :]
        return {name: _view(data, entry) for name, entry in table.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise InputError(f"{path} is damaged ({error}); save the model again") from None


def _view(data: npt.NDArray[np.uint8], entry: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return one array of the mapped data; its offsets, type and shape must agree."""
    begin, end = entry["data_offsets"]
    dtype, shape = np.dtype(TYPES[entry["dtype"]]), entry["shape"]
    if not all(type(n) is int and 0 <= n <= len(data) for n in (begin, end, *shape)):
        raise ValueError(f"an array of shape {shape} at {begin} to {end}")
    if math.prod(shape) * dtype.itemsize != end - begin:
        raise ValueError(f"{end - begin:,} bytes for an array of {dtype} of shape {shape}")
    array = np.asarray(data[begin:end]).view(dtype).reshape(shape)
    return np.require(array, requirements="A")  # a copy, if it is not aligned


def _write_arrays(arrays: Arrays, path: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    except SafetensorError as error:  # the message alone has the number of the system's error
        number = re.search(r"(?:os error|code:) (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


def _read_items(path: Path) -> Catalog:
    columns = _read_columns(path, ITEM_COLUMNS)
    try:
        titles, years, genres = (columns[name].to_pylist() for name in ITEM_COLUMNS[1:])
        if not all(isinstance(title, str) for title in titles):
            raise InputError("a title is missing or is not text")
        if not all(isinstance(genre, str) for some in genres for genre in some):
            raise InputError("a genre is missing or is not text")
        return Catalog(columns["id"], titles, years, genres)
    except (InputError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: {error}; save the model again") from None


def _read_columns(path: Path, names: list[str]) -> Any:
    opened = open_arrow(path.read_bytes(), str(path))
    found = [] if opened is None else opened.schema.names
    if opened is None or found != names:
        raise InputError(f"{path} has columns {found}, not {names}; save the model again")
    return opened.read(names)


def _refuse_foreign(folder: Path) -> None:
    """Raise an error if a folder has files that are not a model's; nothing is written among them."""
    header = folder / HEADER
    content = header.read_bytes() if header.exists() else b"something else"
    others = sorted(path.name for path in folder.iterdir() if not WRITTEN.match(path.name))
    if others and content.strip() and b'"prefmover-model"' not in content:
        raise InputError(
            f"{folder} is not empty and not a model of prefmover (it has {others[0]!r}); choose another one"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot do this for folders, and for files only with the right to write
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
