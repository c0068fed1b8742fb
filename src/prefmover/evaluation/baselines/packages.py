"""Models of other packages on the same splits: Surprise predicts ratings; implicit recommends.

They come with the extra ``peers``. Each has a grid that is searched on the validation part
(:mod:`prefmover.evaluation.recommenders`), and a fixed seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Self

import numpy as np

from prefmover._typing import Floats, Ints
from prefmover.dataset import Dataset
from prefmover.errors import InputError, MissingExtraError
from prefmover.evaluation.baselines.by_scores import Scores, ScoringRecommender, interactions

__all__ = ["ImplicitRecommender", "SurpriseRecommender", "importing", "require"]

PACKAGES = {"surprise": "scikit-surprise"}
SURPRISE = ("SVD", "SVDpp", "KNNBaseline", "KNNWithMeans", "BaselineOnly")


@contextmanager
def importing(package: str) -> Iterator[None]:
    """Import a package of the extra ``peers`` inside; without it, an error says how to install it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except ImportError:
        name = PACKAGES.get(package, package)
        raise MissingExtraError(f"{package}: peers need {name}: pip install 'prefmover[peers]'") from None


def require(package: str) -> None:
    """Raise an error if a package of the extra ``peers`` is not installed."""
    with importing(package):
        import_module(package)


@dataclass
class SurpriseRecommender:
    """A model of Surprise as a recommender: ``"SVD"``, ``"SVDpp"``, ``"KNNBaseline"``, ...

    Parameters
    ----------
    seed
        For the initial values of the factor models.
    settings
        Arguments of the model; Surprise's defaults without them. Those of its dictionaries are given by
        themselves: ``similarity`` and ``user_based`` of a model with neighbors, ``reg_i`` and ``reg_u`` of
        the baseline.
    """

    name: str
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in SURPRISE:
            raise InputError(f"peer is {self.name!r}; choose one of {', '.join(SURPRISE)}")

    def fit(self, data: Dataset) -> Self:
        """Train on the ratings."""
        with importing("surprise"):
            import surprise
        ratings = data.ratings
        columns = ratings.rows().tolist(), ratings.matrix.indices.tolist(), ratings.matrix.data.tolist()
        rows = [(user, item, rating, None) for user, item, rating in zip(*columns, strict=True)]
        reader = surprise.Reader(rating_scale=(ratings.scale.lowest, ratings.scale.highest))
        self.model_ = getattr(surprise, self.name)(**self._options())
        self.model_.fit(surprise.Dataset(reader).construct_trainset(rows))
        self.data_ = data
        return self

    def _options(self) -> dict[str, Any]:
        """Return the settings as Surprise wants them."""
        options = dict(self.settings)
        if self.name.startswith("SVD"):
            return options | {"random_state": self.seed}
        if self.name == "BaselineOnly":
            return {"verbose": False, "bsl_options": options}
        similarity = {"name": options.pop("similarity", "msd"), "user_based": options.pop("user_based", True)}
        return options | {"verbose": False, "sim_options": similarity}

    def predict(self, pairs: list[tuple[Any, Any]]) -> Floats:
        """Return one rating for each (user, item)."""
        ratings, (users, items) = self.data_.ratings, zip(*pairs, strict=True)
        positions = ratings.user_positions(users).tolist(), ratings.item_positions(items).tolist()
        return np.array([self.model_.predict(u, i).est for u, i in zip(*positions, strict=True)])


@dataclass
class ImplicitRecommender(ScoringRecommender):
    """``"als"`` or ``"bpr"`` of the package implicit. ``alpha`` weighs the ratings of ALS: c = 1 + αr."""

    name: str = "als"
    seed: int = 0
    n_threads: int | None = None
    factors: int = 64
    regularization: float = 0.1
    alpha: float = 10.0
    learning_rate: float = 0.05
    iterations: int = 15

    def _learn(self, data: Dataset, prepared: Any) -> None:
        with importing("implicit"):
            from implicit.cpu.als import AlternatingLeastSquares
            from implicit.cpu.bpr import BayesianPersonalizedRanking
        options: dict[str, Any] = {
            "factors": self.factors,
            "regularization": self.regularization,
            "iterations": self.iterations,
            "num_threads": self.n_threads or 0,
            "random_state": self.seed,
        }
        X = interactions(data.ratings, "ratings" if self.name == "als" else "seen")
        with warnings.catch_warnings():  # implicit's advice about the threads of BLAS
            warnings.simplefilter("ignore")
            if self.name == "als":
                model = AlternatingLeastSquares(alpha=self.alpha, **options)
            else:
                # Threads of BPR overwrite each other's steps: the result would differ from run to run.
                options["num_threads"] = 1
                model = BayesianPersonalizedRanking(learning_rate=self.learning_rate, **options)
            model.fit(_plain(X), show_progress=False)
        self.user_factors_, self.item_factors_ = model.user_factors, model.item_factors

    def _scores(self, users: Ints) -> Scores:
        return np.asarray(self.user_factors_[users] @ self.item_factors_.T)


def _plain(X: Any) -> Any:
    """Return a csr_matrix of 32-bit numbers, which implicit wants."""
    from scipy.sparse import csr_matrix

    return csr_matrix((X.data.astype(np.float32), X.indices, X.indptr), shape=X.shape)
