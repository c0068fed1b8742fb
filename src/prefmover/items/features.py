"""Item vectors from tags, genres, texts or ratings.

Every function takes plain arrays and returns :class:`ItemVectors`. The angle between two rows is the
distance between two items. A row of zeros means that nothing is known about an item; the geometry puts it
at a right angle to every other item.

The vectors are the same bytes on every call: vocabularies are sorted, the truncated SVD starts from a
fixed vector, and the sign of each of its columns is fixed.

Tag profiles (:mod:`prefmover.items.tag_profiles`) are the best without the Tag Genome; the MovieLens data
sets use them. The results are in ``docs/guide/data.md``, the experiment in ``benchmarks/bench_geometry.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ids
from prefmover.data.ids import IdIndex, as_ids, encode, frozen, show
from prefmover.errors import InputError

if TYPE_CHECKING:
    from scipy import sparse

    from prefmover.items.blocks import Encoder

# fmt: off
__all__ = [
    "RIDGE", "ItemVectors", "aligned", "block_weights", "combine", "finite_rows", "fixed_signs",
    "from_genres", "from_ratings", "from_tags", "from_text", "from_vectors", "genre_matrix", "normalized",
    "placed", "random_directions", "term_counts", "tf_idf", "truncated_svd",
]
# fmt: on

MAX_DENSE = 1 << 28  # entries of a dense matrix of items by genres: 2 GB
DENSE_SVD = 500  # the smaller side of a matrix up to which its SVD is dense
MAX_PREDICTORS = 200  # dimensions from which a missing block is predicted
SEVERAL = 1.5  # tags per item from which an SVD finds which of them go together
NO_GENRE = {"", "(no genres listed)", "unknown"}  # the latter two in MovieLens
RIDGE = 0.025
"""The penalty of regressions between feature blocks, per item."""


class ItemVectors(NamedTuple):
    """Vectors of items.

    Attributes
    ----------
    items : ndarray of shape (n,)
        Item ids.
    vectors : float64 ndarray of shape (n, d)
        Unit rows, or rows of zeros for items about which nothing is known.
    name : str
        The source of the vectors.
    """

    items: Ids
    vectors: Floats
    name: str


def from_tags(
    items: Any,
    tags: Sequence[str],
    counts: npt.ArrayLike | None = None,
    *,
    ids: Any = None,
    dimensions: int | None = 100,
    min_items: int = 2,
    name: str = "tags",
) -> ItemVectors:
    """Return item vectors from tags: tf-idf, then a truncated SVD (latent semantic analysis).

    Hundreds of tags of which most items have only one, such as authors, have nothing latent, and an SVD would
    keep the largest and drop all others. Each of them gets a random direction instead.

    Parameters
    ----------
    items, tags, counts
        One entry per (item, tag) pair: ids, words or phrases in any case, and how often the tag was given
        (once, by default). Pairs may repeat; their counts add up.
    ids : sequence of ids, optional
        The items of the result, in this order; by default all that have a tag, sorted. Tags of other items
        still help to learn which tags go together.
    dimensions : int, optional
        Length of the vectors; None for plain tf-idf, with one dimension per tag.
    min_items : int
        Tags of fewer items are left out.

    Examples
    --------
    >>> tags = ["space", "robot", "Space", "robot", "love"]
    >>> v = from_tags([1, 1, 2, 2, 3], tags, dimensions=2, min_items=1)
    >>> (v.vectors @ v.vectors.T).round(6) + 0.0
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    rows, matrix, _ = term_counts(items, tags, counts, ids=ids)
    n = len(rows) if ids is None else len(ids)
    weighted = tf_idf(matrix, min_items=min_items)
    if dimensions is None:
        return normalized(rows[:n], weighted[:n].toarray(), f"{name}: tf-idf")
    tagged = np.count_nonzero(np.diff(weighted.indptr))
    if max(DENSE_SVD, dimensions) < weighted.shape[1] and weighted.nnz < SEVERAL * tagged:
        X = random_directions(weighted, dimensions)[:n]
        return normalized(rows[:n], X, f"{name}: tf-idf, {X.shape[1]} random directions")
    X = truncated_svd(weighted, dimensions)[:n]
    return normalized(rows[:n], X, f"{name}: tf-idf, SVD to {X.shape[1]}")


def from_genres(items: Any, genres: Sequence[str | Sequence[str]]) -> ItemVectors:
    """Return item vectors from genres: one dimension per genre.

    Parameters
    ----------
    items : sequence of ids
        Item ids, all different, in the order of the result.
    genres : sequence
        Genres of each item: a list of names, or one string with ``|`` between them.

    Examples
    --------
    >>> v = from_genres([3, 1, 2], ["Horror|Sci-Fi", ["Horror"], []])
    >>> v.vectors.round(4) + 0.0
    array([[0.7071, 0.7071],
           [1.    , 0.    ],
           [0.    , 0.    ]])
    """
    ids = as_ids(items, "item")
    names, X = genre_matrix(len(ids), genres)
    return normalized(ids, X, f"genres: {len(names)}")


def from_text(
    items: Any,
    texts: Sequence[str],
    *,
    encoder: Encoder | str | None = None,
    name: str = "text",
    **options: Any,
) -> ItemVectors:
    """Return item vectors from free text, one text per item.

    Without an encoder, words are tags of :func:`from_tags`: tf-idf, with its options ``dimensions`` and
    ``min_items``. A word is two or more letters or digits, in any case. tf-idf gives words that occur
    everywhere almost no weight, so there is no list of stop words, and no language is preferred.

    An encoder compares texts by what they mean. It is any function from a list of n texts to an array
    (n, d), or the name or folder of a model of the package sentence-transformers (the extra ``text``), such
    as ``"all-MiniLM-L6-v2"``. Its vectors are centered (:func:`from_vectors`). An empty text is not encoded:
    nothing is known about the item.

    Examples
    --------
    >>> plots = ["A robot learns to love.", "The robot revolts!", "They love, they part."]
    >>> v = from_text(["a", "b", "c"], plots, dimensions=None)
    >>> (v.vectors @ v.vectors.T).round(2) + 0.0
    array([[1.  , 0.71, 0.71],
           [0.71, 1.  , 0.  ],
           [0.71, 0.  , 1.  ]])
    >>> by_length = lambda texts: [[len(text), 1] for text in texts]  # a poor encoder
    >>> from_text(["a", "b"], ["short", "much longer"], encoder=by_length).name
    'text: 2 numbers'
    """
    ids = as_ids(items, "item")
    if len(texts) != len(ids):
        raise InputError(f"{len(texts)} texts for {len(ids)} items; expected one per item")
    if encoder is not None:
        if options:
            raise InputError(f"{', '.join(options)} is an option of tf-idf; leave it out with an encoder")
        from prefmover.items.blocks import encode_texts

        return from_vectors(ids, encode_texts(texts, encoder), name=name)
    words = [re.findall(r"[^\W_]{2,}", text.casefold()) for text in texts]
    word_items = [item for item, some in zip(ids.tolist(), words, strict=True) for _ in some]
    if not word_items:
        return normalized(ids, np.zeros((len(ids), 1)), f"{name}: no words")
    return from_tags(word_items, [word for some in words for word in some], ids=ids, name=name, **options)


def from_vectors(
    items: Any, vectors: npt.ArrayLike, *, name: str = "vectors", centered: bool = True
) -> ItemVectors:
    """Return a feature block of vectors that were made elsewhere: embeddings of texts, images, sounds.

    Embeddings have a part in common, so that the angles between them are all small. It is subtracted: the
    mean of the rows, over the items that have one (``centered=False`` leaves them as they are). A row of
    zeros means that the item has no vector.

    Examples
    --------
    >>> v = from_vectors([1, 2, 3], [[5, 1], [5, -1], [0, 0]], name="sound")
    >>> v.vectors.round(3) + 0.0
    array([[ 0.,  1.],
           [ 0., -1.],
           [ 0.,  0.]])
    """
    ids = as_ids(items, "item")
    X = finite_rows(name, vectors, ids)
    if not X.shape[1]:
        raise InputError(f"{name} has shape {X.shape}; expected one number or more for each item")
    known = X.any(axis=1)
    if centered and np.count_nonzero(known) > 1:
        X[known] -= X[known].mean(axis=0)
        X[np.abs(X).max(axis=1) < 1e-12 * np.abs(X).max()] = 0.0  # the mean itself has no direction
    return normalized(ids, X, f"{name}: {X.shape[1]} numbers")


def from_ratings(matrix: Any, items: Any, *, dimensions: int = 50, centered: bool = True) -> ItemVectors:
    """Return item vectors from ratings: the residuals of an item's ratings from the users' means.

    The matrix E of residuals is reduced to ``dimensions`` by an SVD, E ≈ U S Vᵀ, and the vector of an item
    is its row of V S. With ``centered=False``, E has the values themselves: right for implicit feedback,
    where every value is a plus and a mean says nothing. For experiments, pass **training** ratings only:
    vectors from test ratings would give the answers away.

    Parameters
    ----------
    matrix : scipy.sparse array of shape (users, items)
        Stored entries are ratings, including stored zeros.
    items : sequence of ids
        Ids of the columns.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> v = from_ratings(csr_array([[5, 4, 1], [1, 1, 5], [4, 4, 2]]), ["a", "b", "c"], dimensions=2)
    >>> cosines = v.vectors @ v.vectors.T
    >>> bool(cosines[0, 1] > 0.9), bool(cosines[0, 2] < 0)
    (True, True)
    """
    from scipy import sparse

    ids = as_ids(items, "item")
    R = sparse.csr_array(matrix, dtype=np.float64)
    if R.shape[1] != len(ids):
        raise InputError(
            f"the ratings have {R.shape[1]} columns for {len(ids)} item ids; give one id per column"
        )
    counts = np.diff(R.indptr)
    means = np.asarray(R.sum(axis=1)).ravel() / np.maximum(counts, 1) * centered
    E = sparse.csr_array((R.data - np.repeat(means, counts), R.indices, R.indptr), shape=R.shape)
    X = truncated_svd(sparse.csr_array(E.T), dimensions)
    return normalized(ids, X, f"training ratings: SVD to {X.shape[1]}")


def combine(*blocks: ItemVectors, weights: Sequence[float] | None = None) -> ItemVectors:
    """Return several feature blocks side by side, each with a weight.

    The cosine of two items becomes the weighted mean of their cosines in each block,
    ``Σ w_k cos_k / Σ w_k``, for items that have all blocks.

    An item lacks a block if it is not listed there, or has a row of zeros. That must make it neither similar
    nor dissimilar to others. So a ridge regression over the items that have the block predicts the missing
    row from the item's other blocks: x̂ = m + (p - p̄)B, where m is the mean row of the block, p are the
    other blocks of the item, and p̄ is their mean. What cannot be predicted is left out, so x̂ is short and
    counts little. The result is a set of vectors, so their angles are a metric. Weights that are
    renormalized for each pair of items would not give one: an item that has only tags could equal two
    others that differ.

    Parameters
    ----------
    blocks
        Two or more; items are matched by id, and keep the order in which they first appear.
    weights : sequence of float, optional
        All 1 by default.

    Examples
    --------
    >>> genres = from_genres([1, 2], ["Horror", "Comedy"])
    >>> tags = from_tags([1, 2, 3], ["dark", "dark", "light"], dimensions=None, min_items=1)
    >>> both = combine(genres, tags, weights=[3, 1])
    >>> both.items, both.name
    (array([1, 2, 3]), '3 x genres: 2 + 1 x tags: tf-idf')
    >>> float((both.vectors[0] @ both.vectors[1]).round(6))
    0.25
    """
    if len(blocks) < 2:
        raise InputError(f"combine needs two or more feature blocks, got {len(blocks)}")
    w = block_weights(weights, len(blocks))
    _check_types(*(block.items for block in blocks))
    ids = as_ids(list(dict.fromkeys(item for block in blocks for item in block.items.tolist())), "item")
    parts = [np.sqrt(x) * aligned(block, ids) for x, block in zip(w, blocks, strict=True)]
    label = " + ".join(f"{x:g} x {block.name}" for x, block in zip(w, blocks, strict=True))
    return normalized(ids, np.hstack(_filled(parts)), label)


def _filled(parts: list[Floats]) -> list[Floats]:
    """Return feature blocks in which missing rows are those that the other blocks predict."""
    from scipy import sparse

    known = [X.any(axis=1) for X in parts]
    filled = []
    for k, X in enumerate(parts):
        missing = ~known[k] & np.any(known[:k] + known[k + 1 :], axis=0)
        if not (missing.any() and known[k].any()):
            filled.append(X)
            continue
        P = np.hstack(parts[:k] + parts[k + 1 :])
        if P.shape[1] > MAX_PREDICTORS:
            P = truncated_svd(sparse.csr_array(P), MAX_PREDICTORS)
        mean, center = X[known[k]].mean(axis=0), P[known[k]].mean(axis=0)
        F = P[known[k]] - center
        penalty = RIDGE * len(F) * np.eye(F.shape[1])
        B = np.linalg.solve(F.T @ F + penalty, F.T @ (X[known[k]] - mean))
        whole = X.copy()
        whole[missing] = mean + (P[missing] - center) @ B
        filled.append(whole)
    return filled


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
        _check_types(tagged, first)
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
    listed = [g.split("|") if isinstance(g, str) else g for g in genres]
    plain = [{name.strip() for name in some} - NO_GENRE for some in listed]
    names = sorted(set().union(*plain))
    column = {g: k for k, g in enumerate(names)}
    if n * len(names) > MAX_DENSE:
        size = f"{len(names):,} genres for {n:,} items take {n * len(names) * 8 / 1e9:,.1f} GB"
        raise InputError(f"{size}; are these tags? from_tags has no such limit")
    X = np.zeros((n, max(len(names), 1)))
    for k, some in enumerate(plain):
        X[k, [column[g] for g in some]] = 1.0
    return names, X


def normalized(ids: Ids, X: Floats, name: str) -> ItemVectors:
    """Return item vectors whose rows have length 1; a row of zeros stays."""
    return ItemVectors(frozen(ids), frozen(_unit_rows(X)), name)


def placed(block: ItemVectors, ids: Ids) -> Floats:
    """Return the rows of a block for some items, in their order; zeros for those that it lacks."""
    _check_types(block.items, ids, what=f"{block.name}: ")
    X = np.zeros((len(ids), block.vectors.shape[1]))
    at = IdIndex("item", ids).get(block.items)
    X[at[at >= 0]] = block.vectors[at >= 0]
    return X


def aligned(block: ItemVectors, ids: Ids) -> Floats:
    """Return the rows of :func:`placed` with length 1."""
    return placed(block._replace(vectors=_unit_rows(block.vectors)), ids)


def _check_types(*several: Ids, what: str = "") -> None:
    if len({ids.dtype for ids in several if len(ids)}) > 1:
        raise InputError(f"{what}some item ids are integers and some are strings; make them the same type")


def block_weights(weights: Sequence[float] | None, n_blocks: int, *, zero: bool = False) -> list[float]:
    """Return one weight for each block, 1 by default; ``zero`` allows 0."""
    w = [1.0] * n_blocks if weights is None else [float(x) for x in weights]
    if len(w) != n_blocks or not all(0 < x < np.inf or (zero and x == 0) for x in w):
        kind = "number from 0" if zero else "positive number"
        raise InputError(f"weights are {w} for {n_blocks} blocks; expected one {kind} per block")
    return w


def _unit_rows(X: Floats) -> Floats:
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    return np.asarray(X / lengths)


def finite_rows(what: str, values: Any, ids: Ids, noun: str = "item") -> Floats:
    """Return an array (n, d) as float64; what is no number, or not one row for each item, is an error."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        lengths = [np.size(row) for row in values]
        k = next((k for k, length in enumerate(lengths) if length != lengths[0]), 0)
        item = show(ids[k]) if k < len(ids) else k
        raise InputError(
            f"{what}: {noun} {item} has {lengths[k]:,} numbers, but {show(ids[0])} has {lengths[0]:,}; give "
            f"every {noun} the same number of them"
        ) from None
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what} must be real numbers, not {array.dtype}")
    array = array.astype(np.float64)
    if array.ndim != 2 or len(array) != len(ids):
        raise InputError(
            f"{what} has shape {array.shape} for {len(ids)} {noun}s; expected one row for each {noun}"
        )
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        row = f"{what}: the row of {noun} {show(ids[bad][0])}"
        raise InputError(f"{row} has a missing or infinite number; fill it in, or leave out the {noun}")
    return array
