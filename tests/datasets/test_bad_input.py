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


def test_latin_1_where_utf_8_belongs(read):
    with pytest.raises(InputError, match=names("movies.csv", 2, "0xe9")):
        read("ml-25m", "movies.csv", lambda data: data.decode().encode("latin-1"))


def test_utf_16(read):
    with pytest.raises(InputError, match=names("movies.csv", "UTF-16")):
        read("ml-25m", "movies.csv", lambda data: data.decode().encode("utf-16"))


def test_a_header_in_the_middle(read):
    def change(data):
        lines = data.splitlines(keepends=True)
        return b"".join([lines[0], *lines[1:4], lines[0], *lines[4:]])

    with pytest.raises(InputError, match=names("ratings.csv", 5, "'userId'")):
        read("ml-25m", "ratings.csv", change)


def test_no_header_where_one_belongs(read):
    with pytest.raises(InputError, match=names("ratings.csv", 1, "userId,movieId")):
        read("ml-25m", "ratings.csv", lambda data: data.split(b"\n", 1)[1])


def test_a_header_where_none_belongs(read):
    with pytest.raises(InputError, match=names("ratings.dat", 1, "'user'", "'UserID'")):
        read("ml-1m", "ratings.dat", lambda data: b"UserID::MovieID::Rating::Timestamp\n" + data)


def test_tabs_for_commas(read):
    with pytest.raises(InputError, match=names("ratings.csv", 1, 4)):
        read("ml-25m", "ratings.csv", lambda data: data.replace(b",", b"\t"))


def test_tabs_for_commas_on_one_line(read):
    with pytest.raises(InputError, match=names("ratings.csv", 4, 1)):
        read("ml-25m", "ratings.csv", lambda data: data.replace(b"2,10,3.5,96498", b"2\t10\t3.5\t96498"))


@pytest.mark.parametrize("name", ["ml-100k", "ml-1m", "ml-10m", "ml-25m"])
def test_windows_line_ends_and_a_byte_order_mark_are_no_error(made_up, name):
    made_up.write(name)
    plain = by_name.read(SOURCES[name], made_up.files(name))
    made_up.write(name, end="\r\n", bom=True)
    other = by_name.read(SOURCES[name], made_up.files(name))
    assert other.items.titles == plain.items.titles
    assert other.items.genres == plain.items.genres
    assert (other.ratings.matrix != plain.ratings.matrix).nnz == 0


@pytest.mark.parametrize("file", ["ratings.dat", "movies.dat"])
def test_a_file_of_0_bytes(read, file):
    with pytest.raises(InputError, match=names(file)):
        read("ml-1m", file, lambda _: b"")


def test_an_archive_of_0_bytes(made_up, tmp_path):
    (tmp_path / "x.zip").touch()
    with pytest.raises(InputError, match=names("x.zip")):
        made_up.files("ml-1m", tmp_path / "x.zip")


def test_a_file_cut_off_in_a_line(read):
    with pytest.raises(InputError, match=names("ratings.dat", 7, 3, 4)):
        read("ml-1m", "ratings.dat", lambda data: data[: data.rfind(b"::")])


def test_a_rating_off_the_scale(read):
    with pytest.raises(InputError, match=names("ratings.csv", 3, 2.7, 0.5, 5)):
        read("ml-25m", "ratings.csv", lambda data: data.replace(b"1,20,2.5", b"1,20,2.7"))


def test_a_missing_rating(read):
    with pytest.raises(InputError, match=names("ratings.csv", 3, "'rating'")):
        read("ml-25m", "ratings.csv", lambda data: data.replace(b"1,20,2.5", b"1,20,"))


def test_a_rating_given_twice(read):
    with pytest.raises(InputError, match=r"ratings\.dat"):
        read("ml-1m", "ratings.dat", lambda data: data + b"1::10::3::0\n")


def test_a_movie_listed_twice(read):
    with pytest.raises(InputError, match=names("movies.dat", 5, 10)):
        read("ml-1m", "movies.dat", lambda data: data + b"10::Again (1950)::Drama\n")


def test_a_rated_movie_that_is_not_listed(read):
    with pytest.raises(InputError, match=names(99)):
        read("ml-1m", "ratings.dat", lambda data: data + b"1::99::3::0\n")


def test_duplicate_titles_are_two_items(read):
    data = read("ml-1m", "movies.dat", lambda data: data + b"50::Untitled::Drama\n")
    assert data.items.search("untitled") == [3, 4]
    with pytest.raises(InputError, match=names("[40]", "[50]")):
        data.items.find("Untitled")
    assert data.items.find("50") == 4


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
