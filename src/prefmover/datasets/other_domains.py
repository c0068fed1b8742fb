"""Books, music and tweets: data sets that are not of MovieLens.

**goodbooks-10k**: ratings of books by readers of Goodreads, and the shelves that readers put them on. Readers
name their shelves as they like. Many names are about the reader ("to-read", "owned", "favorites") and are
left out.

========================= ==================================================== ===========================
copy                      shelves of a book                                    files
========================= ==================================================== ===========================
the publisher's           ``book_tags.csv`` (book, tag, count), ``tags.csv``   ratings.csv, books.csv, both
one table of books        column ``genres`` of ``books.csv``, commas between   ratings.csv, books.csv
========================= ==================================================== ===========================

**HetRec 2011 Last.fm**: how often people played artists, and the tags that they gave them. Play counts go
from 1 to 352,698; they are implicit feedback, damped by log₂(1 + c). Tags describe artists. Some tags are
Latin-1 in a file that is otherwise UTF-8.

**MovieTweetings**: ratings of films from 0 to 10 that people tweeted from IMDb. Half of the users have one or
two ratings. Films have IMDb ids, which are text: their zeros in front belong to them. A rating of 0 is one.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import Any

import numpy as np

from prefmover._typing import Ints
from prefmover.data.scale import Scale
from prefmover.dataset import Dataset
from prefmover.datasets.folders import Files
from prefmover.datasets.reading import (
    Layout,
    Tags,
    assemble,
    most_used,
    read_ratings,
    read_rows,
    read_times,
    refuse_repeats,
)
from prefmover.datasets.registry import Source
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.catalog import Catalog, parse_year, split_year
from prefmover.items.features import ItemVectors

__all__ = ["read_books", "read_music", "read_tweets"]

BOOK_RATINGS = Layout({"user_id": "int", "book_id": "int", "rating": "float"})
BOOKS = Layout(
    {"book_id": "int", "goodreads_book_id": "int", "title": "text", "authors": "text"},
    optional={"genres": "text", "original_publication_year": "text"},
)
SHELVES = Layout({"tag_id": "int", "tag_name": "text"})
BOOK_TAGS = Layout({"goodreads_book_id": "int", "tag_id": "int", "count": "int"})
# fmt: off
ABOUT_READERS = frozenset((
    "all-time-favorites", "audible", "audio", "audiobook", "audiobooks", "book-club", "bookclub", "books",
    "books-i-have", "books-i-own", "borrowed", "currently-reading", "default", "did-not-finish", "dnf",
    "e-book", "e-books", "ebook", "ebooks", "faves", "favorite", "favorite-books", "favorites", "favourite",
    "favourites", "finished", "have", "i-own", "kindle", "library", "library-book", "library-books",
    "my-books", "my-library", "my-shelf", "on-hold", "own", "owned", "owned-books", "re-read", "read",
    "reading", "recommended", "reread", "shelfari-favorites", "tbr", "to-buy", "to-get", "to-read",
    "unfinished", "want-to-read", "wish-list", "wishlist",
))
# fmt: on
READ_IN = re.compile(r"(books-)?read-in-|(read-)?20\d\d(?!\d)")  # not 20th-century
MOST_SHELVES = 20  # shelves of a book that are shown; the fewest readers use the rest

PLAYS = Layout({"userID": "int", "artistID": "int", "weight": "float"}, "\t", encoding="mixed")
ARTISTS = Layout({"id": "int", "name": "text"}, "\t", encoding="mixed")
MUSIC_TAGS = Layout({"tagID": "int", "tagValue": "text"}, "\t", encoding="mixed")
TAGGED = Layout({"artistID": "int", "tagID": "int"}, "\t")
MOST_TAGS = 10  # tags of an artist that are shown, if several people gave them

TWEETS = Layout({"user": "int", "item": "text", "rating": "float", "timestamp": None}, "::", header=False)
FILMS = Layout({"item": "text", "title": "text", "genres": "text"}, "::", header=False)


def read_books(source: Source, files: Files) -> Dataset:
    """Return the data set in some files, without a check of its size."""
    ratings = read_ratings(files, "ratings.csv", BOOK_RATINGS, scale=Scale(1.0, 5.0, 1.0))
    books, origin = BOOKS.read(files, "books.csv")
    refuse_repeats(books["book_id"], "book", origin)
    shelves = _shelves(files, books)
    ids, titles = books["book_id"], [title.strip() for title in books["title"]]
    years = [parse_year(year) or 0 for year in books.get("original_publication_year", [""] * len(ids))]
    catalog = Catalog(ids, titles, years, most_used(shelves, ids, MOST_SHELVES))
    return assemble(
        source, files, ratings, catalog,
        lambda: _vectors(shelves, catalog, books["authors"]),
        rows=partial(read_rows, files, "ratings.csv", BOOK_RATINGS),
    )  # fmt: skip


def _shelves(files: Files, books: dict[str, Any]) -> Tags:
    """Return the shelves of all books, without those that are about readers."""
    if "genres" not in books:
        rows = _shelved(files, books)
    else:
        both = zip(books["book_id"].tolist(), books["genres"], strict=True)
        rows = [(book, name, 1) for book, names in both for name in names.split(",")]
    plain = [(book, name.strip().casefold(), count) for book, name, count in rows]
    kept = [row for row in plain if row[1] and row[1] not in ABOUT_READERS and not READ_IN.match(row[1])]
    ids, counts = (np.array([row[k] for row in kept], np.int64) for k in (0, 2))
    return Tags(ids, [name for _, name, _ in kept], counts)


def _shelved(files: Files, books: dict[str, Any]) -> list[tuple[int, str, int]]:
    """Return the rows of ``book_tags.csv`` for known books: book, shelf, number of readers."""
    if "book_tags.csv" not in files or "tags.csv" not in files:
        places = "neither book_tags.csv and tags.csv, as published, nor a column genres in books.csv"
        raise InputError(f"{files.path} has no shelves of books: {places}; add the missing files")
    tags, origin = SHELVES.read(files, "tags.csv")
    refuse_repeats(tags["tag_id"], "tag", origin)
    name_of = dict(zip(tags["tag_id"].tolist(), tags["tag_name"], strict=True))
    book_of = dict(zip(books["goodreads_book_id"].tolist(), books["book_id"].tolist(), strict=True))
    given, origin = BOOK_TAGS.read(files, "book_tags.csv")
    rows = []
    listed = (column.tolist() for column in given.values())
    for row, (book, tag, count) in enumerate(zip(*listed, strict=True)):
        if tag not in name_of:
            raise InputError(f"{origin.at(row, 'tag_id')}: tag {tag} is not in tags.csv")
        if book in book_of and count > 0:  # a few published counts are -1
            rows.append((book_of[book], name_of[tag], count))
    return rows


def _vectors(shelves: Tags, catalog: Catalog, authors: list[str]) -> ItemVectors:
    by = [
        (book, f"by {author.strip().casefold()}")
        for book, some in zip(catalog.ids.tolist(), authors, strict=True)
        for author in some.split(",")
        if author.strip()
    ]
    books = np.concatenate([shelves.items, np.array([book for book, _ in by], np.int64)])
    # Many readers use the same shelf; damped counts let the smaller ones be heard. An author counts like a
    # shelf with the median number of readers.
    typical = float(np.sqrt(np.median(shelves.counts))) if len(shelves.counts) else 1.0
    counts = np.concatenate([np.sqrt(shelves.counts), np.full(len(by), typical)])
    tags = [*shelves.tags, *(tag for _, tag in by)]
    name = "shelves and authors"
    return features.from_tags(books, tags, counts, ids=catalog.ids, dimensions=200, name=name)


def read_music(source: Source, files: Files) -> Dataset:
    """Return the data set in some files, without a check of its size."""
    ratings = read_ratings(files, "user_artists.dat", PLAYS, implicit=True, damping="log")
    artists, origin = ARTISTS.read(files, "artists.dat")
    ids = artists["id"]
    refuse_repeats(ids, "artist", origin)
    artist_ids, tags = _read_tags(files)
    names = [name.strip() or str(id_) for id_, name in zip(ids.tolist(), artists["name"], strict=True)]
    given = Counter(zip(artist_ids.tolist(), tags, strict=True))
    rows = sorted((artist, tag, n) for (artist, tag), n in given.items() if n > 1)
    several = Tags(
        np.array([row[0] for row in rows]), [row[1] for row in rows], np.array([row[2] for row in rows])
    )
    catalog = Catalog(ids, names, genres=most_used(several, ids, MOST_TAGS))
    return assemble(
        source, files, ratings, catalog,
        lambda: features.from_tags(artist_ids, tags, ids=catalog.ids, name="user tags"),
        rows=partial(read_rows, files, "user_artists.dat", PLAYS),
    )  # fmt: skip


def _read_tags(files: Files) -> tuple[Ints, list[str]]:
    """Return one row per tag that a user gave an artist: the artist and the tag.

    A few hundred tagged artists are not listed. Their tags still help to learn which tags go together.
    """
    tags, origin = MUSIC_TAGS.read(files, "tags.dat")
    refuse_repeats(tags["tagID"], "tag", origin)
    name_of = {id_: name.strip() for id_, name in zip(tags["tagID"].tolist(), tags["tagValue"], strict=True)}
    given, origin = TAGGED.read(files, "user_taggedartists.dat")
    ids = given["tagID"].tolist()
    unknown = next((row for row, tag in enumerate(ids) if tag not in name_of), None)
    if unknown is not None:
        raise InputError(f"{origin.at(unknown, 'tagID')}: tag {ids[unknown]} is not in tags.dat")
    return given["artistID"], [name_of[tag] for tag in ids]


def read_tweets(source: Source, files: Files) -> Dataset:
    """Return the data set in some files, without a check of its size."""
    ratings = read_ratings(files, "ratings.dat", TWEETS, scale=Scale(0.0, 10.0, 1.0), zeros="rating")
    movies, origin = FILMS.read(files, "movies.dat")
    ids = [id_.strip() for id_ in movies["item"]]
    refuse_repeats(ids, "film", origin)
    split = [split_year(title) for title in movies["title"]]
    genres = [[genre for genre in some.split("|") if genre] for some in movies["genres"]]
    catalog = Catalog(ids, [title for title, _ in split], [year for _, year in split], genres)
    return assemble(
        source, files, ratings, catalog,
        lambda: features.from_genres(catalog.ids, catalog.genres),
        times=partial(read_times, files, "ratings.dat", TWEETS),
        rows=partial(read_rows, files, "ratings.dat", TWEETS),
    )  # fmt: skip
