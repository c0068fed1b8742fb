"""The files of MovieLens, in its three layouts: ratings, movies, tags."""

import tempfile
from pathlib import Path

import oracle

oracle.load()

from prefmover.data.preferences import check_rows
from prefmover.datasets.by_name import read
from prefmover.datasets.folders import Files
from prefmover.datasets.movielens import read_movie_tags, read_user_tags
from prefmover.datasets.registry import SOURCES

CUT = b"\x00\x00"
KINDS = (("ml-100k", "u.data", "u.item", ""), ("ml-1m", "ratings.dat", "movies.dat", "tags.dat"))
KINDS += (
    ("ml-10m", "ratings.dat", "movies.dat", "tags.dat"),
    ("ml-25m", "ratings.csv", "movies.csv", "tags.csv"),
)


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    name, *names = choices.pick(KINDS)
    parts = ([*choices.rest().split(CUT), b"", b"", b""])[:3]
    source = SOURCES[name]
    with tempfile.TemporaryDirectory() as folder:
        for file, content in zip(names, parts, strict=True):
            if file and content:
                Path(folder, file).write_bytes(content)
        files = Files.open(folder, [file for file in names if file]).require(source.needs)
        read_user_tags(files, source)
        if "tags.csv" in files and choices.byte() % 2:
            read_movie_tags(files)
        data_set = read(source, files)
        check_rows(data_set.ratings.matrix)
        assert data_set.ratings.items.tolist() == data_set.catalog.ids.tolist()


def seeds() -> list[bytes]:
    flags = b"|".join([b"0"] * 18 + [b"1"])
    return [
        b"\x00"
        + CUT.join(
            [
                b"1\t1\t5\t9\n1\t2\t3\t9\n",
                b"1|A (1999)|01-Jan-1999||x|" + flags + b"\n2|B|01-Jan-199\xb9||y|" + flags,
            ]
        ),
        b"\x01" + CUT.join([b"1::1::5::9\n", b"1::Alien (1979)::Horror|Sci-Fi\n"]),
        b"\x02" + CUT.join([b"1::1::0.5::9\n", "1::É (1979)::Drama\n".encode(), b"1::1::dark::9\n"]),
        b"\x03"
        + CUT.join(
            [
                b"userId,movieId,rating,timestamp\n1,1,4.5,9\n",
                b'movieId,title,genres\n1,"A, B (1990)",(no genres listed)\n',
                b'userId,movieId,tag,timestamp\n1,1,"dark ""x""",9\n',
            ]
        ),
    ]


if __name__ == "__main__":
    oracle.main("movielens", target, seeds())
