"""MovieTweetings: ratings of films from 0 to 10 that people tweeted from IMDb.

Half of the users have one or two ratings. Films have IMDb ids, which are text: their zeros in front belong to
them. A rating of 0 is a rating.
"""

from __future__ import annotations

from functools import partial

from prefmover.data.columns import Columns
from prefmover.data.delimited import Schema
from prefmover.data.ratings import Scale, from_columns
from prefmover.dataset import Dataset
from prefmover.datasets.archive import Files
from prefmover.datasets.reading import assemble, read_times, refuse_repeats
from prefmover.datasets.registry import Source
from prefmover.items import features
from prefmover.items.catalog import Catalog, split_year

__all__ = ["read"]

RATINGS = Schema("::", {"user": "int", "item": "text", "rating": "float", "timestamp": None})
MOVIES = Schema("::", {"item": "text", "title": "text", "genres": "text"})


def read(source: Source, files: Files) -> Dataset:
    """Return the data set in some files, without a check of its size."""
    columns, origin = RATINGS.read(files.read("ratings.dat"), files.where("ratings.dat"))
    listed = Columns(
        (columns["user"], columns["item"].to_pylist(), columns["rating"]), tuple(columns), origin
    )
    ratings = from_columns(listed, scale=Scale(0.0, 10.0, 1.0), zeros="rating")
    movies, origin = MOVIES.read(files.read("movies.dat"), files.where("movies.dat"))
    ids = [id_.strip() for id_ in movies["item"].to_pylist()]
    refuse_repeats(ids, "film", origin)
    split = [split_year(title) for title in movies["title"].to_pylist()]
    genres = [[genre for genre in some.split("|") if genre] for some in movies["genres"].to_pylist()]
    catalog = Catalog(ids, [title for title, _ in split], [year for _, year in split], genres)
    times = partial(read_times, files, "ratings.dat", RATINGS)
    return assemble(
        source,
        files,
        ratings,
        catalog,
        lambda: features.from_genres(catalog.ids, catalog.genres),
        times=times,
    )
