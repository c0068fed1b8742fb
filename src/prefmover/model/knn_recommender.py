"""KNNRecommender: the weighted mean of the k nearest users' ratings, as in the paper.

>>> from prefmover import Dataset, Ratings
>>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "x"], [5, 3, 4])
>>> KNNRecommender("jaccard", centering="mean").fit(Dataset(ratings)).predict([("bob", "y")])[0]
Prediction('bob', 'y': 3.000 from 1 neighbor)
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from prefmover.dataset import geometry_if
from prefmover.errors import InputError, check_whole_number
from prefmover.measures import Measure, Weight, weight
from prefmover.model.base_recommender import BaseRecommender
from prefmover.predict.centering import Centering, CenteringName, check_centering
from prefmover.predict.implicit import ImplicitPredictor
from prefmover.predict.knn import KNNPredictor, Neighborhood
from prefmover.predict.predictor import Predictor
from prefmover.predict.similarity import UserSimilarity
from prefmover.predict.tuning import Settings
from prefmover.rank.ranker import VoteRanker
from prefmover.rank.similar_items import SimilarItems
from prefmover.rank.two_sided import likes_of

__all__ = ["KNNRecommender"]


@dataclass(eq=False, repr=False)
class KNNRecommender(BaseRecommender):
    r"""Predict ratings as a weighted mean over the k nearest users.

    .. math:: \hat r_{ui} = b_{ui} + \sigma_u \frac{\sum_{v} w_{uv} e_{vi}}{\sum_{v} |w_{uv}| + \lambda}

    Parameters
    ----------
    measure
        The measure between users: a name in the table of measures, or a
        :class:`~prefmover.measures.Measure` of your own.
    k
        Number of neighbors.
    weight
        The rule that turns values of the measure into weights; the measure's rule by default.
    centering
        The baseline b that residuals e are measured from: ``"baseline"`` (biases of users and items),
        ``"mean"`` (the user's mean), ``"z-score"`` or ``"none"``.
    neighborhood
        ``"raters"``: the k nearest among the users who rated the item. ``"global"``: those of the k nearest
        of all users who rated it.
    shrinkage
        λ: pulls a prediction from few or light neighbors toward the baseline. (A neighbor by PMD weighs a
        few hundredths.)
    convention, n_threads
        As in :class:`~prefmover.model.Recommender`; so are the attributes ``data_``, ``predictor_``,
        ``settings_`` and ``tuning_``.

    See Also
    --------
    KNNRecommender.paper : the setting of the paper.
    """

    kind: ClassVar[str] = "knn"

    measure: str | Measure = "pmd"
    k: int = 40
    _: KW_ONLY
    weight: str | Weight | None = None
    centering: CenteringName = "baseline"
    neighborhood: Neighborhood = "raters"
    shrinkage: float = 0.0
    convention: str | None = None
    n_threads: int | None = None

    @classmethod
    def paper(cls, measure: str | Measure = "pmd", k: int = 40, **parameters: Any) -> Self:
        """Return the setting of the paper: residuals from users' means, the 40 nearest raters, λ = 0."""
        return cls(measure, k, **{"centering": "mean", **parameters})

    def _settings(self, row: Measure) -> dict[str, Any]:
        weight = row.weight if self.weight is None else self.weight
        return {"weight": weight, "k": self.k, "shrinkage": self.shrinkage}

    def _check(self, settings: Settings) -> None:
        check_centering(self.centering)
        if self.neighborhood not in ("raters", "global"):
            raise InputError(f'neighborhood is {self.neighborhood!r}; choose "raters" or "global"')
        check_whole_number("k", settings["k"])
        shrinkage = settings["shrinkage"]
        if not isinstance(shrinkage, Real) or not 0 <= float(shrinkage) < np.inf:
            raise InputError(f"shrinkage is {shrinkage!r}; give a number from 0")

    def _build(self, similarity: UserSimilarity, settings: Settings, prepared: None) -> Predictor:
        rule, shrinkage = weight(settings["weight"]), float(settings["shrinkage"])
        if similarity.data.ratings.implicit:
            return ImplicitPredictor(similarity, rule)
        centering = Centering.fit(similarity.data.ratings, self.centering)
        return KNNPredictor(similarity, rule, centering, settings["k"], self.neighborhood, shrinkage)

    def _build_ranker(self, similarity: UserSimilarity, settings: Settings, prepared: None) -> VoteRanker:
        data, row = similarity.data, similarity.measure
        similar = SimilarItems.of_likes(likes_of(data.ratings), geometry_if(data, row.needs_geometry))
        return VoteRanker(similarity, weight(settings["weight"]), settings["k"], similar)
