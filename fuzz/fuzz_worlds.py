"""The files of goodbooks-10k, Last.fm and MovieTweetings."""

import tempfile
from pathlib import Path

import oracle

oracle.load()

from prefmover.data.preferences import check_rows
from prefmover.datasets.by_name import read
from prefmover.datasets.folders import Files
from prefmover.datasets.registry import SOURCES

CUT = b"\x00\x00"
KINDS = (
    ("goodbooks", "ratings.csv", "books.csv", "book_tags.csv", "tags.csv"),
    ("lastfm", "user_artists.dat", "artists.dat", "user_taggedartists.dat", "tags.dat"),
    ("movietweetings", "ratings.dat", "movies.dat", "", ""),
)


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    name, *names = choices.pick(KINDS)
    parts = ([*choices.rest().split(CUT), b"", b"", b"", b""])[:4]
    source = SOURCES[name]
    with tempfile.TemporaryDirectory() as folder:
        for file, content in zip(names, parts, strict=True):
            if file and content:
                Path(folder, file).write_bytes(content)
        files = Files.open(folder, [file for file in names if file]).require(source.needs)
        data_set = read(source, files)
        check_rows(data_set.ratings.matrix)
        assert data_set.ratings.items.tolist() == data_set.catalog.ids.tolist()
        if data_set.has_times:
            assert len(data_set.times) == data_set.ratings.n_ratings


def seeds() -> list[bytes]:
    return [
        b"\x00"
        + CUT.join(
            [
                b"user_id,book_id,rating\n1,1,5\n2,1,3\n",
                b'book_id,goodreads_book_id,title,authors\n1,9,"A, B","C, D"\n',
                b"goodreads_book_id,tag_id,count\n9,1,5\n",
                b"tag_id,tag_name\n1,fantasy\n",
            ]
        ),
        b"\x00"
        + CUT.join(
            [
                b"user_id,book_id,rating\n1,1,5\n",
                b'book_id,goodreads_book_id,title,authors,genres\n1,9,A,C,"x,y"\n',
            ]
        ),
        b"\x01"
        + CUT.join(
            [
                b"userID\tartistID\tweight\r\n1\t1\t9\r\n",
                b"id\tname\turl\r\n1\tA\tx\r\n",
                b"userID\tartistID\ttagID\tday\r\n1\t1\t1\t1\r\n",
                b"tagID\ttagValue\r\n1\ttropic\xe1lia\r\n",
            ]
        ),
        b"\x02" + CUT.join([b"1::0111161::0::9\n", "0111161::É (1994)::Crime|Drama\n".encode()]),
    ]


if __name__ == "__main__":
    oracle.main("worlds", target, seeds())
