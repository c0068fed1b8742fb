"""Models of other packages on the same splits: Surprise predicts ratings; implicit and irspack recommend.

irspack has SLIM (X. Ning, G. Karypis, ICDM 2011) and iALS with penalties that grow with the number of ratings
(S. Rendle et al., "Revisiting the Performance of iALS on Item Recommendation Benchmarks", RecSys 2022), also
with content: the factors of an item are drawn to a linear function of its vector, which is learned with them.

They come with the extra ``peers``. Each has a grid that is searched on the validation part
(:mod:`prefmover.evaluation.recommenders`), and a fixed seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Self

import numpy as np

from prefmover._typing import Floats
from prefmover.dataset import Dataset
from prefmover.errors import MissingExtraError, install_command
from prefmover.evaluation.baselines.content import item_vectors
from prefmover.evaluation.baselines.rankers import Scorer, Values, interactions
from prefmover.rank.tuning import MAX_ITEMS


def require(module: str) -> Any:
    """Return a module of the extra ``peers``; without it, an error says how to install it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        name = "scikit-surprise" if package == "surprise" else package
        raise MissingExtraError(f"{package}: peers need {name}: {install_command('peers')}") from None


@dataclass
class SurpriseRecommender:
    """A model of Surprise as a recommender: ``"SVD"``, ``"SVDpp"``, ``"KNNBaseline"``, ...

    ``settings`` are arguments of the model, without them Surprise's defaults. Those of its dictionaries are
    given by themselves: ``similarity`` and ``user_based`` of a model with neighbors, ``reg_i`` and ``reg_u``
    of the baseline.
    """

    name: str
    seed: int = 0  # for the initial values of the factor models
    settings: Mapping[str, Any] = field(default_factory=dict)

    def fit(self, data: Dataset) -> Self:
        """Train on the ratings."""
        surprise, ratings = require("surprise"), data.ratings
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


def als(data: Dataset, seed: int = 0, n_threads: int | None = None, **settings: Any) -> Scorer:
    """Alternating least squares of implicit; ``alpha`` weighs the ratings: c = 1 + αr."""
    model = require("implicit.cpu.als").AlternatingLeastSquares
    options = {"alpha": 10.0, "iterations": 15, "num_threads": n_threads or 0}
    return _factors(model, interactions(data.ratings), seed, options | settings)


def bpr(data: Dataset, seed: int = 0, **settings: Any) -> Scorer:
    """Bayesian personalized ranking of implicit."""
    model = require("implicit.cpu.bpr").BayesianPersonalizedRanking
    # Threads of BPR overwrite each other's steps: the result would differ from run to run.
    options = {"learning_rate": 0.05, "iterations": 100, "num_threads": 1}
    return _factors(model, interactions(data.ratings, "seen"), seed, options | settings)


def _factors(model: Any, X: Any, seed: int, options: Mapping[str, Any]) -> Scorer:
    """Return the scorer of a factor model of implicit that is fitted to X."""
    with warnings.catch_warnings():  # implicit's advice about the threads of BLAS
        warnings.simplefilter("ignore")
        fitted = model(**{"factors": 64, "regularization": 0.1, "random_state": seed, **options})
        fitted.fit(_plain(X, np.float32), show_progress=False)
    return lambda users: np.asarray(fitted.user_factors[users] @ fitted.item_factors.T)


def _plain(X: Any, dtype: Any) -> Any:
    """Return a matrix as other packages want it."""
    from scipy.sparse import csr_matrix

    return csr_matrix((X.data.astype(dtype), X.indices, X.indptr), shape=X.shape)


def slim(data: Dataset, *, values: Values = "ratings", **settings: Any) -> Scorer:
    """Return SLIM of irspack: weights of items on items that are not negative, and few.

    ``alpha`` times the number of users is the penalty, and ``l1_ratio`` the share in it of absolute weights.
    """
    X = interactions(data.ratings, values)
    # 30 rounds with this tolerance rank as well as irspack's 100 with a tenth of it. With other numbers of
    # threads, the weights are others.
    options = {"n_iter": 30, "tol": 1e-3, "n_threads": 1, **settings}
    weights = require("irspack.recommenders").SLIMRecommender(_plain(X, np.float64), **options).learn().W
    rows, weights = X.astype(np.float32), weights.astype(np.float32)
    return lambda users: np.asarray((rows[users] @ weights).toarray())


def ials(
    data: Dataset,
    seed: int = 0,
    n_threads: int | None = None,
    *,
    values: Values = "ratings",
    factors: int = 64,
    alpha0: float = 0.1,
    reg: float = 0.02,
    epochs: int = 16,
    **content: Any,
) -> Scorer:
    """Return iALS of irspack: ``alpha0`` weighs what was not rated, ``reg`` is the penalty.

    Ratings weigh 1 in the mean, so that the same settings suit all values. irspack multiplies the penalty of
    a user by the sum of the ratings and ``alpha0`` for each item. A search sees at most ``MAX_ITEMS`` items;
    in a larger catalog, the penalty of a user with a mean number of ratings is that of so many items.
    """
    X = _plain(interactions(data.ratings, values), np.float64)
    X.data /= X.data.mean() if X.nnz else 1.0
    mean, n_items = X.nnz / max(X.shape[0], 1), X.shape[1]
    reg *= (mean + alpha0 * min(n_items, MAX_ITEMS)) / (mean + alpha0 * n_items)
    model = require("irspack.recommenders").IALSRecommender(
        X, factors, alpha0, reg, nu=1.0, random_seed=seed, n_threads=n_threads, **content
    )
    model.start_learning()  # learn() draws a bar
    for _ in range(epochs):
        model.run_epoch()
    user, item = model.get_user_embedding(), model.get_item_embedding().T
    return lambda users: np.asarray(user[users] @ item)


def content_ials(data: Dataset, *args: Any, content_penalty: float = 100.0, **settings: Any) -> Scorer:
    """Return iALS of irspack whose item factors know the items' content vectors."""
    vectors = item_vectors(data, "iALS with content").astype(np.float32)
    return ials(data, *args, item_features=vectors, lambda_item_feature=content_penalty, **settings)
