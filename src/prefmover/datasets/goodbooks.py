"""goodbooks-10k: ratings of books by readers of Goodreads, and the shelves that readers put them on.

========================= ==================================================== ===========================
copy                      shelves of a book                                    files
========================= ==================================================== ===========================
the publisher's           ``book_tags.csv`` (book, tag, count), ``tags.csv``   ratings.csv, books.csv, both
one table of books        column ``genres`` of ``books.csv``, commas between   ratings.csv, books.csv
========================= ==================================================== ===========================

Readers name their shelves as they like. Many names are about the reader ("to-read", "owned", "favorites")
and are left out.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from prefmover.data.scale import Scale
from prefmover.dataset import Dataset
from prefmover.datasets.archive import Files
from prefmover.datasets.reading import Layout, Tags, assemble, most_used, read_ratings, refuse_repeats
from prefmover.datasets.registry import Source
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.catalog import Catalog, parse_year
from prefmover.items.vectors import ItemVectors

__all__ = ["read"]

RATINGS = Layout({"user_id": "int", "book_id": "int", "rating": "float"})
BOOKS = Layout(
    {"book_id": "int", "goodreads_book_id": "int", "title": "text", "authors": "text"},
    optional={"genres": "text", "original_publication_year": "text"},
)
TAGS = Layout({"tag_id": "int", "tag_name": "text"})
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
MOST_GENRES = 20  # shelves of a book that are shown; the fewest readers use the rest


def read(source: Source, files: Files) -> Dataset:
    """Return the data set in some files, without a check of its size."""
    ratings = read_ratings(files, "ratings.csv", RATINGS, scale=Scale(1.0, 5.0, 1.0))
    books, origin = BOOKS.read(files, "books.csv")
    refuse_repeats(books["book_id"], "book", origin)
    shelves = _shelves(files, books)
    ids, titles = books["book_id"], [title.strip() for title in books["title"]]
    years = [parse_year(year) or 0 for year in books.get("original_publication_year", [""] * len(ids))]
    catalog = Catalog(ids, titles, years, most_used(shelves, ids, MOST_GENRES))
    return assemble(source, files, ratings, catalog, lambda: _vectors(shelves, catalog, books["authors"]))


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
        raise InputError(
            f"{files.path} has no shelves of books: neither book_tags.csv and tags.csv, as published, nor a "
            "column genres in books.csv; add the missing files"
        )
    tags, origin = TAGS.read(files, "tags.csv")
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
