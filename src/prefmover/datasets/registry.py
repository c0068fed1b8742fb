"""The data sets that prefmover knows: their origin, their contents and their terms.

None of them is packaged. Hashes are the publisher's (the ``.md5`` files beside the archives); that of Last.fm
is the one that several projects have published. An archive that the publisher replaces from time to time has
none, and a copy is verified by its contents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from prefmover.errors import InputError, close_names

__all__ = ["BUILT_IN", "SOURCES", "Counts", "Source", "find_source"]

TERMS = (
    "Research use. No redistribution without permission, no endorsement by the University of Minnesota "
    "or GroupLens implied, no commercial use without permission of GroupLens; see the README in the archive."
)
CITATION = (
    "F. Maxwell Harper and Joseph A. Konstan. 2015. The MovieLens Datasets: History and Context. "
    "ACM Transactions on Interactive Intelligent Systems 5, 4, Article 19. https://doi.org/10.1145/2827872"
)
GENOME_CITATION = (
    "Jesse Vig, Shilad Sen and John Riedl. 2012. The Tag Genome: Encoding Community Knowledge to Support "
    "Novel Interaction. ACM Transactions on Interactive Intelligent Systems 2, 3, Article 13. "
    "https://doi.org/10.1145/2362394.2362395"
)
BOOKS_TERMS = (
    "Creative Commons Attribution-ShareAlike 4.0 International (CC BY-SA 4.0): name the source, and share "
    "what you derive from it under the same license."
)
BOOKS_CITATION = (
    "Zygmunt Zając. 2017. Goodbooks-10k: a new dataset for book recommendations. FastML. "
    "https://fastml.com/goodbooks-10k"
)
MUSIC_TERMS = (
    "Non-commercial research use; other uses need the permission of Last.fm. The data come from Last.fm, and "
    "the names of users are not in them."
)
MUSIC_CITATION = (
    "Iván Cantador, Peter Brusilovsky and Tsvi Kuflik. 2011. Second Workshop on Information Heterogeneity "
    "and Fusion in Recommender Systems (HetRec 2011). Proceedings of the 5th ACM Conference on Recommender "
    "Systems. https://doi.org/10.1145/2043932.2044016"
)
TWEETS_TERMS = "MIT License, copyright (c) 2013 Simon Dooms: free use, with this notice in all copies."
TWEETS_CITATION = (
    "Simon Dooms, Toon De Pessemier and Luc Martens. 2013. MovieTweetings: a Movie Rating Dataset Collected "
    "From Twitter. Workshop on Crowdsourcing and Human Computation for Recommender Systems (CrowdRec) at "
    "RecSys 2013."
)
PUBLISHER = "https://files.grouplens.org/datasets"
MB = 2**20

BUILT_IN = ("cinema", "synthetic")

Form: TypeAlias = Literal["u", "dat", "csv", "genome", "tags", "books", "music", "tweets"]
"""The layout of the files of a data set; ``"u"`` is that of ml-100k."""


class Counts(NamedTuple):
    """The published numbers of ratings, of users with ratings, and of items with ratings."""

    ratings: int
    users: int
    items: int


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a data set, and how to recognize it."""

    name: str
    title: str
    form: Form
    limit: int  # bytes of the unpacked files; a larger archive is refused
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()  # files that are used if they are present
    url: str = ""  # of the publisher's archive; empty if it cannot be downloaded
    digest: str = ""  # "md5:..." or "sha256:..." of the archive; empty if it may change
    counts: Counts | None = None  # to verify a copy with
    half_stars: bool = False
    terms: str = TERMS
    citation: str = CITATION
    user_noun: str = "viewer"
    item_noun: str = "film"
    verb: str = "rated"
    folders: tuple[str, ...] = ()  # other names of its folder or archive
    inside: str = ""  # the folder within the publisher's archive that has the files
    # Numbers of well-known parts of the data set, by name: a copy with them is loaded under that name.
    parts: dict[str, Counts] = field(default_factory=dict)


def _movielens(name: str, title: str, form: Literal["u", "dat", "csv"], megabytes: int, takes: str) -> Source:
    md5, counts = PUBLISHED.get(name, ("", None))
    needs = ("u.data", "u.item") if form == "u" else (f"ratings.{form}", f"movies.{form}")
    all_takes = ("README", "README.txt", "README.html", *takes.split())
    url, digest = f"{PUBLISHER}/movielens/{name}.zip", f"md5:{md5}" if md5 else ""
    limit, half_stars = megabytes * MB, name not in ("ml-100k", "ml-1m")
    return Source(name, f"MovieLens {title}", form, limit, needs, all_takes, url, digest, counts, half_stars)


U_FILES = "u.info u.genre u.user u.occupation " + " ".join(f"u{k}.base u{k}.test" for k in range(1, 6))
TAGS = "tags.csv links.csv"
GENOME = f"{TAGS} genome-scores.csv genome-tags.csv"

# MD5 of the archive, and the numbers of ratings, users and items.
PUBLISHED: dict[str, tuple[str, Counts]] = {
    "ml-100k": ("0e33842e24a9c977be4e0107933c0723", Counts(100_000, 943, 1_682)),
    "ml-1m": ("c4d9eecfca2ab87c1945afe126590906", Counts(1_000_209, 6_040, 3_706)),
    "ml-10m": ("ce571fd55effeba0271552578f2648bd", Counts(10_000_054, 69_878, 10_677)),
    "ml-20m": ("cd245b17a1ae2cc31bb14903e1204af3", Counts(20_000_263, 138_493, 26_744)),
    "ml-25m": ("6b51fb2759a8657d3bfcbfc42b592ada", Counts(25_000_095, 162_541, 59_047)),
    "ml-32m": ("d472be332d4daa821edc399621853b57", Counts(32_000_204, 200_948, 84_432)),
}

SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        _movielens("ml-100k", "100K (1998)", "u", 64, U_FILES),
        _movielens("ml-1m", "1M (2003)", "dat", 64, "users.dat"),
        _movielens("ml-10m", "10M (2009)", "dat", 600, "tags.dat"),
        _movielens("ml-20m", "20M (2015)", "csv", 2_000, GENOME),
        _movielens("ml-25m", "25M (2019)", "csv", 2_500, GENOME),
        _movielens("ml-32m", "32M (2024)", "csv", 2_500, TAGS),
        _movielens("ml-latest-small", "latest, small (changes over time)", "csv", 64, TAGS),
        Source(
            *("tag-genome", "Tag Genome (2012)", "genome", 600 * MB),
            needs=("tag_relevance.dat", "tags.dat", "movies.dat"),
            takes=("README.html", "README"),
            url=f"{PUBLISHER}/tag-genome/tag-genome.zip",
            citation=GENOME_CITATION,
        ),
        Source(
            "movie-tags",
            "The tags of MovieLens-10M as a table, in place of ml-10m",
            "tags",
            256 * MB,
            needs=("tags.csv",),
            terms="The terms of each source named in the file; no redistribution.",
        ),
        Source(
            *("goodbooks", "goodbooks-10k (2017): books, from Goodreads", "books", 512 * MB),
            needs=("ratings.csv", "books.csv"),
            takes=("book_tags.csv", "tags.csv", "README.md", "LICENSE"),
            url="https://github.com/zygmuntz/goodbooks-10k/releases/download/v1.0/goodbooks-10k.zip",
            counts=Counts(5_976_479, 53_424, 10_000),
            terms=BOOKS_TERMS,
            citation=BOOKS_CITATION,
            user_noun="reader",
            item_noun="book",
            folders=("goodbooks-10k", "goodbooks-sample"),
            parts={"goodbooks-sample": Counts(298_176, 2_672, 9_990)},
        ),
        Source(
            *("lastfm", "HetRec 2011 Last.fm: plays of artists", "music", 64 * MB),
            needs=("user_artists.dat", "artists.dat", "user_taggedartists.dat", "tags.dat"),
            takes=("readme.txt",),
            url=f"{PUBLISHER}/hetrec2011/hetrec2011-lastfm-2k.zip",
            digest="sha256:6738f48195667ff03caaab4d32ca9a3133d8cc026b7c3cdaf6ce1010e913c59c",
            counts=Counts(92_834, 1_892, 17_632),
            terms=MUSIC_TERMS,
            citation=MUSIC_CITATION,
            user_noun="listener",
            item_noun="artist",
            verb="played",
            folders=("lastfm-2k", "hetrec2011-lastfm-2k"),
        ),
        Source(
            *("movietweetings", "MovieTweetings 100K (2013): films, from tweets", "tweets", 512 * MB),
            needs=("ratings.dat", "movies.dat"),
            takes=("README.md", "LICENSE"),
            url="https://github.com/sidooms/MovieTweetings/archive/refs/heads/master.zip",
            counts=Counts(100_000, 16_554, 10_506),
            terms=TWEETS_TERMS,
            citation=TWEETS_CITATION,
            folders=("movietweetings-100k",),
            inside="snapshots/100K",
        ),
    )
}


def find_source(name: str, what: str = "data set") -> Source:
    """Return the source of a data set by its name, in any case; an error suggests a similar name.

    >>> find_source("ML-1M").counts
    Counts(ratings=1000209, users=6040, items=3706)
    >>> find_source("ml1m")
    Traceback (most recent call last):
    prefmover.errors.InputError: there is no data set 'ml1m'; did you mean 'ml-1m'? (data sets: ...
    """
    if name.casefold() in SOURCES:
        return SOURCES[name.casefold()]
    names = (*SOURCES, *BUILT_IN)
    close = close_names(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise InputError(f"there is no {what} {name!r}{hint} (data sets: {', '.join(names)})")
