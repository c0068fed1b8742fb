"""Files of ratings as text: CSV, TSV, ``::``, gzip, any separator, header and encoding."""

import gzip
import tempfile
from pathlib import Path

import oracle

oracle.load()

from prefmover import Ratings
from prefmover.data.file_options import FileOptions
from prefmover.data.preferences import check_rows, preferences

SEPARATORS = (None, None, None, ",", "\t", "::", ";", "|", " ", "é", "ab", "\\t", "\x00", "1")
HEADERS = (None, None, True, False)
ENCODINGS = ("utf-8", "utf-8", "utf-8", "latin-1", "utf-16", "cp037", "utf-7", "hex", "a\x00b")
COLUMNS = (
    (None, None, None),
    (None, None, None),
    (0, 1, 2),
    (2, 0, 1),
    ("user", "item", "rating"),
    (0, 0, -7),
)
DUPLICATES = ("error", "last", "mean")


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    separator, header, encoding = choices.pick(SEPARATORS), choices.pick(HEADERS), choices.pick(ENCODINGS)
    user, item, rating = choices.pick(COLUMNS)
    duplicates = choices.pick(DUPLICATES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ratings")
        path.write_bytes(choices.rest())
        ratings = Ratings.read(
            path,
            options=FileOptions(
                user=user,
                item=item,
                rating=rating,
                separator=separator,
                header=header,
                encoding=encoding,
                duplicates=duplicates,
            ),
        )
    check_rows(ratings.matrix)
    assert ratings.n_ratings
    assert ratings.scale.lowest <= ratings.scale.highest
    assert ratings.to_arrow().num_rows == ratings.n_ratings
    preferences(ratings)
    ratings[ratings.users[0]]


def seeds() -> list[bytes]:
    plain = bytes(5)
    texts = [
        b"user,item,rating\nann,Alien,4.5\nbob,Heat,2\n",
        b"1\t10\t3\t99\n2\t10\t4\t98\n",
        b"1::10::5::978300760\r\n1::20::3::978302109\r\n",
        'userId;movieId;rating\r\n"a;b";"x ""y""";1e0\n"c\nd";é;0.5\n'.encode(),
        b"\xef\xbb\xbfwho|what|stars\n 7 |007|na\n",
        b"u i r\n1 2 1e308\n1 3 5e-324\n",
        b"\n\n \n1,1,1\n1,1,2\n",
    ]
    packed = [gzip.compress(texts[0])]
    wide = [bytes((0, 0, 4, 0, 0)) + texts[0].decode().encode("utf-16")]
    return [plain + text for text in (*texts, *packed)] + wide + [bytes((5, 3, 0, 2, 1)) + texts[2]]


if __name__ == "__main__":
    oracle.main("ratings", target, seeds())
