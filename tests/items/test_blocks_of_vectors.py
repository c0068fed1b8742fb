"""Vectors are normalized and compared in blocks; the blocks change nothing."""

import numpy as np
import pytest

from prefmover import ItemGeometry
from prefmover.items import geometry as module


@pytest.mark.parametrize("rows", [1, 7, 40])
def test_blocks_change_nothing(monkeypatch, rows):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 5))
    X[3] = 0.0
    X[4] *= 1e200
    ids = np.arange(40)
    whole = ItemGeometry.from_vectors(ids, X, zero="far")
    monkeypatch.setattr(module, "BLOCK_ROWS", rows)
    lazy = ItemGeometry.from_vectors(ids, X, zero="far", budget=0)
    assert (lazy.vectors == whole.vectors).all()
    assert (lazy.units(None, None) == whole.grid).all()
    some = np.array([5, 3, 39, 3])
    assert (lazy.units([2, 3], some) == whole.grid[[2, 3]][:, some]).all()
    for found, expected in zip(lazy.nearest(ids, ids[::2], 4), whole.nearest(ids, ids[::2], 4), strict=True):
        assert (found == expected).all()


def test_vectors_of_the_caller_stay_as_they_are():
    X = np.array([[3.0, 4.0], [1.0, 0.0]])
    ItemGeometry.from_vectors(["a", "b"], X)
    assert X.tolist() == [[3.0, 4.0], [1.0, 0.0]]
