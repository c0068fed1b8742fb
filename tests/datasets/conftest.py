"""Small made-up data sets in every layout of MovieLens and of the Tag Genome."""

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from prefmover.datasets import SOURCES, folders
from prefmover.datasets.folders import Files
from prefmover.execution.jit import kernel_folder

# user, movie, stars; whole stars, so that all layouts can hold them
RATINGS = [(1, 10, 5), (1, 20, 3), (2, 10, 4), (2, 30, 1), (3, 20, 2), (3, 30, 5), (3, 40, 4)]
MOVIES = [
    (10, "Café Noir, Le (1950)", ["Drama", "Film-Noir"]),
    (20, 'Robots, Love & "Quotes" (1984)', ["Comedy", "Sci-Fi"]),
    (30, "Third Man, The (Il terzo uomo) (1949)", ["Film-Noir"]),
    (40, "Untitled", []),
]
TAGS = [(1, 10, "Dark"), (2, 10, "dark"), (1, 20, "robots"), (3, 30, "dark"), (3, 30, "Vienna, at night")]
GENRES_100K = [
    "unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama",
    "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
]  # fmt: skip


def csv_field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text


def u_item(movie: int, title: str, genres: list[str]) -> str:
    date = f"01-Jan-{title[-5:-1]}" if title.endswith(")") else ""
    flags = [str(int(g in genres)) for g in GENRES_100K]
    return "|".join([str(movie), title, date, "", "address", *flags])


def lines_of(form: str) -> dict[str, tuple[list[str], str]]:
    """Return name -> (lines, encoding) of the files of one layout."""
    genres = [(m, t, "|".join(g)) for m, t, g in MOVIES]
    if form == "u":
        rows = [f"{u}\t{i}\t{r}\t881250949" for u, i, r in RATINGS]
        files = {"u.data": (rows, "ascii")}
        files["u.item"] = ([u_item(*movie) for movie in MOVIES], "latin-1")
        for k in range(1, 6):
            files[f"u{k}.base"] = (rows[:k] + rows[k + 1 :], "ascii")
            files[f"u{k}.test"] = (rows[k : k + 1], "ascii")
        return files
    if form in ("ml-1m", "dat"):
        encoding = "latin-1" if form == "ml-1m" else "utf-8"
        stars = "{}" if form == "ml-1m" else "{}.5"
        files = {
            "ratings.dat": ([f"{u}::{i}::{stars.format(min(r, 4))}::97830" for u, i, r in RATINGS], "ascii"),
            "movies.dat": ([f"{m}::{t}::{g}" for m, t, g in genres], encoding),
        }
        if form == "dat":
            files["tags.dat"] = ([f"{u}::{m}::{t}::1215184630" for u, m, t in TAGS], "utf-8")
        return files
    none = "(no genres listed)"
    return {
        "ratings.csv": (
            ["userId,movieId,rating,timestamp", *(f"{u},{i},{r - 0.5},96498" for u, i, r in RATINGS)],
            "ascii",
        ),
        "movies.csv": (
            ["movieId,title,genres", *(f"{m},{csv_field(t)},{g or none}" for m, t, g in genres)],
            "utf-8",
        ),
        "tags.csv": (
            ["userId,movieId,tag,timestamp", *(f"{u},{m},{csv_field(t)},144" for u, m, t in TAGS)],
            "utf-8",
        ),
    }


FORMS = {
    "ml-100k": "u", "ml-1m": "ml-1m", "ml-10m": "dat", "ml-20m": "csv", "ml-25m": "csv", "ml-32m": "csv",
    "ml-latest-small": "csv",
}  # fmt: skip


class MadeUp:
    """Writes made-up data sets below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, *, end: str = "\n", bom: bool = False) -> Path:
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        for file, (rows, encoding) in lines_of(FORMS[name]).items():
            start = b"\xef\xbb\xbf" if bom else b""
            text = "".join(row + end for row in rows)
            (home / file).write_bytes(start + text.encode("utf-8" if bom else encoding))
        return home

    def more_movies(self, name: str) -> None:
        """List sixty more movies, 100 to 159, half of one genre and half of another."""
        more = [(m, f"Film {m} (1990)", [("Film-Noir", "Sci-Fi")[m >= 130]]) for m in range(100, 160)]
        with (self.folder / name / ("u.item" if name == "ml-100k" else "movies.dat")).open("a") as out:
            for m, title, genres in more:
                row = u_item(m, title, genres) if name == "ml-100k" else f"{m}::{title}::{genres[0]}"
                out.write(row + "\n")

    def zip(self, name: str, inner: str | None = None) -> Path:
        home = self.write(name)
        archive = self.folder / f"{name}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
            for file in sorted(home.iterdir()):
                out.write(file, f"{inner or name}/{file.name}")
                file.unlink()
        home.rmdir()
        return archive

    def files(self, name: str, path: Path | None = None) -> Files:
        known = SOURCES[name]
        return Files.open(path or self.folder / name, (*known.needs, *known.takes))

    def genome(self, home: Path, form: str = "csv", skip: int | None = None) -> Path:
        """Write 3 movies x 4 tags; ``skip`` leaves out one row."""
        home.mkdir(parents=True, exist_ok=True)
        scores = [(m, t, (7 * m + 3 * t) % 100 / 100) for m in (10, 20, 30) for t in (1, 2, 3, 4)]
        if skip is not None:
            del scores[skip]
        tags = [(1, "dark"), (2, "robots"), (3, "comma, tag"), (4, "vienna")]
        if form == "csv":
            rows = ["movieId,tagId,relevance", *(f"{m},{t},{r}" for m, t, r in scores)]
            names = ["tagId,tag", *(f"{t},{csv_field(name)}" for t, name in tags)]
            (home / "genome-scores.csv").write_text("\n".join(rows) + "\n")
            (home / "genome-tags.csv").write_text("\n".join(names) + "\n")
        else:
            (home / "tag_relevance.dat").write_text("".join(f"{m}\t{t}\t{r}\n" for m, t, r in scores))
            (home / "tags.dat").write_text("".join(f"{t}\t{name}\t99\n" for t, name in tags))
            (home / "movies.dat").write_text("10\tA (1950)\t5\n20\tB (1951)\t6\n30\tC (1952)\t7\n")
        return home


@pytest.fixture
def own_folders(tmp_path, monkeypatch) -> Path:
    """Empty data and cache folders, and no PREFMOVER_DATA."""
    monkeypatch.delenv("PREFMOVER_DATA", raising=False)
    kernel_folder()  # it stays where it is
    monkeypatch.setenv("PREFMOVER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(folders, "data_folder", lambda: tmp_path / "data")
    return tmp_path


@pytest.fixture
def made_up(own_folders, monkeypatch) -> MadeUp:
    """A writer of made-up data sets, which are known by the names of the real ones."""
    for name, known in list(SOURCES.items()):
        monkeypatch.setitem(SOURCES, name, replace(known, counts=None, digest=""))
    return MadeUp(own_folders / "made")
