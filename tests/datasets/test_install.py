"""``data add``: verified, copied or linked, there at once or not at all."""

import errno
import json
import sys
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from prefmover import datasets
from prefmover.datasets import SOURCES, install
from prefmover.errors import InputError
from tests.messages import names


def contents(folder: Path) -> list[str]:
    """Return what is in the data folder, except for the locks."""
    data = folder / "data"
    return sorted(p.name for p in data.iterdir() if p.suffix != ".lock") if data.exists() else []


def test_a_folder_is_copied(made_up, own_folders):
    home = made_up.write("ml-100k")
    (home / "secrets.txt").write_text("not part of the data set")
    done = install.add("ml-100k", home)
    assert Path(done.path) == own_folders / "data" / "ml-100k"
    assert done.verified == "contents"
    assert not (Path(done.path) / "secrets.txt").exists()
    assert json.loads((Path(done.path) / "installed.json").read_text())["origin"] == str(home)
    assert datasets.load("ml-100k").ratings.n_ratings == 7
    assert len(datasets.load("ml-100k").folds()) == 5


def test_an_archive_is_unpacked_and_its_hash_told(made_up, own_folders, monkeypatch):
    archive = made_up.zip("ml-1m")
    digits = install.digest_of(archive, "md5")
    monkeypatch.setitem(SOURCES, "ml-1m", replace(SOURCES["ml-1m"], digest=f"md5:{digits}"))
    done = install.add("ML-1M", archive)
    assert done.verified == "hash"
    assert done.sha256 == install.digest_of(archive)
    assert (own_folders / "data" / "ml-1m" / "ratings.dat").is_file()
    assert datasets.load("ml-1m").ratings.n_ratings == 7


def test_another_hash_is_verified_by_its_contents(made_up, monkeypatch):
    archive = made_up.zip("ml-1m")
    monkeypatch.setitem(SOURCES, "ml-1m", replace(SOURCES["ml-1m"], digest="md5:" + "0" * 32))
    assert install.add("ml-1m", archive).verified == "contents"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_links(made_up, own_folders, packed):
    copy = made_up.zip("ml-1m") if packed else made_up.write("ml-1m")
    done = install.add("ml-1m", copy, link=True)
    assert any(p.is_symlink() for p in Path(done.path).iterdir())
    assert datasets.load("ml-1m").ratings.n_ratings == 7


def test_the_genome_and_tags_can_be_added(made_up, own_folders):
    install.add("tag-genome", made_up.genome(made_up.folder / "g", "dat"))
    (made_up.folder / "t").mkdir()
    (made_up.folder / "t" / "tags.csv").write_text("movieId,tag,count,source\n1,dark,2,us\n")
    install.add("movie-tags", made_up.folder / "t")
    assert contents(own_folders) == ["movie-tags", "tag-genome"]


def test_a_damaged_copy_leaves_nothing_and_keeps_what_was_there(made_up, own_folders):
    home = made_up.write("ml-1m")
    bad = b"1::10::6::0\n"
    good = (home / "ratings.dat").read_bytes()
    (home / "ratings.dat").write_bytes(bad)
    with pytest.raises(InputError, match=names("ratings.dat", 1, 6)):
        install.add("ml-1m", home)
    assert contents(own_folders) == []
    (home / "ratings.dat").write_bytes(good)
    install.add("ml-1m", home)
    (home / "ratings.dat").write_bytes(bad)
    with pytest.raises(InputError):
        install.add("ml-1m", home)
    assert datasets.load("ml-1m").ratings.n_ratings == 7
    assert contents(own_folders) == ["ml-1m"]


def test_a_new_copy_replaces_the_old_one(made_up, own_folders):
    home = made_up.write("ml-1m")
    install.add("ml-1m", home)
    (home / "ratings.dat").write_text("1::10::3::0\n")
    install.add("ml-1m", home)
    assert datasets.load("ml-1m").ratings.n_ratings == 1
    assert contents(own_folders) == ["ml-1m"]


@pytest.mark.parametrize("entry", ["../evil.txt", "/etc/evil.txt", "ml-1m/../../evil.txt", "C:\\evil.txt"])
def test_an_archive_that_points_out_of_itself(made_up, own_folders, entry):
    archive = made_up.zip("ml-1m")
    with zipfile.ZipFile(archive, "a") as out:
        out.writestr(entry, "boo")
    with pytest.raises(InputError):
        install.add("ml-1m", archive)
    assert contents(own_folders) == []
    assert not list(own_folders.rglob("evil.txt"))


def test_a_zip_bomb(made_up, own_folders, monkeypatch):
    archive = made_up.zip("ml-1m")
    monkeypatch.setitem(SOURCES, "ml-1m", replace(SOURCES["ml-1m"], limit=1 << 20))
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as out:
        out.writestr("ml-1m/users.dat", bytes(1 << 24))
    assert archive.stat().st_size < 1 << 15
    with pytest.raises(InputError, match=names("1,048,576")):
        install.add("ml-1m", archive)
    assert contents(own_folders) == []
    # Nor can an archive that announces less than it holds grow beyond the limit.
    files = made_up.files("ml-1m", archive)
    with pytest.raises(InputError, match=names("users.dat", "1,048,576")):
        files.copy_to(own_folders, 1 << 20)


def test_a_file_twice_in_an_archive(made_up, own_folders):
    archive = made_up.zip("ml-1m")
    with zipfile.ZipFile(archive, "a") as out:
        out.writestr("other/ratings.dat", "1::10::3::0\n")
    with pytest.raises(InputError, match=names("ratings.dat")):
        install.add("ml-1m", archive)


class Full:
    """A file on a disk that is full after ten bytes."""

    def __init__(self, opened):
        self.opened = opened

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.opened.close()

    def write(self, chunk):
        self.opened.write(chunk[:10])
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("words", ["No space left on device", "Permission denied", ""])
def test_a_full_disk_or_no_permission(made_up, own_folders, monkeypatch, words):
    # Simulated: a disk is hard to fill, and the tests may run as root, who may write everywhere.
    home = made_up.write("ml-1m")
    original = Path.open

    def failing(self, mode="r", *args, **kwargs):
        if words and mode == "xb" and self.name == "ratings.dat":
            raise OSError(errno.EACCES if "Permission" in words else errno.ENOSPC, words, str(self))
        opened = original(self, mode, *args, **kwargs)
        return Full(opened) if mode == "xb" and not words else opened

    monkeypatch.setattr(Path, "open", failing)
    with pytest.raises(InputError, match=words or "No space left on device"):
        install.add("ml-1m", home)
    assert contents(own_folders) == []


def test_what_cannot_be_added(made_up, own_folders, tmp_path):
    with pytest.raises(InputError, match=names("cinema")):
        install.add("cinema", tmp_path)
    with pytest.raises(InputError):
        install.add("ml-1m", tmp_path / "nowhere.zip")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=names("ratings.dat", "movies.dat")):
        install.add("ml-1m", tmp_path / "empty")


# What kills leave behind; tools/kills.py makes them


def test_a_kill_between_two_renames_loses_nothing(made_up, own_folders):
    home = Path(install.add("ml-1m", made_up.write("ml-1m")).path)
    left = home.parent / ".ml-1m-abcdefgh"
    left.mkdir()
    home.rename(left / "before")
    assert datasets.load("ml-1m").ratings.n_ratings == 7  # read from the hidden folder
    with pytest.raises(InputError):
        install.add("ml-1m", made_up.folder / "nowhere")
    made_up.genome(made_up.folder / "g", "dat")
    with pytest.raises(InputError):
        install.add("ml-1m", made_up.folder / "g")
    assert datasets.load("ml-1m").ratings.n_ratings == 7
    install.add("ml-1m", made_up.folder / "ml-1m")
    assert contents(own_folders) == ["ml-1m"]


def test_halves_of_the_killed_are_removed(made_up, own_folders):
    (own_folders / "data" / ".ml-1m-deaddead" / "ml-1m").mkdir(parents=True)
    install.add("ml-1m", made_up.write("ml-1m"))
    assert contents(own_folders) == ["ml-1m"]


def test_two_installations_of_one_data_set_do_not_overlap(made_up, own_folders):
    home = made_up.write("ml-1m")
    install.add("ml-1m", home)
    lock = FileLock(own_folders / "data" / ".ml-1m.lock")
    other = threading.Thread(target=install.add, args=("ml-1m", home))
    with lock:
        other.start()
        other.join(0.2)
        assert other.is_alive()  # it waits
    other.join()
    assert contents(own_folders) == ["ml-1m"]
