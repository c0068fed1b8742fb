"""The folder of a long search: one Parquet file for each finished part, and what it is that is searched.

::

    _search.json         k, the number of parts, a digest of the inputs
    part-00000.parquet   user, neighbors (a list of ids, nearest first), distances

Parts of another search are refused, not mixed in. A part is written under a temporary name and renamed: a
kill leaves it there whole or not at all. All parts together are the result, for whoever reads Parquet.
"""

import json
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover.data.parquet import open_parquet, read_parquet
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError, UnknownIdError
from prefmover.execution import atomic
from prefmover.search.result import Floats, Index, SearchStats
from prefmover.search.shard import Pairs

__all__ = ["Part", "PartsFolder"]

FORMAT = 2


class Part(NamedTuple):
    """The lists of some askers: (n,) counts, (n, k) positions and distances; who they are (rows)."""

    counts: Index
    users: Index
    distances: Floats
    stats: SearchStats
    rows: Index

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """(n, k) where there is a neighbor."""
        return np.arange(self.users.shape[1]) < self.counts[:, None]

    def check(self) -> None:
        """Raise a ValueError unless the lists are such as a search makes: distances rise, nobody is twice."""
        d = np.where(self.inside, self.distances, np.inf)
        if not (d >= 0).all() or not (d[:, 1:] >= d[:, :-1]).all() or np.isinf(self.distances).any():
            raise ValueError("distances that are negative, missing or not in order")
        nobody = -1 - np.arange(self.users.shape[1])
        users = np.sort(np.where(self.inside, self.users, nobody), axis=1)
        if (users[:, 1:] == users[:, :-1]).any():
            raise ValueError("a neighbor who is there twice")

    def pairs(self, positions: Index) -> Pairs:
        """Return all pairs of askers and neighbors, given the position of every row."""
        asking = np.repeat(positions[self.rows], self.counts)
        return Pairs(asking, self.users[self.inside], self.distances[self.inside])


class PartsFolder:
    """A folder of finished parts of one search among the users of some ratings."""

    def __init__(self, folder: str | PathLike[str], ratings: Ratings) -> None:
        self.path, self.ratings = Path(folder), ratings
        self.k = 0

    def claim(self, about: dict[str, Any], parts: int) -> int:
        """Write down what is searched, or check that it is the same; return the number of parts."""
        self.k = about["k"]
        header = self.path / "_search.json"
        with atomic.writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            atomic.clear(self.path)
        if not header.exists():
            if any(self.path.glob("part-*")):
                raise InputError(f"{self.path} holds parts of a search but not what they belong to; empty it")
            search = {"format": FORMAT, **about, "parts": parts}
            atomic.write(header, json.dumps(search, indent=1).encode())
            return parts
        try:
            there = json.loads(header.read_text(encoding="utf-8"))
            found = int(there.pop("parts", 1))
        except (ValueError, TypeError, AttributeError):
            raise InputError(f"{header} cannot be read; empty the folder to start anew") from None
        if there != {"format": FORMAT, **about}:
            raise InputError(
                f"{self.path} holds parts of another search (other ratings, geometry, users or k); "
                "choose another folder, or empty it to start anew"
            )
        return found

    def load(self, n: int, ids: npt.NDArray[Any], blocks: list[Index]) -> dict[int, Part]:
        """Return the parts that are there, by number."""
        found = {}
        for number in range(n):
            file = self._file(number)
            if file.exists():
                found[number] = self._read(file, ids, blocks[number])
        return found

    def save(self, number: int, part: Part, ids: npt.NDArray[Any]) -> None:
        """Write a finished part."""
        import pyarrow as pa
        from pyarrow import parquet

        offsets = pa.array(np.concatenate(([0], np.cumsum(part.counts))).astype(np.int32))
        neighbors = self.ratings.users[part.users[part.inside]]
        columns = {
            "user": pa.array(ids[part.rows].tolist()),
            "neighbors": pa.ListArray.from_arrays(
                offsets, pa.array(neighbors.tolist(), pa.array(ids[:1].tolist()).type)
            ),
            "distances": pa.ListArray.from_arrays(offsets, pa.array(part.distances[part.inside])),
        }
        stats = json.dumps({"counts": part.stats.counts, "seconds": part.stats.seconds})
        table = pa.table(columns).replace_schema_metadata({"stats": stats})
        buffer = BytesIO()
        parquet.write_table(table, buffer)
        atomic.write(self._file(number), buffer.getvalue())

    def _file(self, number: int) -> Path:
        return self.path / f"part-{number:05d}.parquet"

    def _read(self, file: Path, ids: npt.NDArray[Any], rows: Index) -> Part:
        import pyarrow as pa

        try:
            table = read_parquet(open_parquet(file.read_bytes(), file.name), file.name)
            stats = json.loads(table.schema.metadata[b"stats"])
            if table["user"].to_pylist() != ids[rows].tolist():
                raise ValueError("other users than expected")
            lists, distances = (table[name].combine_chunks() for name in ("neighbors", "distances"))
            if lists.value_lengths() != distances.value_lengths():
                raise ValueError("not as many distances as neighbors")
            counts = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
            positions = self.ratings.user_positions(lists.flatten().to_pylist())
            part = Part(
                counts,
                np.zeros((rows.size, self.k), np.int64),
                np.zeros((rows.size, self.k)),
                SearchStats.of(stats["counts"], stats["seconds"]),
                rows,
            )
            part.users[part.inside] = positions
            part.distances[part.inside] = distances.flatten().to_numpy(zero_copy_only=False)
            part.check()
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException, UnknownIdError) as error:
            raise InputError(f"{file} is damaged ({error}); delete it and run again") from error
        return part
