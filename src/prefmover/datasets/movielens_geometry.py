"""The best item geometry for a MovieLens data set, given the data sets that are installed.

In this order:

1. the **Tag Genome**, if it is installed and covers 90 percent of the ratings, as in the paper;
2. **tag profiles** (:mod:`prefmover.items.tag_profiles`) from genres and user tags, those of the data set or
   else of ``movie-tags``;
3. **genres** alone.

None of them uses ratings. ``movie-tags`` is a folder that you add yourself; without it, ml-100k and ml-1m,
which have no tags of their own, get genres. The name of a geometry says which it is.
"""

from __future__ import annotations

import numpy as np

from prefmover._typing import Ints
from prefmover.data.ratings import Ratings
from prefmover.datasets import folders
from prefmover.datasets.archive import Files
from prefmover.datasets.matching import match
from prefmover.datasets.movielens import read_items, read_movie_tags, read_user_tags
from prefmover.datasets.reading import Tags
from prefmover.datasets.registry import SOURCES, Source
from prefmover.datasets.tag_genome import has_genome, read_genome
from prefmover.items import features
from prefmover.items.catalog import Catalog
from prefmover.items.geometry import ItemGeometry
from prefmover.items.tag_profiles import tag_profiles
from prefmover.items.vectors import ItemVectors

__all__ = ["best_geometry", "genome_geometry", "movielens_ids", "read_tags", "tag_geometry"]

COVERAGE = 0.9
TITLE_SOURCES = ("ml-1m", "ml-10m", "ml-20m", "ml-25m", "ml-32m", "ml-latest-small")  # with MovieLens ids


def best_geometry(
    source: Source, files: Files, ratings: Ratings, items: Catalog
) -> ItemGeometry | ItemVectors:
    """Return the best geometry of a MovieLens data set, or genres."""
    best = genome_geometry(source, files, ratings, items) or tag_geometry(source, files, items)
    return best or features.from_genres(items.ids, items.genres)


def genome_geometry(source: Source, files: Files, ratings: Ratings, items: Catalog) -> ItemGeometry | None:
    """Return the geometry of the Tag Genome of the data set, or else of 2012, or None."""
    is_here = has_genome(files)
    genome_files = files if is_here else folders.find(SOURCES["tag-genome"])
    ids, note = movielens_ids(source, items) if genome_files else (None, "")
    if genome_files is None or ids is None:
        return None
    genome = read_genome(genome_files)
    rated = np.isin(ratings.items, items.ids[np.isin(ids, genome.movies)])
    share = float(rated[ratings.matrix.indices].mean())
    if share < COVERAGE:
        return None
    release = source.name if is_here else "2012"
    name = f"Tag Genome ({release}, {len(genome.tags):,} tags, {share:.1%} of ratings{note})"
    return ItemGeometry.from_vectors(items.ids, genome.rows(ids), name=name, zero="far")


def tag_geometry(source: Source, files: Files, items: Catalog) -> ItemGeometry | None:
    """Return the geometry of tag profiles, or None if there are too few tags."""
    tags, origin = read_tags(source, files, items)
    if tags is None:
        return None
    per_tag = np.unique(np.array(tags.tags)[np.isin(tags.items, items.ids)], return_counts=True)[1]
    if per_tag.max(initial=0) < 20:
        return None
    vectors = tag_profiles(tags.items, tags.tags, tags.counts, ids=items.ids, genres=items.genres)
    name = f"{vectors.name} from {origin} and the genres of {source.name}"
    return ItemGeometry.from_features(vectors._replace(name=name))


def movielens_ids(source: Source, items: Catalog) -> tuple[Ints | None, str]:
    """Return the MovieLens id of each item (-1 for none), and a note on how it was determined.

    ml-100k has different ids; they are matched by title and year to the first of
    :data:`TITLE_SOURCES` that is installed. If none is, the result is None.
    """
    if source.form != "u":
        return np.asarray(items.ids, dtype=np.int64), ""
    for name in TITLE_SOURCES:
        files = folders.find(SOURCES[name])
        if files is not None:
            matches = match(items, read_items(files, SOURCES[name]))
            ids = [matches.get(item, -1) for item in items.ids.tolist()]
            return np.array(ids, dtype=np.int64), f", movies matched to {name} by title"
    return None, ""


def read_tags(source: Source, files: Files, items: Catalog) -> tuple[Tags | None, str]:
    """Return tags by the ids of the data set, or None if there are none, and their origin."""
    tags = read_user_tags(files, source)
    if tags is not None:
        return tags, "its own tags"
    tag_files = folders.find(SOURCES["movie-tags"])
    if tag_files is None:
        return None, ""
    tags = read_movie_tags(tag_files)
    if source.form != "u":
        return tags, "movie-tags"
    ids, note = movielens_ids(source, items)
    return (None, "") if ids is None else (_renumbered(tags, ids, items), f"movie-tags{note}")


def _renumbered(tags: Tags, ids: Ints, items: Catalog) -> Tags:
    """Return tags by the ids of a catalog, given the MovieLens id of each of its items.

    Two items may be one movie; both get its tags. Tags of movies that are not in the catalog get negative
    ids: they still help to learn which tags go together.
    """
    order = np.argsort(tags.items, kind="stable")
    starts = np.searchsorted(tags.items[order], ids, "left")
    ends = np.searchsorted(tags.items[order], ids, "right")
    rows = [order[a:b] for a, b in zip(starts, ends, strict=True)]
    owner_ids = np.repeat(np.asarray(items.ids, dtype=np.int64), ends - starts)
    others = np.flatnonzero(~np.isin(tags.items, ids))
    chosen = np.concatenate([*rows, others]).astype(np.int64)
    new_ids = np.concatenate([owner_ids, -tags.items[others]])
    return Tags(new_ids, [tags.tags[k] for k in chosen.tolist()], tags.counts[chosen])
