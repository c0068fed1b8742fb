"""Items and the ground distance between them.

A distance is stored as a whole number of a small *unit* (a power of two, 2⁻²⁵ for angles), in four bytes,
rounded **up**. Three things follow. Transport on these numbers is integer arithmetic, so a distance
between users is exact and does not depend on the order of the sums. Rounding up keeps the triangle
inequality: ⌈a + b⌉ ≤ ⌈a⌉ + ⌈b⌉ (for angles, a slack makes up for the rounding of a and b; see
``_angles.py``). And the precision is that of a float of four bytes.
"""

import hashlib
import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Bools, Floats, Ids, Ints
from prefmover.data.ids import IdIndex, as_ids, as_positions, frozen, show
from prefmover.errors import CoarseGeometryWarning, InputError
from prefmover.execution.jit import LazyModule, compiled_or_interpreted
from prefmover.execution.memory import has_room, require
from prefmover.execution.threads import run, slices
from prefmover.items import features
from prefmover.items.features import ItemVectors, finite_rows
from prefmover.items.tag_profiles import tag_profiles

if TYPE_CHECKING:
    from prefmover.data.ratings import Ratings

__all__ = ["BlockWeight", "Ground", "ItemGeometry", "VectorMetric", "Words"]

VectorMetric: TypeAlias = Literal["right angle", "angle", "euclidean"]

_angles = LazyModule("prefmover.items._angles")

ANGLE_UNIT = 2.0**-25
GRID_BITS = 26  # the largest distance is at most 2**26 units, so that potentials fit 32 bits
SQUARE_BYTES = 32  # per entry of a matrix, to convert it to whole numbers
BUDGET, SEARCH_BUDGET = 2**28, 2**30  # bytes of a dense matrix; in a search of many queries
TURNED = 2**10  # vectors that are turned at a time: they stay in the cache
ROWS = 256  # rows of the dense matrix that a thread computes at a time
FARTHEST = {"right angle": 0.5 * math.pi, "angle": math.pi}
COARSE = 0.1  # share of distances below 100 units from which on a geometry is too coarse
NOISE = 2.0**-11  # units; smaller distances between equal items come from rounding
BLOCK_ROWS = 2**15  # vectors that are normalized at a time
CANDIDATE_SLACK = 1e-5  # more than the rounding error of a cosine in single precision
SAMPLE = 1000  # items whose distances a summary looks at
CHECKED_ITEMS = 400  # the largest number of items for which the triangle inequality is always checked


class Words(NamedTuple):
    """What messages call a row of masses, one of its entries, and a point."""

    row: str = "user"
    entry: str = "rating"
    point: str = "item"


class Ground(ABC):
    """Distances between ``n_items`` points, in units: from a dense matrix, or computed from vectors.

    Items are points with ids; other points have positions only (:mod:`prefmover.items.points`).
    """

    __slots__ = ()

    words = Words()

    unit: float
    is_metric: bool | None
    grid: npt.NDArray[np.int32] | None
    vectors: Floats | None

    @property
    @abstractmethod
    def n_items(self) -> int:
        """The number of points."""

    @property
    def vector_metric(self) -> VectorMetric:
        """How vectors give distances: their angle, cut off at a right angle or not, or their difference."""
        return "right angle"

    @abstractmethod
    def _with(self, **changes: Any) -> Self:
        """Return a copy with other parts."""

    def units(self, rows: npt.ArrayLike | None, columns: npt.ArrayLike | None) -> npt.NDArray[np.int32]:
        """Return distances in units as an int32 array (rows, columns); None means all points."""
        if self.grid is not None and rows is None and columns is None:
            return self.grid
        r, c = self._indices(rows), self._indices(columns)
        if self.grid is None:
            return self._from_vectors(r, c)
        # Rows first: whole rows are contiguous, and the second gather stays in cache.
        if columns is None or r.size <= ROWS:
            whole_rows = self.grid.take(r, axis=0)
            return whole_rows if columns is None else whole_rows.take(c, axis=1)
        block = np.empty((r.size, c.size), np.int32)
        for some in slices(r.size, ROWS):  # no copy of thousands of whole rows
            block[some] = self.grid.take(r[some], axis=0).take(c, axis=1)
        return block

    def _from_vectors(self, rows: Ints, columns: Ints) -> npt.NDArray[np.int32]:
        """Return the distances between vectors in units, as an int32 array (rows, columns)."""
        assert self.vectors is not None
        out, metric = np.empty((rows.size, columns.size), np.int32), self.vector_metric
        kernel = _angles.euclidean_grid if metric == "euclidean" else _angles.angle_grid
        fill = compiled_or_interpreted(kernel, rows.size * columns.size * (4 + self.vectors.shape[1]))
        most = 2**GRID_BITS if metric == "euclidean" else math.ceil(FARTHEST[metric] / self.unit)
        for block in slices(columns.size, TURNED):  # no second copy of all vectors
            some = columns[block]
            turned = np.ascontiguousarray(self.vectors[some].T)
            part = out if some.size == columns.size else np.empty((rows.size, some.size), np.int32)
            fill(rows, some, self.vectors, turned, self.unit, most, part)
            if part is not out:
                out[:, block] = part
        return out

    def block(self, rows: npt.ArrayLike | None = None, columns: npt.ArrayLike | None = None) -> Floats:
        """Return the distances d(i, j) of point positions ``rows`` x ``columns``; None means all."""
        r = self.n_items if rows is None else np.size(rows)
        c = self.n_items if columns is None else np.size(columns)
        what = f"a table of the distances of {r:,} x {c:,} {self.words.point}s"
        require(12 * r * c, what, "take fewer rows at a time")
        return np.multiply(self.units(rows, columns), self.unit, dtype=np.float64)

    def with_grid(self, n_threads: int | None = None) -> Self:
        """Return the same distances with a dense matrix, from which many searches are faster.

        It is made if it is larger than the default budget (a smaller one is missing by choice), at most
        1 GiB, and fits the free memory.
        """
        n_bytes = 4 * self.n_items**2
        if self.grid is not None or not BUDGET < n_bytes <= SEARCH_BUDGET or not has_room(n_bytes):
            return self
        return self._with(grid=frozen(self._dense(n_threads)))

    def _dense(self, n_threads: int | None) -> npt.NDArray[np.int32]:
        """Return all distances: one triangle is computed and mirrored (they are exactly symmetric)."""
        n = self.n_items
        out = np.empty((n, n), np.int32)

        def work(start: int) -> None:
            stop = min(start + ROWS, n)
            part = self.units(np.arange(start, stop), np.arange(start, n))
            out[start:stop, start:] = part
            out[start:, start:stop] = part.T

        run(work, range(0, n, ROWS), n_threads=n_threads)
        return out

    def _indices(self, positions: npt.ArrayLike | None) -> Ints:
        n = self.n_items
        return np.arange(n) if positions is None else as_positions(positions, n, self.words.point)


class BlockWeight(NamedTuple):
    """The weight of a feature block in a geometry, the number of items that have it, and what it is worth.

    That is the error of held-out ratings with all blocks, and without this one: None if the weights were
    given, or if there is no other block.
    """

    name: str
    weight: float
    n_items: int
    error: float | None = None
    error_without: float | None = None

    def __str__(self) -> str:
        text = f"{self.weight:g} ({self.n_items:,} items"
        if self.error is not None and self.error_without is not None:
            text += f"; held-out error {self.error:.4f}, without it {self.error_without:.4f}"
        return text + ")"


@dataclass(frozen=True, slots=True, eq=False)
class ItemGeometry(Ground):
    """Item ids and the ground distance d(i, j) between them.

    Make one with a ``from_`` method: from vectors or matrices, or from descriptions of the items.

    Attributes
    ----------
    items
        Item ids, integers or strings.
    name
        The source of the distances; results quote it.
    is_metric
        True, False, or None if it is unknown. Shortcuts that need the triangle inequality are taken only if
        it is True.
    metric_by
        The evidence for that: ``"construction"``, ``"check"``, or ``"unknown"``.
    to_distance
        The conversion from similarity to distance, ``"arccos"``, ``"one-minus"`` or ``"given"``, which
        :meth:`similarity` inverts.
    unit
        The step of the grid of distances.
    grid
        (n, n) int32 distances in units, or None if they are computed from ``vectors`` on demand.
    vectors
        (n, d) unit vectors whose angles are the distances, or None if the distances came without vectors.
    blocks
        The feature blocks of the vectors with their weights, if there are several.

    Examples
    --------
    >>> geometry = ItemGeometry.from_vectors(["a", "b", "c"], [[1, 0], [1, 1], [0, 2]])
    >>> geometry.block([0], [0, 1, 2]).round(4)
    array([[0.    , 0.7854, 1.5708]])
    >>> geometry.is_metric, geometry.metric_by
    (True, 'construction')
    """

    items: Ids
    name: str
    is_metric: bool | None
    metric_by: Literal["construction", "check", "unknown"]
    to_distance: Literal["arccos", "one-minus", "given"]
    unit: float
    grid: npt.NDArray[np.int32] | None = None
    vectors: Floats | None = None
    blocks: tuple[BlockWeight, ...] = ()
    _index: IdIndex = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", IdIndex("item", self.items))
        if defect := self._defect():
            raise InputError(f"the geometry is damaged: {defect}")

    def _defect(self) -> str:
        """Return why the arrays are not safe for kernels, which check neither bounds nor overflow."""
        n, grid, vectors = len(self.items), self.grid, self.vectors
        if not isinstance(self.unit, float) or not 0 < self.unit < 1e300:
            return f"its unit is {self.unit!r}, not a positive number"
        if self.is_metric not in (True, False, None):
            return f"is_metric is {self.is_metric!r}"
        if grid is None and vectors is None:
            return "it has neither distances nor vectors"
        if grid is not None:
            if grid.shape != (n, n) or grid.dtype != np.int32:
                return f"distances are {grid.dtype} of shape {grid.shape}; expected int32 of shape {(n, n)}"
            if n and not 0 <= grid.min() <= grid.max() <= 2**GRID_BITS:
                return f"distances are not from 0 to 2**{GRID_BITS} units"
        if vectors is not None:
            if vectors.ndim != 2 or len(vectors) != n or vectors.dtype != np.float64:
                return f"vectors are {vectors.dtype} of shape {vectors.shape}; expected {n:,} rows of float64"
            # NaN fails this check too. The kernels rely on unit vectors, or zero ones.
            lengths = np.einsum("ij,ij->i", vectors, vectors)
            if not (np.abs(lengths[lengths != 0] - 1) < 1e-6).all():
                return "its vectors are not of length 1"
        return ""

    def _with(self, **changes: Any) -> Self:
        """Return a copy with other parts; they are sound, and their numbers are not read again."""
        other = object.__new__(type(self))
        for one in fields(self):
            object.__setattr__(other, one.name, changes.get(one.name, getattr(self, one.name)))
        if "items" in changes:
            object.__setattr__(other, "_index", IdIndex("item", other.items))
        return other

    @classmethod
    def from_vectors(
        cls,
        items: npt.ArrayLike,
        vectors: npt.ArrayLike,
        *,
        name: str = "vectors",
        zero: Literal["error", "far"] = "error",
        budget: int = BUDGET,
        n_threads: int | None = None,
    ) -> Self:
        """Return the geometry of angles between vectors, as in the paper: d(i, j) = arccos cos(x_i, x_j).

        Angles beyond a right angle (negative cosines) are cut off there; a metric that is cut off at a
        constant is a metric. Equal vectors are at distance 0, all others at one unit or more.

        Parameters
        ----------
        items
            n ids, all different.
        vectors
            (n, d) array, any real type.
        zero
            What to do about a zero vector, which has no direction: ``"error"``, or ``"far"`` to put the item
            at a right angle to every other item.
        budget
            Largest number of bytes of the dense matrix (4 n²); above it, distances are computed on demand. By
            default, it is that of 8,192 items. Searches of many users make a larger one, up to 1 GiB, for
            themselves.
        n_threads
            Threads that compute it; None means all cores.
        """
        if zero not in ("error", "far"):
            raise InputError(f'zero is {zero!r}; choose "error" or "far"')
        ids = as_ids(items, "item")
        X = finite_rows("vectors", vectors, ids)
        empty: Bools = np.logical_not(X.any(axis=1))
        if zero == "error" and empty.any():
            problem = f"the vector of item {show(ids[empty][0])} is zero ({empty.sum()} such items)"
            raise InputError(f'{problem}; leave these items out, or pass zero="far"')
        for some in slices(len(X), BLOCK_ROWS):  # in place and in blocks: no second copy of many vectors
            block, none = X[some], empty[some]
            # By the largest entry first, which keeps the squares of very large and small numbers in range.
            block /= np.where(none, 1.0, np.abs(block).max(axis=1, initial=0.0))[:, None]
            block /= np.where(none, 1.0, np.linalg.norm(block, axis=1))[:, None]
        lazy = cls(ids, name, True, "construction", "arccos", ANGLE_UNIT, None, frozen(X))
        n_bytes = 4 * len(ids) ** 2
        if n_bytes > budget:
            return lazy
        require(
            n_bytes,
            f"a table of the distances of {len(ids):,} items",
            "pass budget=0 to compute them on demand",
        )
        return lazy._with(grid=frozen(lazy._dense(n_threads)))

    @classmethod
    def from_similarity(
        cls,
        items: npt.ArrayLike,
        similarity: npt.ArrayLike,
        to_distance: Literal["arccos", "one-minus"] = "arccos",
        *,
        name: str = "similarity",
    ) -> Self:
        """Return the geometry of a symmetric matrix of similarities in [0, 1], ones on the diagonal.

        ``"arccos"`` gives a metric if the matrix consists of cosines (is positive semidefinite);
        ``"one-minus"`` may or may not. Both are checked for up to 400 items.
        """
        if to_distance not in ("arccos", "one-minus"):
            raise InputError(f'to_distance is {to_distance!r}; choose "arccos" or "one-minus"')
        ids = as_ids(items, "item")
        # float32 cosines may exceed 1 a little
        S = np.clip(symmetric("similarity", similarity, ids, diagonal=1, highest=1, slack=1e-6), 0.0, 1.0)
        D, unit = (np.arccos(S), ANGLE_UNIT) if to_distance == "arccos" else (1.0 - S, 2.0**-GRID_BITS)
        np.fill_diagonal(D, 0.0)
        return cls._from_matrix(ids, rounded_up(D, unit), unit, to_distance, name)

    @classmethod
    def from_distance(cls, items: npt.ArrayLike, distance: npt.ArrayLike, *, name: str = "distance") -> Self:
        """Return the geometry of a symmetric matrix of distances, zero on the diagonal.

        Distances are rounded up to multiples of the largest distance times 2⁻²⁵ or less. If that changes many
        of them by more than a hundredth, a :class:`~prefmover.errors.CoarseGeometryWarning` says so.
        """
        ids = as_ids(items, "item")
        steps, unit = whole_steps(symmetric("distance", distance, ids), ids)
        return cls._from_matrix(ids, steps, unit, "given", name)

    @classmethod
    def _from_matrix(
        cls, ids: Ids, steps: npt.NDArray[np.int32], unit: float, to_distance: Any, name: str
    ) -> Self:
        """Return the geometry of a matrix in whole units; a small one is checked for a metric."""
        geometry = cls(ids, name, None, "unknown", to_distance, unit, frozen(steps))
        return geometry.check_metric() if len(ids) <= CHECKED_ITEMS else geometry

    @classmethod
    def from_features(cls, vectors: ItemVectors, *, blocks: tuple[BlockWeight, ...] = ()) -> Self:
        """Return the geometry of item vectors made by :mod:`prefmover.items.features`.

        An item without known features is at a right angle to every other. ``blocks`` are the feature blocks
        that the vectors are made of.
        """
        return cls.from_vectors(*vectors[:2], name=vectors.name, zero="far")._with(blocks=blocks)

    @classmethod
    def from_tags(cls, items: Any, tags: Any, counts: npt.ArrayLike | None = None, **options: Any) -> Self:
        """Return the geometry of tags of items: :func:`prefmover.items.features.from_tags`.

        With ``genres`` (and ``ids``, the items that they belong to), tags and genres are combined into tag
        profiles, the best features for films: :func:`prefmover.items.tag_profiles.tag_profiles`.

        >>> tags = ["space", "robot", "space", "robot", "love"]
        >>> geometry = ItemGeometry.from_tags([1, 1, 2, 2, 3], tags, dimensions=2, min_items=1)
        >>> geometry.block([0], [1, 2]).round(3)
        array([[0.   , 1.571]])
        """
        make = tag_profiles if "genres" in options else features.from_tags
        return cls.from_features(make(items, tags, counts, **options))

    @classmethod
    def from_genres(cls, items: Any, genres: Any, **options: Any) -> Self:
        """Return the geometry of genres: :func:`prefmover.items.features.from_genres`."""
        return cls.from_features(features.from_genres(items, genres, **options))

    @classmethod
    def from_text(cls, items: Any, texts: Any, **options: Any) -> Self:
        """Return the geometry of descriptions: :func:`prefmover.items.features.from_text`."""
        return cls.from_features(features.from_text(items, texts, **options))

    @classmethod
    def from_ratings(cls, train: "Ratings", **options: Any) -> Self:
        """Return the geometry of training ratings: :func:`prefmover.items.features.from_ratings`."""
        options = {"centered": not train.implicit, **options}
        return cls.from_features(features.from_ratings(train.matrix, train.items, **options))

    @classmethod
    def combine(cls, *blocks: ItemVectors, weights: Any = None) -> Self:
        """Return the geometry of several feature blocks: :func:`prefmover.items.features.combine`."""
        return cls.from_features(features.combine(*blocks, weights=weights))

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.items)

    @property
    def farthest(self) -> float:
        """The largest distance that there can be: a right angle, or 1; or the largest that was given."""
        if self.to_distance == "given":
            assert self.grid is not None
            return float(self.grid.max(initial=0)) * self.unit
        return np.pi / 2 if self.to_distance == "arccos" else 1.0

    def item_position(self, item: object) -> int:
        """Return the position of an item id."""
        return self._index.position(item)

    def extended(self, other: Self) -> Self:
        """Return this geometry with the items of another one that are not here, after those that are.

        The distances between present items stay. Those of new items come from ``other``, which must have all
        present items too, or vectors in the space of this geometry's: as many dimensions, made in the same
        way. Where it has present items, their vectors must be the same.

        >>> films = ItemGeometry.from_vectors(["a", "b"], [[1, 0], [1, 1]])
        >>> more = films.extended(ItemGeometry.from_vectors(["c"], [[0, 2]]))
        >>> more.items.tolist(), more.block([2], None).round(4)
        (['a', 'b', 'c'], array([[1.5708, 0.7854, 0.    ]]))
        """
        if self.items.dtype != other.items.dtype:
            raise InputError("the new item ids must be of the present type, all integers or all strings")
        at, n = self._index.get(other.items), self.n_items
        new = np.flatnonzero(at < 0)
        if not len(new):
            raise InputError("every item of the new geometry is here already; there is nothing to add")
        ids = as_ids([*self.items.tolist(), *other.items[new].tolist()], "item")
        known, present = np.flatnonzero(at >= 0), at[at >= 0]
        mine, theirs = self.vectors, other.vectors
        if (
            mine is not None
            and theirs is not None
            and mine.shape[1] == theirs.shape[1]
            and np.allclose(mine[present], theirs[known], rtol=0, atol=1e-6)
        ):
            lazy = self._with(items=ids, grid=None, vectors=frozen(np.concatenate([mine, theirs[new]])))
            if self.grid is None:
                return lazy
            return lazy._with(grid=frozen(_joined(self.grid, lazy.units(np.arange(n, len(ids)), None))))
        if len(known) < n:
            raise InputError(
                f"the new geometry has {len(known):,} of the {n:,} present items, and no vectors in the "
                "space of the present ones; pass a geometry of present and new items together"
            )
        order = np.concatenate([known[np.argsort(present)], new])
        require(
            SQUARE_BYTES * len(order) ** 2,
            f"a table of the distances of {len(order):,} items",
            "add fewer items",
        )
        old = self.units(None, None)
        steps = np.minimum(np.ceil(other.block(new, order) / self.unit), 2**GRID_BITS).astype(np.int32)
        grid = frozen(_joined(old, steps))
        same = np.array_equal(old, other.units(order[:n], order[:n])) and self.unit == other.unit
        is_metric = other.is_metric if same else None
        by = other.metric_by if same else "unknown"
        return self._with(items=ids, is_metric=is_metric, metric_by=by, grid=grid, vectors=None)

    def similarity(self, rows: npt.ArrayLike | None = None, columns: npt.ArrayLike | None = None) -> Floats:
        """Return the similarities s(i, j) in [0, 1]: 1 - d for ``"one-minus"``, else cos d.

        Distances that were given are read as angles; beyond a right angle the similarity is 0.
        """
        return self.similarity_at(self.block(rows, columns))

    def similarity_at(self, distance: Floats) -> Floats:
        """Return the similarity of two items that are at a distance from each other."""
        if self.to_distance == "one-minus":
            return np.maximum(1.0 - distance, 0.0)
        return np.maximum(np.cos(np.minimum(distance, np.pi / 2)), 0.0)

    def near(self, item: object, n: int = 10) -> list[tuple[Any, float]]:
        """Return the ``n`` items nearest to an item, with their distances, nearest first."""
        i = self.item_position(item)
        d = self.units([i], None)[0]
        order = np.argsort(d, kind="stable")
        nearest = order[order != i][:n]
        return list(zip(self.items[nearest].tolist(), (d[nearest] * self.unit).tolist(), strict=True))

    def nearest(self, rows: npt.ArrayLike, columns: npt.ArrayLike, k: int) -> tuple[Ints, Floats]:
        """Return which ``k`` of the items ``columns`` are nearest to each of ``rows``, and the distances.

        Both are (rows, k); the first has positions in ``columns``, the nearest first, equal ones in their
        order. Without a dense matrix, cosines in single precision say which columns may be among the
        nearest, and only their distances are computed.

        >>> geometry = ItemGeometry.from_vectors(["a", "b", "c"], [[1, 0], [1, 1], [0, 2]])
        >>> geometry.nearest([0], [1, 2], 1)[0]
        array([[0]])
        """
        r, c = self._indices(rows), self._indices(columns)
        if self.grid is None and k < c.size:
            at, steps = self._nearest_by_cosine(r, c, k)
        else:  # distance and position as one number: the k smallest in order, without a sort of whole rows
            n = max(c.size, 1)
            keys = self.units(r, c).astype(np.int64) * n + np.arange(c.size)
            if 0 < k < c.size:
                keys = np.partition(keys, k - 1, axis=1)[:, :k]
            keys.sort(axis=1)
            steps, at = np.divmod(keys[:, :k], n)
        return at, np.multiply(steps, self.unit, dtype=np.float64)

    def _nearest_by_cosine(self, rows: Ints, columns: Ints, k: int) -> tuple[Ints, Ints]:
        """Return :meth:`nearest` in units, from the distances of candidates with large cosines."""
        assert self.vectors is not None
        n = columns.size
        at, steps = np.empty((rows.size, k), np.int64), np.empty((rows.size, k), np.int64)
        right = np.empty((n, self.vectors.shape[1]), np.float32)
        for block in slices(n, BLOCK_ROWS):
            right[block] = self.vectors[columns[block]]
        for block in slices(rows.size, ROWS):
            cosine = self.vectors[rows[block]].astype(np.float32) @ right.T
            least = np.partition(cosine, n - k, axis=1)[:, n - k] - CANDIDATE_SLACK
            items = zip(rows[block].tolist(), cosine, least.tolist(), strict=True)
            for row, (item, cosines, lowest) in enumerate(items, block.start):
                # Beyond a right angle all are equally far: the first ones are the nearest.
                maybe = np.flatnonzero(cosines >= lowest) if lowest > 0 else np.arange(n)
                if lowest <= 0 and not self.vectors[item].any():
                    maybe = np.union1d(np.arange(k), np.flatnonzero(columns == item))
                exact = self.units([item], columns[maybe])[0]
                order = np.argsort(exact, kind="stable")[:k]
                at[row], steps[row] = maybe[order], exact[order]
        return at, steps

    def summary(self) -> dict[str, str | int | float]:
        """Return figures about the distances between up to 1,000 items, taken at equal steps from all.

        >>> geometry = ItemGeometry.from_vectors([1, 2, 3], [[1, 0], [1, 1], [0, 2]], name="angles")
        >>> figures = geometry.summary()
        >>> figures["items"], round(figures["median"], 4), figures["share at the largest distance"]
        (3, 0.7854, 0.3333333333333333)
        """
        if self.n_items < 2:
            raise InputError(f"the geometry {self.name!r} has {self.n_items} item; a distance needs two")
        sampled = np.unique(np.linspace(0, self.n_items - 1, min(SAMPLE, self.n_items)).astype(np.int64))
        D = self.block(sampled, sampled)
        pairs = D[np.triu_indices(len(D), 1)]
        np.fill_diagonal(D, np.inf)
        quantiles = {"smallest": 0, "1 %": 1, "10 %": 10, "median": 50, "90 %": 90, "largest": 100}
        return {
            "geometry": self.name,
            "items": self.n_items,
            "items in the sample": len(sampled),
            "metric": {True: "yes", False: "no", None: "unknown"}[self.is_metric],
            **{label: float(np.percentile(pairs, q)) for label, q in quantiles.items()},
            "median to the nearest item": float(np.median(D.min(axis=1))),
            "share at zero": float((pairs == 0).mean()),
            "share at the largest distance": float((pairs >= pairs.max()).mean()),
            **{f"weight of {one.name}": str(one) for one in self.blocks},
        }

    def aligned(self, items: Ids) -> Self:
        """Return the geometry of some items, given by id, in their order; an unknown id is an error."""
        return self.take(self._index.positions(items))

    def has(self, items: Ids) -> Bools:
        """Return which of some item ids are in the geometry."""
        return self._index.get(items) >= 0

    def take(self, positions: npt.ArrayLike) -> Self:
        """Return the geometry of the items at ``positions``, in that order."""
        p = self._indices(positions)
        if np.unique(p).size < p.size:
            raise InputError("a position occurs more than once; give each position once")
        if p.size == self.n_items and np.array_equal(p, np.arange(self.n_items)):
            return self
        grid = None if self.grid is None else frozen(self.units(p, p))
        vectors = None if self.vectors is None else frozen(self.vectors[p])
        return self._with(items=frozen(self.items[p]), grid=grid, vectors=vectors)

    def digest(self) -> str:
        """Return 16 hexadecimal digits that identify the distances and the item ids."""
        digest = hashlib.sha256(np.ascontiguousarray(self.vectors if self.grid is None else self.grid).data)
        digest.update(repr((self.unit, self.items.tolist())).encode())
        return digest.hexdigest()[:16]

    def check_metric(self) -> Self:
        """Return this geometry with the triangle inequality checked on every triple, O(n³)."""
        if self.metric_by == "construction" or self.grid is None:
            return self
        return self._with(is_metric=obeys_triangle(self.grid), metric_by="check")

    def __repr__(self) -> str:
        storage = "dense" if self.grid is not None else "from vectors on demand"
        metric = "metric" if self.is_metric else "not a metric"
        known = "not known to be a metric" if self.is_metric is None else f"{metric} by {self.metric_by}"
        return f"ItemGeometry({self.name}: {self.n_items:,} items, {storage}, {known})"


def symmetric(
    what: str,
    values: npt.ArrayLike,
    ids: Ids,
    *,
    diagonal: float = 0,
    highest: float = 1e300,
    slack: float = 0.0,
    noun: str = "item",
) -> Floats:
    """Return a symmetric matrix of numbers from 0 to ``highest`` with a constant diagonal."""
    n = len(ids)
    remedy = f"leave out {noun}s, or make the geometry from vectors"
    require(SQUARE_BYTES * n**2, f"a geometry of a {what} matrix of {n:,} {noun}s", remedy)
    M = finite_rows(what, values, ids, noun)
    if M.shape[1] != n:
        raise InputError(f"{what} has shape {M.shape}; expected a square matrix of {n} {noun}s")
    outside = (-slack > M) | (highest + slack < M)
    outside.flat[:: n + 1] |= np.abs(np.diagonal(M) - diagonal) > slack
    for wrong, remedy in (
        (M != M.T, "the matrix must be symmetric: if this is rounding, pass (M + M.T) / 2"),
        (outside, f"expected 0 to {highest:g}, and {diagonal} on the diagonal"),
    ):
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            back = f", and {show(M[j, i])} back" if M[i, j] != M[j, i] else ""
            pair = f"{noun}s {show(ids[i])} and {show(ids[j])}"
            raise InputError(f"the {what} of {pair} is {show(M[i, j])}{back}; {remedy}")
    return M


def obeys_triangle(grid: npt.NDArray[np.int32]) -> bool:
    """Whether every triple of distances obeys the triangle inequality, O(n³)."""
    broken = compiled_or_interpreted(_angles.broken_triangle, len(grid) ** 3)(grid)
    return bool(broken[0] < 0)


def whole_steps(D: Floats, ids: Ids, noun: str = "item") -> tuple[npt.NDArray[np.int32], float]:
    """Return distances rounded up to multiples of a unit, a power of two, and the unit."""
    largest = float(D.max(initial=0.0))
    if 0 < largest < 1e-300:
        raise InputError(f"the largest distance is {largest:g}; rescale the distances")
    unit = 2.0 ** (math.frexp(largest)[1] - GRID_BITS) if largest else ANGLE_UNIT
    _warn_if_coarse(ids, D, unit, noun)
    return rounded_up(D, unit), unit


def rounded_up(D: Floats, unit: float) -> npt.NDArray[np.int32]:
    """Return distances in whole units, rounded up but for noise."""
    steps = np.ceil(D / unit)
    steps[NOISE * unit > D] = 0
    return steps.astype(np.int32)


def _warn_if_coarse(ids: Ids, D: Floats, unit: float, noun: str) -> None:
    """Warn if a tenth of the distances are rounded by more than a hundredth because one is much larger."""
    n_small, n = (int(np.count_nonzero(some)) for some in ((D > 0) & (100 * unit > D), D))
    share = n_small / n if n else 0.0
    if share < COARSE:
        return
    i, j = np.unravel_index(int(D.argmax()), D.shape)
    warnings.warn(
        f"{share:.0%} of the distances are below {100 * unit:g} and rounded up to multiples of {unit:g}, "
        f"because {noun}s {show(ids[i])} and {show(ids[j])} are {D[i, j]:g} apart; cap the largest distances",
        CoarseGeometryWarning,
        stacklevel=4,
    )


def _joined(old: npt.NDArray[np.int32], new: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return distances of present items with rows (new, all) of new ones."""
    n, size = len(old), len(old) + len(new)
    grid = np.empty((size, size), np.int32)
    grid[:n, :n], grid[n:], grid[:n, n:] = old, new, new[:, :n].T
    return grid
