"""The command line in this process, on the files of a new user and on a part of the built-in data."""

import contextlib
import csv
import logging
import warnings

import numpy as np
import pytest

from prefmover.cli import main, terminal
from prefmover.datasets import cinema

VIEWERS = ("petra-h", "bianca-b", "noor-r", "mateo-d", "clara-r")

FILMS = {
    "Alien": "space|monster|crew",
    "Aliens": "space|monster|war",
    "Arrival": "space|language|thoughtful",
    "Clueless": "romance|school|funny",
    "Emma": "romance|costume|village",
    "Heat": "crime|city|police",
    "Jaws": "monster|sea|village",
    "Ronin": "crime|city|cars",
}


def _is_not_of_compiling(record):
    """Whether a message is the same on a machine that compiles for the first time."""
    return "first use on this machine" not in str(record.msg)


@pytest.fixture(autouse=True)
def _restore_the_terminal(monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    logger = logging.getLogger("prefmover")
    before = list(logger.handlers), logger.level
    logger.addFilter(_is_not_of_compiling)
    yield
    logger.removeFilter(_is_not_of_compiling)
    terminal.STATE.debug = terminal.STATE.quiet = False
    logger.handlers, logger.level = before


@pytest.fixture(scope="session", autouse=True)
def _models_of_their_own(tmp_path_factory):
    """Keep the models that verbs fit in a folder of this session."""
    from prefmover.model import cache

    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "cache_folder", lambda: folder)
        yield


@pytest.fixture
def run(capsys):
    """Run the command line; return exit code, stdout and stderr."""

    def run(*args):
        with pytest.raises(SystemExit) as caught:
            main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return caught.value.code or 0, out, err

    return run


@pytest.fixture
def small_cinema(monkeypatch):
    """The built-in data with every eighth viewer, and those that the examples name."""
    whole = cinema.load()
    ratings = whole.ratings
    users = np.unique([*range(0, ratings.n_users, 8), *map(ratings.user_position, VIEWERS)])
    part = whole.with_ratings(ratings.take(users=users))
    monkeypatch.setattr(cinema, "load", lambda: part)
    return part


def write_files(folder):
    """Write ratings of 60 users, and two files about the films, into a folder."""
    rng = np.random.default_rng(5)
    films = list(FILMS)
    with open(folder / "ratings.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["userId", "film", "stars"])
        for user in range(1, 61):
            for k in sorted(rng.choice(len(films), size=rng.integers(2, 7), replace=False)):
                rows.writerow([user, films[k], rng.integers(1, 11) / 2])
    with open(folder / "tags.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["film", "tag"])
        rows.writerows((film, tag) for film, tags in FILMS.items() for tag in tags.split("|"))
    with open(folder / "films.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["film", "title", "genres"])
        rows.writerows((film, f"{film} (1999)", tags.split("|")[0]) for film, tags in FILMS.items())
    (folder / "pairs.csv").write_text("user,item\n42,Alien\n7,Emma\n1000,Alien\n")
    (folder / "experiment.toml").write_text(
        'dataset = "cinema"\nrecommenders = ["knn:cos", "bias"]\nrepeats = 1\ntrain = ".2"\nks = [5]\n'
        "report = false\n"
    )
    return folder


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """A folder with the files of a new user, and a model of them."""
    folder = write_files(tmp_path_factory.mktemp("shop"))
    with contextlib.suppress(SystemExit):
        files = ["-r", f"{folder}/ratings.csv", "-i", f"{folder}/tags.csv"]
        main(["-q", "fit", *files, "-o", f"{folder}/my-model"])
    return folder


@pytest.fixture
def in_shop(shop, tmp_path, monkeypatch):
    """A working folder with copies of these files."""
    import shutil

    shutil.copytree(shop, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
