"""The index as a transformer of scikit-learn: histograms in, the graph of their nearest neighbors out."""

from typing import TYPE_CHECKING, Any, Literal, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from prefmover.data.file_options import check_whole_number
from prefmover.errors import InputError
from prefmover.items.points import Metric
from prefmover.search.points import NeighborIndex, Weights

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["NeighborsTransformer"]


class NeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The graph of the nearest neighbors under the earth mover's distance, for pipelines of scikit-learn.

    It is used as :class:`sklearn.neighbors.KNeighborsTransformer` is, in front of any estimator with
    ``metric="precomputed"``. It needs scikit-learn 1.5 or later.

    Parameters
    ----------
    points, metric
        As in :class:`~prefmover.search.points.NeighborIndex`. The columns of X are the points.
    mode
        ``"distance"``: distances to the ``n_neighbors`` nearest and, as in scikit-learn, one more: a fitted
        row comes first in its own row, and estimators leave it out.
        ``"connectivity"``: ones for ``n_neighbors`` rows (two or more), of which a fitted row itself is one.
    n_neighbors
        The number of neighbors.
    n_jobs
        Number of threads; None and -1 mean all cores.

    Attributes
    ----------
    index_
        The index of the fitted rows.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = [[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 1], [0, 0, 1, 3]], ["low", "low", "high", "high"]
    >>> graph = NeighborsTransformer(points=[[0.0], [1.0], [2.0], [3.0]], n_neighbors=3)
    >>> model = make_pipeline(graph, KNeighborsClassifier(1, metric="precomputed")).fit(X, y)
    >>> model.predict([[1, 0, 0, 0], [0, 0, 0, 1]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        points: Any = None,
        metric: Metric = "euclidean",
        *,
        mode: Literal["distance", "connectivity"] = "distance",
        n_neighbors: int = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.points, self.metric = points, metric
        self.mode, self.n_neighbors, self.n_jobs = mode, n_neighbors, n_jobs

    def fit(self, X: Weights, y: Any = None) -> Self:
        """Make the index of the rows of X."""
        check_whole_number("n_neighbors", self.n_neighbors, 1 if self.mode == "distance" else 2)
        if self.mode not in ("distance", "connectivity"):
            raise InputError(f'mode is {self.mode!r}; choose "distance" or "connectivity"', argument="mode")
        self.index_ = NeighborIndex(X, self.points, self.metric, n_threads=self._n_threads)
        self.n_samples_fit_ = self._n_features_out = len(self.index_)
        self.n_features_in_ = self.index_.n_points
        return self

    def transform(self, X: Weights) -> "csr_array":
        """Return the graph of the rows of X, (rows of X, fitted rows), as new queries."""
        check_is_fitted(self)
        k = self.n_neighbors + (self.mode == "distance")
        return self.index_.nearest(k, X, n_threads=self._n_threads).to_graph(self.mode)

    def fit_transform(self, X: Weights, y: Any = None) -> "csr_array":
        """Fit, and return the graph of the fitted rows: each comes first in its own row."""
        self.fit(X)
        k = self.n_neighbors - (self.mode == "connectivity")
        return self.index_.nearest(k, n_threads=self._n_threads).to_graph(self.mode)

    @property
    def _n_threads(self) -> int | None:
        return None if self.n_jobs == -1 else self.n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = True
        return tags
