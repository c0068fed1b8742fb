"""Item geometries of MovieLens against the Tag Genome.

    PREFMOVER_DATA=... python benchmarks/bench_geometry.py [--write] [--genome FOLDER]

Needs ml-1m, ml-100k, ml-10m, and the Tag Genome: the installed one, or a folder with genome-scores.csv.

How well do distances agree with the angles between genome rows? The figure is Spearman's rank correlation
between the angles of a geometry and those of the genome rows, over all pairs of the movies that have a row.
Settings are chosen on one half of these movies (column "chosen on"); the other half (column "held out") tells
what to expect for other movies. No genome row goes into any vectors.
"""

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import spearmanr

from bench import arguments, publish, table
from prefmover import datasets
from prefmover.datasets import SOURCES, folders
from prefmover.datasets.folders import Files
from prefmover.datasets.movielens import movielens_ids, read_tags
from prefmover.datasets.tag_genome import FILES, Genome, read_genome
from prefmover.items import features
from prefmover.items.tag_profiles import tag_profiles

SEED = 0
GRID = {
    "tag_weight": (1.0, 1.5, 2.0),
    "ridge": (0.0125, 0.025, 0.05),
    "common": (0.3, 0.4, 0.5),
    "min_items": (10, 20, 40),
}

Three = tuple[float, float, float]


class Bench:
    """A data set with its tags, and the genome rows of its movies in two halves."""

    def __init__(self, name: str, genome: Genome) -> None:
        known = SOURCES[name]
        self.data = datasets.load(name)
        self.ids, self.genres = self.data.catalog.ids, self.data.catalog.genres
        self.tags, _ = read_tags(known, folders.locate(known), self.data.catalog)
        assert self.tags is not None, "ml-10m is needed"
        movies, _, _ = movielens_ids(known, self.data.catalog)
        assert movies is not None
        _, first = np.unique(movies, return_index=True)
        self.at = np.intersect1d(first, np.flatnonzero(np.isin(movies, genome.movies)))
        rows = genome.rows(movies[self.at]).astype(float)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self.angles = np.arccos(np.clip(rows @ rows.T, 0, 1))
        shuffled = np.random.default_rng(SEED).permutation(genome.movies)
        in_first = np.isin(movies[self.at], shuffled[: len(shuffled) // 2])
        self.halves = (in_first, ~in_first, np.ones(len(self.at), bool))

    def judge(self, item_vectors: features.ItemVectors) -> Three:
        """Return the correlation on the first half, the second half, and all."""
        vectors = item_vectors.vectors[self.at]
        angles = np.arccos(np.clip(vectors @ vectors.T, 0, 1))

        def correlation(half: np.ndarray) -> float:
            upper = np.triu_indices(np.count_nonzero(half), 1)
            a, b = (M[np.ix_(half, half)][upper] for M in (angles, self.angles))
            return float(spearmanr(a, b).statistic)

        first, second, both = (correlation(half) for half in self.halves)
        return first, second, both

    def profiles(self, **settings: float) -> features.ItemVectors:
        """Return tag profiles."""
        items, tags, counts = self.tags
        return tag_profiles(items, tags, counts, ids=self.ids, genres=self.genres, **settings)

    def by_tags(self, dimensions: int | None) -> features.ItemVectors:
        """Return tf-idf of tags."""
        return features.from_tags(*self.tags, ids=self.ids, dimensions=dimensions)

    def by_words(self) -> features.ItemVectors:
        """Return tf-idf of the words that tags are made of."""
        texts: dict[int, list[str]] = {}
        for item, tag in zip(self.tags.items.tolist(), self.tags.tags, strict=True):
            texts.setdefault(item, []).append(tag)
        listed = [" ".join(texts.get(i, [])) for i in self.ids.tolist()]
        return features.from_text(self.ids, listed, dimensions=50)

    def by_genres(self) -> features.ItemVectors:
        """Return genres."""
        return features.from_genres(self.ids, self.genres)

    def prototype(self) -> features.ItemVectors:
        """Return tf-idf of tags beside genres, cut by one SVD."""
        both = features.combine(self.by_genres(), self.by_tags(None))
        X = features.truncated_svd(sparse.csr_array(both.vectors), 50)
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        return both._replace(vectors=X / np.where(lengths > 0, lengths, 1))

    def by_ratings(self) -> features.ItemVectors:
        """Return vectors from all ratings."""
        return features.from_ratings(self.data.ratings.matrix, self.data.ratings.items)


def variants(bench: Bench) -> list[Any]:
    """Return one line for each variant."""
    tags, genres = bench.by_tags, bench.by_genres
    made: dict[str, Callable[[], features.ItemVectors]] = {
        "genres": genres,
        "tags: tf-idf": lambda: tags(None),
        "tags: tf-idf, SVD to 25": lambda: tags(25),
        "tags: tf-idf, SVD to 50": lambda: tags(50),
        "tags: tf-idf, SVD to 100": lambda: tags(100),
        "words of tags: tf-idf, SVD to 50": bench.by_words,
        "prototype: tags and genres, SVD to 50": bench.prototype,
        "genres + tags (SVD to 50), 1 to 1": lambda: features.combine(genres(), tags(50)),
        "genres + tags (SVD to 50), 3 to 1": lambda: features.combine(genres(), tags(50), weights=[3, 1]),
        "tag profiles, from genres alone": lambda: bench.profiles(tag_weight=1e-6),
        "tag profiles, no common coordinate": lambda: bench.profiles(common=0.0),
        "tag profiles, tags of 5 items and more": lambda: bench.profiles(min_items=5),
        "tag profiles, SVD to 25": lambda: bench.profiles(dimensions=25),
        "tag profiles, SVD to 100": lambda: bench.profiles(dimensions=100),
        "tag profiles, SVD to 200": lambda: bench.profiles(dimensions=200),
        "tag profiles (default: SVD to 50)": bench.profiles,
        "(all ratings: not for experiments)": bench.by_ratings,
        "(tag profiles + all ratings, 3 to 1)": lambda: features.combine(
            bench.profiles(), bench.by_ratings(), weights=[3, 1]
        ),
    }
    rows = []
    for name, make in made.items():
        start = time.perf_counter()
        item_vectors = make()
        seconds = time.perf_counter() - start
        rows.append([name, *(f"{one:.3f}" for one in bench.judge(item_vectors)), f"{seconds:.2f}"])
    head = ["geometry", "chosen on", "held out", "all", "seconds"]
    return [f"### {bench.data.name}, {len(bench.at)} movies with a genome row", table(head, rows)]


def grid(benches: list[Bench]) -> list[Any]:
    """Return the settings of tag profiles that are best on the first half, on average over data sets."""
    scored = []
    for values in itertools.product(*GRID.values()):
        settings = dict(zip(GRID, values, strict=True))
        scored.append((np.mean([b.judge(b.profiles(**settings)) for b in benches], axis=0), settings))
    best = sorted(scored, key=lambda row: -row[0][0])[:5]
    rows = [[str(settings), *(f"{one:.3f}" for one in values)] for values, settings in best]
    about = "Tag profiles over a grid, mean of both data sets: the best on the first half"
    return [about, table(["settings", "chosen on", "held out", "all"], rows)]


def main() -> None:
    """Publish the tables."""
    options = arguments(__doc__, genome="")
    source = SOURCES["tag-genome"]
    files = Files.open(options.genome, FILES) if options.genome else folders.locate(source)
    genome = read_genome(files)
    benches = [Bench("ml-1m", genome), Bench("ml-100k", genome)]
    parts = [part for bench in benches for part in variants(bench)] + grid(benches)
    publish("geometry", "Item geometries and the Tag Genome", parts, options)


if __name__ == "__main__":
    main()
