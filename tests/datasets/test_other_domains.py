"""Books, music and tweets: made-up files in the layouts of their publishers, and the real ones."""

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prefmover import datasets
from prefmover.datasets import SOURCES, install
from prefmover.errors import InputError
from tests.messages import names

PUBLISHED = dict(SOURCES)

BOOKS = {
    "ratings.csv": "user_id,book_id,rating\n1,10,5\n1,20,3\n2,10,4\n2,30,1\n3,30,2\n",
    "books.csv": (
        "book_id,goodreads_book_id,best_book_id,isbn,authors,original_publication_year,title\n"
        '10,901,901,x,"Ann Ink, Bo Pen",1997.0,"Quills, ""Part 1"" (Quills, #1)"\n'
        "20,902,902,,Ann Ink,-750.0,Quills and Ink\n"
        "30,903,903,043965548X,Cy Cat,,Whiskers\n"
        "40,904,904,,Cy Cat,2001.0,Paws\n"
    ),
    "book_tags.csv": (
        "goodreads_book_id,tag_id,count\n901,1,900\n901,2,50\n901,3,70\n902,2,10\n902,3,20\n903,4,80\n"
        "904,4,9\n904,2,-1\n999,1,5\n"
    ),
    "tags.csv": "tag_id,tag_name\n1,to-read\n2,Fantasy\n3,magic\n4,cats\n",
}
ONE_TABLE = {
    "ratings.csv": BOOKS["ratings.csv"],
    "books.csv": (
        "book_id,goodreads_book_id,title,authors,genres\n"
        '10,901,Quills,"Ann Ink, Bo Pen","fantasy,magic,to-read"\n'
        '20,902,Ink,Ann Ink,"fantasy,magic"\n'
        "30,903,Whiskers,Cy Cat,cats\n40,904,Paws,Cy Cat,\n"
    ),
}
MUSIC = {
    "user_artists.dat": "userID\tartistID\tweight\r\n2\t51\t1\r\n2\t52\t1023\r\n3\t51\t3\r\n4\t53\t7\r\n",
    "artists.dat": (
        'id\tname\turl\tpictureURL\r\n51\tDuran "D" Duran\thttp://x\thttp://y\r\n'
        "52\tBj\xf6rk\thttp://x\t\r\n53\tNobody\t\t\r\n"
    ),
    "tags.dat": b"tagID\ttagValue\r\n1\tnew wave\r\n2\ttropic\xe1lia\r\n3\t\xc3\xa9lectro\r\n",
    "user_taggedartists.dat": (
        "userID\tartistID\ttagID\tday\tmonth\tyear\r\n2\t51\t1\t1\t4\t2009\r\n3\t51\t1\t1\t4\t2009\r\n\r\n"
        "2\t52\t1\t1\t4\t2009\r\n2\t52\t2\t1\t9\t1956\r\n3\t777\t3\t1\t4\t2009\r\n3\t52\t3\t1\t4\t2009\r\n"
    ),
}
TWEETS = {
    "ratings.dat": "1::0111161::0::1365029107\n1::1853728::10::1366576639\n2::0111161::8::1364690142\n",
    "movies.dat": (
        "0111161::The Shawshank Redemption (1994)::Crime|Drama\n1853728::Django Unchained (2012)::Western\n"
        "0002844::Fantômas - À l'ombre (1913)::\n"
    ),
}
WORLDS = {"goodbooks": BOOKS, "lastfm": MUSIC, "movietweetings": TWEETS}


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def changed(name: str, file: str, old: str, new: str) -> dict[str, str | bytes]:
    text = WORLDS[name][file]
    assert isinstance(text, str)
    assert old in text
    return {**WORLDS[name], file: text.replace(old, new)}


@pytest.fixture
def load(made_up, own_folders):
    """Write files of a data set to its folder and load it."""

    def load(name, files=None, folder=""):
        write(own_folders / "data" / (folder or name), files or WORLDS[name])
        return datasets.load(name)

    return load


@pytest.mark.parametrize("files", [BOOKS, ONE_TABLE], ids=["published", "one table"])
def test_books(load, files):
    data = load("goodbooks", files)
    assert data.ratings[1] == {10: 5.0, 20: 3.0}
    assert (data.ratings.scale.lowest, data.ratings.scale.highest) == (1.0, 5.0)
    assert (data.user_noun, data.item_noun) == ("reader", "book")
    assert "CC BY-SA" in data.terms
    assert "Zając" in data.citation
    at = [data.item_position(book) for book in (10, 20, 30, 40)]
    assert {*data.catalog.genres[at[0]]} == {"fantasy", "magic"}  # "to-read" is about the reader
    distance = data.geometry.block(at, at)
    assert distance[0, 1] < 1.0 < distance[0, 2]  # shelves and an author, or nothing, in common
    assert distance[2, 3] < 1.5


def test_books_have_titles_and_years(load):
    data = load("goodbooks")
    assert data.catalog.label(data.item_position(10)) == 'Quills, "Part 1" (Quills, #1) (1997)'
    assert data.catalog.years[data.item_position(20)] == -750
    assert data.catalog.genres[data.item_position(10)] == ("magic", "fantasy")  # by number of readers
    assert data.catalog.genres[data.item_position(40)] == ("cats",)  # a count of -1 is none


def test_authors_alone_make_books_near(load):
    files = changed("goodbooks", "book_tags.csv", "904,4,9\n", "")
    data = load("goodbooks", files)
    whiskers, paws, quills = (data.item_position(book) for book in (30, 40, 10))
    near, far = data.geometry.block([paws], [whiskers, quills])[0]
    assert near < far


def test_music(load):
    data = load("lastfm")
    assert data.ratings.implicit
    assert data.ratings.scale.damping == "log"
    assert data.ratings[2] == {51: 1.0, 52: 10.0}  # log2(1 + 1), log2(1 + 1023)
    assert data.catalog.label(data.item_position(51)) == 'Duran "D" Duran'
    assert data.catalog.label(data.item_position(52)) == "Björk"
    assert data.catalog.genres[data.item_position(51)] == ("new wave",)  # by two people
    assert (data.user_noun, data.item_noun) == ("listener", "artist")
    a, b, untagged = (data.item_position(artist) for artist in (51, 52, 53))
    near, far = data.geometry.block([a], [b, untagged])[0]
    assert near < far
    assert far == pytest.approx(np.pi / 2, abs=1e-6)


def test_latin_1_and_utf_8_tags_in_one_file(load, own_folders):
    from prefmover.datasets import folders, other_domains

    load("lastfm")
    _, tags = other_domains._read_tags(folders.locate(SOURCES["lastfm"]))
    assert {"tropicália", "électro"} <= set(tags)


def test_tweets(load):
    data = load("movietweetings")
    assert data.ratings[1] == {"0111161": 0.0, "1853728": 10.0}  # ids are text, and 0 is a rating
    assert (data.ratings.scale.lowest, data.ratings.scale.highest) == (0.0, 10.0)
    assert data.n_items == 3
    assert data.catalog.label(data.item_position("0002844")) == "Fantômas - À l'ombre (1913)"
    assert data.catalog.genres[data.item_position("0111161")] == ("Crime", "Drama")


@pytest.mark.parametrize(
    ("name", "folder"),
    [("goodbooks", "goodbooks-10k"), ("lastfm", "lastfm-2k"), ("movietweetings", "movietweetings-100k")],
)
def test_other_names_of_the_folder(load, name, folder):
    assert load(name, folder=folder).name == name


def test_a_part_is_loaded_under_its_own_name(load, monkeypatch):
    from prefmover.datasets.registry import Counts

    parts = {"goodbooks-sample": Counts(5, 3, 3)}
    counts = PUBLISHED["goodbooks"].counts
    monkeypatch.setitem(SOURCES, "goodbooks", replace(SOURCES["goodbooks"], counts=counts, parts=parts))
    assert load("goodbooks").name == "goodbooks-sample"


@pytest.mark.parametrize("name", WORLDS)
def test_another_size_than_published_is_refused(load, monkeypatch, name):
    monkeypatch.setitem(SOURCES, name, PUBLISHED[name])
    published = PUBLISHED[name].counts
    with pytest.raises(InputError, match=names(name, f"{published.ratings:,}", f"{published.users:,}")):
        load(name)


def test_the_snapshot_in_the_archive_of_a_whole_repository(made_up, own_folders):
    archive = own_folders / "master.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for file, text in TWEETS.items():
            out.writestr(f"MovieTweetings-master/snapshots/100K/{file}", text)
            out.writestr(f"MovieTweetings-master/snapshots/10K/{file}", "something else")
            out.writestr(f"MovieTweetings-master/latest/{file}", "something else")
    done = install.add("movietweetings", archive)
    assert sorted(p.name for p in Path(done.path).iterdir()) == [
        "installed.json",
        "movies.dat",
        "ratings.dat",
    ]
    assert datasets.load("movietweetings").ratings.n_ratings == 3


def test_the_snapshot_in_a_clone_of_the_repository(made_up, own_folders):
    clone = own_folders / "clone"
    write(clone / "snapshots" / "100K", TWEETS)
    write(clone / "latest", {"ratings.dat": "something else", "movies.dat": "something else"})
    install.add("movietweetings", clone)
    assert datasets.load("movietweetings").ratings.n_ratings == 3


def bad(name, file, old, new, *named):
    return name, changed(name, file, old, new), named


BAD = {
    "no shelves": ("goodbooks", {**BOOKS, "tags.csv": None}, ("book_tags.csv", "tags.csv", "genres")),
    "no such column": bad("goodbooks", "ratings.csv", "user_id", "reader", "user_id"),
    "six stars": bad("goodbooks", "ratings.csv", "1,10,5", "1,10,6", "ratings.csv", 2),
    "a book twice": bad("goodbooks", "books.csv", "20,902", "10,902", "books.csv", 10),
    "a book that is not listed": bad("goodbooks", "ratings.csv", "3,30,", "3,77,", 77),
    "a shelf without a name": bad("goodbooks", "book_tags.csv", "902,3,", "902,8,", "book_tags.csv", 8),
    "a count in words": bad("lastfm", "user_artists.dat", "1023", "many", "line 3", "many"),
    "a negative count": bad("lastfm", "user_artists.dat", "1023", "-2", "line 3", -2),
    "an artist twice": bad("lastfm", "artists.dat", "53\t", "52\t", "artists.dat", 52),
    "an unnamed tag": bad(
        "lastfm", "user_taggedartists.dat", "777\t3", "777\t9", "user_taggedartists.dat", 9
    ),
    "no tags": ("lastfm", {**MUSIC, "tags.dat": None}, ("tags.dat",)),
    "eleven of ten": bad("movietweetings", "ratings.dat", "::10::", "::11::", "ratings.dat", 11),
    "a film twice": bad("movietweetings", "movies.dat", "1853728", "0111161", "movies.dat", "0111161"),
    "an id without zeros": bad("movietweetings", "ratings.dat", "2::0111161", "2::111161", "111161"),
}


@pytest.mark.parametrize(("name", "files", "named"), BAD.values(), ids=BAD)
def test_damaged_files_are_named_and_nothing_is_installed(made_up, own_folders, name, files, named):
    home = write(own_folders / "copy", {file: text for file, text in files.items() if text is not None})
    with pytest.raises(InputError, match=names(*named)):
        install.add(name, home)
    assert not (own_folders / "data" / name).exists()


@pytest.mark.real_data
@pytest.mark.parametrize("name", WORLDS)
def test_the_real_ones_have_the_published_numbers(real_data, name):
    data, source = datasets.load(name), PUBLISHED[name]
    counts = {source.name: source.counts, **source.parts}[data.name]
    rated = int((data.ratings_per_item > 0).sum())
    assert (data.ratings.n_ratings, data.n_users, rated) == counts
    assert len(data.catalog.titles) == data.n_items


@pytest.mark.real_data
@pytest.mark.slow
def test_lists_of_real_data_with_single_ratings_and_items_without_genres(real_data):
    from prefmover import Dataset
    from prefmover.evaluation import evaluate

    data = datasets.load("movietweetings")
    ratings = data.ratings.take(users=np.arange(0, data.n_users, data.n_users // 100))
    items = np.flatnonzero(np.bincount(ratings.matrix.indices, minlength=data.n_items))[:300]
    ratings = ratings.take(items=items)
    part = Dataset(ratings, data.geometry.take(items), data.catalog.aligned(ratings.items))
    options = {"train": 0.3, "repeats": 1, "trials": 1}
    found = evaluate(part, task="ranking", recommenders="default,popularity,ease,user-knn", **options)
    rows = found.summary("ranking").to_pylist()
    assert len(rows) == 4
    assert all(0 <= row["ndcg"] <= 1 for row in rows)
