"""MovieLens data sets: three layouts of files, one result.

============================== ================= ========================= =================
data set                       ratings           movies                    user tags
============================== ================= ========================= =================
ml-100k                        ``u.data`` (tabs) ``u.item`` (bars)         none
ml-1m, ml-10m                  ``ratings.dat``   ``movies.dat`` (``::``)   ``tags.dat`` (10m)
ml-20m, 25m, 32m, latest-small ``ratings.csv``   ``movies.csv``            ``tags.csv``
============================== ================= ========================= =================

ml-100k and ml-1m are Latin-1; the others are UTF-8.

The geometry of the items is the best one, given the data sets that are installed, in this order:

1. the **Tag Genome**, if it is installed and covers 90 percent of the ratings, as in the paper;
2. **tag profiles** (:mod:`prefmover.items.tag_profiles`) from genres and user tags, those of the data set or
   else of ml-10m;
3. **genres** alone.

None of them uses ratings. ml-100k and ml-1m have no tags of their own: they need ml-10m beside them, which
the publisher distributes. The name of a geometry says which it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prefmover._typing import Ints
from prefmover.data.delimited import Kind
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.data.splits import Split, published_folds
from prefmover.datasets import folders, reading
from prefmover.datasets.folders import Files
from prefmover.datasets.matching import match
from prefmover.datasets.reading import Layout, Tags, refuse_repeats
from prefmover.datasets.registry import SOURCES, Source
from prefmover.datasets.tag_genome import has_genome, read_genome
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.catalog import Catalog, split_year
from prefmover.items.features import ItemVectors
from prefmover.items.geometry import ItemGeometry
from prefmover.items.tag_profiles import tag_profiles

__all__ = ["RATINGS", "best_geometry", "read_folds", "read_items", "read_movie_tags", "read_ratings"]

# fmt: off
GENRES_100K = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama",
    "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)
# fmt: on

COVERAGE = 0.9
TITLE_SOURCES = ("ml-1m", "ml-10m", "ml-20m", "ml-25m", "ml-32m", "ml-latest-small")  # with MovieLens ids
LINE: dict[str, Kind | None] = {"user": "int", "item": "int", "rating": "float", "timestamp": None}
RATINGS = {
    "u": Layout(LINE, "\t", header=False),
    "dat": Layout(LINE, "::", header=False),
    "csv": Layout({"userId": "int", "movieId": "int", "rating": "float", "timestamp": None}),
}
ITEM_100K: dict[str, Kind | None] = {"item": "int", "title": "text", "released": "text"}
ITEM_100K |= {"video": None, "address": None, **dict.fromkeys(GENRES_100K, "int")}
ITEMS = {
    "u": Layout(ITEM_100K, "|", header=False, encoding="mixed"),
    "dat": Layout({"item": "int", "title": "text", "genres": "text"}, "::", header=False, encoding="mixed"),
    "csv": Layout({"movieId": "int", "title": "text", "genres": "text"}),
}
TAGS = {
    "dat": Layout({"user": "int", "item": "int", "tag": "text", "timestamp": None}, "::", header=False),
    "csv": Layout({"userId": "int", "movieId": "int", "tag": "text", "timestamp": None}),
}
MOVIE_TAGS = Layout({"movieId": "int", "tag": "text", "count": "int", "source": "text"})
TEN_MILLION = "movielens-10m"  # the source of the rows of ``movie-tags`` that are used


def read_ratings(files: Files, source: Source, name: str = "") -> Ratings:
    """Return the ratings, on the scale of the data set, or those in another file with the same layout."""
    scale = Scale(0.5, 5.0, 0.5) if source.half_stars else Scale(1.0, 5.0, 1.0)
    return reading.read_ratings(files, name or source.needs[0], RATINGS[source.form], scale=scale)


def read_folds(files: Files, source: Source, whole: Ratings) -> list[Split]:
    """Return the five 4:1 folds that ml-100k was published with, u1 to u5."""
    names = [(f"u{k}.base", f"u{k}.test") for k in range(1, 6)]
    files.require(name for pair in names for name in pair)
    pairs = [(read_ratings(files, source, base), read_ratings(files, source, test)) for base, test in names]
    return published_folds(whole, pairs)


def read_items(files: Files, source: Source) -> Catalog:
    """Return the movies: ids, titles, years, genres."""
    layout = ITEMS[source.form]
    if source.name != "ml-1m" and source.form == "dat":
        layout = replace(layout, encoding="utf-8")
    columns, origin = layout.read(files, source.needs[1])
    ids = columns["movieId" if source.form == "csv" else "item"]
    refuse_repeats(ids, "movie", origin)
    split = [split_year(title) for title in columns["title"]]
    years = [year for _, year in split]
    if source.form == "u":
        flags = np.column_stack([columns[genre] for genre in GENRES_100K])
        genres = [[GENRES_100K[k] for k in np.flatnonzero(row) if k > 0] for row in flags]
        # A few titles have no year, but a date of release ("01-Jan-1995").
        dates = columns["released"]
        years = [y or (int(d[-4:]) if d[-4:].isdecimal() else 0) for y, d in zip(years, dates, strict=True)]
    else:
        listed = [some.split("|") for some in columns["genres"]]
        genres = [[g for g in some if g and g != "(no genres listed)"] for some in listed]
    return Catalog(ids, [title for title, _ in split], years, genres)


def read_user_tags(files: Files, source: Source) -> Tags | None:
    """Return how many users gave each movie each tag, or None if the data set has no tags."""
    name = f"tags.{source.form}"
    if source.form not in TAGS or name not in files:
        return None
    layout = TAGS[source.form]
    columns, _ = layout.read(files, name)
    user, item, tag, _ = layout.columns
    return _counted(columns[item], columns[tag], columns[user], "count_distinct")


def read_movie_tags(files: Files) -> Tags:
    """Return the tags of MovieLens-10M in a ``tags.csv`` with the columns movieId, tag, count, source."""
    columns, origin = MOVIE_TAGS.read(files, "tags.csv")
    counts = columns["count"]
    if (counts < 1).any():
        row = int((counts < 1).argmax())
        raise InputError(f"{origin.at(row, 'count')}: a count of {counts[row]}; expected 1 or more")
    used = np.flatnonzero([source == TEN_MILLION for source in columns["source"]])
    return _counted(columns["movieId"][used], [columns["tag"][k] for k in used], counts[used], "sum")


def _counted(items: Ints, tags: list[str], values: Ints, how: str) -> Tags:
    """Return distinct (item, tag) pairs, sorted, with the sum or the number of their values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.utf8_lower(pc.utf8_trim_whitespace(pa.array(tags, pa.string())))
    table = pa.table({"item": items, "tag": plain, "value": values}).filter(pc.not_equal(plain, ""))
    grouped = table.group_by(["item", "tag"]).aggregate([("value", how)])
    grouped = grouped.sort_by([("item", "ascending"), ("tag", "ascending")])
    return Tags(grouped["item"].to_numpy(), grouped["tag"].to_pylist(), grouped[f"value_{how}"].to_numpy())


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
    ids, _, note = movielens_ids(source, items) if genome_files else (None, None, "")
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


def movielens_ids(source: Source, items: Catalog) -> tuple[Ints | None, Ints | None, str]:
    """Return the MovieLens id of each item (-1 for none), all ids of the catalog of these, and a note.

    ml-100k has different ids; they are matched by title and year to the first of
    :data:`TITLE_SOURCES` that is installed. If none is, the results are None.
    """
    if source.form != "u":
        ids = np.asarray(items.ids, dtype=np.int64)
        return ids, ids, ""
    for name in TITLE_SOURCES:
        files = folders.find(SOURCES[name])
        if files is not None:
            there = read_items(files, SOURCES[name])
            matches = match(items, there)
            ids = np.array([matches.get(item, -1) for item in items.ids.tolist()], dtype=np.int64)
            return ids, np.asarray(there.ids, dtype=np.int64), f", movies matched to {name} by title"
    return None, None, ""


def read_tags(source: Source, files: Files, items: Catalog) -> tuple[Tags | None, str]:
    """Return tags by the ids of the data set, or None if there are none, and their origin.

    Of the tags of ml-10m, those of movies that the data set (or the one that it is matched to) lists are
    used, so that its archive and a table of these tags give the same distances.
    """
    tags = read_user_tags(files, source)
    if tags is not None:
        return tags, "its own tags"
    tags = _tags_of_10m()
    ids, listed, note = (None, None, "") if tags is None else movielens_ids(source, items)
    if tags is None or ids is None or listed is None:
        return None, ""
    return _renumbered(tags, ids, listed, items), f"the tags of ml-10m{note}"


def _tags_of_10m() -> Tags | None:
    """Return the tags of ml-10m, or of their table ``movie-tags``, by MovieLens id."""
    files = folders.find(SOURCES["ml-10m"])
    tags = read_user_tags(files, SOURCES["ml-10m"]) if files is not None else None
    if tags is None and (files := folders.find(SOURCES["movie-tags"])) is not None:
        tags = read_movie_tags(files)
    return tags


def _renumbered(tags: Tags, ids: Ints, listed: Ints, items: Catalog) -> Tags:
    """Return the tags of listed movies by the ids of a catalog, given the MovieLens id of each of its items.

    Two items may be one movie; both get its tags. Tags of movies that are not in the catalog get negative
    ids: they still help to learn which tags go together.
    """
    order = np.argsort(tags.items, kind="stable")
    starts = np.searchsorted(tags.items[order], ids, "left")
    ends = np.searchsorted(tags.items[order], ids, "right")
    rows = [order[a:b] for a, b in zip(starts, ends, strict=True)]
    owner_ids = np.repeat(np.asarray(items.ids, dtype=np.int64), ends - starts)
    others = np.flatnonzero(np.isin(tags.items, listed) & ~np.isin(tags.items, ids))
    chosen = np.concatenate([*rows, others]).astype(np.int64)
    new_ids = np.concatenate([owner_ids, -tags.items[others]])
    return Tags(new_ids, [tags.tags[k] for k in chosen.tolist()], tags.counts[chosen])
