"""The data sets that prefmover knows: their origin, their contents and their terms.

None of them is packaged. Hashes are the publisher's (the ``.md5`` files beside the archives). An archive that
the publisher replaces from time to time has none, and a copy is verified by its contents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from prefmover.data.ids import close_names
from prefmover.errors import InputError

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
PUBLISHER = "https://files.grouplens.org/datasets"
MB = 2**20

BUILT_IN = ("cinema", "synthetic")


class Counts(NamedTuple):
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
    limit : int
        Largest number of bytes of the unpacked files; a larger archive is refused.
    needs, takes : tuple of str
        Required files, and files that are used if they are present.
    url, digest : str
        Address of the publisher's archive, empty if it cannot be downloaded; ``"md5:..."`` or
        ``"sha256:..."`` of the archive, empty if it may change.
    counts : Counts, optional
        Numbers to verify a copy with.
    half_stars : bool
        Whether the scale has half stars.
    user_noun, item_noun : str
        What a user and an item are called.
    """

    name: str
    title: str
    form: Literal["u", "dat", "csv", "genome", "tags"]
    limit: int
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()
    url: str = ""
    digest: str = ""
    counts: Counts | None = None
    half_stars: bool = False
    terms: str = TERMS
    citation: str = CITATION
    user_noun: str = "viewer"
    item_noun: str = "film"


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
            *("movie-tags", "Free tags per movie, by MovieLens id", "tags", 256 * MB, ("tags.csv",)),
            terms="The terms of each source named in the file; no redistribution.",
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
