"""The data sets that prefmover knows: their origin, their contents and their terms.

None of them is packaged. Hashes are the publisher's (the ``.md5`` files beside the archives). An archive that
the publisher replaces from time to time has none, and a copy is verified by its contents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prefmover.data.ids import close_names
from prefmover.errors import InputError

__all__ = ["BUILT_IN", "SOURCES", "Counts", "Source", "find_source"]

MOVIELENS = "https://files.grouplens.org/datasets/movielens"

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

BUILT_IN = ("cinema", "synthetic")

FOLDS = tuple(f"u{k}.{part}" for k in range(1, 6) for part in ("base", "test"))


@dataclass(frozen=True, slots=True)
class Counts:
    """The published numbers of ratings, of users with ratings, and of items with ratings."""

    ratings: int
    users: int
    items: int


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a data set, and how to recognize it.

    Attributes
    ----------
    form : str
        The layout of its files: ``"u"`` (ml-100k), ``"dat"``, ``"csv"``, ``"genome"`` or ``"tags"``.
    url : str
        Address of the publisher's archive; empty if it cannot be downloaded.
    digest : str
        ``"md5:..."`` or ``"sha256:..."`` of the archive; empty if the archive may change.
    needs, takes : tuple of str
        Required files, and files that are used if they are present.
    limit : int
        Largest number of bytes of the unpacked files; a larger archive is refused.
    counts : Counts, optional
        Numbers to verify a copy with.
    half_stars : bool
        Whether the scale has half stars.
    """

    name: str
    title: str
    form: Literal["u", "dat", "csv", "genome", "tags"]
    url: str
    digest: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    limit: int
    counts: Counts | None = None
    half_stars: bool = False
    terms: str = TERMS
    citation: str = CITATION


def _movielens(
    name: str,
    title: str,
    md5: str,
    counts: Counts | None,
    *,
    megabytes: int,
    form: Literal["dat", "csv"] = "csv",
    half_stars: bool = True,
    takes: tuple[str, ...] = (),
) -> Source:
    needs = tuple(f"{part}.{form}" for part in ("ratings", "movies"))
    digest = f"md5:{md5}" if md5 else ""
    url, limit = f"{MOVIELENS}/{name}.zip", megabytes * 2**20
    takes = ("README", "README.txt", "README.html", *takes)
    return Source(name, title, form, url, digest, needs, takes, limit, counts, half_stars)


GENOME_FILES = ("genome-scores.csv", "genome-tags.csv")

SOURCES: dict[str, Source] = {
    s.name: s
    for s in (
        Source(
            "ml-100k",
            "MovieLens 100K (1998)",
            "u",
            f"{MOVIELENS}/ml-100k.zip",
            "md5:0e33842e24a9c977be4e0107933c0723",
            ("u.data", "u.item"),
            ("README", "u.info", "u.genre", "u.user", "u.occupation", *FOLDS),
            64 * 2**20,
            Counts(100_000, 943, 1_682),
        ),
        _movielens(
            "ml-1m",
            "MovieLens 1M (2003)",
            "c4d9eecfca2ab87c1945afe126590906",
            Counts(1_000_209, 6_040, 3_706),
            megabytes=64,
            form="dat",
            half_stars=False,
            takes=("users.dat",),
        ),
        _movielens(
            "ml-10m",
            "MovieLens 10M (2009)",
            "ce571fd55effeba0271552578f2648bd",
            Counts(10_000_054, 69_878, 10_677),
            megabytes=600,
            form="dat",
            takes=("tags.dat",),
        ),
        _movielens(
            "ml-20m",
            "MovieLens 20M (2015)",
            "cd245b17a1ae2cc31bb14903e1204af3",
            Counts(20_000_263, 138_493, 26_744),
            megabytes=2_000,
            takes=("tags.csv", "links.csv", *GENOME_FILES),
        ),
        _movielens(
            "ml-25m",
            "MovieLens 25M (2019)",
            "6b51fb2759a8657d3bfcbfc42b592ada",
            Counts(25_000_095, 162_541, 59_047),
            megabytes=2_500,
            takes=("tags.csv", "links.csv", *GENOME_FILES),
        ),
        _movielens(
            "ml-32m",
            "MovieLens 32M (2024)",
            "d472be332d4daa821edc399621853b57",
            Counts(32_000_204, 200_948, 84_432),
            megabytes=2_500,
            takes=("tags.csv", "links.csv"),
        ),
        _movielens(
            "ml-latest-small",
            "MovieLens, latest, small (changes over time)",
            "",
            None,
            megabytes=64,
            takes=("tags.csv", "links.csv"),
        ),
        Source(
            "tag-genome",
            "Tag Genome (2012)",
            "genome",
            "https://files.grouplens.org/datasets/tag-genome/tag-genome.zip",
            "",
            ("tag_relevance.dat", "tags.dat", "movies.dat"),
            ("README.html", "README"),
            600 * 2**20,
            citation=GENOME_CITATION,
        ),
        Source(
            "movie-tags",
            "Free tags per movie, by MovieLens id",
            "tags",
            "",
            "",
            ("tags.csv",),
            (),
            256 * 2**20,
            terms="The terms of each source named in the file; no redistribution.",
            citation=CITATION,
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
