"""An index of histograms: exact nearest neighbors under the earth mover's distance, by any ground metric."""

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints, Progress
from prefmover.data.file_options import check_whole_number
from prefmover.data.ids import as_positions
from prefmover.data.preferences import Preferences, checked_coo, whole_masses
from prefmover.data.scale import LARGEST
from prefmover.errors import InputError
from prefmover.execution import Executor, open_executor
from prefmover.execution.threads import run
from prefmover.items.points import Metric, Points
from prefmover.measures.pmd import TransportSpace, distances_from, solve_pair
from prefmover.ot.solve import Transport
from prefmover.search.candidates import CandidateSearch
from prefmover.search.engine import Engine, Job
from prefmover.search.result import NeighborPositions, Recall, SearchStats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Nearest", "NeighborIndex", "Weights"]

Weights: TypeAlias = Any
"""(n, points) weights, one row for each histogram: a SciPy sparse matrix of any format, or an array."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest rows of each query, nearest first; equally far ones in the order of the rows.

    Attributes
    ----------
    indptr, neighbors, values
        CSR: the neighbors of query k are ``neighbors[indptr[k]:indptr[k + 1]]``, with distances
        ``values[...]``.
    rows
        The queries, if they are rows of the index; None for new ones.
    n_rows
        The number of rows of the index.
    stats
        The work that the search did.
    recall
        The measured recall of a search among candidates; None if the search was exact.
    """

    indptr: Ints
    neighbors: Ints
    values: Floats
    rows: Ints | None
    n_rows: int
    stats: SearchStats
    recall: Recall | None = None

    @property
    def counts(self) -> Ints:
        """(n,) number of neighbors of each query."""
        return np.diff(self.indptr)

    @property
    def indices(self) -> Ints:
        """(n, longest) neighbors, as in scikit-learn's ``kneighbors``; -1 where a list is shorter."""
        return self._lists.table(self.neighbors, -1)

    @property
    def distances(self) -> Floats:
        """(n, longest) distances; infinite where a list is shorter."""
        return self._lists.table(self.values, np.inf)

    @property
    def _lists(self) -> NeighborPositions:
        return NeighborPositions(self.indptr, self.neighbors, self.values)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.indptr) - 1

    def to_graph(
        self, mode: Literal["distance", "connectivity"] = "distance", *, include_self: bool = True
    ) -> "csr_array":
        """Return a sparse graph (queries x rows) of distances, or of ones, as scikit-learn expects it.

        Rows are sorted by distance, and zeros are stored. With ``include_self``, a query that is a row of the
        index comes first in its own list, at distance 0.
        """
        if mode not in ("distance", "connectivity"):
            raise InputError(f'mode is {mode!r}; choose "distance" or "connectivity"', argument="mode")
        first = self.rows if self.rows is not None and include_self else np.full(len(self), -1)
        graph = self._lists.graph(first, self.n_rows)
        if mode == "connectivity":
            graph.data[:] = 1.0
        return graph

    def __repr__(self) -> str:
        sizes = f"{len(self):,} queries, {len(self.neighbors):,} neighbors"
        work = f"{self.stats.solved / (self.stats.pairs or 1):.1%} of pairs solved"
        return f"Nearest({sizes}, {work if self.recall is None else f'recall {self.recall}'})"


class NeighborIndex:
    r"""Exact nearest neighbors of histograms under the earth mover's distance.

    .. math:: D(p, q) = \min_W \sum_{ij} W_{ij}\, d(i, j)
              \quad\text{subject to}\quad W \mathbb 1 = p,\; W^T \mathbb 1 = q,\; W \ge 0

    for rows p and q of ``weights``, each divided by its sum, and any ground distance d between the points. It
    is also known as 1-Wasserstein distance and, on words, as word mover's distance.

    Parameters
    ----------
    weights
        (n, m) weights, not negative: a SciPy sparse matrix of any format, or an array. Row k is a histogram
        on the m points, such as the counts of words in a document. A row without weight is an error.
    points
        (m, d) coordinates of the points. For a function as metric, anything that can be sliced.
    metric
        - ``"euclidean"``: d(i, j) = \|x_i - x_j\|.
        - ``"angle"``: d(i, j) = arccos cos(x_i, x_j), from 0 to π.
        - A function f(X, Y), which gets two blocks of points and returns the distances of all pairs, as
          ``scipy.spatial.distance.cdist`` does. It is called when the index is made, for blocks of rows
          against all points. Where its results are symmetric but for rounding (a millionth of the largest),
          d(i, j) with i < j counts, and d(i, i) is 0.
        - An (m, m) matrix of distances; leave ``points`` out.
    n_threads
        Threads that compute the distances of the points; None means all cores.

    Attributes
    ----------
    unit
        The step of the grid of ground distances, 2⁻²⁴ of the largest or less. See Notes.
    is_metric
        Whether d obeys the triangle inequality: True, False, or None if it is not known (for functions and
        matrices of more than 400 points, which are not checked).

    Notes
    -----
    **What is exact.** Ground distances are rounded *up* to whole multiples of ``unit``: by one unit and a
    256th of it at most. Weights become whole numbers: exactly if those of a row are multiples of 10⁻⁶ or of
    2⁻²⁰ and few enough, else each share is correct within 10⁻⁹. For these numbers, a distance is the exact
    minimum, rounded once, and neighbors are the nearest ones, with ties in the order of the rows. Threads and
    executors change nothing.

    **What a ground distance must be.** Finite, not negative, symmetric, and 0 from a point to itself;
    anything else is an error that names the points. The triangle inequality is *not* needed: no bound of the
    search uses it. If it is known to hold, mass that both histograms have at a point stays there, which makes
    the search faster.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> weights = csr_array([[2, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 3]])
    >>> index = NeighborIndex(weights, points=[[0.0], [1.0], [2.0], [6.0]])
    >>> near = index.nearest(k=1)
    >>> near.indices.ravel(), near.distances.ravel().round(4)
    (array([1, 0, 1]), array([1.1667, 1.1667, 3.5   ]))
    >>> index.transport(0, 1).certificate.valid
    True
    """

    def __init__(
        self,
        weights: Weights,
        points: Any = None,
        metric: Metric = "euclidean",
        *,
        n_threads: int | None = None,
    ) -> None:
        rows, self.n_points = _masses("weights", weights)
        self._engine = Engine(rows, Points.from_metric(points, metric, self.n_points, n_threads))

    @property
    def unit(self) -> float:
        """The step of the grid of ground distances."""
        return self._engine.ground.unit

    @property
    def is_metric(self) -> bool | None:
        """Whether the ground distance obeys the triangle inequality; None if it is not known."""
        return self._engine.ground.is_metric

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._engine.masses)

    def nearest(
        self,
        k: int = 10,
        queries: Weights | None = None,
        *,
        rows: npt.ArrayLike | None = None,
        method: Literal["exact", "candidates"] = "exact",
        recall: float = 0.95,
        seed: int = 0,
        n_threads: int | None = None,
        progress: Progress | None = None,
        executor: str | Executor | None = None,
    ) -> Nearest:
        """Return the k nearest rows of each query: exactly, or nearly all of them in a fraction of the time.

        Parameters
        ----------
        k
            Number of neighbors.
        queries
            Weights of new histograms. By default the queries are the rows of the index, and a row is not its
            own neighbor.
        rows
            The positions of some rows, as queries; None means all.
        method
            ``"exact"``, or ``"candidates"`` for the rows of a large index: each is compared with candidates
            only, as many as it takes for the recall asked for. All distances are exact. The recall is
            measured against the exact search of 200 random queries, and is the ``recall`` of the result.
        recall, seed
            For candidates: the share of the k nearest to find, and the seed of the samples.
        n_threads
            Number of threads; None means all cores.
        progress
            Called with (queries done, all queries).
        executor
            ``"threads"`` of this process, ``"ray"``, or a :class:`~prefmover.execution.RayExecutor`.
        """
        job = Job(k=k, n_threads=n_threads, progress=progress, executor=executor)
        if method == "exact":
            return self._find(job, queries, rows)
        if method != "candidates":
            raise InputError(f'method is {method!r}; choose "exact" or "candidates"', argument="method")
        if queries is not None:
            raise InputError('method="candidates" is for rows of the index; search new ones with "exact"')
        if isinstance(recall, bool) or not isinstance(recall, Real) or not 0 < float(recall) < 1:
            raise InputError(f"recall is {recall!r}; pass a number above 0 and below 1", argument="recall")
        check_whole_number("seed", seed, 0)
        positions = self._positions(rows)
        job.check(positions.size, len(self), "row")
        with open_executor(executor, n_threads) as runs:
            search = CandidateSearch(self._engine, job, positions, float(recall), int(seed), runs)
            lists, found = search.run()
        return self._result(lists, positions, found)

    def within(
        self,
        radius: float,
        queries: Weights | None = None,
        *,
        rows: npt.ArrayLike | None = None,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> Nearest:
        """Return all rows within a distance of each query; other parameters as in :meth:`nearest`."""
        if radius is None:
            raise InputError("radius is None; pass a number", argument="radius")
        return self._find(Job(radius=radius, n_threads=n_threads, progress=progress), queries, rows)

    def _find(self, job: Job, queries: Weights | None, rows: npt.ArrayLike | None) -> Nearest:
        if queries is not None:
            if rows is not None:
                raise InputError("rows and queries are given; pass rows of the index, or new queries")
            new = self._new(queries)
            job.check(len(new), len(self), "row")
            return self._result(self._engine.search(job, np.arange(len(new)), new), None)
        positions = self._positions(rows)
        job.check(positions.size, len(self), "row")
        return self._result(self._engine.search(job, positions), positions)

    def pairwise(
        self,
        queries: Weights | None = None,
        *,
        rows: npt.ArrayLike | None = None,
        n_threads: int | None = None,
    ) -> Floats:
        """Return the exact distances of all queries to all rows, (queries, rows)."""
        p, n = self._engine.masses, len(self)
        positions = self._positions(rows)
        if queries is not None:
            if rows is not None:
                raise InputError("rows and queries are given; pass rows of the index, or new queries")
            new = self._new(queries)
            p, positions = Preferences.stack([p, new]), n + np.arange(len(new))
        mirrored = queries is None and rows is None
        self._engine.prepare(positions.size, n_threads)
        out = np.zeros((positions.size, n))

        def work(a: int) -> None:
            others = np.arange(a + 1 if mirrored else 0, n)
            out[a, others] = distances_from(p, self._engine.ground, int(positions[a]), others)

        run(work, range(positions.size), n_threads=n_threads)
        return out + out.T if mirrored else out

    def transport(self, row: int, other: int, queries: Weights | None = None) -> Transport:
        """Return the transport between two rows, or from one of new queries to a row: plan, prices and proof.

        Its ``plan`` moves mass between the points of the one and of the other: ``index.points_of(row)`` lists
        them.
        """
        p = self._engine.masses
        first = p if queries is None else self._new(queries)
        u, v = int(as_positions(row, len(first), "row")[0]), int(as_positions(other, len(p), "row")[0])
        if queries is not None:
            p, u = Preferences.stack([p, first]), len(p) + u
        return solve_pair(TransportSpace(p, self._engine.ground), u, v)

    def points_of(self, row: int) -> Ints:
        """Return the points with weight in a row: those of the plans of :meth:`transport`, in their order."""
        p = self._engine.masses
        return np.asarray(p.row(int(as_positions(row, len(p), "row")[0]))[0], np.int64)

    def _positions(self, rows: npt.ArrayLike | None) -> Ints:
        return np.arange(len(self)) if rows is None else as_positions(rows, len(self), "row")

    def _new(self, queries: Weights) -> Preferences:
        new, n_points = _masses("queries", queries)
        if n_points != self.n_points:
            raise InputError(f"queries has {n_points:,} columns, but the index has {self.n_points:,} points")
        return new

    def _result(self, lists: NeighborPositions, rows: Ints | None, recall: Recall | None = None) -> Nearest:
        return Nearest(lists.indptr, lists.neighbors, lists.values, rows, len(self), lists.stats, recall)

    def __repr__(self) -> str:
        metric = {True: "a metric", False: "not a metric", None: "not known to be a metric"}[self.is_metric]
        return f"NeighborIndex({len(self):,} rows on {self.n_points:,} points, {metric})"


def _masses(name: str, weights: Weights) -> tuple[Preferences, int]:
    """Return the whole-number masses of rows of weights, and the number of points."""
    from scipy.sparse import coo_array, csr_array, issparse

    if not issparse(weights):
        dense = np.asarray(weights)
        if dense.ndim != 2 or dense.dtype.kind not in "fiub":
            raise InputError(
                f"{name} is {dense.dtype} of shape {dense.shape}; pass a sparse matrix or an array of "
                "numbers, one row for each histogram"
            )
        weights = coo_array(dense)
    triples = checked_coo(weights)
    values = triples.data.astype(np.float64)
    wrong = np.flatnonzero(~((values >= 0) & (values <= LARGEST)))
    if wrong.size:
        row, column, value = (array[wrong[0]] for array in (triples.row, triples.col, values))
        raise InputError(
            f"{name}[{row}, {column}] is {value}; weights must be from 0 to {LARGEST:g} "
            f"({wrong.size:,} are not)"
        )
    matrix = csr_array((values, (triples.row, triples.col)), shape=triples.shape)
    matrix.sum_duplicates()
    p = whole_masses(matrix)
    empty = np.flatnonzero(p.total == 0)
    if empty.size:
        raise InputError(
            f"row {empty[0]} of {name} has no weight, and so no distance ({empty.size:,} such rows); leave "
            f"these rows out: {name}[{name}.sum(axis=1) > 0]"
        )
    return p, int(matrix.shape[1])
