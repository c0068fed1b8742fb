"""Item geometries: against the Tag Genome, by the error of the default model, and learned from ratings.

    PREFMOVER_DATA=... python benchmarks/bench_geometry.py [--only "genome missing judge errors learned"]

Needs ml-1m, ml-100k, movie-tags, movie-text-vectors and the sample of genome rows (tag-genome-sample).

**genome**: how well distances agree with the angles between genome rows. The figure is Spearman's rank correlation between the angles of a geometry and those of the genome rows, over all pairs
of the movies that have a row. Settings are chosen on one half of these movies (column "chosen on"); the
other half (column "held out") tells what to expect for other movies. No genome row goes into any vectors.

**missing**: a block is hidden for half of the items; which rule comes nearest to the geometry without holes?
**judge**: the held-out error that chooses weights, beside the error of the default model on test ratings.
**errors**: the default model with tags, and with tags and text, and who gains: user distances or item kernel.
**learned**: item vectors from training ratings. The tables are printed;
docs/explanation/geometry.md has figures of such runs, entered by hand beside what they mean.
"""

import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.stats import spearmanr

from bench import arguments
from bench import table as markdown
from prefmover import Ratings, datasets
from prefmover.data.splits import Split, random_split
from prefmover.datasets import SOURCES, folders
from prefmover.datasets.archive import Files
from prefmover.datasets.geometry import movielens_ids, read_tags, text_blocks
from prefmover.datasets.tag_genome import FILES, Genome, read_genome
from prefmover.items import features
from prefmover.items.geometry import ItemGeometry
from prefmover.items.held_out import HeldOut
from prefmover.items.weighting import BlockSet, choose_weights
from prefmover.measures import find_measure, weight
from prefmover.model import Recommender
from prefmover.model.recommender import PMD_WEIGHT
from prefmover.predict.base import clip
from prefmover.predict.kernel import KernelPredictor, LandmarkValues, compare_with_landmarks
from prefmover.predict.regression import Covariance
from prefmover.predict.similarity import UserSimilarity

SEED = 0
SHARES = (0.1, 0.3, 0.8)
SPLITS = ((0.3, 0), (0.3, 1), (0.8, 0), (0.1, 0))  # share and seed
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
        self.ids, self.genres = self.data.items.ids, self.data.items.genres
        self.tags, _ = read_tags(known, folders.locate(known), self.data.items)
        assert self.tags is not None, "movie-tags is needed"
        movies, _ = movielens_ids(known, self.data.items)
        assert movies is not None
        _, first = np.unique(movies, return_index=True)
        self.at = np.intersect1d(first, np.flatnonzero(np.isin(movies, genome.movies)))
        rows = genome.rows(movies[self.at]).astype(float)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self.angles = np.arccos(np.clip(rows @ rows.T, 0, 1))
        shuffled = np.random.default_rng(SEED).permutation(genome.movies)
        in_first = np.isin(movies[self.at], shuffled[: len(shuffled) // 2])
        self.halves = (in_first, ~in_first, np.ones(len(self.at), bool))
        self.text = text_blocks(known, self.data.items)
        self.inputs = features.ProfileInputs.of_tags(*self.tags, self.ids, self.genres)

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
        return features.tag_profiles(items, tags, counts, ids=self.ids, genres=self.genres, **settings)

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


def table(bench: Bench) -> None:
    """Print one line for each variant."""
    tags, genres = bench.by_tags, bench.by_genres
    variants: dict[str, Callable[[], features.ItemVectors]] = {
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
        **{f"tag profiles + {b.name} (1)": lambda b=b: bench.inputs.vectors([b]) for b in bench.text},
        "tag profiles + both (1)": lambda: bench.inputs.vectors(bench.text),
        "(all ratings: not for experiments)": bench.by_ratings,
        "(tag profiles + all ratings, 3 to 1)": lambda: features.combine(
            bench.profiles(), bench.by_ratings(), weights=[3, 1]
        ),
    }
    print(f"\n{bench.data.name}, {len(bench.at)} movies with a genome row")
    print(f"{'geometry':<45} {'chosen on':>9} {'held out':>9} {'all':>6} {'seconds':>8}")
    for name, make in variants.items():
        start = time.perf_counter()
        item_vectors = make()
        seconds = time.perf_counter() - start
        first, second, both = bench.judge(item_vectors)
        print(f"{name:<45} {first:>9.3f} {second:>9.3f} {both:>6.3f} {seconds:>8.2f}", flush=True)


def grid(benches: list[Bench]) -> None:
    """Print the settings of tag profiles that are best on the first half, on average over data sets."""
    scored = []
    for values in itertools.product(*GRID.values()):
        settings = dict(zip(GRID, values, strict=True))
        scored.append((np.mean([b.judge(b.profiles(**settings)) for b in benches], axis=0), settings))
    print("\ntag profiles over a grid, mean of both data sets: the best on the first half")
    for (first, second, both), settings in sorted(scored, key=lambda row: -row[0][0])[:5]:
        print(f"{settings!s:<75} {first:>6.3f} {second:>6.3f} {both:>6.3f}")


def missing(bench: Bench) -> list[str]:
    """Return how near geometries with a hidden block are to the one without holes."""
    profiles, (minilm, reviews) = bench.profiles(), bench.text
    random, rows = np.random.default_rng(SEED), []
    for one, two in ((profiles, reviews), (profiles, minilm), (reviews, minilm)):
        here = one.vectors.any(axis=1) & two.vectors.any(axis=1)
        X, Y = one.vectors[here], two.vectors[here]
        has = random.random(len(X)) > 0.5
        ids, upper = np.arange(len(X)), np.triu_indices(len(X), 1)
        first = features.ItemVectors(ids, X, "one")
        holes = features.ItemVectors(ids[has], Y[has], "two")
        whole = features.combine(first, features.ItemVectors(ids, Y, "two")).vectors
        with_zeros = np.hstack([X, np.where(has[:, None], Y, 0.0)])
        with_zeros /= np.linalg.norm(with_zeros, axis=1, keepdims=True)
        by_pair = (X @ X.T + (Y * has[:, None]) @ (Y * has[:, None]).T) / (1 + np.outer(has, has))
        filled = features.combine(first, holes).vectors
        true = angles(whole @ whole.T)[upper]
        cells = [f"{one.name.split(' (')[0].split(':')[0]}, {two.name.split(':')[0]}"]
        for cosines in (with_zeros @ with_zeros.T, by_pair, filled @ filled.T):
            found = angles(cosines)[upper]
            cells.append(f"{spearmanr(found, true).statistic:.3f} ({np.abs(found - true).mean():.3f})")
        rows.append(cells)
    head = [
        "blocks, the second hidden for half of the items",
        "zeros",
        "weights by pair (no metric)",
        "predicted",
    ]
    return [markdown(head, rows)]


def angles(cosines: np.ndarray) -> np.ndarray:
    return np.arccos(np.clip(cosines, 0, 1))


class Model:
    """The default model's predicted ratings on one split, without its ranking; geometries may differ by part."""

    def __init__(self, bench: Bench, share: float, seed: int) -> None:
        self.data = bench.data
        self.split: Split = random_split(bench.data.ratings, share, seed)
        self.row = find_measure("pmd")

    @property
    def train(self) -> Ratings:
        """The training ratings."""
        return self.split.train

    def similarity(self, vectors: features.ItemVectors) -> UserSimilarity:
        """Return the user distances by some item vectors."""
        data = self.data.with_ratings(self.train).with_geometry(ItemGeometry.from_features(vectors))
        return UserSimilarity(data, self.row, None, None).calibrated(SEED)

    def users(self, similarity: UserSimilarity) -> LandmarkValues:
        """Compare all users with the landmarks."""
        return compare_with_landmarks(similarity, Recommender().landmarks, SEED)

    def error(self, similarity: UserSimilarity, users: LandmarkValues) -> float:
        """Return the MAE with the item kernel of one geometry, and users compared by the same or another."""
        predictor = KernelPredictor.fit(similarity, weight(PMD_WEIGHT), Covariance(), users)
        predicted = predictor.predict(self.split.users, self.split.items).values
        return float(np.abs(clip(predicted, self.train.scale)[0] - self.split.ratings).mean())

    def mae(self, vectors: features.ItemVectors) -> float:
        """Return the MAE on the test ratings."""
        similarity = self.similarity(vectors)
        return self.error(similarity, self.users(similarity))

    def held_out(self, vectors: features.ItemVectors) -> float:
        """Return the error that chooses weights."""
        judge = HeldOut.of(self.train)
        assert judge is not None
        return judge.error(features.aligned(vectors, self.train.items))


def judge(bench: Bench) -> list[str]:
    """Return the held-out error and the test error of several geometries."""
    tags, text, model = bench.profiles(), bench.text, Model(bench, 0.3, SEED)
    variants = {
        "tag profiles from tags and both texts": bench.inputs.vectors(text),
        "tag profiles from tags and reviews": bench.inputs.vectors(text[1:]),
        "tag profiles + reviews, side by side": features.combine(tags, text[1]),
        "tag profiles": tags,
        "tag profiles + both texts, side by side": features.combine(tags, *text),
        "reviews alone": text[1],
        "genres": bench.by_genres(),
    }
    rows = [[name, f"{model.held_out(v):.4f}", f"{model.mae(v):.4f}"] for name, v in variants.items()]
    return [markdown(["geometry (ml-100k, share .3)", "held-out error", "MAE on test ratings"], rows)]


def errors(bench: Bench, repeats: int) -> list[str]:
    """Return the errors with tags, and with tags and text for users, items, or both."""
    tags, rows, chosen = bench.profiles(), [], []
    blocks = BlockSet((), bench.inputs, tuple(bench.text))
    for share in SHARES:
        found = []
        for seed in range(repeats):
            model = Model(bench, share, seed)
            best, parts = choose_weights(blocks, model.train)
            chosen.append(
                f"{share:g}: " + ", ".join(f"{one.name.split(':')[0]} {one.weight:g}" for one in parts)
            )
            plain, rich = model.similarity(tags), model.similarity(best.vectors())
            by_tags, by_text = model.users(plain), model.users(rich)
            found.append(
                [
                    model.error(*pair)
                    for pair in ((plain, by_tags), (plain, by_text), (rich, by_tags), (rich, by_text))
                ]
            )
        mean = np.mean(found, axis=0)
        rows.append([f"{share:g}", *(f"{x:.4f}" for x in mean)])
    head = ["share", "tags", "text for user distances only", "text for the item kernel only", "text for both"]
    counted = [f"{line} ({chosen.count(line)}x)" for line in dict.fromkeys(chosen)]
    return [
        markdown(head, rows),
        f"{bench.data.name}, mean of {repeats} splits. Weights chosen, by share: {'; '.join(counted)}.",
    ]


def learned(bench: Bench) -> list[str]:
    """Return errors with item vectors learned from training ratings."""
    rows = []
    for share, seed in SPLITS:
        model = Model(bench, share, seed)
        base = choose_weights(BlockSet((), bench.inputs, tuple(bench.text)), model.train)[0]
        content = base.vectors()
        svd = features.from_ratings(model.train.matrix, model.train.items, dimensions=20)
        ease = by_ease(model.train)
        variants = {
            "tags and text": content,
            "+ SVD of the ratings, .1": features.combine(content, svd, weights=[1, 0.1]),
            "+ EASE of the ratings, .1": features.combine(content, ease, weights=[1, 0.1]),
            "content that predicts tags and SVD, .5": supervised(base, svd, model.train, 0.5),
            "content that predicts tags and SVD, 1": supervised(base, svd, model.train, 1.0),
        }
        for name, vectors in variants.items():
            rows.append([f"{share:g}, {seed}", name, f"{model.mae(vectors):.4f}"])
            print(*rows[-1], flush=True)
    return [markdown(["share, seed", "geometry (ml-100k)", "MAE"], rows)]


def by_ease(train: Ratings, dimensions: int = 50, penalty: float = 1000.0) -> features.ItemVectors:
    """Return vectors whose inner products are nearly the symmetric part of EASE's weights."""
    X = train.matrix.toarray()
    P = np.linalg.inv(X.T @ X + penalty * np.eye(X.shape[1]))
    B = -P / np.diag(P)
    np.fill_diagonal(B, 0.0)
    strengths, axes = np.linalg.eigh((B + B.T) / 2)
    top = np.argsort(-strengths)[:dimensions]
    X = axes[:, top] * np.sqrt(np.maximum(strengths[top], 0))
    return features.from_vectors(train.items, X, name="EASE", centered=False)


def supervised(
    base: BlockSet, taste: features.ItemVectors, train: Ratings, size: float
) -> features.ItemVectors:
    """Return content vectors, weighted by how well they predict tags and vectors of the training ratings."""
    assert base.profiles is not None
    counts = np.bincount(train.matrix.indices, minlength=train.n_items)
    return base.profiles.with_taste(taste, counts, size).vectors(base.inner, base.weights[1:])


def main() -> None:
    """Print the tables."""
    options = arguments(__doc__, only="genome missing judge errors learned", repeats=3)
    if options.write:
        raise SystemExit("--write is for the sections of docs/benchmarks.md; these tables are printed")
    genome = read_genome(Files.open(Path(os.environ["PREFMOVER_DATA"]) / "tag-genome-sample", FILES))
    small = Bench("ml-100k", genome)
    if "genome" in options.only:
        benches = [Bench("ml-1m", genome), small]
        for bench in benches:
            table(bench)
        grid(benches)
    sections = {
        "missing": ("Blocks that items lack", lambda: missing(small)),
        "judge": ("The judge", lambda: judge(small)),
        "errors": ("What text is worth, and to whom", lambda: errors(small, options.repeats)),
        "learned": ("Learned from ratings", lambda: learned(small)),
    }
    for key, (title, make) in sections.items():
        if key in options.only:
            print("\n\n".join([f"## {title}", *make()]), flush=True)


if __name__ == "__main__":
    main()
