"""Sums of rows against SciPy's product, and regressions whose users, or whose items, are fewer."""

import numpy as np
import pytest
from scipy.sparse import random_array

from prefmover.predict.row_sums import sum_rows


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("shape", [(300, 7), (5, 40), (0, 3)])
def test_sums_are_a_product(shape, n_threads):
    rng = np.random.default_rng(0)
    matrix = random_array(shape, density=0.2, format="csr", rng=rng).astype(np.float32)
    rows, more = (rng.normal(size=(n, 6)).astype(np.float32) for n in (shape[1], shape[0]))
    arrays = matrix.indptr, matrix.indices, matrix.data, rows
    assert sum_rows(*arrays, n_threads=n_threads) == pytest.approx(matrix @ rows, abs=1e-5)
    expected = more + matrix @ rows
    assert sum_rows(*arrays, more, n_threads) is more
    assert more == pytest.approx(expected, abs=1e-5)
