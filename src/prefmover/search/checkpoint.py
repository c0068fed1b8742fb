"""A long search in parts: each finished part is a file, and a run that was killed goes on from them.

The folder's ``search.json`` tells what is searched for, by a digest of the inputs; parts of another search
are refused, not mixed in. A part is written under a temporary name and renamed: a kill leaves it there
whole or not at all. Distances do not depend on what was computed before, so the answer is that of one run.
"""

import hashlib
import json
from collections.abc import Iterable
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import numpy as np

from prefmover import atomic
from prefmover.errors import InputError
from prefmover.parallel import Progress
from prefmover.search.index import Asked, NeighborIndex, new_ratings
from prefmover.search.neighbors import Index, Neighbors, SearchStats

__all__ = ["in_parts"]

FORMAT = 1
PART = 256  # askers


def in_parts(
    index: NeighborIndex,
    users: Asked,
    k: int,
    folder: str | PathLike[str],
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    part: int = PART,
) -> Neighbors:
    """Return ``index.nearest(users, k)``, computed part by part with a file for each."""
    if users is not None and new_ratings(users) is not None:
        raise InputError("a checkpoint is for the users of the ratings; new users are soon answered")
    asking = index.ratings.user_indices(cast(Iterable[Any] | None, users))
    place = Path(folder)
    _claim(place, {"format": FORMAT, "k": int(k), "part": part, "inputs": _digest(index, asking)})
    # Heavy users first, as within a part: what they solve is known to the light ones of their part.
    order = np.argsort(-np.diff(index.preferences.indptr)[asking], kind="stable")
    parts = [order[a : a + part] for a in range(0, order.size, part)]
    answers, done = [], 0
    for number, chosen in enumerate(parts):
        file = place / f"part-{number:05d}.npz"
        answer = _load(file)
        if answer is None:

            def report(finished: int, _: int, before: int = done) -> None:
                if progress is not None:
                    progress(before + finished, asking.size)

            found = index.nearest(index.ratings.users[asking[chosen]], k, n_jobs=n_jobs, progress=report)
            answer = found.indptr, found.neighbors, found.values, found.stats
            _save(file, *answer)
        answers.append(answer)
        done += chosen.size
        if progress is not None:
            progress(done, asking.size)
    return _join(index, asking, parts, answers)


Part = tuple[Index, Index, np.ndarray, SearchStats]


def _claim(folder: Path, search: dict[str, object]) -> None:
    header = folder / "search.json"
    with atomic.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        atomic.clear(folder)
    if header.exists():
        try:
            there = json.loads(header.read_text(encoding="utf-8"))
        except ValueError:
            raise InputError(f"{header} cannot be read; empty the folder to start anew") from None
        if there != search:
            raise InputError(
                f"{folder} holds parts of another search (other ratings, geometry, users or k); "
                "choose another folder, or empty it to start anew"
            )
        return
    if any(folder.glob("part-*.npz")):
        raise InputError(f"{folder} holds parts of a search but not what they belong to; empty it")
    atomic.write(header, json.dumps(search, indent=1).encode())


def _digest(index: NeighborIndex, asking: Index) -> str:
    digest = hashlib.sha256()
    p, geometry = index.preferences, index.geometry
    exact = geometry.grid if geometry.grid is not None else geometry.vectors
    assert exact is not None
    for values in (p.indptr, p.indices.astype(np.int64), p.mass, asking, exact):
        digest.update(np.ascontiguousarray(values).data)
    ids = [index.ratings.users.tolist(), geometry.unit, bool(geometry.is_metric)]
    digest.update(json.dumps(ids).encode())
    return digest.hexdigest()


def _save(file: Path, indptr: Index, neighbors: Index, values: np.ndarray, stats: SearchStats) -> None:
    buffer = BytesIO()
    np.savez(
        buffer,
        indptr=indptr,
        neighbors=neighbors,
        values=values,
        counts=stats.counts,
        seconds=json.dumps(stats.seconds),
    )
    atomic.write(file, buffer.getvalue())


def _load(file: Path) -> Part | None:
    if not file.exists():
        return None
    try:
        with np.load(BytesIO(file.read_bytes()), allow_pickle=False) as saved:
            stats = SearchStats.of(saved["counts"].tolist(), json.loads(str(saved["seconds"])))
            return saved["indptr"], saved["neighbors"], saved["values"], stats
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise InputError(f"{file} is damaged ({error}); delete it and run again") from error


def _join(index: NeighborIndex, asking: Index, parts: list[Index], answers: list[Part]) -> Neighbors:
    counts = np.zeros(asking.size, np.int64)
    for chosen, (indptr, _, _, _) in zip(parts, answers, strict=True):
        counts[chosen] = np.diff(indptr)
    whole = np.concatenate(([0], np.cumsum(counts)))
    neighbors, values = np.empty(whole[-1], np.int64), np.empty(whole[-1])
    total = SearchStats()
    for chosen, (indptr, found, distances, stats) in zip(parts, answers, strict=True):
        for k, at in enumerate(chosen.tolist()):
            source, target = slice(indptr[k], indptr[k + 1]), slice(whole[at], whole[at + 1])
            neighbors[target], values[target] = found[source], distances[source]
        total = total + stats
    return Neighbors(index.ratings.users[asking], index.ratings.users, whole, neighbors, values, stats=total)
