"""The Tag Genome: how relevant each of 1,128 tags is to each movie, from 0 to 1.

It has two forms: ``tag_relevance.dat``, ``tags.dat``, ``movies.dat`` (the release of 2012), and
``genome-scores.csv``, ``genome-tags.csv`` (in ml-20m and ml-25m; 435 MB of text). Either is read as a
stream, a few megabytes at a time, into a dense array of 4-byte numbers. The array is cached and
memory-mapped from then on.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Ints
from prefmover.data.delimited import Kind, Origin
from prefmover.datasets.folders import Files
from prefmover.datasets.reading import Layout, refuse_repeats
from prefmover.errors import InputError
from prefmover.execution.atomic import cache_folder

__all__ = ["Genome", "has_genome", "read_genome"]

SCORES: dict[str, Kind | None] = {"movieId": "int", "tagId": "int", "relevance": "float"}
TAGS: dict[str, Kind | None] = {"tagId": "int", "tag": "text"}
FORMS = {
    "genome-scores.csv": (Layout(SCORES), "genome-tags.csv", Layout(TAGS)),
    "tag_relevance.dat": (
        Layout(SCORES, "\t", header=False),
        "tags.dat",
        Layout({**TAGS, "popularity": None}, "\t", header=False),
    ),
}
FILES = tuple(name for scores, (_, tags, _) in FORMS.items() for name in (scores, tags))
CACHE_VERSION = 1
MAX_BYTES = 1 << 31  # size of the array; the largest published takes 62 MB


@dataclass(frozen=True, slots=True, eq=False)
class Genome:
    """Tag relevances of movies."""

    movies: Ints  # MovieLens ids, ascending
    tags: tuple[str, ...]
    scores: npt.NDArray[np.float32]  # (n_movies, n_tags) from 0 to 1; none is missing

    def rows(self, movies: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Return the rows of some movies; those without a genome get rows of zeros."""
        ids = np.asarray(movies, dtype=np.int64)
        positions = np.minimum(np.searchsorted(self.movies, ids), len(self.movies) - 1)
        known = self.movies[positions] == ids
        out = np.zeros((len(ids), len(self.tags)), np.float32)
        out[known] = self.scores[positions[known]]
        return out


def has_genome(files: Files) -> bool:
    """Whether the files of one of the forms are present."""
    return any(scores in files and tags in files for scores, (_, tags, _) in FORMS.items())


def read_genome(files: Files, *, cache: Path | None = None) -> Genome:
    """Return the Tag Genome in some files, read once and then cached, by default in the user's cache."""
    for scores_name, (layout, tags_name, tags_layout) in FORMS.items():
        if scores_name not in files:
            continue
        files.require([tags_name])
        columns, origin = tags_layout.read(files, tags_name)
        tag_ids, tags = columns["tagId"], columns["tag"]
        refuse_repeats(tag_ids, "tag", origin)
        key = f"{CACHE_VERSION}|{files.key(scores_name)}|{files.key(tags_name)}"
        folder = (cache or cache_folder()) / f"genome-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        arrays = _from_cache(folder, len(tags))
        if arrays is None:
            arrays = _assemble(layout.blocks(files, scores_name), files.where(scores_name), tag_ids)
            _to_cache(folder, *arrays)
        return Genome(arrays[0], tuple(tags), arrays[1])
    raise InputError(f"{files.path} has no Tag Genome: neither {' nor '.join(FORMS)}")


def _assemble(
    blocks: Iterator[tuple[dict[str, Any], Origin]], file: str, tag_ids: Ints
) -> tuple[Ints, npt.NDArray[np.float32]]:
    """Return movie ids, ascending, and the dense array of their scores."""
    n_tags, n_read = len(tag_ids), 0
    order = np.argsort(tag_ids)
    row_of: dict[int, int] = {}
    scores = np.full((64, n_tags), np.nan, np.float32)
    for columns, origin in blocks:
        movie, tag, relevance = columns.values()
        column = order[np.minimum(np.searchsorted(tag_ids, tag, sorter=order), n_tags - 1)]
        _check(tag_ids[column] == tag, origin, "tag {} is not in the list of tags", tag)
        in_range = (relevance >= 0) & (relevance <= 1)  # False for NaN
        _check(in_range, origin, "a relevance of {}; expected 0 to 1", relevance)
        movies, inverse = np.unique(movie, return_inverse=True)
        for m in movies.tolist():
            row_of.setdefault(m, len(row_of))
        if len(row_of) * n_tags * scores.itemsize > MAX_BYTES:
            size = f"{len(row_of):,} movies or more by {n_tags:,} tags take over {MAX_BYTES >> 30} GB"
            raise InputError(f"{file}: {size}; no Tag Genome is as large: is it another file?")
        if len(row_of) > len(scores):
            scores = np.vstack([scores, np.full((len(row_of), n_tags), np.nan, np.float32)])
        rows = np.array([row_of[m] for m in movies.tolist()])[inverse]
        _check(np.isnan(scores[rows, column]), origin, "movie {} has this tag a second time", movie)
        scores[rows, column] = relevance
        n_read += len(movie)
    if not row_of:
        raise InputError(f"{file} has no relevances")
    movies = np.array(sorted(row_of), dtype=np.int64)
    scores = scores[[row_of[m] for m in movies.tolist()]]
    incomplete = np.isnan(scores).any(axis=1)
    if incomplete.any():
        k = int(incomplete.argmax())
        n_missing = int(np.isnan(scores[k]).sum())
        problem = f"movie {movies[k]} lacks {n_missing:,} of {n_tags:,} tags"
        raise InputError(f"{file}: {problem} ({incomplete.sum():,} such movies); copy the file again")
    if n_read != scores.size:
        problem = f"{file} has {n_read:,} relevances for {len(movies):,} movies and {n_tags:,} tags"
        raise InputError(f"{problem}, {n_read - scores.size:,} too many: some occur twice; copy it again")
    return movies, scores


def _check(valid: Bools, origin: Origin, message: str, values: Any) -> None:
    if not valid.all():
        k = int(np.argmin(valid))
        raise InputError(f"{origin.at(k)}: {message.format(values[k])}")


def _from_cache(folder: Path, n_tags: int) -> tuple[Ints, npt.NDArray[np.float32]] | None:
    with suppress(OSError, ValueError, EOFError):
        movies = np.load(folder / "movies.npy", allow_pickle=False)
        scores = np.load(folder / "scores.npy", mmap_mode="r", allow_pickle=False)
        return (movies, scores) if scores.shape == (len(movies), n_tags) else None
    return None


def _to_cache(folder: Path, movies: Ints, scores: npt.NDArray[np.float32]) -> None:
    """Write the arrays, all or nothing; a cache that cannot be written is not an error."""
    with suppress(OSError):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".genome-") as temporary:
            complete = Path(temporary) / "complete"
            complete.mkdir()
            np.save(complete / "movies.npy", movies)
            np.save(complete / "scores.npy", scores)
            os.replace(complete, folder)
