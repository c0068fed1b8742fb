"""What can be wrong with a file: the error names the file, the line, and what to do."""

import gzip
from pathlib import Path

import pytest

from prefmover.datasets import SOURCES, by_name
from prefmover.datasets.tag_genome import read_genome
from prefmover.errors import InputError
from tests.messages import names


@pytest.fixture
def read(made_up):
    """Read a made-up data set after one of its files was changed."""

    def reader(name, file, change):
        home = made_up.folder / name
        if not home.exists():
            made_up.write(name)
        path = home / file
        path.write_bytes(change(path.read_bytes()))
        return by_name.read(SOURCES[name], made_up.files(name))

    return reader


def test_a_zip_cut_off(made_up):
    archive = made_up.zip("ml-1m")
    data = archive.read_bytes()
    archive.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=names("ml-1m.zip")):
        made_up.files("ml-1m", archive)


def test_a_zip_with_damaged_contents(made_up):
    archive = made_up.zip("ml-1m")
    data = bytearray(archive.read_bytes())
    at = data.find(b"ratings.dat") + len("ratings.dat") + 4
    data[at : at + 8] = b"\xff" * 8
    archive.write_bytes(bytes(data))
    with pytest.raises(InputError, match=names("ml-1m.zip", "ml-1m/ratings.dat")):
        by_name.read(SOURCES["ml-1m"], made_up.files("ml-1m", archive))


def test_a_gzip_cut_off(made_up, tmp_path):
    home = made_up.genome(tmp_path / "genome")
    packed = gzip.compress((home / "genome-scores.csv").read_bytes())
    (home / "genome-scores.csv").unlink()
    (home / "genome-scores.csv.gz").write_bytes(packed[:-12])
    with pytest.raises(InputError, match=names("genome-scores.csv.gz")):
        read_genome(made_up.files("ml-25m", home))


def with_a_header_in_the_middle(data):
    lines = data.splitlines(keepends=True)
    return b"".join([lines[0], *lines[1:4], lines[0], *lines[4:]])


HEADER = b"UserID::MovieID::Rating::Timestamp\n"
ML_25M = {
    "Latin-1 where UTF-8 belongs": ("movies.csv", lambda data: data.decode().encode("latin-1"), (2, "0xe9")),
    "UTF-16": ("movies.csv", lambda data: data.decode().encode("utf-16"), ("UTF-16",)),
    "a header in the middle": ("ratings.csv", with_a_header_in_the_middle, (5, "'userId'")),
    "no header": ("ratings.csv", lambda data: data.split(b"\n", 1)[1], (1, "userId,movieId")),
    "tabs for commas": ("ratings.csv", lambda data: data.replace(b",", b"\t"), (1, 4)),
    "tabs on one line": (
        "ratings.csv",
        lambda data: data.replace(b"2,10,3.5,96498", b"2\t10\t3.5\t96498"),
        (4, 1),
    ),
    "off the scale": ("ratings.csv", lambda data: data.replace(b"1,20,2.5", b"1,20,2.7"), (3, 2.7, 0.5, 5)),
    "a missing rating": ("ratings.csv", lambda data: data.replace(b"1,20,2.5", b"1,20,"), (3, "'rating'")),
}
ML_1M = {
    "a header where none belongs": ("ratings.dat", lambda data: HEADER + data, (1, "'user'", "'UserID'")),
    "ratings of 0 bytes": ("ratings.dat", lambda _: b"", ()),
    "movies of 0 bytes": ("movies.dat", lambda _: b"", ()),
    "cut off in a line": ("ratings.dat", lambda data: data[: data.rfind(b"::")], (7, 3, 4)),
    "a rating twice": ("ratings.dat", lambda data: data + b"1::10::3::0\n", ()),
    "a movie twice": ("movies.dat", lambda data: data + b"10::Again (1950)::Drama\n", (5, 10)),
}
DAMAGED = [("ml-25m", *row) for row in ML_25M.values()] + [("ml-1m", *row) for row in ML_1M.values()]


@pytest.mark.parametrize(("name", "file", "change", "named"), DAMAGED, ids=[*ML_25M, *ML_1M])
def test_a_damaged_file_is_named(read, name, file, change, named):
    with pytest.raises(InputError, match=names(file, *named)):
        read(name, file, change)


def test_a_rated_movie_that_is_not_listed(read):
    with pytest.raises(InputError, match=names(99)):
        read("ml-1m", "ratings.dat", lambda data: data + b"1::99::3::0\n")


@pytest.mark.parametrize("name", ["ml-100k", "ml-1m", "ml-10m", "ml-25m"])
def test_windows_line_ends_and_a_byte_order_mark_are_no_error(made_up, name):
    made_up.write(name)
    plain = by_name.read(SOURCES[name], made_up.files(name))
    made_up.write(name, end="\r\n", bom=True)
    other = by_name.read(SOURCES[name], made_up.files(name))
    assert other.catalog.titles == plain.catalog.titles
    assert other.catalog.genres == plain.catalog.genres
    assert (other.ratings.matrix != plain.ratings.matrix).nnz == 0


def test_an_archive_of_0_bytes(made_up, tmp_path):
    (tmp_path / "x.zip").touch()
    with pytest.raises(InputError, match=names("x.zip")):
        made_up.files("ml-1m", tmp_path / "x.zip")


def test_duplicate_titles_are_two_items(read):
    data = read("ml-1m", "movies.dat", lambda data: data + b"50::Untitled::Drama\n")
    assert data.catalog.search("untitled") == [3, 4]
    with pytest.raises(InputError, match=names("[40]", "[50]")):
        data.catalog.find("Untitled")
    assert data.catalog.find("50") == 4


def test_missing_genome_rows(made_up, tmp_path):
    home = made_up.genome(tmp_path / "genome", skip=5)
    with pytest.raises(InputError, match=names("genome-scores.csv", 20, 1, 4)):
        read_genome(made_up.files("ml-25m", home))


def test_a_missing_file(made_up):
    home = made_up.write("ml-1m")
    (home / "movies.dat").unlink()
    with pytest.raises(InputError, match=names("movies.dat", "ratings.dat")):
        made_up.files("ml-1m").require(SOURCES["ml-1m"].needs)


def test_no_permission_to_read(made_up, monkeypatch):
    # Simulated: the tests may run as root, who may read everything.
    made_up.write("ml-1m")
    files = made_up.files("ml-1m")
    original = Path.open

    def refuse(self, *args, **kwargs):
        if self.name == "ratings.dat":
            raise PermissionError(13, "Permission denied", str(self))
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=names("ratings.dat")):
        by_name.read(SOURCES["ml-1m"], files)


def test_a_count_of_tags_that_is_none(made_up):
    home = made_up.folder / "movie-tags"
    home.mkdir(parents=True)
    (home / "tags.csv").write_text("movieId,tag,count,source\n10,dark,2,us\n20,light,0,us\n")
    from prefmover.datasets.movielens import read_movie_tags

    with pytest.raises(InputError, match=names("tags.csv", 3, 0)):
        read_movie_tags(made_up.files("movie-tags"))
