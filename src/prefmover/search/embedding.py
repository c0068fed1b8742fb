r"""Short vectors of users, whose nearest vectors are candidates for the nearest users.

The vector of a user is the mean of the vectors of the user's items, weighted by preference,

.. math:: x_u = \sum_i p_u(i)\, x_i.

On MovieLens-1M, the 500 nearest vectors contain .975 of the ten nearest users, and the 1,000 nearest .994.
Potentials of landmarks, soft histograms and their mixtures found fewer. Coordinates are rounded to whole
numbers of up to four digits, so that scores are exact, and the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.data.ids import frozen
from prefmover.data.preferences import Preferences
from prefmover.execution.jit import LazyModule
from prefmover.items.geometry import ItemGeometry

_candidates = LazyModule("prefmover.search._candidates")

MOST_DIMENSIONS = 128  # longer item vectors are projected
LANDMARKS = 64  # items that stand in for vectors, in a geometry that has only distances
EXTRA = 32  # coordinates for items without a vector
LONGEST = 2000.0  # length of a vector, in steps: no sum of products leaves 24 bits


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """The vectors of all users, in steps.

    Attributes
    ----------
    tiles
        (tiles, d, 512): 512 users a tile, coordinate by coordinate.
    square
        Squared length of each vector; a number that is never selected for users without a distribution, and
        behind the last user.
    step
        Length of a step.
    """

    tiles: npt.NDArray[np.int16]
    square: npt.NDArray[np.int32]
    step: float

    @classmethod
    def from_vectors(cls, vectors: npt.NDArray[np.float32], exists: npt.NDArray[np.bool_]) -> Embedding:
        """Return the embedding of vectors (users, d), of the users that exist."""
        n, d = vectors.shape
        tile, nobody = _candidates.TILE, _candidates.NOBODY
        centered = vectors - vectors[exists].mean(axis=0, dtype=np.float64).astype(np.float32)
        centered[~exists] = 0.0
        longest = float(np.sqrt(np.einsum("ud,ud->u", centered, centered).max(initial=0.0)))
        step = longest / LONGEST if longest > 0 else 1.0
        count = -(-n // tile)
        padded = np.zeros((count * tile, -(-max(d, 1) // 4) * 4), np.int16)
        padded[:n, :d] = np.rint(centered / step)
        square = np.full(count * tile, nobody, np.int32)
        lengths = np.einsum("ud,ud->u", padded, padded, dtype=np.int32)
        square[:n][exists] = lengths[:n][exists]
        tiles = np.ascontiguousarray(padded.reshape(count, tile, -1).transpose(0, 2, 1))
        return cls(frozen(tiles), frozen(square), step)

    @property
    def nbytes(self) -> int:
        """Size in memory."""
        return self.tiles.nbytes + self.square.nbytes

    def scores(self, u: int) -> npt.NDArray[np.int32]:
        """Return the order of all users as seen from u: |y|² - 2 x · y, and never u."""
        out = np.empty(self.square.size, np.int32)
        x = self.tiles[u // _candidates.TILE, :, u % _candidates.TILE].astype(np.int32)
        _candidates.score_all(x, self.square, self.tiles, out)
        out[u] = _candidates.NOBODY
        return out

    def gaps(self, u: int, scores: npt.NDArray[np.int32]) -> Floats:
        """Return the distances between vectors that belong to scores as seen from u."""
        squares = np.maximum(scores.astype(np.float64) + self.square[u], 0.0)
        return np.asarray(np.sqrt(squares) * self.step, np.float64)


def nearest_vectors(scores: npt.NDArray[np.int32], m: int) -> Ints:
    """Return the m users with the least scores, in user order."""
    out = np.empty(min(m, scores.size), np.int64)
    high, low = np.empty(_candidates.HIGH, np.int32), np.empty(_candidates.LOW, np.int32)
    return out[: _candidates.select(scores, out.size, high, low, out)]


def embed(everyone: Preferences, geometry: ItemGeometry, seed: int) -> Embedding:
    """Return the vectors of all users."""
    from scipy.sparse import csr_array

    total = np.repeat(np.maximum(everyone.total, 1), everyone.counts)
    share = (everyone.mass / total).astype(np.float32)
    shares = csr_array((share, everyone.indices, everyone.indptr), shape=(len(everyone), geometry.n_items))
    rated = np.bincount(everyone.indices, minlength=geometry.n_items)
    vectors = np.asarray(shares @ _item_vectors(geometry, rated, np.random.default_rng([seed, 1])))
    return Embedding.from_vectors(np.ascontiguousarray(vectors, np.float32), everyone.total > 0)


def _item_vectors(
    geometry: ItemGeometry, rated: Ints, random: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Return a vector for each item: its own, projected if it is long; else its distances to some items."""
    if geometry.vectors is None:
        likely = rated > 0
        size = min(LANDMARKS, int(likely.sum()))
        chosen = random.choice(np.flatnonzero(likely), size, replace=False) if size else np.zeros(0, np.int64)
        return np.ascontiguousarray(geometry.block(chosen, None).T, np.float32)
    vectors = geometry.vectors
    d, missing = vectors.shape[1], ~vectors.any(axis=1)
    if d > MOST_DIMENSIONS:
        # Whole numbers, whose sums are exact in any order: the same embedding on every machine.
        signs = random.choice([-1.0, 1.0], (d, MOST_DIMENSIONS))
        vectors = np.rint(2.0**25 * vectors) @ signs / (2.0**25 * np.sqrt(MOST_DIMENSIONS))
    if (rated[missing] > 0).any():  # two users with such an item are near each other
        signs = np.zeros((geometry.n_items, EXTRA))
        signs[missing] = random.choice([-1.0, 1.0], (int(missing.sum()), EXTRA)) / np.sqrt(EXTRA)
        vectors = np.concatenate((vectors, signs), axis=1)
    return vectors.astype(np.float32)
