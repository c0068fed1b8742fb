"""The folder of a long search: one Parquet file for each finished part, and a description of the search.

::

    _search.json         k, the number of parts, a digest of the inputs
    part-00000.parquet   user, neighbors (a list of ids, nearest first), distances

Parts of another search are refused. A part is written under a temporary name and renamed, so a killed run
leaves it whole or not at all. All parts together are the result, for any reader of Parquet.
"""

import json
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from prefmover._typing import Ints
from prefmover.data.parquet import open_parquet, read_parquet
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError, UnknownIdError
from prefmover.execution import atomic
from prefmover.search.result import NeighborPositions, SearchStats

FORMAT = 2


class Checkpoint:
    """A folder of finished parts of one search among the users of some ratings."""

    def __init__(self, folder: str | PathLike[str], ratings: Ratings) -> None:
        self.path, self.ratings = Path(folder), ratings
        self.k = 0

    def claim(self, search: dict[str, Any], parts: int) -> int:
        """Write the description of the search, or check that it is the same; return the number of parts."""
        self.k = search["k"]
        header = self.path / "_search.json"
        with atomic.writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            atomic.clear(self.path)
        if not header.exists():
            if any(self.path.glob("part-*")):
                raise InputError(f"{self.path} has parts of a search but no {header.name}; empty the folder")
            description = {"format": FORMAT, **search, "parts": parts}
            atomic.write(header, json.dumps(description, indent=1).encode())
            return parts
        try:
            saved = json.loads(header.read_text(encoding="utf-8"))
            parts = int(saved.pop("parts", 1))
        except (ValueError, TypeError, AttributeError):
            raise InputError(f"{header} cannot be read; empty the folder to start again") from None
        if saved != {"format": FORMAT, **search}:
            raise InputError(
                f"{self.path} has parts of another search (other ratings, geometry, users or k); "
                "choose another folder, or empty it to start again"
            )
        return parts

    def load(self, blocks: list[Ints]) -> dict[int, NeighborPositions]:
        """Return the finished parts, by number."""
        files = [self._file(number) for number in range(len(blocks))]
        return {n: self._read(file, blocks[n]) for n, file in enumerate(files) if file.exists()}

    def save(self, number: int, part: NeighborPositions, rows: Ints) -> None:
        """Write a finished part: the lists of the users at positions ``rows``."""
        import pyarrow as pa
        from pyarrow import parquet

        users = self.ratings.users
        id_type = pa.array(users[:1].tolist()).type
        offsets = pa.array(part.indptr.astype(np.int32))
        neighbors = pa.array(users[part.neighbors].tolist(), id_type)
        columns = {
            "user": pa.array(users[rows].tolist()),
            "neighbors": pa.ListArray.from_arrays(offsets, neighbors),
            "distances": pa.ListArray.from_arrays(offsets, pa.array(part.values)),
        }
        stats = json.dumps({"counts": part.stats.counts, "seconds": part.stats.seconds})
        buffer = BytesIO()
        parquet.write_table(pa.table(columns).replace_schema_metadata({"stats": stats}), buffer)
        atomic.write(self._file(number), buffer.getvalue())

    def _file(self, number: int) -> Path:
        return self.path / f"part-{number:05d}.parquet"

    def _read(self, file: Path, rows: Ints) -> NeighborPositions:
        import pyarrow as pa

        try:
            table = read_parquet(open_parquet(file.read_bytes(), file.name), file.name)
            stats = json.loads(table.schema.metadata[b"stats"])
            if table["user"].to_pylist() != self.ratings.users[rows].tolist():
                raise ValueError("its users are not those of this part")
            lists, distances = (table[name].combine_chunks() for name in ("neighbors", "distances"))
            if lists.value_lengths() != distances.value_lengths():
                raise ValueError("it has not as many distances as neighbors")
            if len(stats["counts"]) != len(SearchStats().counts):
                raise ValueError("its statistics are not complete")
            counts = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
            part = NeighborPositions(
                np.concatenate(([0], np.cumsum(counts))),
                self.ratings.user_positions(lists.flatten().to_pylist()),
                distances.flatten().to_numpy(zero_copy_only=False),
                SearchStats(*stats["counts"], seconds=stats["seconds"]),
            )
            self._check(part)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException, UnknownIdError) as error:
            raise InputError(f"{file} is damaged ({error}); delete it and run again") from error
        return part

    def _check(self, part: NeighborPositions) -> None:
        """Raise a ValueError unless a search could have made these lists."""
        if (part.counts > self.k).any():
            raise ValueError(f"a list has more than {self.k} neighbors")
        owner = np.repeat(np.arange(part.counts.size), part.counts)
        same = owner[1:] == owner[:-1]
        in_order = (part.values[1:] >= part.values[:-1]) | ~same
        if not (part.values >= 0).all() or np.isinf(part.values).any() or not in_order.all():
            raise ValueError("distances are negative, missing or not in order")
        if np.unique(np.stack((owner, part.neighbors)), axis=1).shape[1] < owner.size:
            raise ValueError("a list has a neighbor twice")
