"""The best item geometry that the data at hand allow, and what it was made from.

In this order:

1. the **Tag Genome**, if it is here and covers nine ratings in ten: the paper's own geometry;
2. **tag profiles** (:func:`prefmover.items.features.tag_profiles`) from user tags, those of the data set or
   else of ``movie-tags``, and genres;
3. **genres** alone.

No ratings are used in any of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from prefmover.data.ratings import Ratings
from prefmover.datasets import folders
from prefmover.datasets.archive import Files
from prefmover.datasets.matching import match
from prefmover.datasets.movielens import Tags, read_items, read_movie_tags, read_user_tags
from prefmover.datasets.registry import SOURCES, Source
from prefmover.datasets.tag_genome import has_genome, read_genome
from prefmover.items import features
from prefmover.items.catalog import Catalog
from prefmover.items.geometry import ItemGeometry

__all__ = ["best_geometry", "genome_geometry", "genre_geometry", "movielens_ids", "tag_geometry", "tags_of"]

COVERAGE = 0.9
LISTS = ("ml-1m", "ml-10m", "ml-20m", "ml-25m", "ml-32m", "ml-latest-small")  # titles by MovieLens id


def best_geometry(source: Source, files: Files, ratings: Ratings, items: Catalog) -> ItemGeometry:
    """Return the geometry of a MovieLens data set."""
    return (
        genome_geometry(source, files, ratings, items)
        or tag_geometry(source, files, items)
        or genre_geometry(source, items)
    )


def genome_geometry(source: Source, files: Files, ratings: Ratings, items: Catalog) -> ItemGeometry | None:
    """Return the geometry of the Tag Genome: its own, or else the release of 2012, if it is here."""
    genome_files, origin = files, source.name
    if not has_genome(files):
        found = folders.find(SOURCES["tag-genome"])
        if found is None:
            return None
        genome_files, origin = found, "2012"
    ids, how = movielens_ids(source, items)
    if ids is None:
        return None
    genome = read_genome(genome_files)
    covered = np.isin(ids, genome.movies)
    rated = np.isin(ratings.items, items.ids[covered])
    share = float(np.isin(ratings.matrix.indices, np.flatnonzero(rated)).mean())
    if share < COVERAGE:
        return None
    name = f"Tag Genome ({origin}, {len(genome.tags):,} tags, {share:.1%} of ratings{how})"
    return ItemGeometry.from_vectors(items.ids, genome.rows(ids), name=name, zero="far")


def tag_geometry(source: Source, files: Files, items: Catalog) -> ItemGeometry | None:
    """Return the geometry of tag profiles, or None if there are no tags, or too few."""
    found = tags_of(source, files, items)
    if found is None:
        return None
    tags, origin = found
    per_tag = np.unique(np.array(tags.tags)[np.isin(tags.items, items.ids)], return_counts=True)[1]
    if per_tag.max(initial=0) < 20:
        return None
    made = features.tag_profiles(tags.items, tags.tags, tags.counts, ids=items.ids, genres=items.genres)
    name = f"{made.name} from {origin} and the genres of {source.name}"
    return ItemGeometry.from_vectors(made.items, made.vectors, name=name, zero="far")


def genre_geometry(source: Source, items: Catalog) -> ItemGeometry:
    """Return the geometry of genres alone."""
    made = features.from_genres(items.ids, items.genres)
    name = f"{made.name} of {source.name}"
    return ItemGeometry.from_vectors(made.items, made.vectors, name=name, zero="far")


def movielens_ids(source: Source, items: Catalog) -> tuple[npt.NDArray[np.int64] | None, str]:
    """Return the MovieLens id of each item (-1 for none), and in words how it was found.

    ml-100k has ids of its own; they are matched by title and year to another MovieLens data set, the
    first of :data:`LISTS` that is here. If none is, the result is None.
    """
    if source.form != "u":
        return np.asarray(items.ids, dtype=np.int64), ""
    for name in LISTS:
        files = folders.find(SOURCES[name])
        if files is not None:
            matches = match(items, read_items(files, SOURCES[name]))
            ids = [matches.matched.get(item, -1) for item in items.ids.tolist()]
            return np.array(ids, dtype=np.int64), f", movies matched to {name} by title"
    return None, ""


def tags_of(source: Source, files: Files, items: Catalog) -> tuple[Tags, str] | None:
    """Return tags by the ids of the data set, and where they are from."""
    own = read_user_tags(files, source)
    if own is not None:
        return own, "its own tags"
    found = folders.find(SOURCES["movie-tags"])
    if found is None:
        return None
    tags = read_movie_tags(found)
    if source.form != "u":
        return tags, "movie-tags"
    ids, how = movielens_ids(source, items)
    if ids is None:
        return None
    return _renumbered(tags, ids, items), f"movie-tags{how}"


def _renumbered(tags: Tags, ids: npt.NDArray[np.int64], items: Catalog) -> Tags:
    """Return tags under the ids of a catalog, given the MovieLens id of each of its items.

    Two items may be one movie; both get its tags. Tags of movies that the catalog lacks are kept,
    under negative ids: they still say which tags go together.
    """
    order = np.argsort(tags.items, kind="stable")
    starts = np.searchsorted(tags.items[order], ids, "left")
    ends = np.searchsorted(tags.items[order], ids, "right")
    rows = [order[a:b] for a, b in zip(starts, ends, strict=True)]
    owners = np.repeat(np.asarray(items.ids, dtype=np.int64), ends - starts)
    others = np.flatnonzero(~np.isin(tags.items, ids))
    chosen = np.concatenate([*rows, others]).astype(np.int64)
    new_ids = np.concatenate([owners, -tags.items[others]])
    return Tags(new_ids, [tags.tags[k] for k in chosen.tolist()], tags.counts[chosen])
