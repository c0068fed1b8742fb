"""The Tag Genome: how relevant each of 1,128 tags is to each movie, from 0 to 1.

Two forms: ``tag_relevance.dat``, ``tags.dat``, ``movies.dat`` (the release of 2012), and
``genome-scores.csv``, ``genome-tags.csv`` (in ml-20m and ml-25m; 435 MB of text). Either is read as a
stream, a few megabytes at a time, into a dense array of 4-byte numbers, which is kept in the cache
folder and memory-mapped from then on.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from prefmover.datasets.archive import Files
from prefmover.datasets.folders import cache_folder
from prefmover.datasets.tables import Layout
from prefmover.errors import InputError

__all__ = ["Genome", "has_genome", "read_genome"]

FORMS = {
    "genome-scores.csv": (
        Layout(",", {"movieId": "int", "tagId": "int", "relevance": "float"}, header=True),
        "genome-tags.csv",
        Layout(",", {"tagId": "int", "tag": "text"}, header=True),
    ),
    "tag_relevance.dat": (
        Layout("\t", {"movieId": "int", "tagId": "int", "relevance": "float"}),
        "tags.dat",
        Layout("\t", {"tagId": "int", "tag": "text", "popularity": "skip"}),
    ),
}
FILES = tuple(name for scores, (_, tags, _) in FORMS.items() for name in (scores, tags))
CACHE_VERSION = 1
MOST_BYTES = 1 << 31  # of the array; the largest published takes 62 MB


class UnreadableLineError(Exception):
    """Arrow could not read a line, and does not say which."""


@dataclass(frozen=True, slots=True, eq=False)
class Genome:
    """Tag relevances of movies.

    Attributes
    ----------
    movies : int64 array of shape (n_movies,)
        MovieLens ids, ascending.
    tags : tuple of str
    scores : float32 array of shape (n_movies, n_tags)
        0 to 1; none is missing.
    """

    movies: npt.NDArray[np.int64]
    tags: tuple[str, ...]
    scores: npt.NDArray[np.float32]

    def rows(self, movies: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Return the rows of some movies; those without a genome get rows of zeros."""
        wanted = np.asarray(movies, dtype=np.int64)
        at = np.searchsorted(self.movies, wanted)
        at = np.minimum(at, len(self.movies) - 1)
        found = self.movies[at] == wanted
        out = np.zeros((len(wanted), len(self.tags)), np.float32)
        out[found] = self.scores[at[found]]
        return out


def has_genome(files: Files) -> bool:
    """Whether both files of either form are there."""
    return any(scores in files and tags in files for scores, (_, tags, _) in FORMS.items())


def read_genome(files: Files, *, cache: Path | None = None) -> Genome:
    """Return the Tag Genome in some files; read once, then kept in the cache folder.

    Parameters
    ----------
    files : Files
        With ``genome-scores.csv`` and ``genome-tags.csv``, or ``tag_relevance.dat`` and ``tags.dat``.
    cache : Path, optional
        The folder to keep the array in, instead of the cache folder of the user.
    """
    for scores_name, (layout, tags_name, tags_layout) in FORMS.items():
        if scores_name not in files:
            continue
        files.require([tags_name])
        columns = tags_layout.parse(files.read(tags_name), files.where(tags_name))
        tag_ids, tags = columns["tagId"], columns["tag"].to_pylist()
        if not len(tag_ids):
            raise InputError(f"{files.where(tags_name)} has no tags below its header")
        if len(np.unique(tag_ids)) < len(tag_ids):
            raise InputError(f"{files.where(tags_name)} lists a tag id twice")
        key = f"{CACHE_VERSION}|{files.key(scores_name)}|{files.key(tags_name)}"
        kept = (cache or cache_folder()) / f"genome-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        found = _from_cache(kept, len(tags))
        if found is None:
            where = files.where(scores_name)
            try:
                with files.stream(scores_name) as stream:
                    found = _stream(stream, layout, where, tag_ids)
            except UnreadableLineError as error:
                with files.stream(scores_name) as stream:  # once more, slowly, to find the line
                    raise InputError(layout.explain(stream, where) or f"{where}: {error}") from error
            _to_cache(kept, *found)
        return Genome(found[0], tuple(tags), found[1])
    raise InputError(f"{files.path} has no Tag Genome: neither {' nor '.join(FORMS)}")


def _stream(
    stream: BinaryIO, layout: Layout, where: str, tag_ids: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Return movie ids, ascending, and the dense array of their scores."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    n_tags = len(tag_ids)
    order = np.argsort(tag_ids)
    row_of: dict[int, int] = {}
    scores = np.full((64, n_tags), np.nan, np.float32)
    line = 1 + int(layout.header)
    try:
        for batch in arrow_csv.open_csv(_Head(stream, layout, where), **layout.options()):
            movie, tag, relevance = (batch.column(k) for k in range(3))
            if any(column.null_count for column in (movie, tag, relevance)):
                raise UnreadableLineError("an empty field")
            movie, tag, relevance = movie.to_numpy(), tag.to_numpy(), relevance.to_numpy()
            at = np.minimum(np.searchsorted(tag_ids, tag, sorter=order), n_tags - 1)
            column = order[at]
            _check(tag_ids[column] == tag, line, where, "tag {} is not in the list of tags", tag)
            in_range = (relevance >= 0) & (relevance <= 1)  # False for NaN
            _check(in_range, line, where, "a relevance of {}; expected 0 to 1", relevance)
            movies, inverse = np.unique(movie, return_inverse=True)
            for m in movies.tolist():
                row_of.setdefault(m, len(row_of))
            if len(row_of) * n_tags * scores.itemsize > MOST_BYTES:
                raise InputError(
                    f"{where}: {len(row_of):,} movies or more by {n_tags:,} tags, which take over "
                    f"{MOST_BYTES >> 30} GB; no Tag Genome is as large: is it another file?"
                )
            if len(row_of) > len(scores):
                more = np.full((len(row_of), n_tags), np.nan, np.float32)
                scores = np.vstack([scores, more])
            rows = np.array([row_of[m] for m in movies.tolist()])[inverse]
            fresh = np.isnan(scores[rows, column])
            _check(fresh, line, where, "movie {} has this tag a second time", movie)
            scores[rows, column] = relevance
            line += len(movie)
    except pa.ArrowInvalid as error:
        raise UnreadableLineError(str(error)) from error
    if not row_of:
        raise InputError(f"{where} has no relevances")
    movies = np.array(sorted(row_of), dtype=np.int64)
    scores = scores[[row_of[m] for m in movies.tolist()]]
    lacking = np.isnan(scores).any(axis=1)
    if lacking.any():
        k = int(lacking.argmax())
        n_missing = int(np.isnan(scores[k]).sum())
        raise InputError(
            f"{where}: movie {movies[k]} lacks {n_missing:,} of {n_tags:,} tags ({lacking.sum():,} such "
            "movies); rows are missing, so the file is cut off or incomplete: copy it again"
        )
    n_lines = line - 1 - int(layout.header)
    if n_lines != scores.size:
        raise InputError(
            f"{where} has {n_lines:,} relevances for {len(movies):,} movies and {n_tags:,} tags, "
            f"{n_lines - scores.size:,} too many: some are there twice; copy it again"
        )
    return movies, scores


class _Head:
    """A stream whose beginning has been looked at, so that an error can name line 1."""

    closed = False

    def __init__(self, stream: BinaryIO, layout: Layout, where: str) -> None:
        first = stream.read(1 << 16)
        layout.check_start(layout.decode(first, where), where)
        self._first, self._stream = first.removeprefix(b"\xef\xbb\xbf"), stream

    def read(self, n: int = -1) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        return self._stream.read(n)

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


def _check(good: npt.NDArray[np.bool_], line: int, where: str, what: str, values: Any) -> None:
    if not good.all():
        k = int(np.argmin(good))
        raise InputError(f"{where}, line {line + k:,}: {what.format(values[k])}")


def _from_cache(kept: Path, n_tags: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]] | None:
    try:
        movies = np.load(kept / "movies.npy", allow_pickle=False)
        scores = np.load(kept / "scores.npy", mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return (movies, scores) if scores.shape == (len(movies), n_tags) else None


def _to_cache(kept: Path, movies: npt.NDArray[np.int64], scores: npt.NDArray[np.float32]) -> None:
    """Keep the arrays, all or nothing; a cache that cannot be written is no reason to fail."""
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".genome-") as partial:
            made = Path(partial) / "made"
            made.mkdir()
            np.save(made / "movies.npy", movies)
            np.save(made / "scores.npy", scores)
            os.replace(made, kept)
