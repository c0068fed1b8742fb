"""Terms of items (tags, words, genres) as matrices: counts, tf-idf, truncated SVD."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ids
from prefmover.data.ids import IdIndex, as_ids, encode
from prefmover.errors import InputError

if TYPE_CHECKING:
    from scipy import sparse

__all__ = [
    "DENSE_SVD",
    "fixed_signs",
    "genre_matrix",
    "random_directions",
    "term_counts",
    "tf_idf",
    "truncated_svd",
]

MAX_DENSE = 1 << 28  # entries of a dense matrix of items by genres: 2 GB
DENSE_SVD = 500  # the smaller side of a matrix up to which its SVD is dense


def term_counts(
    items: Any, terms: Sequence[str], counts: npt.ArrayLike | None = None, *, ids: Any = None
) -> tuple[Ids, sparse.csr_array, list[str]]:
    """Return item ids, the matrix of counts (items, terms), and the terms, sorted.

    The rows are ``ids`` in their order (or all items, sorted), and then the items that are not in ``ids``.
    Terms are compared without case and surrounding spaces; empty ones are left out.

    >>> ids, matrix, terms = term_counts([2, 1, 2], ["Noir", "noir ", "cats"], [3, 1, 1], ids=[2])
    >>> ids, matrix.toarray(), terms
    (array([2, 1]), array([[1., 3.],
           [0., 1.]]), ['cats', 'noir'])
    """
    from scipy import sparse

    weights = np.ones(len(terms)) if counts is None else np.asarray(counts, dtype=np.float64)
    sizes = (len(items), len(terms), len(weights))
    if len(set(sizes)) > 1:
        raise InputError(f"the numbers of items, terms and counts differ: {sizes}; give one of each per row")
    bad = ~(np.isfinite(weights) & (weights > 0))
    if bad.any():
        k = int(bad.argmax())
        raise InputError(f"the count of {terms[k]!r} in row {k + 1} is {weights[k]}; it must be positive")
    plain = [str(term).strip().casefold() for term in terms]
    vocabulary = sorted(set(plain) - {""})
    column = {term: k for k, term in enumerate(vocabulary)}
    columns = np.array([column.get(term, -1) for term in plain], dtype=np.int64)
    tagged, codes = encode(items, "item", lambda k: f"row {k + 1}")
    rows = tagged
    if ids is not None:
        first = as_ids(ids, "item")
        if len(tagged) and len(first) and tagged.dtype != first.dtype:
            raise InputError("some item ids are integers and some are strings; make them the same type")
        others = tagged[IdIndex("item", first).get(tagged) < 0]
        rows = as_ids([*first.tolist(), *others.tolist()], "item") if len(others) else first
        codes = IdIndex("item", rows).positions(tagged)[codes]
    has_term = columns >= 0
    shape = (len(rows), len(vocabulary))
    matrix = sparse.coo_array((weights[has_term], (codes[has_term], columns[has_term])), shape=shape).tocsr()
    matrix.sum_duplicates()
    return rows, matrix, vocabulary


def tf_idf(matrix: sparse.csr_array, *, min_items: int = 1) -> sparse.csr_array:
    """Return rows of unit length with entries log₂(1 + count) · log(n / items with the term).

    Terms of fewer than ``min_items`` rows are left out; rows without a term stay empty. With a single
    row, or a term in all rows, the logarithm would be zero: one is added to n, so that a term keeps a
    little weight rather than none.
    """
    from scipy import sparse

    items_with = np.bincount(matrix.indices, minlength=matrix.shape[1])
    frequent = sparse.csr_array(matrix[:, np.flatnonzero(items_with >= min_items)])
    n_tagged = np.count_nonzero(np.diff(matrix.indptr))
    idf = np.log((1 + n_tagged) / items_with[items_with >= min_items])
    weighted = np.log2(1 + frequent.data) * idf[frequent.indices]
    X = sparse.csr_array((weighted, frequent.indices, frequent.indptr), shape=frequent.shape)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ X)


def truncated_svd(matrix: sparse.csr_array, dimensions: int) -> Floats:
    """Return U S of the best approximation of a matrix with at most ``dimensions`` columns.

    Small matrices go through a dense SVD. Large ones go through ARPACK, which starts from a fixed
    vector; each column is turned so that its largest entry is positive.
    """
    if dimensions < 1:
        raise InputError(f"dimensions is {dimensions}; expected 1 or more")
    smaller = min(matrix.shape)
    if smaller == 0 or not matrix.nnz:
        return np.zeros((matrix.shape[0], 1))
    d = min(dimensions, smaller)
    if smaller <= DENSE_SVD or d > smaller // 2:
        U, S, _ = np.linalg.svd(matrix.toarray(), full_matrices=False)
    else:
        from scipy.sparse.linalg import svds

        start = np.ones(smaller) / np.sqrt(smaller)
        U, S, _ = svds(matrix, k=d, v0=start, solver="arpack")
        U, S = U[:, ::-1], S[::-1]
    is_large = S[:d] > S[0] * 1e-12
    X = fixed_signs(np.asarray((U[:, :d] * S[:d])[:, is_large], dtype=np.float64))
    # A row without a component in the kept dimensions is rounding noise, which must not become a direction.
    X[np.linalg.norm(X, axis=1) < S[0] * 1e-10] = 0.0
    return X


def random_directions(matrix: sparse.csr_array, dimensions: int) -> Floats:
    """Return the rows in fewer dimensions: each column of the matrix becomes a random direction.

    Equal rows stay equal. The cosine of two rows changes by about 1 / √dimensions (a random projection;
    Achlioptas, "Database-friendly random projections", Journal of Computer and System Sciences 66, 2003).
    """
    if dimensions < 1:
        raise InputError(f"dimensions is {dimensions}; expected 1 or more")
    signs = np.random.default_rng(0).integers(0, 2, (matrix.shape[1], dimensions), np.int8)
    return np.asarray(matrix @ ((2.0 * signs - 1.0) / np.sqrt(dimensions)))


def fixed_signs(X: Floats) -> Floats:
    """Return X with each column turned so that its entry of largest size is positive."""
    peaks = X[np.abs(X).argmax(axis=0), np.arange(X.shape[1])]
    return np.asarray(X * np.where(peaks < 0, -1.0, 1.0))


def genre_matrix(n: int, genres: Sequence[str | Sequence[str]]) -> tuple[list[str], Floats]:
    """Return the genres, sorted, and a matrix (n, genres) of 0 and 1, with one column at least."""
    if len(genres) != n:
        raise InputError(f"{len(genres)} lists of genres for {n} items; expected one per item")
    listed = [_split(g) for g in genres]
    names = sorted(set().union(*listed))
    column = {g: k for k, g in enumerate(names)}
    if n * len(names) > MAX_DENSE:
        size = f"{len(names):,} genres for {n:,} items take {n * len(names) * 8 / 1e9:,.1f} GB"
        raise InputError(f"{size}; are these tags? from_tags has no such limit")
    X = np.zeros((n, max(len(names), 1)))
    for k, some in enumerate(listed):
        X[k, [column[g] for g in some]] = 1.0
    return names, X


def _split(genres: str | Iterable[str]) -> set[str]:
    """Return the names of genres, without those by which MovieLens says that there are none."""
    parts = genres.split("|") if isinstance(genres, str) else genres
    return {g.strip() for g in parts} - {"", "(no genres listed)", "unknown"}
