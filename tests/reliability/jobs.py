"""Jobs to kill: what they write, what a reader sees at any moment, and the result.

Each works in its own folder. ``prepare`` puts an older state there, if there is one; ``work`` is the job;
``seen`` describes what a reader sees, and raises if it cannot be read; ``outcome`` is a digest of everything
that must not depend on how often the job was killed.
"""

import gzip
import hashlib
import json
import os
import zipfile
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from prefmover import datasets
from prefmover.datasets import SOURCES, install
from prefmover.datasets.synthesis import synthetic
from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment
from prefmover.evaluation.folder import RunFolder
from prefmover.evaluation.run import run_experiment
from prefmover.measures import pairwise
from prefmover.model import Recommender
from prefmover.search import nearest
from tests.datasets.conftest import lines_of


def digest(*parts):
    """Return a digest of bytes, text and arrays."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hasher.update(np.ascontiguousarray(data).data if isinstance(data, np.ndarray) else data)
        hasher.update(b"|")
    return hasher.hexdigest()


def files(folder):
    """Return the names of all files below a folder, hidden ones too, sorted."""
    return sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*") if not p.is_dir())


def contents(folder):
    """Return a digest of the names and bytes of all files below a folder."""
    return digest(*(part for name in files(folder) for part in (name, Path(folder, name).read_bytes())))


@cache
def small(seed=0, users=96):
    """Return a data set that is searched within a second."""
    return synthetic(users, 60, ratings=(4, 30), seed=seed)


class Job:
    starts = ("ready",)

    def prepare(self, folder):
        pass


class Nearest(Job):
    """The nearest neighbors of all users, with a checkpoint of some thirty parts."""

    name = "nearest"

    def work(self, folder, mark):
        mark("ready")
        return nearest(small(), k=5, n_threads=2, checkpoint=folder)

    def seen(self, folder):
        parts = sorted(folder.glob("part-*"))
        for file in parts:
            pq.read_table(file, use_threads=False)
        if parts:
            json.loads((folder / "_search.json").read_text())
        return f"{len(parts)} parts"

    def outcome(self, folder):
        table = self.work(folder, lambda name: None)
        return digest(table.indptr, table.neighbors, table.values, *files(folder))

    def expected(self, folder):
        table = nearest(small(), k=5, n_threads=1)
        return digest(table.indptr, table.neighbors, table.values, *files(folder))


class Evaluate(Job):
    """An experiment of eight records."""

    name = "evaluate"

    def work(self, folder, mark):
        mark("ready")
        names = "user-mean,bias,knn:jaccard,knn:cos"
        experiment = Experiment(dataset="cinema", recommenders=names, task="rating", repeats=2, ks=(5, 20))
        run_experiment(experiment, folder, n_threads=2)

    def seen(self, folder):
        run = RunFolder(folder)
        if not (folder / "experiment.json").exists():
            assert not run.records()
            return "nothing"
        run.content()
        return f"{len(run.records())} records"

    def outcome(self, folder):
        records = [one.model_dump(mode="json") for one in RunFolder(folder).records().values()]
        merged = [
            json.loads(line)
            for line in gzip.decompress((folder / "records.jsonl.gz").read_bytes()).splitlines()
        ]
        assert merged == records
        for record in records:
            del record["run"]
        table = pq.read_table(folder / "records.parquet")
        times = [name for name in table.column_names if name.endswith("seconds")]
        table = table.drop_columns([*times, "solved", "threads"])
        settings = (folder / "experiment.json").read_bytes()
        return digest(json.dumps(records), json.dumps(table.to_pylist()), settings, *files(folder))


class Save(Job):
    """A model, fitted and saved over an older one."""

    name = "fit and save"
    starts = ("ready", "saving")

    def prepare(self, folder):
        self._fitted(1).save(folder)

    def _fitted(self, seed):
        return Recommender(n_threads=1).fit(small(seed, 48))

    def work(self, folder, mark):
        mark("ready")
        model = self._fitted(2)
        mark("saving")
        model.save(folder)

    def seen(self, folder):
        model = Recommender.load(folder, n_threads=1)
        ratings = model.data_.ratings
        pairs = [(u, i) for u in ratings.users[:20].tolist() for i in ratings.items[:20].tolist()]
        return digest(model.predict(pairs).ratings)

    def outcome(self, folder):
        return contents(folder)


class Add(Job):
    """A data set, installed over an older copy."""

    name = "data add"

    def prepare(self, folder):
        for number in (1, 2):
            self._archive(folder, number)
        self._install(folder, 1)

    def _archive(self, folder, number):
        rng = np.random.default_rng(number)
        known = lines_of("u")
        pairs, stars = rng.permutation(40 * 400)[:3000].tolist(), rng.integers(1, 6, 3000).tolist()
        rows = [f"{a // 400 + 1}\t{a % 400 + 1}\t{r}\t88" for a, r in zip(pairs, stars, strict=True)]
        item = known["u.item"][0][0].split("|", 1)[1]
        known["u.data"] = rows, "ascii"
        known["u.item"] = [f"{i}|{item}" for i in range(1, 401)], "latin-1"
        with zipfile.ZipFile(self._from(folder, number), "w") as out:
            for name, (lines, encoding) in known.items():
                entry = zipfile.ZipInfo(f"ml-100k/{name}")
                out.writestr(entry, "\n".join(lines).encode(encoding) + b"\n")

    def _from(self, folder, number):
        return folder.parent / f"{folder.name}-{number}.zip"

    def _here(self, folder):
        os.environ |= {"XDG_DATA_HOME": str(folder), "PREFMOVER_CACHE": str(folder.parent / "cache")}
        os.environ.pop("PREFMOVER_DATA", None)
        SOURCES["ml-100k"] = replace(SOURCES["ml-100k"], counts=None, digest="")

    def _install(self, folder, number):
        self._here(folder)
        install.add("ml-100k", self._from(folder, number))

    def work(self, folder, mark):
        mark("ready")
        self._install(folder, 2)

    def seen(self, folder):
        self._here(folder)
        ratings = datasets.load("ml-100k").ratings
        return digest(ratings.matrix.indptr, ratings.matrix.indices, ratings.matrix.data)

    def outcome(self, folder):
        record = folder / "prefmover" / "ml-100k" / "installed.json"
        about = json.loads(record.read_text())
        record.write_text(json.dumps({**about, "path": "", "origin": ""}))  # the folder has another name
        return contents(folder)


JOBS = {job.name: job for job in (Nearest(), Evaluate(), Save(), Add())}


def warm():
    """Import and compile, on one thread, what the jobs need; processes that are forked afterward have it."""
    nearest(small(), k=5, n_threads=1)
    data = datasets.load("cinema")
    with suppress(InputError):
        pairwise(data, "jaccard", data.ratings.users[:2], n_threads=1)
        pairwise(data, "cos", data.ratings.users[:2], n_threads=1)
