"""The folder of a long job: one Parquet file for each finished part, and a description of the job.

::

    _search.json         k, the number of parts, a digest of the inputs
    part-00000.parquet   user, neighbors (a list of ids, nearest first), distances

Parts of another job are refused. A part is written under a temporary name and renamed, so a killed run
leaves it whole or not at all. All parts together are the result, for any reader of Parquet.
"""

import json
from abc import ABC, abstractmethod
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from prefmover._typing import Ints
from prefmover.data.parquet import open_parquet, read_parquet
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError, UnknownIdError
from prefmover.execution import atomic
from prefmover.search.result import NeighborPositions, SearchStats

FORMAT = 2


Part = TypeVar("Part")


class Checkpoint(ABC, Generic[Part]):
    """A folder of finished parts of one job for the users of some ratings.

    A subclass names the job and writes its parts as Arrow tables with a column ``user``.
    """

    job: ClassVar[str]
    """The name of the job, in messages and in the name of its description."""
    inputs: ClassVar[str]
    """What the result depends on, in words."""

    def __init__(self, folder: str | PathLike[str], ratings: Ratings) -> None:
        self.path, self.ratings = Path(folder), ratings

    def claim(self, description: dict[str, Any], parts: int, n_bytes: int = 0) -> int:
        """Write the description of the job, or check that it is the same; return the number of parts.

        Raise an error first if the parts of a new job need more space than the disk has.
        """
        header = self.path / f"_{self.job}.json"
        if not header.exists():
            atomic.require_disk(self.path, n_bytes, f"a checkpoint of {self.job}")
        with atomic.writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            atomic.clear(self.path)
        if not header.exists():
            if any(self.path.glob("part-*")):
                raise InputError(f"{self.path} has finished parts but no {header.name}; empty the folder")
            text = json.dumps({"format": FORMAT, **description, "parts": parts}, indent=1)
            atomic.write(header, text.encode())
            return parts
        try:
            saved = json.loads(header.read_text(encoding="utf-8"))
            parts = int(saved.pop("parts", 1))
        except (ValueError, TypeError, AttributeError):
            raise InputError(f"{header} cannot be read; empty the folder to start again") from None
        if saved != {"format": FORMAT, **description}:
            raise InputError(
                f"{self.path} has parts of another job (different {self.inputs}); "
                "choose another folder, or empty it to start again"
            )
        return parts

    def load(self, blocks: list[Ints]) -> dict[int, Part]:
        """Return the finished parts, by number."""
        files = [self._file(number) for number in range(len(blocks))]
        return {n: self._read(file, blocks[n]) for n, file in enumerate(files) if file.exists()}

    def save(self, number: int, part: Part, rows: Ints) -> None:
        """Write a finished part: that of the users at positions ``rows``."""
        from pyarrow import parquet

        buffer = BytesIO()
        parquet.write_table(self._to_table(part, rows), buffer)
        atomic.write(self._file(number), buffer.getvalue())

    @abstractmethod
    def _to_table(self, part: Part, rows: Ints) -> Any:
        """Return a part as an Arrow table."""

    @abstractmethod
    def _from_table(self, table: Any, rows: Ints) -> Part:
        """Return the part in a table; raise a ValueError unless the job could have made it."""

    def _file(self, number: int) -> Path:
        return self.path / f"part-{number:05d}.parquet"

    def _read(self, file: Path, rows: Ints) -> Part:
        import pyarrow as pa

        try:
            table = read_parquet(open_parquet(file.read_bytes(), file.name), file.name)
            if table["user"].to_pylist() != self.ratings.users[rows].tolist():
                raise ValueError("its users are not those of this part")
            return self._from_table(table, rows)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException, UnknownIdError) as error:
            raise InputError(f"{file} is damaged ({error}); delete it and run again") from error


class NeighborCheckpoint(Checkpoint[NeighborPositions]):
    """A folder of finished parts of a search for the k nearest users."""

    job = "search"
    inputs = "ratings, geometry, users or k"

    def __init__(self, folder: str | PathLike[str], ratings: Ratings, k: int) -> None:
        super().__init__(folder, ratings)
        self.k = k

    def _to_table(self, part: NeighborPositions, rows: Ints) -> Any:
        import pyarrow as pa

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
        return pa.table(columns).replace_schema_metadata({"stats": stats})

    def _from_table(self, table: Any, rows: Ints) -> NeighborPositions:
        stats = json.loads(table.schema.metadata[b"stats"])
        lists, distances = (table[name].combine_chunks() for name in ("neighbors", "distances"))
        if lists.value_lengths() != distances.value_lengths():
            raise ValueError("it has different numbers of distances and neighbors")
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
