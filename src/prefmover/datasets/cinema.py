"""cinema: the built-in data set, 485 real films and 800 simulated viewers.

The films are real: title, year, country, genres, and scores of about eighty tags, given by hand from 1
(a touch) to 5 (the essence of the film). The viewers are **simulated**. Each belongs to a taste group
(``cinema_tastes.csv``) and has a second and a third interest and some whims. Viewers mostly watch famous
films and films that they expect to like, and rate them in half stars.

So cinema has what no collected data set has: ground truth. It is known who is like-minded, so the neighbors
by a measure can be checked (:doc:`/guide/cinema`).

Both files and the ratings are ours and free of rights (CC0 1.0).

>>> films().catalog.label(0), viewers().ids[0], viewers().tastes[0]
('The Cabinet of Dr. Caligari (1920)', 'ada-b', 'frights')
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.data.ids import frozen
from prefmover.data.ratings import Ratings, Scale
from prefmover.dataset import Dataset
from prefmover.items.catalog import Catalog
from prefmover.items.geometry import ItemGeometry

__all__ = ["Films", "Viewers", "films", "geometry", "load", "tastes", "viewers"]

TERMS = (
    "Free of rights (CC0 1.0). The films are real, their tags our judgment. The viewers and their "
    "ratings are simulated: they are nobody's opinion of a film."
)
CITATION = "The prefmover developers. cinema: 485 tagged films and 800 simulated viewers. CC0 1.0."

SEED = 1895  # the Lumières' first public screening
GIVEN_NAMES = (
    "ada aiko amir ana anders anika astrid bela bianca bruno camila carlos chen chiara clara dana "
    "daniel dario elena elif emil emma enzo eva farid fatima felix fiona freya gabriel georg greta "
    "hana hassan hugo ida imani ines ingrid ivan jamal jana jonas julia kai karin kofi lars layla "
    "lena leo lina luca lucia maja malik marco maria mateo mei mila mina nadia naomi nils nina noor "
    "olga omar oskar paolo petra pia priya rafael ravi rosa ruth samir sara selma simon sofia sven "
    "tara tariq teo tessa thea tomas vera viktor wanda xenia yara yuki yusuf zara zeno zoe"
)
INITIALS = "bdhklmrt"
SPARSE_SHARE = 0.2  # share of viewers with 3 to 8 ratings; the others have 9 to 80
EXPOSURE = np.array([0.0, 2.0, 4.0, 9.0, 20.0, 40.0])  # weight of a film, by its fame


class Films(NamedTuple):
    """The films of cinema, oldest first."""

    catalog: Catalog  # ids such as "alien-1979"; titles in English if there is one
    fame: Ints  # (n_films,) from 1 to 5
    tags: tuple[str, ...]  # sorted
    scores: Ints  # (n_films, n_tags) from 0 (nothing of it) to 5 (the essence of the film)


class Viewers(NamedTuple):
    """Simulated viewers, their true tastes, and their ratings."""

    ids: tuple[str, ...]  # such as "ada-b", sorted
    tastes: tuple[str, ...]  # the taste group of each viewer: the ground truth
    rows: Ints  # (n_ratings,) the position of the viewer of each rating
    films: Ints  # (n_ratings,) the position of its film
    ratings: Floats  # (n_ratings,) from 1 to 5 in half stars


def load() -> Dataset:
    """Return cinema as a data set: ratings of simulated viewers, films, and their geometry.

    >>> cinema = load()
    >>> cinema.ratings
    Ratings(800 users x 485 items, 21,644 ratings from 1 to 5 in steps of 0.5)
    >>> cinema.catalog.label(cinema.item_position("spirited-away-2001"))
    'Spirited Away (2001)'
    """
    audience, catalog = viewers(), films().catalog
    users, items = np.array(audience.ids, dtype=object)[audience.rows], catalog.ids[audience.films]
    ratings = Ratings.from_arrays(users, items, audience.ratings, scale=Scale(1.0, 5.0, 0.5))
    about: dict[str, Any] = {"name": "cinema", "terms": TERMS, "citation": CITATION}
    about |= {"user_noun": "viewer", "item_noun": "film"}
    return Dataset(ratings, lambda _: geometry(), catalog, **about)


@cache
def films() -> Films:
    """Return the films in ``cinema_films.csv``."""
    rows = _read("cinema_films.csv")
    scored = [_scores(row["tags"]) for row in rows]
    tags = tuple(sorted({tag for scores in scored for tag in scores}))
    catalog = Catalog(
        [row["film"] for row in rows],
        [row["title"] for row in rows],
        [int(row["year"]) for row in rows],
        [row["genres"].split("|") for row in rows],
    )
    fame = np.array([int(row["fame"]) for row in rows])
    table = np.array([[scores.get(tag, 0) for tag in tags] for scores in scored])
    return Films(catalog, frozen(fame), tags, frozen(table))


@cache
def geometry() -> ItemGeometry:
    """Return the geometry of the films: angles between their tag scores, weighted.

    The weight of a tag is ``sqrt(log(n_films / films with the tag))``: two melancholy films, which four in
    ten are, have less in common than two films with robots. Compared with no weight and with the square of
    this one, it gave the neighbors that a film lover would name.

    >>> [film for film, _ in geometry().near("alien-1979", 3)]
    ['aliens-1986', 'the-thing-1982', 'a-quiet-place-2018']
    """
    catalog, _, tags, scores = films()
    weights = np.sqrt(np.log(len(scores) / (scores > 0).sum(axis=0)))
    name = f"cinema: {len(tags)} hand-scored tags, angle"
    return ItemGeometry.from_vectors(catalog.ids, scores * weights, name=name)


def tastes() -> tuple[tuple[str, ...], Ints, Ints]:
    """Return names, shares (in percent) and tag weights (n_tastes, n_tags) of the taste groups."""
    rows = _read("cinema_tastes.csv")
    weights = [[scores.get(tag, 0) for tag in films().tags] for scores in (_scores(r["tags"]) for r in rows)]
    shares = np.array([int(row["share"]) for row in rows])
    return tuple(row["taste"] for row in rows), shares, np.array(weights)


@cache
def viewers(seed: int = SEED) -> Viewers:
    """Simulate the viewers: their tastes, the films that they see, and their ratings.

    The tag weights of a viewer are a mixture of those of three taste groups, of which the first has 50 to 85
    percent, plus a random whim for every tag. The affinity z of a viewer to a film is the sum of weight times
    score over the tags of the film, divided by the length of its score vector, then standardized over the
    films by mean and mean absolute deviation, and clipped to the range from -2 to 3. Then

    - the probability of seeing a film is proportional to fame (2 to 40) times ``(1 + z/4)⁴``;
    - the rating is ``3.3 + 2z/5`` plus the leniency of the viewer (standard deviation .35), the quality of
      the film (.3) and noise (.6), rounded to half stars between 1 and 5.

    Every number is made from the raw words of PCG64, which NumPy guarantees never to change, with integer
    arithmetic and IEEE operations that are exactly rounded everywhere. The same seed gives the same ratings
    on every machine and with every version.
    """
    dice = _Dice(seed)
    names, shares, weights = tastes()
    _, fame, tags, scores = films()
    ids = sorted(f"{name}-{initial}" for name in GIVEN_NAMES.split() for initial in INITIALS)
    n, n_tastes = len(ids), len(names)

    first = np.searchsorted(np.cumsum(shares), dice.below(100, n), side="right")
    second = (first + 1 + dice.below(n_tastes - 1, n)) % n_tastes
    third = (first + 1 + dice.below(n_tastes - 1, n)) % n_tastes
    percent = 50 + dice.below(36, n)
    mixture = np.zeros((n, n_tastes), np.int64)
    everyone = np.arange(n)
    mixture[everyone, first] = 3 * percent
    mixture[everyone, second] += 2 * (100 - percent)
    mixture[everyone, third] += 100 - percent
    likes = mixture @ weights + np.rint(200 * dice.bell(n, len(tags))).astype(np.int64)

    length = np.sqrt((scores**2).sum(axis=1))
    affinity = np.floor(likes @ scores.T / length).astype(np.int64)
    n_films = len(fame)
    centered = n_films * affinity - affinity.sum(axis=1, keepdims=True)
    spread = np.abs(centered).sum(axis=1, keepdims=True) / n_films
    z = np.clip(centered / spread, -2.0, 3.0)

    near = 1.0 + z / 4
    chances = np.floor(1000 * EXPOSURE[fame] * (near * near) * (near * near)).astype(np.int64)
    u = dice.uniform(n)
    is_sparse = dice.uniform(n) < SPARSE_SHARE
    counts = np.where(is_sparse, 3 + np.floor(6 * u), 9 + np.floor(72 * u * u)).astype(np.int64)
    seen = [_draw(chances[v], dice.uniform(int(counts[v]))) for v in range(n)]

    rows = np.repeat(everyone, counts)
    columns = np.concatenate(seen)
    leniency, quality = 0.35 * dice.bell(n), 0.3 * dice.bell(n_films)
    stars = 3.3 + 0.4 * z[rows, columns] + leniency[rows] + quality[columns] + 0.6 * dice.bell(len(rows))
    taste_names = tuple(names[g] for g in first)
    ratings = np.clip(np.rint(2 * stars) / 2, 1.0, 5.0)
    return Viewers(tuple(ids), taste_names, frozen(rows), frozen(columns), frozen(ratings))


class _Dice:
    """Random numbers that are the same everywhere: raw words, without the distributions of a library."""

    def __init__(self, seed: int) -> None:
        self._words = np.random.PCG64(seed)

    def _raw(self, *shape: int) -> npt.NDArray[np.uint64]:
        return np.asarray(self._words.random_raw(int(np.prod(shape))), np.uint64).reshape(shape)

    def uniform(self, *shape: int) -> Floats:
        """Return multiples of 2^-53 in [0, 1)."""
        return (self._raw(*shape) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, n: int, *shape: int) -> Ints:
        return np.floor(n * self.uniform(*shape)).astype(np.int64)

    def bell(self, *shape: int) -> Floats:
        """Return nearly normal numbers, mean 0 and variance 1: sums of the four 16-bit parts of a word."""
        word = self._raw(*shape)
        parts = sum((word >> np.uint64(k)) & np.uint64(0xFFFF) for k in (0, 16, 32, 48))
        return (np.asarray(parts, np.float64) - 131070.0) / 37837.22


def _draw(chances: Ints, u: Floats) -> Ints:
    """Draw ``len(u)`` different films, one after the other, each with a probability in proportion."""
    rest = chances.copy()
    drawn = np.empty(len(u), np.int64)
    for k, share in enumerate(u):
        cumulated = np.cumsum(rest)
        drawn[k] = np.searchsorted(cumulated, int(share * cumulated[-1]), side="right")
        rest[drawn[k]] = 0
    return drawn


def _read(name: str) -> list[dict[str, str]]:
    lines = files("prefmover.datasets").joinpath(name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def _scores(cell: str) -> dict[str, int]:
    return {tag: int(score) for tag, score in (pair.split(":") for pair in cell.split())}
