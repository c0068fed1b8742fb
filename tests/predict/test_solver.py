"""Sums over entries against SciPy's products, in one strip of columns and in several."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from prefmover.predict import solver
from prefmover.predict.solver import Entries, sum_rows


def sparse(shape, density, rng):
    return csr_array(np.where(rng.random(shape) < density, rng.random(shape), 0).astype(np.float32))


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("shape", [(300, 7), (5, 40), (0, 3)])
def test_sums_are_a_product(shape, n_threads):
    rng = np.random.default_rng(0)
    matrix = sparse(shape, 0.2, rng)
    matrix.sort_indices()
    rows, more = (rng.normal(size=(n, 6)).astype(np.float32) for n in (shape[1], shape[0]))
    assert sum_rows(matrix, rows, n_threads=n_threads) == pytest.approx(matrix @ rows, abs=1e-5)
    expected = more + matrix @ rows
    assert sum_rows(matrix, rows, more, n_threads) is more
    assert more == pytest.approx(expected, abs=1e-5)
    entries = Entries(matrix.indptr.astype(np.int64), matrix.indices, shape[1], n_threads)
    numbers = rng.random(shape[1])
    pattern = csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=shape)
    assert entries.sum_numbers(numbers) == pytest.approx(pattern @ numbers)
    assert entries.sum_entries(matrix.data) == pytest.approx(np.asarray(matrix.sum(axis=1)).ravel(), abs=1e-5)


def test_strips_of_columns_have_every_entry_once(monkeypatch):
    rng = np.random.default_rng(0)
    matrix = sparse((50, 20), 0.4, rng)
    matrix.sort_indices()
    entries = Entries(matrix.indptr.astype(np.int64), matrix.indices, 20, 1)
    assert len(entries.strips(8)) == 1
    monkeypatch.setattr(solver, "CACHE", 60)
    strips = entries.strips(8)
    assert len(strips) == 3
    of_rows = np.split(matrix.indices, matrix.indptr[1:-1])
    for k, (begin, end) in enumerate(strips):
        first, last = 20 * k // 3, 20 * (k + 1) // 3
        assert (end - begin).tolist() == [int(((row >= first) & (row < last)).sum()) for row in of_rows]
    rows = rng.normal(size=(20, 3)).astype(np.float32)
    found = entries.add_rows(matrix.data, rows, np.zeros((50, 3), np.float32), strips)
    assert found == pytest.approx(matrix @ rows, abs=1e-5)
