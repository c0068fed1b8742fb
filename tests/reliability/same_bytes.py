"""Compute one of everything and print a digest of each: ``python -m tests.reliability.same_bytes THREADS``.

Run in processes of their own, with other threads and other hash seeds; what they print must be the same.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from prefmover import datasets
from prefmover.data.splits import random_split
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.run import run_experiment
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import MEASURES, similarities
from prefmover.measures.pmd import distances, pmd
from prefmover.model import UserKNN
from prefmover.report import write_report
from prefmover.search import nearest, nearest_raters, within
from tests.reliability.jobs import contents, digest, small


def everything(n_jobs):
    """Yield (what, digest)."""
    ratings, geometry = small()
    for what, found in (
        ("nearest", nearest(ratings, geometry, 7, n_jobs=n_jobs)),
        ("within", within(ratings, geometry, 0.6, n_jobs=n_jobs)),
        ("raters", nearest_raters(ratings, geometry, [3, 3, 4], [1, 2, 1], 9, n_jobs=n_jobs)),
    ):
        yield what, digest(found.indptr, found.neighbors, found.values)
    yield "distances", digest(distances(ratings, geometry, n_jobs=n_jobs))
    some = ratings.users[:40]
    for name in MEASURES:
        yield name, digest(similarities(ratings, name, geometry=geometry, users=some, n_jobs=n_jobs))
    yield "flows", digest(repr(pmd(ratings, geometry, 1, 2).flows))
    cinema = datasets.load("cinema")
    yield "cinema", digest(repr(cinema.ratings), cinema.ratings.matrix.data, cinema.geometry.grid)
    yield from _geometries(cinema)
    split = random_split(ratings, 0.8, 3)
    yield "split", digest(split.train.matrix.indptr, split.train.matrix.data, split.ratings)
    yield from _models(ratings, geometry, n_jobs)
    yield from _runs(n_jobs)


def _geometries(cinema):
    texts = [" ".join(genres) + " " + title for title, genres in zip(*_titles(cinema), strict=True)]
    for what, made in (
        ("genres", ItemGeometry.from_genres(cinema.items.ids, cinema.items.genres)),
        ("text", ItemGeometry.from_text(cinema.items.ids, texts, dimensions=20)),
        ("from ratings", ItemGeometry.from_ratings(cinema.ratings, dimensions=10)),
    ):
        yield what, digest(made.grid)


def _titles(cinema):
    return cinema.items.titles, cinema.items.genres


def _models(ratings, geometry, n_jobs):
    pairs = [(u, i) for u in ratings.users[:10].tolist() for i in ratings.items.tolist()]
    for what, model in (
        ("kernel", UserKNN(n_jobs=n_jobs)),
        ("landmarks", UserKNN(landmarks=30, n_jobs=n_jobs)),
        ("paper", UserKNN.paper(k=10, n_jobs=n_jobs)),
        ("tuned", UserKNN("jaccard", predictor="average", n_jobs=n_jobs)),
    ):
        model.fit(ratings, geometry, tune=what == "tuned")
        yield f"{what}: predictions", digest(model.predict(pairs).ratings)
        yield f"{what}: recommended", digest(repr(model.recommend(3, n=5)))
        yield f"{what}: a guest", digest(repr(model.for_ratings({1: 5, 2: 1}).recommend(3)))
        yield f"{what}: why", digest(str(model.explain_recommendation(3, model.recommend(3, n=1)[0].item)))
        with TemporaryDirectory() as folder:
            model.save(folder)
            yield f"{what}: folder", contents(folder)
            again = UserKNN.load(folder, n_jobs=n_jobs)
            yield f"{what}: loaded", digest(again.predict(pairs).ratings)


def _runs(n_jobs):
    settings = Experiment(
        "cinema", measures=("jaccard", "nhsm"), controls=("bias", "uniform"), repeats=1, ks=(5, 20), top_n=5
    )
    before = Path.cwd()
    with TemporaryDirectory() as home:
        os.chdir(home)
        try:
            folder = run_experiment(settings, "run", n_jobs=n_jobs)
            cells = [{**cell, "run": {**cell["run"], **SAME}} for cell in folder.cells().values()]
            text = "".join(json.dumps(cell, ensure_ascii=False) + "\n" for cell in cells)
            yield "records", digest(text, Path("run/experiment.json").read_bytes())
            Path("run/cells.jsonl").write_text(text, encoding="utf-8")
            for name, path in write_report("run").items():
                yield name, digest(path.read_bytes())
        finally:
            os.chdir(before)


SAME = {"seconds": 60.0, "solved": 0, "threads": 0}  # what is about the run


def main():
    """Print everything."""
    np.seterr(all="ignore")
    for what, found in everything(int(sys.argv[1])):
        print(f"{what}: {found}", flush=True)


if __name__ == "__main__":
    main()
