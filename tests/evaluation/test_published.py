"""Published records of docs/results, recomputed by a slow twin of neighbors and predictions.

A record has the errors of twenty fixed groups of users. For one split, the errors of the smallest group are
computed again: measures by pairwise, neighbors by sorting, predictions by the paper's sum.
"""

from pathlib import Path

import numpy as np
import pytest

from prefmover import datasets, pairwise
from prefmover.data.splits import random_split
from prefmover.evaluation import RunFolder
from prefmover.evaluation.metrics import group_of
from prefmover.measures import MEASURES
from tests.oracles.prediction import ridge_biases

RESULTS = Path(__file__).parents[2] / "docs" / "results"
SHARE, REPEAT = 0.1, 0
WEIGHTS = {"as-is": lambda x: x, "one-minus": lambda x: 1 - x, "exponential(4)": lambda x: np.exp(-4 * x)}
NAMES = [
    *("cos", "pcc", "pcc:co-rated-means", "msd", "jaccard", "urp", "jmsd", "nhsm", "nhsm:table-1"),
    *("bcf", "bcf:median", "bcf:table-1", "n-bcf", "n-bcf:median", "n-bcf:table-1", "husm", "n-husm", "pmd"),
]

pytestmark = [pytest.mark.slow, pytest.mark.real_data]


@pytest.fixture(scope="module")
def published():
    """The records of ML-100K on one split, by recommender."""
    records = RunFolder(RESULTS / "ml-100k").records().values()
    return {r.recommender: r for r in records if (r.share, r.repeat) == (SHARE, REPEAT)}


@pytest.fixture(scope="module")
def sample(real_data, published):
    """The split, its training data, dense ratings, users' means, and the smallest group of users."""
    data = datasets.load("ml-100k")
    split = random_split(data.ratings, SHARE, seed=REPEAT)
    train = split.train
    R = np.full(train.matrix.shape, np.nan)
    R[train.rows(), train.matrix.indices] = train.matrix.data
    sums, counts = np.nansum(R, axis=1), np.sum(~np.isnan(R), axis=1)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nanmean(R))
    group = int(np.argmin(published["bias"].groups.n))
    chosen = np.flatnonzero(group_of(split.users) == group)
    assert len(chosen) == published["bias"].groups.n[group]
    return split, data.with_ratings(train), R, means, group, chosen


def check(published, name, sample, predictions):
    """Compare the sums of absolute errors; predictions is (ratings, K)."""
    split, *_, group, chosen = sample
    scale = split.train.scale
    clipped = np.clip(predictions, scale.lowest, scale.highest)
    found = np.abs(clipped - split.ratings[chosen][:, None]).sum(axis=0)
    expected = np.array([row[group] for row in published[name].groups.sums])
    np.testing.assert_allclose(found, expected, atol=0.002)  # published with three digits


@pytest.mark.parametrize("name", NAMES)
def test_a_measure(name, published, sample):
    split, data, R, means, _, chosen = sample
    record = published[f"knn:{name}"]
    measure, _, convention = name.partition(":")
    if MEASURES[record.method].needs_geometry and record.geometry != data.geometry.name:
        pytest.skip(f"the record has another geometry: {record.geometry}")
    nearer = -1 if MEASURES[record.method].larger_is_closer else 1
    weight = WEIGHTS[record.settings["weight"]]
    users = np.unique(split.users[chosen])
    values = pairwise(data, measure, data.ratings.users[users], convention=convention or None)
    out = np.empty((len(chosen), len(record.cuts)))
    for u, value in zip(users.tolist(), values, strict=True):
        value = np.array([float(f"{x:.11g}") for x in value])  # so that equal ones tie
        value[u] = np.nan
        order = np.lexsort((np.arange(len(value)), nearer * value))
        for k in np.flatnonzero(split.users[chosen] == u).tolist():
            i = split.items[chosen[k]]
            raters = [v for v in order.tolist() if not np.isnan(R[v, i]) and not np.isnan(value[v])]
            w = weight(value[raters])
            residuals = R[raters, i] - means[raters]
            for column, n in enumerate(record.cuts):
                size = np.abs(w[:n]).sum()
                out[k, column] = means[u] + (w[:n] @ residuals[:n] / size if size > 0 else 0.0)
    check(published, f"knn:{name}", sample, out)


def test_the_mean_of_a_user(published, sample):
    split, _, _, means, _, chosen = sample
    check(published, "user-mean", sample, means[split.users[chosen]][:, None])


def test_offsets(published, sample):
    split, *_, chosen = sample
    b_u, b_i, mean = ridge_biases(split.train)
    check(published, "bias", sample, (mean + b_u[split.users[chosen]] + b_i[split.items[chosen]])[:, None])
