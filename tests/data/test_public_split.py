"""Splits that others have published: a code for each rating, in the order of its file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefmover import Dataset, FileOptions, Ratings, datasets
from prefmover.data.public_split import public_split, read_codes
from prefmover.data.splits import random_split, rating_times, validation_split
from prefmover.errors import InputError
from prefmover.evaluation import Experiment, evaluate, run_experiment
from tests.messages import names

ROWS = [("zoe", "x", 5), ("ann", "z", 2), ("zoe", "a", 1), ("bob", "x", 4), ("ann", "a", 3), ("bob", "z", 5)]
CODES = [2, 0, 0, 1, 2, 0]


@pytest.fixture
def file(tmp_path):
    """A file of ratings that is sorted by nothing."""
    path = tmp_path / "stars.csv"
    path.write_text("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in ROWS))
    return path


def damage(path):
    """Change bytes in the middle of a file."""
    data = path.read_bytes()
    path.write_bytes(data[:80] + bytes(40) + data[120:])


def triples(ratings):
    """Return {(user, item): rating}."""
    return {(user, item): value for user in ratings for item, value in ratings[user].items()}


def test_codes_belong_to_the_rows_of_the_file(file):
    data = Dataset.from_files(file)
    split = public_split(data.ratings, np.array(CODES), data.rows())
    expected = {
        code: {(u, i): r for (u, i, r), c in zip(ROWS, CODES, strict=True) if c == code} for code in range(3)
    }
    assert triples(split.train) == expected[0] | expected[1]
    assert dict(zip(split.test_pairs(), split.ratings, strict=True)) == expected[2]
    inner = validation_split(split, 0.5, seed=3)
    assert triples(inner.train) == expected[0]
    assert dict(zip(inner.test_pairs(), inner.ratings, strict=True)) == expected[1]


@given(st.permutations(range(6)), st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_the_order_of_the_rows_does_not_matter(order, codes):
    codes = np.array([0, 2, *codes[2:]])
    users, items, stars = zip(*ROWS, strict=True)
    ratings = Ratings.from_arrays(users, items, stars)
    rows = Ratings.from_arrays(users, items, list(range(6)))
    one = public_split(ratings, codes, rows)
    moved = Ratings.from_arrays(users, items, np.argsort(order))  # where each row of the file is now
    two = public_split(ratings, codes[np.array(order)], moved)
    assert one.test_pairs() == two.test_pairs()
    assert one.train.digest() == two.train.digest()


def test_rows_that_are_left_out_have_codes_too(file):
    file.write_text(file.read_text() + "cid,x,0\n")
    data = Dataset.from_files(file, options=FileOptions(zeros="missing"))
    assert data.ratings.n_ratings == 6
    split = public_split(data.ratings, np.array([*CODES, 2]), data.rows())
    assert split.test_pairs() == [("ann", "a"), ("zoe", "x")]


def test_without_a_file_the_order_is_that_of_the_table():
    data = datasets.load("cinema")
    codes = np.zeros(data.ratings.n_ratings, int)
    codes[[3, 7]] = 2
    split = public_split(data.ratings, codes)
    assert split.items.tolist() == data.ratings.matrix.indices[[3, 7]].tolist()
    assert split.held is None
    # Without a validation part, one is drawn.
    assert (
        validation_split(split, 0.8).train.digest()
        == random_split(split.train, 0.8, 1_000_003).train.digest()
    )


def test_two_forms_of_a_file(tmp_path):
    np.savez(tmp_path / "index.npz", data=np.array(CODES))
    (tmp_path / "index.txt").write_text("\n".join(map(str, CODES)) + "\n")
    assert read_codes(tmp_path / "index.npz").tolist() == read_codes(tmp_path / "index.txt").tolist() == CODES


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda p: p.write_text("0\n1\n3\n"), names(3)),
        (lambda p: p.write_text("0\ntest\n"), names("test")),
        (lambda p: p.write_text("0\n0.5\n"), names(0.5)),
        (lambda p: p.write_bytes(b"\xff\xfe\x00"), names("index")),
        (lambda p: np.savez(p, a=np.zeros(3), b=np.ones(3)), names("a", "b")),
        (lambda p: np.savez(p, a=np.zeros((3, 2))), names(3, 2)),
        (lambda p: np.savez(p, a=np.array(["0", "1"])), names("'0'")),
        (lambda p: (np.savez_compressed(p, a=np.arange(999) % 3), damage(p)), names("index")),
        (lambda p: None, names("index")),
    ],
)
def test_a_file_that_is_no_split(tmp_path, write, message):
    write(tmp_path / "index.npz")
    with pytest.raises(InputError, match=message):
        read_codes(tmp_path / "index.npz")


@pytest.mark.parametrize(
    ("codes", "message"),
    [([0, 2], names(2, 6)), ([0, 0, 1, 0, 0, 0], names("test")), ([2, 2, 1, 2, 2, 2], names("training"))],
)
def test_codes_that_do_not_fit(file, codes, message):
    data = Dataset.from_files(file)
    with pytest.raises(InputError, match=message):
        public_split(data.ratings, np.array(codes), data.rows())


def test_a_pair_that_occurs_twice_has_no_code(file):
    file.write_text(file.read_text() + "zoe,x,4\n")
    data = Dataset.from_files(file, options=FileOptions(duplicates="last"))
    with pytest.raises(InputError, match=names("zoe", "x")):
        data.rows()


def test_an_experiment(tmp_path):
    """The record says which split; searches see its validation part; settings of others are refused."""
    data = datasets.load("cinema")
    codes = np.random.default_rng(0).choice(3, data.ratings.n_ratings, p=[0.7, 0.1, 0.2])
    np.savez(tmp_path / "index.npz", data=codes)
    file = str(tmp_path / "index.npz")
    found = evaluate(data, "ease", task="ranking", split=file, trials=2, relevant=1, folder=tmp_path / "run")
    record = found.records[0]
    assert (record.protocol, record.key, record.relevant) == ("file", "lists-file-0-ease", 1.0)
    assert (record.n_train, record.n_test) == ((codes < 2).sum(), (codes == 2).sum())
    assert record.share == pytest.approx((codes < 2).mean(), abs=1e-6)
    assert found.data.split
    codes[(codes == 1).argmax()] = 0
    np.savez(tmp_path / "index.npz", data=codes)  # another validation part: other searches
    with pytest.raises(InputError, match=names("split")):
        evaluate(data, "ease", task="ranking", split=file, trials=2, relevant=1, folder=tmp_path / "run")
    for wrong in ({"protocol": "time"}, {"train": 0.5}, {"repeats": 2}, {"stratify": "user"}):
        with pytest.raises(InputError):
            Experiment(dataset="cinema", split=file, **wrong)
    with pytest.raises(InputError):
        Experiment(dataset="cinema", protocol="file")


def test_a_split_in_the_folder_of_data_sets(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFMOVER_DATA", str(tmp_path))
    codes = np.arange(datasets.load("cinema").ratings.n_ratings) % 3
    (tmp_path / "mine.txt").write_text("\n".join(map(str, codes)))
    found = run_experiment(
        Experiment(dataset="cinema", split="mine.txt", recommenders="bias", task="ranking")
    )
    assert found.records[0].n_test == (codes == 2).sum()


@pytest.mark.slow
@pytest.mark.real_data
def test_rows_of_ml_1m(real_data, monkeypatch):
    """Times are read by row numbers as by their own column."""
    monkeypatch.setenv("PREFMOVER_DATA", str(real_data))
    from prefmover.datasets import SOURCES, folders

    lines = folders.locate(SOURCES["ml-1m"]).read("ratings.dat").split(b"\n")
    times = np.array([int(line.rsplit(b"::", 1)[1]) for line in lines if line])
    data = datasets.load("ml-1m")
    rows = rating_times(data.ratings, data.rows()).astype(int)
    assert np.array_equal(times[rows], data.times)
