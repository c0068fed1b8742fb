"""Columns that describe books, and their weights: which ones make books near that the same people read.

``python benchmarks/bench_columns.py``: the goodbooks sample from the folder that PREFMOVER_DATA names. For each of
the 2,000 books with most ratings, the figure is the share of its ten nearest books that are among the fifty with
which it is read most often (cosine of the columns of readers). The table is in docs/guide/data.md; it is why text
weighs .1, and only if it is asked for.
"""

import argparse
import csv
import os
from pathlib import Path

import numpy as np

from prefmover import Ratings
from prefmover._typing import Floats, Ints
from prefmover.items import features

N_BOOKS, N_NEAR, N_READ = 2000, 10, 50


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    if not os.environ.get("PREFMOVER_DATA"):
        print("skipped: PREFMOVER_DATA names no folder")
        return
    folder = Path(os.environ["PREFMOVER_DATA"], "goodbooks-sample")
    ratings = Ratings.read(folder / "ratings.csv")
    most = np.argsort(-np.bincount(ratings.matrix.indices, minlength=ratings.n_items), kind="stable")[
        :N_BOOKS
    ]
    ids = ratings.items[most]
    readers = (ratings.matrix[:, most].toarray() > 0).astype(float)
    readers /= np.linalg.norm(readers, axis=0)
    together = _nearest(readers.T @ readers, N_READ)
    with open(folder / "books.csv", encoding="utf-8", newline="") as file:
        books = {int(row["book_id"]): row for row in csv.DictReader(file)}
    rows = [books[i] for i in ids.tolist()]
    authors = [(i, a) for i, row in zip(ids.tolist(), rows, strict=True) for a in row["authors"].split(",")]
    genres = features.from_genres(ids, [row["genres"].split(",") for row in rows])
    blocks = {
        "words of titles": features.from_text(ids, [row["title"] for row in rows], min_items=1),
        "vectors of descriptions": _descriptions(folder / "description-vectors.npz", genres),
        "authors": features.from_tags(
            [i for i, _ in authors], [a for _, a in authors], ids=ids, dimensions=None, min_items=1
        ),
    }
    print(f"genres alone: {_agreement(genres.vectors, together):.3f}")
    weights = (0.1, 0.25, 0.5, 1.0)
    print(f"{'genres, and':<24} alone " + " ".join(f"{w:>5}" for w in weights))
    for name, block in blocks.items():
        values = [_agreement(block.vectors, together)]
        values += [
            _agreement(features.combine(genres, block, weights=[1, w]).vectors, together) for w in weights
        ]
        print(f"{name:<24} " + " ".join(f"{value:.3f}" for value in values))


def _descriptions(path: Path, like: features.ItemVectors) -> features.ItemVectors:
    stored = np.load(path)
    position = {int(book): k for k, book in enumerate(stored["book_id"])}
    X = np.zeros((len(like.items), stored["vectors"].shape[1]))
    for k, book in enumerate(like.items.tolist()):
        if book in position:
            X[k] = stored["vectors"][position[book]]
    return features.ItemVectors(like.items, X, "descriptions")


def _nearest(similarity: Floats, n: int) -> Ints:
    np.fill_diagonal(similarity, -np.inf)
    return np.argsort(-similarity, axis=1, kind="stable")[:, :n]


def _agreement(X: Floats, together: Ints) -> float:
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    near = _nearest(unit @ unit.T, N_NEAR)
    hits = [len({*some} & {*others}) for some, others in zip(near.tolist(), together.tolist(), strict=True)]
    return float(np.mean(hits)) / N_NEAR


if __name__ == "__main__":
    main()
