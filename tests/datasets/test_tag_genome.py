"""The Tag Genome in both forms, its cache, and what is wrong with a file of it."""

import gzip

import numpy as np
import pytest

from prefmover.datasets import tag_genome
from prefmover.datasets.tag_genome import has_genome, read_genome
from prefmover.errors import InputError
from tests.messages import names


def expected() -> np.ndarray:
    return np.array([[(7 * m + 3 * t) % 100 / 100 for t in (1, 2, 3, 4)] for m in (10, 20, 30)], np.float32)


@pytest.mark.parametrize("form", ["csv", "dat"])
def test_both_forms(made_up, tmp_path, form):
    name = {"csv": "ml-25m", "dat": "tag-genome"}[form]
    files = made_up.files(name, made_up.genome(tmp_path / "genome", form))
    assert has_genome(files)
    genome = read_genome(files)
    assert genome.movies.tolist() == [10, 20, 30]
    assert genome.tags == ("dark", "robots", "comma, tag", "vienna")
    assert np.array_equal(genome.scores, expected())
    assert np.array_equal(genome.rows([30, 99]), np.vstack([expected()[2], np.zeros(4)]))


def test_rows_in_any_order_and_compressed(made_up, tmp_path):
    home = made_up.genome(tmp_path / "genome")
    header, *rows = (home / "genome-scores.csv").read_text().splitlines()
    np.random.default_rng(0).shuffle(rows)
    (home / "genome-scores.csv").unlink()
    (home / "genome-scores.csv.gz").write_bytes(gzip.compress("\r\n".join([header, *rows]).encode()))
    assert np.array_equal(read_genome(made_up.files("ml-25m", home)).scores, expected())


def test_more_movies_than_the_first_guess_and_many_blocks(made_up, tmp_path):
    home = made_up.genome(tmp_path / "genome")
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 4001, (90_000, 4)) / 4000
    with (home / "genome-scores.csv").open("w") as out:  # about 5 MB: two blocks
        out.write("movieId,tagId,relevance\n")
        out.writelines(
            f"{m},{t},{s}\n" for m, row in enumerate(scores.tolist()) for t, s in enumerate(row, 1)
        )
    genome = read_genome(made_up.files("ml-25m", home))
    assert np.array_equal(genome.scores, scores.astype(np.float32))


def test_the_second_time_it_comes_from_the_cache(made_up, own_folders, monkeypatch):
    home = made_up.genome(own_folders / "genome")
    first = read_genome(made_up.files("ml-25m", home))
    cached = list((own_folders / "cache").iterdir())
    assert len(cached) == 1
    with monkeypatch.context() as patch:
        patch.setattr(tag_genome, "_assemble", None)  # would fail if it were read again
        second = read_genome(made_up.files("ml-25m", home))
    assert isinstance(second.scores, np.memmap)
    assert np.array_equal(first.scores, second.scores)
    # Another file is not mistaken for the one in the cache.
    text = (home / "genome-scores.csv").read_text()
    (home / "genome-scores.csv").write_text(text.replace("10,1,0.73", "10,1,0.735"))
    assert read_genome(made_up.files("ml-25m", home)).scores[0, 0] == np.float32(0.735)
    # A damaged cache is written again.
    (cached[0] / "scores.npy").write_bytes(b"broken")
    (home / "genome-scores.csv").write_text(text)
    assert np.array_equal(read_genome(made_up.files("ml-25m", home)).scores, first.scores)


def test_a_cache_that_cannot_be_written_is_no_error(made_up, own_folders, monkeypatch):
    (own_folders / "cache").write_text("a file where the folder should be")
    home = made_up.genome(own_folders / "genome")
    assert np.array_equal(read_genome(made_up.files("ml-25m", home)).scores, expected())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("10,2,0.76", "10,2,1.2", names(3, 1.2)),
        ("10,2,0.76", "10,2,nan", names(3, "'relevance'", "'nan'")),
        ("10,2,0.76", "10,1,0.76", names(10)),
        ("10,2,0.76", "10,9,0.76", names(3, 9)),
        ("10,2,0.76", "10,2,high", names("genome-scores.csv", 3, "'relevance'", "'high'")),
        ("10,2,0.76", "10,2,", names("genome-scores.csv", 3, "'relevance'")),
        ("10,2,0.76", "10\t2\t0.76", names("genome-scores.csv", 3, 1)),
        ("movieId,tagId,relevance\n", "", names(1)),
    ],
)
def test_bad_rows(made_up, tmp_path, old, new, message):
    home = made_up.genome(tmp_path / "genome")
    text = (home / "genome-scores.csv").read_text()
    assert old in text
    (home / "genome-scores.csv").write_text(text.replace(old, new))
    with pytest.raises(InputError, match=message):
        read_genome(made_up.files("ml-25m", home))


def test_an_empty_file(made_up, tmp_path):
    home = made_up.genome(tmp_path / "genome")
    (home / "genome-scores.csv").write_bytes(b"")
    with pytest.raises(InputError, match=names("genome-scores.csv")):
        read_genome(made_up.files("ml-25m", home))


def test_no_genome(made_up):
    made_up.write("ml-1m")
    assert not has_genome(made_up.files("ml-1m"))
    with pytest.raises(InputError):
        read_genome(made_up.files("ml-1m"))


@pytest.mark.real_data
def test_the_genuine_rows(real_data, own_folders):
    from prefmover.datasets.folders import Files

    genome = read_genome(Files.open(real_data / "tag-genome-sample", tag_genome.FILES))
    assert genome.scores.shape == (208, 1128)
    assert genome.tags[0] == "007"
    assert genome.scores[0, :2].tolist() == [np.float32(0.029), np.float32(0.02375)]
