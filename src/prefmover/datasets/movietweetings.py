"""MovieTweetings: ratings of films from 0 to 10 that people tweeted from IMDb.

Half of the users have one or two ratings. Films have IMDb ids, which are text: their zeros in front belong to
them. A rating of 0 is a rating.
"""

from __future__ import annotations

from functools import partial

from prefmover.data.scale import Scale
from prefmover.dataset import Dataset
from prefmover.datasets.archive import Files
from prefmover.datasets.reading import Layout, assemble, read_ratings, read_times, refuse_repeats
from prefmover.datasets.registry import Source
from prefmover.items import features
from prefmover.items.catalog import Catalog, split_year

__all__ = ["read"]

RATINGS = Layout({"user": "int", "item": "text", "rating": "float", "timestamp": None}, "::", header=False)
MOVIES = Layout({"item": "text", "title": "text", "genres": "text"}, "::", header=False)


def read(source: Source, files: Files) -> Dataset:
    """Return the data set in some files, without a check of its size."""
    ratings = read_ratings(files, "ratings.dat", RATINGS, scale=Scale(0.0, 10.0, 1.0), zeros="rating")
    movies, origin = MOVIES.read(files, "movies.dat")
    ids = [id_.strip() for id_ in movies["item"]]
    refuse_repeats(ids, "film", origin)
    split = [split_year(title) for title in movies["title"]]
    genres = [[genre for genre in some.split("|") if genre] for some in movies["genres"]]
    catalog = Catalog(ids, [title for title, _ in split], [year for _, year in split], genres)
    return assemble(
        source, files, ratings, catalog,
        lambda: features.from_genres(catalog.ids, catalog.genres),
        times=partial(read_times, files, "ratings.dat", RATINGS),
    )  # fmt: skip
