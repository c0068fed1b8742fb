"""Compute one of everything and print digests: ``python -m tests.reliability.same_bytes THREADS everything``.

The test runs this in separate processes with other threads and hash seeds; the output must be the same. With
``everywhere`` instead, it must be the same on other processors, too.
"""

import gzip
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from prefmover import Dataset, datasets
from prefmover.data.splits import random_split
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.folder import RunFolder
from prefmover.evaluation.run import run_experiment
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import MEASURES, estimated_distances, pairwise
from prefmover.measures.pmd import pmd
from prefmover.model import KNNRecommender, Recommender
from prefmover.report import write_report
from prefmover.search import nearest, nearest_raters, within
from tests.reliability.jobs import contents, digest, small


def everywhere(n_threads):
    """Yield (name, digest) of what is promised on every processor: nothing of it rests on BLAS."""
    data = small()
    cinema = datasets.load("cinema")
    lazy = ItemGeometry.from_vectors(cinema.geometry.items, cinema.geometry.vectors, budget=0)
    for name, one in (("dense", cinema), ("on demand", Dataset(cinema.ratings, lazy))):
        values, calibration = estimated_distances(one, n_threads=n_threads)
        yield f"estimates, {name}", digest(values, calibration.coefficients)
    for name, table in (
        ("nearest", nearest(data, 7, n_threads=n_threads)),
        ("within", within(data, 0.6, n_threads=n_threads)),
        ("raters", nearest_raters(data, [3, 3, 4], [1, 2, 1], 9, n_threads=n_threads)),
    ):
        yield name, digest(table.indptr, table.neighbors, table.values)
    yield "distances", digest(pairwise(data, n_threads=n_threads))
    some = data.ratings.users[:40]
    for name in MEASURES:
        yield name, digest(pairwise(data, name, some, n_threads=n_threads))
    yield "flows", digest(repr(pmd(data, 1, 2).flows))
    yield "cinema", digest(repr(cinema.ratings), cinema.ratings.matrix.data, cinema.geometry.grid)
    split = random_split(data.ratings, 0.8, 3)
    yield "split", digest(split.train.matrix.indptr, split.train.matrix.data, split.ratings)


def everything(n_threads):
    """Yield (name, digest)."""
    data = small()
    yield from everywhere(n_threads)
    yield from _geometries(datasets.load("cinema"))
    yield from _models(data, n_threads)
    yield from _runs(n_threads)


def _geometries(cinema):
    texts = [" ".join(genres) + " " + title for title, genres in zip(*_titles(cinema), strict=True)]
    for name, geometry in (
        ("genres", ItemGeometry.from_genres(cinema.catalog.ids, cinema.catalog.genres)),
        ("text", ItemGeometry.from_text(cinema.catalog.ids, texts, dimensions=20)),
        ("from ratings", ItemGeometry.from_ratings(cinema.ratings, dimensions=10)),
    ):
        yield name, digest(geometry.grid)


def _titles(cinema):
    return cinema.catalog.titles, cinema.catalog.genres


def _models(data, n_threads):
    pairs = [(u, i) for u in data.ratings.users[:10].tolist() for i in data.ratings.items.tolist()]
    for name, model in (
        ("kernel", Recommender(n_threads=n_threads)),
        ("landmarks", Recommender(landmarks=30, n_threads=n_threads)),
        ("paper", KNNRecommender.paper(k=10, n_threads=n_threads)),
        ("jaccard", KNNRecommender("jaccard", n_threads=n_threads)),
    ):
        model.fit(data)
        best = model.recommend(3, n=5)
        yield f"{name}: predictions", digest(model.predict(pairs).ratings)
        yield f"{name}: recommendations", digest(repr(best.to_dict()))
        yield f"{name}: guest", digest(repr(model.recommend(model.guest({1: 5, 2: 1}), n=3).to_dict()))
        yield f"{name}: explanation", digest(str(model.explain_recommendation(3, best[0].item)))
        with TemporaryDirectory() as folder:
            model.save(folder)
            yield f"{name}: folder", contents(folder)
            again = type(model).load(folder, n_threads=n_threads)
            yield f"{name}: loaded", digest(again.predict(pairs).ratings)


def _runs(n_threads):
    names = "knn:jaccard,knn:nhsm,bias,uniform"
    experiment = Experiment(dataset="cinema", recommenders=names, task="rating", repeats=1, ks=(5, 20))
    before = Path.cwd()
    with TemporaryDirectory() as home:
        os.chdir(home)
        try:
            run_experiment(experiment, "run", n_threads=n_threads)
            records = [one.model_dump(mode="json") for one in RunFolder("run").records().values()]
            records = [{**record, "run": {**record["run"], **SAME}} for record in records]
            text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
            yield "records", digest(text, Path("run/experiment.json").read_bytes())
            Path("run/records.jsonl.gz").write_bytes(gzip.compress(text.encode()))
            for name, path in write_report("run").items():
                yield name, digest(path.read_bytes())
        finally:
            os.chdir(before)


SAME = {
    "seconds": 60.0,
    "fit_seconds": 30.0,
    "answer_seconds": 30.0,
    "solved": 0,
    "threads": 0,
}  # these may differ


def main():
    """Print everything."""
    np.seterr(all="ignore")
    for name, value in globals()[sys.argv[2]](int(sys.argv[1])):
        print(f"{name}: {value}", flush=True)


if __name__ == "__main__":
    main()
