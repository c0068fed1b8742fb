"""Controls: the recommenders that a measure has to beat.

=============  ==========================================================================================
name           prediction
=============  ==========================================================================================
user-mean      the user's mean training rating; no neighbors
bias           μ + b_u + b_i, regularized (the centering ``"baseline"``); no neighbors
uniform        the mean over K random raters of the item, all with weight 1: the effect of neighbors without
               any notion of similarity. (With K beyond the number of raters, all of them.)
mean-vector    neighbors by the cosine of the users' mean item vectors, Σ p(i) x_i and Σ q(j) x_j: the effect
               of item similarity without optimal transport
agreement      neighbors by what PMD-agreement adds to PMD: agreement on co-rated items and overlap, without
               optimal transport and without item similarity
estimated:M    neighbors by the measure M, which is pmd or pmd-agreement, with estimated instead of exact
               distances (:mod:`prefmover.measures.estimates`): the effect of exactness, in seconds where
               exact neighbors take minutes
=============  ==========================================================================================

The last four are a :class:`~prefmover.KNNRecommender` with a special measure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.data.splits import hashed
from prefmover.dataset import Dataset
from prefmover.execution.memory import require
from prefmover.execution.threads import slices
from prefmover.measures.agreement import disagreement
from prefmover.measures.estimates import estimates_at
from prefmover.measures.measure import Measure, find_measure
from prefmover.measures.pairs import Kernel, Pairs, Rows
from prefmover.model import KNNRecommender
from prefmover.predict.centering import Centering, CenteringName
from prefmover.predict.predictor import clip

CENTERINGS: dict[str, CenteringName] = {"user-mean": "mean", "bias": "baseline"}
SUMMARY = "a control"
BLOCK_ROWS = 256


@dataclass
class Baseline:
    """Predict the user's mean (``"user-mean"``), or the biases of user and item (``"bias"``).

    >>> from prefmover import Ratings
    >>> data = Dataset(Ratings.from_arrays([1, 1, 2], list("aba"), [5, 2, 3]))
    >>> Baseline("user-mean").fit(data).predict([(1, "b"), (2, "b")])
    array([3.5, 3. ])
    """

    name: str

    def fit(self, data: Dataset) -> Self:
        """Compute the mean and the offsets."""
        self.data_ = data
        self.centering_ = Centering.fit(data.ratings, CENTERINGS[self.name])
        return self

    def predict(self, pairs: list[tuple[Any, Any]]) -> Floats:
        """Return the baseline of each (user, item)."""
        ratings = self.data_.ratings
        users, items = zip(*pairs, strict=True)
        positions = ratings.user_positions(users), ratings.item_positions(items)
        return clip(self.centering_.baseline(*positions), ratings.scale)[0]


def uniform(seed: int = 0, **parameters: Any) -> KNNRecommender:
    """Return a neighbor average over random raters, in an order that is fixed by the seed."""
    kernel = partial(_random_order, seed=seed)
    measure = Measure("uniform", "uniform", SUMMARY, kernel, larger_is_closer=False, symmetric=False)
    return KNNRecommender(measure, weight="exponential(0)", **parameters)


def mean_vector(**parameters: Any) -> KNNRecommender:
    """Return a neighbor average with neighbors by the cosine of mean item vectors."""
    measure = Measure("mean-vector", "mean-vector", SUMMARY, _mean_vectors, needs_geometry=True)
    return KNNRecommender(measure, **parameters)


def agreement(**parameters: Any) -> KNNRecommender:
    """Return a neighbor average with neighbors by agreement alone, weighted as by PMD-agreement."""
    measure = Measure("agreement", "agreement", SUMMARY, disagreement, larger_is_closer=False)
    return KNNRecommender(measure, weight=find_measure("pmd-agreement").weight, **parameters)


def estimated(measure: str, **parameters: Any) -> KNNRecommender:
    """Return the neighbor average of PMD or PMD-agreement with estimated distances instead of exact ones."""
    row, name = find_measure(measure), f"estimated:{measure}"
    kernel = partial(_estimates, term=row.extra_term)
    control = Measure(name, name, SUMMARY, kernel, larger_is_closer=False, needs_geometry=True)
    return KNNRecommender(control, weight=row.weight, **parameters)


def _random_order(pairs: Pairs, seed: int) -> Callable[[Ints], Floats]:
    """Return a number in [0, 1) for every pair of users."""

    def rows(users: Ints) -> Floats:
        keys = users[:, None] * pairs.ratings.n_users + pairs.others
        return (hashed(seed, keys) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    return rows


def _estimates(pairs: Pairs, term: Kernel | None) -> Rows:
    """Return estimated PMD between all users, plus the term of the measure if it has one."""
    n_users, n_others = len(pairs.users), len(pairs.others)
    # A number of 8 bytes for each pair, and the bounds in both directions, of 4 bytes each.
    require(
        16 * n_users * n_others, f"estimated distances of {n_users:,} users", "leave out estimated:MEASURE"
    )
    values = estimates_at(pairs.data, pairs.users, pairs.others).values
    row_of = np.empty(pairs.data.n_users, np.int64)
    row_of[pairs.users] = np.arange(n_users)
    if term is None:
        return lambda users: values[row_of[users]]
    added = term(pairs)
    return lambda users: values[row_of[users]] + added(users)


def _mean_vectors(pairs: Pairs) -> Callable[[Ints], Floats]:
    """Return the cosine of users' mean item vectors, NaN without one.

    A mean vector is Σ p(i) x_i, where p(i) is the user's share of stars on item i. Only inner products are
    needed: pᵀ S q over the item similarities S of the geometry.
    """
    from scipy.sparse import csr_array

    ratings, geometry = pairs.ratings, pairs.geometry
    assert geometry is not None
    matrix = ratings.matrix
    rated = np.unique(matrix.indices)
    P = csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)[:, rated]
    S = geometry.similarity(rated, rated)
    length = np.empty(ratings.n_users)
    for block in slices(ratings.n_users, BLOCK_ROWS):
        length[block] = np.sqrt(P[block].multiply(P[block] @ S).sum(axis=1))
    length[length == 0] = np.nan
    Q, to_length = P[pairs.others], length[pairs.others]

    def rows(users: Ints) -> Floats:
        inner = (Q @ np.ascontiguousarray((P[users] @ S).T)).T
        cosine: Floats = np.ascontiguousarray(inner) / to_length / length[users, None]
        return cosine

    return rows
