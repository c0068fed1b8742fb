"""A model as a folder: a JSON header, arrays in safetensors, ids in Parquet. No pickle.

::

    my-model/
      header.json                what it is, parameters, and the sizes and checksums of the other files
      arrays-3f9c….safetensors   mapped into memory when loaded, not read
      users-….parquet, items-….parquet

Files other than the header are named after their content and never changed. Saving writes them beside the
old ones and then replaces the header in one step, so that a process that is killed at any moment leaves
the old model or the new one; files that the header does not name are removed by the next save.
"""

import hashlib
import json
import math
import os
import re
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, ValidationError

from prefmover.data.ids import Ids, as_ids
from prefmover.data.parquet import open_parquet, read_parquet
from prefmover.errors import InputError
from prefmover.execution import atomic

__all__ = ["FORMAT_VERSION", "Header", "StoredFile", "StoredModel", "read", "write"]

FORMAT_VERSION = 1
MOST_HEADER = 1 << 24  # bytes; a real one has a few thousand
HEADER = "header.json"
DATA_FILE = re.compile(r"^(arrays|users|items)-[0-9a-f]{16}\.(safetensors|parquet)$")
UNFINISHED = re.compile(r"^\.unfinished-[0-9a-f]{16}$")

Role = Literal["arrays", "users", "items"]
ROLES: tuple[Role, ...] = ("arrays", "users", "items")

DTYPES: dict[str, npt.DTypeLike] = {
    "F64": np.float64,
    "F32": np.float32,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U8": np.uint8,
    "BOOL": np.bool_,
}


class StoredFile(BaseModel):
    """A file of the model, by name within the folder."""

    model_config = ConfigDict(extra="forbid")

    name: str
    size: int
    sha256: str


class Header(BaseModel):
    """What ``header.json`` says.

    Attributes
    ----------
    format, version
        Always ``"prefmover-model"``; the version of this layout.
    written_by
        The version of prefmover.
    parameters
        Of the model, as its constructor takes them.
    facts
        What else a model needs to stand up again, small enough for JSON.
    files
        By role: arrays, users, items.
    """

    model_config = ConfigDict(extra="forbid")

    format: Literal["prefmover-model"]
    version: int
    written_by: str
    parameters: dict[str, Any]
    facts: dict[str, Any]
    files: dict[Role, StoredFile]


@dataclass(frozen=True, slots=True, eq=False)
class StoredModel:
    """What was read: parameters, facts, arrays (read-only views of the file) and ids."""

    header: Header
    arrays: dict[str, npt.NDArray[Any]]
    users: Ids
    items: Ids


def write(
    folder: str | PathLike[str],
    *,
    parameters: Mapping[str, Any],
    facts: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    users: Ids,
    items: Ids,
) -> Path:
    """Write a model, over an older one if there is one, and return the folder.

    Raises
    ------
    InputError
        If the folder has something else in it, or cannot be written: what was there before is still there.
    """
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InputError(f"{place} is a file; a model is a folder")
    with atomic.writing(place):
        if place.is_dir():
            _refuse_foreign(place)
        place.mkdir(parents=True, exist_ok=True)
        return _write(place, parameters, facts, arrays, users, items)


def _write(
    place: Path,
    parameters: Mapping[str, Any],
    facts: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    users: Ids,
    items: Ids,
) -> Path:
    files: dict[Role, StoredFile] = {}
    for role in ROLES:
        suffix = "safetensors" if role == "arrays" else "parquet"
        temporary = place / f".unfinished-{secrets.token_hex(8)}"
        try:
            if role == "arrays":
                _write_arrays(arrays, temporary)
            else:
                _write_ids(users if role == "users" else items, temporary)
            temporary.chmod(place.stat().st_mode & 0o666)  # safetensors lets only the owner read
            digest, size = _sha256(temporary), temporary.stat().st_size
            name = f"{role}-{digest[:16]}.{suffix}"
            _sync(temporary)
            temporary.replace(place / name)
        finally:
            temporary.unlink(missing_ok=True)
        files[role] = StoredFile(name=name, size=size, sha256=digest)
    header = Header(
        format="prefmover-model",
        version=FORMAT_VERSION,
        written_by=version("prefmover"),
        parameters=dict(parameters),
        facts=dict(facts),
        files=files,
    )
    temporary = place / f".unfinished-{secrets.token_hex(8)}"
    try:
        temporary.write_text(header.model_dump_json(indent=2) + "\n", encoding="utf-8")
        _sync(temporary)
        temporary.replace(place / HEADER)  # the one step from the old model to the new
        _sync(place)
    finally:
        temporary.unlink(missing_ok=True)
    atomic.clear(place)
    named = {file.name for file in files.values()}
    for path in place.iterdir():
        if path.name not in named and (DATA_FILE.match(path.name) or UNFINISHED.match(path.name)):
            path.unlink(missing_ok=True)
    return place


def read(folder: str | PathLike[str], *, verify: bool = True) -> StoredModel:
    """Read a model.

    Parameters
    ----------
    verify
        Compare checksums, which reads every byte once; without, only sizes are compared.

    Raises
    ------
    InputError
        If the folder is not there, is not a model, was written by a newer prefmover, or is damaged.
    """
    place = Path(folder)
    header = _read_header(place)
    for file in header.files.values():
        _check(place, file, verify)
    files = header.files
    missing = set(ROLES) - set(files)
    if missing:
        raise InputError(
            f"{place / HEADER} names no file of {', '.join(sorted(missing))}; save the model again"
        )
    return StoredModel(
        header,
        _map_arrays(place / files["arrays"].name),
        _read_ids(place / files["users"].name, "user"),
        _read_ids(place / files["items"].name, "item"),
    )


def _read_header(place: Path) -> Header:
    path = place / HEADER
    if not place.exists():
        raise InputError(f"there is no folder {place}; nothing was saved there")
    if not path.is_file():
        raise InputError(
            f"{place} is not a model of prefmover: it has no {HEADER} (a save that was interrupted the "
            "first time leaves none)"
        )
    try:
        if path.stat().st_size > MOST_HEADER:
            raise ValueError(f"{path.stat().st_size:,} bytes, more than any model's")
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{path} is damaged and cannot be read ({error}); save the model again") from None
    if not isinstance(content, dict) or content.get("format") != "prefmover-model":
        raise InputError(f"{path} does not describe a model of prefmover")
    version = content.get("version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise InputError(
            f"{place} was written by a newer prefmover ({content.get('written_by', 'unknown')}, format "
            f"{version}); this one reads up to format {FORMAT_VERSION}: update prefmover"
        )
    try:
        return Header.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{path} is damaged: {where}: {first['msg']}; save the model again") from None


def _check(place: Path, file: StoredFile, verify: bool) -> None:
    path = place / file.name
    if not DATA_FILE.match(file.name):
        raise InputError(f"{place / HEADER} names a file {file.name!r} that no model has")
    if not path.is_file():
        raise InputError(f"{place} lacks {file.name}; copy the whole folder, or save the model again")
    size = path.stat().st_size
    if size != file.size:
        raise InputError(
            f"{path} has {size:,} bytes, {file.size:,} were written: it is cut off or damaged; "
            "copy it again, or save the model again"
        )
    if verify and _sha256(path) != file.sha256:
        raise InputError(f"{path} is damaged (its checksum differs); copy it again, or save the model again")


def _map_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a safetensors file as views of the mapped file.

    The layout is 8 bytes of length, so many bytes of JSON, then the arrays: the library itself reads them
    into memory.
    """
    try:
        whole = np.memmap(path, mode="r", dtype=np.uint8)
        (length,) = struct.unpack("<Q", whole[:8].tobytes())
        if length > min(MOST_HEADER, len(whole)):
            raise ValueError(f"a table of {length:,} bytes")
        table = json.loads(whole[8 : 8 + length].tobytes())
        data = whole[8 + length :]
        return {name: _view(data, entry) for name, entry in table.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise InputError(f"{path} is damaged ({error}); save the model again") from None


def _view(data: npt.NDArray[np.uint8], entry: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return one array of the mapped data; its place, type and shape must agree."""
    begin, end = entry["data_offsets"]
    dtype, shape = np.dtype(DTYPES[entry["dtype"]]), entry["shape"]
    if not all(type(n) is int and 0 <= n <= len(data) for n in (begin, end, *shape)):
        raise ValueError(f"an array of shape {shape} at {begin} to {end}")
    if math.prod(shape) * dtype.itemsize != end - begin:
        raise ValueError(f"{end - begin:,} bytes for an array of {dtype} of shape {shape}")
    array = np.asarray(data[begin:end]).view(dtype).reshape(shape)
    return np.require(array, requirements="A")  # a copy, if somebody's writer did not align it


def _write_arrays(arrays: Mapping[str, npt.NDArray[Any]], path: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    try:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    except SafetensorError as error:  # it has the system's number in its words only
        found = re.search(r"(?:os error|code:) (\d+)", str(error))
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1]))) from error


def _write_ids(ids: Ids, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": pa.array(ids.tolist() if ids.dtype == object else ids)}), path)


def _read_ids(path: Path, kind: str) -> Ids:
    opened = open_parquet(path.read_bytes(), str(path))
    if opened.schema_arrow.names != ["id"]:
        raise InputError(f"{path} has columns {opened.schema_arrow.names}, not 'id'; save the model again")
    try:
        return as_ids(read_parquet(opened, str(path))["id"], kind)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _refuse_foreign(place: Path) -> None:
    """Raise an error if a folder has files that are not a model's: they are not ours to write among."""
    ours = (place / HEADER).exists()
    if ours:
        content = (place / HEADER).read_bytes()
        ours = b'"prefmover-model"' in content or not content.strip()
    if not ours:
        others = [
            p.name for p in place.iterdir() if not DATA_FILE.match(p.name) and not UNFINISHED.match(p.name)
        ]
        if others:
            raise InputError(
                f"{place} is not empty and not a model of prefmover (it has {sorted(others)[0]!r}); "
                "choose another folder"
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows has no such thing for folders
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
