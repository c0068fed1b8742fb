"""Recommender: the kernel model, the default of the package.

>>> from prefmover import Dataset, ItemGeometry, Ratings
>>> ratings = Ratings.from_arrays(
...     ["ann", "ann", "bob", "bob", "cid", "cid"],
...     ["Alien", "Emma", "Alien", "Heat", "Emma", "Clueless"],
...     [5, 2, 5, 4, 5, 5],
... )
>>> geometry = ItemGeometry.from_vectors(
...     ["Alien", "Clueless", "Emma", "Heat"], [[9, 0], [1, 8], [0, 9], [8, 3]]
... )
>>> model = Recommender().fit(Dataset(ratings, geometry))
>>> [recommended.item for recommended in model.recommend("ann", n=2)]
['Heat', 'Clueless']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from prefmover._typing import Progress
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset
from prefmover.errors import InputError, check_whole_number
from prefmover.measures import Measure, Weight, weight
from prefmover.measures.estimates import N_FEATURES, Calibration
from prefmover.model.base_recommender import Arrays, BaseRecommender
from prefmover.predict.gaussian_process import Covariance, require_room
from prefmover.predict.gp_predictor import KernelPredictor, LandmarkValues, compare_with_landmarks
from prefmover.predict.implicit import ImplicitPredictor
from prefmover.predict.low_rank import check_array
from prefmover.predict.predictor import Predictor
from prefmover.predict.similarity import UserSimilarity
from prefmover.predict.tuning import Settings
from prefmover.rank.ranker import TwoSidedRanker
from prefmover.rank.tuning import choose_settings
from prefmover.rank.two_sided import RankingSettings

__all__ = ["PMD_WEIGHT", "Recommender"]

PMD_WEIGHT = "exponential(2.5)"
"""The default weight of PMD as a covariance of users; chosen together with the default Covariance."""

AGREEMENT_WEIGHT = "exponential(0.5)"
"""For PMD-agreement: the best of three, on held-out ratings of some users of MovieLens-1M."""

COVARIANCE_WEIGHTS = {"pmd": PMD_WEIGHT, "pmd-agreement": AGREEMENT_WEIGHT}


@dataclass(eq=False, repr=False)
class Recommender(BaseRecommender):
    """Predict ratings from the ratings of similar users on similar items, all at once, with reasons.

    Ratings are modeled by a Gaussian process over users and items: each rating contributes to the
    predictions of similar users and similar items (:mod:`prefmover.predict.gaussian_process`). It is the most
    accurate model of the package. :class:`~prefmover.model.KNNRecommender` is the model of the paper.

    Parameters
    ----------
    measure
        The measure between users: a name in the table of measures, or a
        :class:`~prefmover.measures.Measure` of your own.
    weight
        The rule that turns values of the measure into covariances; by default ``"exponential(2.5)"`` for
        PMD, ``"exponential(0.5)"`` for PMD-agreement, and the measure's rule for others.
    covariance
        How much ratings have in common; by default ``Covariance()``.
    ranking
        The numbers of the ranking; by default they are chosen on a fifth of the ratings, held out.
    landmarks
        With more than twice this number of users, all users are compared with a random sample of this size
        only. (On MovieLens-1M, 500 landmarks among 4,500 users cost .001 of MAE.)
    convention
        A named convention of the measure.
    seed
        Seed of everything random in the fit: landmarks, calibration, and held-out ratings.
    n_threads
        Threads; None means all cores.

    Attributes
    ----------
    data_
        The data set that was fitted.
    predictor_
        The fitted predictor.
    settings_
        Weight, covariance and ranking as fitted: those that were set, chosen on held-out ratings, or the
        defaults.
    tuning_
        The settings that were tried: of the ranking, with their nDCG, and of ``fit(..., tune=True)``, with
        their mean absolute errors.

    Examples
    --------
    >>> from prefmover import datasets
    >>> cinema = datasets.load("cinema")
    >>> few = cinema.with_ratings(cinema.ratings.take(users=range(40)))
    >>> model = Recommender().fit(few)
    >>> nearest = model.neighbors("ada-b", k=1)[0]
    >>> why = model.explain("ada-b", nearest.user)  # the optimal plan between the two users
    >>> top = model.recommend("ada-b", n=3)
    >>> reasons = top[0].reasons  # sentences; the parts of the score are in top[0].why
    >>> parts = model.explain_recommendation("ada-b", top[0].item, by="rating")  # of the predicted rating
    >>> abs(parts.total - top[0].rating) < 1e-6
    True
    >>> guest = model.guest({"alien-1979": 5, "casablanca-1942": 2})  # nothing is refitted
    >>> [recommended.how for recommended in model.recommend(guest, n=2)]
    ['neighbors', 'neighbors']
    """

    kind: ClassVar[str] = "recommender"
    uses_geometry: ClassVar[bool] = True

    measure: str | Measure = "pmd"
    _: KW_ONLY
    weight: str | Weight | None = None
    covariance: Covariance | None = None
    ranking: RankingSettings | None = None
    landmarks: int = 500
    convention: str | None = None
    seed: int = 0
    n_threads: int | None = None

    def _settings(self, row: Measure) -> dict[str, Any]:
        default = COVARIANCE_WEIGHTS.get(row.name, row.weight)
        settings = {
            "weight": default if self.weight is None else self.weight,
            "covariance": Covariance() if self.covariance is None else self.covariance,
        }
        return {**settings, "ranking": self.ranking}

    def _check(self, settings: Settings) -> None:
        check_whole_number("landmarks", self.landmarks)
        check_whole_number("seed", self.seed, least=0)
        if not isinstance(settings["covariance"], Covariance):
            raise InputError(f"covariance is {settings['covariance']!r}; give a prefmover.predict.Covariance")
        if not isinstance(settings["ranking"], RankingSettings | None):
            raise InputError(f"ranking is {settings['ranking']!r}; give a prefmover.rank.RankingSettings")

    def _check_size(self, data: Dataset) -> None:
        if not data.ratings.implicit:
            require_room(data.ratings, min(self.landmarks, data.n_users))

    def _calibrated(self, similarity: UserSimilarity) -> UserSimilarity:
        return similarity.calibrated(self.seed)

    def _completed(
        self,
        similarity: UserSimilarity,
        settings: dict[str, Any],
        trials: list[dict[str, Any]],
        progress: Progress | None,
    ) -> dict[str, Any]:
        has_content = similarity.data.geometry is not None
        given = settings["ranking"]
        if given is not None:
            return settings if has_content else {**settings, "ranking": replace(given, content=0.0)}
        rule = similarity.measure.weight
        start = RankingSettings() if similarity.measure.name == "pmd" else RankingSettings(weight=str(rule))
        start = start if has_content else replace(start, content=0.0)
        ranking, more = choose_settings(similarity, start, self.seed, progress)
        trials += more
        return {**settings, "ranking": ranking}

    def _prepare(self, similarity: UserSimilarity, progress: Progress | None) -> LandmarkValues:
        return compare_with_landmarks(similarity, self.landmarks, self.seed, progress)

    def _build(self, similarity: UserSimilarity, settings: Settings, prepared: LandmarkValues) -> Predictor:
        rule = weight(settings["weight"])
        if similarity.data.ratings.scale.implicit:
            return ImplicitPredictor(similarity, rule)
        return KernelPredictor.fit(similarity, rule, settings["covariance"], prepared)

    def _build_ranker(
        self, similarity: UserSimilarity, settings: Settings, prepared: LandmarkValues
    ) -> TwoSidedRanker:
        return TwoSidedRanker.fit(similarity, settings["ranking"], *prepared)

    @property
    def calibration_(self) -> Calibration | None:
        """How well the estimated distances of the fit agree with exact ones; None if all were exact."""
        return self._fitted().similarity.calibration

    def _stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        predictor, ranker, calibration = self.predictor_, self.ranker_, self.calibration_
        assert isinstance(ranker, TwoSidedRanker)
        facts: dict[str, Any] = {"ranker": ranker.to_facts(), "calibration": None}
        arrays = ranker.to_arrays()
        if calibration is not None:
            facts["calibration"] = {**asdict(calibration), "coefficients": calibration.coefficients.tolist()}
        if (fitted := predictor.similarity.fitted) is not None:
            matrix = fitted.ratings.matrix
            arrays |= {f"fitted.{name}": getattr(matrix, name) for name in ("data", "indices", "indptr")}
        similarity = predictor.similarity
        if calibration is not None and similarity.data.require_geometry("a model").grid is None:
            positions = ranker.ranking.user_side.kernel.landmarks
            arrays["landmarks.nearest"] = similarity.landmarks(positions).nearest
        if isinstance(predictor, KernelPredictor):
            facts["mean"] = predictor.regression.mean
            arrays |= predictor.to_arrays()
        return facts, arrays

    def _restored(
        self, similarity: UserSimilarity, settings: Settings, facts: Mapping[str, Any], arrays: Arrays
    ) -> tuple[Predictor, TwoSidedRanker]:
        if facts["calibration"] is not None:
            stored = {
                **facts["calibration"],
                "coefficients": np.array(facts["calibration"]["coefficients"], float),
            }
            check_array("calibration", stored["coefficients"], np.float64, (N_FEATURES,))
            similarity = replace(similarity, calibration=Calibration(**stored))
        if "fitted.indptr" in arrays:
            similarity = replace(similarity, fitted=_fitted_data(similarity.data, arrays))
        if (nearest := arrays.get("landmarks.nearest")) is not None:
            positions = arrays["ranking.kernel.landmarks"]
            check_array("landmarks.nearest", nearest, np.float32, (similarity.data.n_items, len(positions)))
            similarity = replace(similarity, stored_nearest={positions.tobytes(): nearest})
        ranker = TwoSidedRanker.from_arrays(
            similarity, facts["ranker"], {k: v for k, v in arrays.items() if k.startswith("ranking.")}
        )
        rule, covariance = weight(settings["weight"]), settings["covariance"]
        if similarity.data.ratings.scale.implicit:
            return ImplicitPredictor(similarity, rule), ranker
        predictor = KernelPredictor.from_arrays(similarity, rule, covariance, facts["mean"], arrays)
        return predictor, ranker


def _fitted_data(data: Dataset, arrays: Arrays) -> Dataset:
    """Return the data as fitted, before updates, from the stored ratings."""
    from scipy.sparse import csr_array

    parts = tuple(arrays[f"fitted.{name}"] for name in ("data", "indices", "indptr"))
    n_users, ratings = len(parts[2]) - 1, data.ratings
    if not 0 < n_users <= ratings.n_users:
        raise InputError(f"fitted.indptr is damaged: {n_users:,} of {ratings.n_users:,} users")
    matrix = csr_array(parts, shape=(n_users, ratings.n_items))
    return data.with_ratings(Ratings(matrix, ratings.users[:n_users], ratings.items, ratings.scale))
