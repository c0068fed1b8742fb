"""The tables of cold items and new people, from records of two small runs."""

import numpy as np
import pytest

from prefmover import datasets
from prefmover.evaluation import evaluate
from tools import cold_figures
from tools.cells import NoRecordsError, decimal, records


@pytest.fixture(scope="module")
def found():
    cinema = datasets.load("cinema")
    few = cinema.with_ratings(cinema.ratings.take(users=np.arange(120)))
    names = ["random", "liked-popularity"]
    common = {"task": "ranking", "repeats": 2}
    return {
        "cold/ml-100k": evaluate(few, names, protocol="cold-items", **common).records,
        "new-people/ml-100k": evaluate(few, names, protocol="new-people", given=(1, 3), **common).records,
    }


def rows(text):
    """Return the rows of a Markdown table without its head, by their first cell."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n")[2:]]
    return {row[0]: row[1:] for row in cells}


def test_means_over_splits(found, monkeypatch):
    monkeypatch.setattr(cold_figures, "records", found.__getitem__)
    cold = rows(cold_figures.cold("ml-100k"))
    liked = [r for r in found["cold/ml-100k"] if r.recommender == "liked-popularity"]
    shown = cold["most liked items"]
    for at, values in (
        (0, [r.metrics["ndcg"][0] for r in liked]),
        (3, [r.parts[0].metrics["recall"][0] for r in liked]),
        (4, [r.parts[1].metrics["ndcg"][0] for r in liked]),
    ):
        assert shown[at] == f"{decimal(np.mean(values), 3)} ± {decimal(np.std(values, ddof=1), 3)}"
    people = rows(cold_figures.new_people("ml-100k"))
    assert [len(row) for row in people.values()] == [2, 2]
    best = {name: float(row[0].split()[0]) for name, row in people.items()}
    assert list(best) == sorted(best, key=best.get, reverse=True)


def test_without_records():
    with pytest.raises(NoRecordsError):
        records("cold/nothing")
