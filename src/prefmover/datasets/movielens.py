"""MovieLens data sets: three layouts of files, one result.

============================== ================= ========================= =================
data set                       ratings           movies                    user tags
============================== ================= ========================= =================
ml-100k                        ``u.data`` (tabs) ``u.item`` (bars)         none
ml-1m, ml-10m                  ``ratings.dat``   ``movies.dat`` (``::``)   ``tags.dat`` (10m)
ml-20m, 25m, 32m, latest-small ``ratings.csv``   ``movies.csv``            ``tags.csv``
============================== ================= ========================= =================

ml-100k and ml-1m are Latin-1; the others are UTF-8.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prefmover._typing import Ints
from prefmover.data.delimited import Kind
from prefmover.data.ratings import Ratings
from prefmover.data.scale import Scale
from prefmover.data.splits import Split, published_folds
from prefmover.datasets import reading
from prefmover.datasets.archive import Files
from prefmover.datasets.reading import Layout, Tags, refuse_repeats
from prefmover.datasets.registry import Source
from prefmover.errors import InputError
from prefmover.items.catalog import Catalog, split_year

__all__ = ["RATINGS", "read_folds", "read_items", "read_movie_tags", "read_ratings", "read_user_tags"]

# fmt: off
GENRES_100K = (
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama",
    "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)
# fmt: on

LINE: dict[str, Kind | None] = {"user": "int", "item": "int", "rating": "float", "timestamp": None}
HEADED: dict[str, Kind | None] = {"userId": "int", "movieId": "int", "rating": "float", "timestamp": None}
RATINGS = {
    "u": Layout(LINE, "\t", header=False),
    "dat": Layout(LINE, "::", header=False),
    "csv": Layout(HEADED),
}
MOVIE: dict[str, Kind | None] = {"item": "int", "title": "text", "genres": "text"}
ITEM_100K: dict[str, Kind | None] = {"item": "int", "title": "text", "released": "text"}
ITEM_100K |= {"video": None, "address": None, **dict.fromkeys(GENRES_100K, "int")}
ITEMS = {
    "u": Layout(ITEM_100K, "|", header=False, encoding="mixed"),
    "dat": Layout(MOVIE, "::", header=False, encoding="mixed"),
    "csv": Layout({"movieId": "int", "title": "text", "genres": "text"}),
}
TAGS = {
    "dat": Layout({"user": None, "item": "int", "tag": "text", "timestamp": None}, "::", header=False),
    "csv": Layout({"userId": None, "movieId": "int", "tag": "text", "timestamp": None}),
}
MOVIE_TAGS = Layout({"movieId": "int", "tag": "text", "count": "int", "source": None})


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
    """Return how often each movie got each tag, or None if the data set has no tags."""
    name = f"tags.{source.form}"
    if source.form not in TAGS or name not in files:
        return None
    columns, _ = TAGS[source.form].read(files, name)
    items = columns["movieId" if source.form == "csv" else "item"]
    return _counted(items, columns["tag"], np.ones(len(items), np.int64))


def read_movie_tags(files: Files) -> Tags:
    """Return the tags of a ``tags.csv`` with the columns movieId, tag, count, source."""
    columns, origin = MOVIE_TAGS.read(files, "tags.csv")
    counts = columns["count"]
    if (counts < 1).any():
        row = int((counts < 1).argmax())
        raise InputError(f"{origin.at(row, 'count')}: a count of {counts[row]}; expected 1 or more")
    return _counted(columns["movieId"], columns["tag"], counts)


def _counted(items: Ints, tags: list[str], counts: Ints) -> Tags:
    """Return distinct (item, tag) pairs, sorted, with their counts added up."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.utf8_lower(pc.utf8_trim_whitespace(pa.array(tags, pa.string())))
    table = pa.table({"item": items, "tag": plain, "count": counts}).filter(pc.not_equal(plain, ""))
    grouped = table.group_by(["item", "tag"]).aggregate([("count", "sum")])
    grouped = grouped.sort_by([("item", "ascending"), ("tag", "ascending")])
    return Tags(grouped["item"].to_numpy(), grouped["tag"].to_pylist(), grouped["count_sum"].to_numpy())
