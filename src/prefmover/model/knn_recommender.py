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

from prefmover.data.file_options import check_whole_number
from prefmover.errors import InputError
from prefmover.execution.threads import Stages
from prefmover.measures import Measure, Weight, weight
from prefmover.model.base_recommender import BaseRecommender
from prefmover.model.estimator import Fitted, Head
from prefmover.predict.centering import Centering, CenteringName, check_centering
from prefmover.predict.knn import KNNPredictor, Neighborhood
from prefmover.predict.similarity import UserSimilarity
from prefmover.rank.ranker import VoteRanker

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
        As in :class:`~prefmover.model.Recommender`; so are the attributes ``data_``, ``heads_`` and
        ``settings_``.

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

    def _check(self) -> None:
        check_centering(self.centering)
        if self.neighborhood not in ("raters", "global"):
            raise InputError(f'neighborhood is {self.neighborhood!r}; choose "raters" or "global"')
        check_whole_number("k", self.k)
        if not isinstance(self.shrinkage, Real) or not 0 <= float(self.shrinkage) < np.inf:
            raise InputError(f"shrinkage is {self.shrinkage!r}; give a number from 0")
        if self.weight is not None:
            weight(self.weight)

    def _fit(self, similarity: UserSimilarity, heads: tuple[Head, ...], stages: Stages) -> Fitted:
        given = similarity.measure.weight if self.weight is None else self.weight
        rule = weight(given)
        predictor, ranker, ratings = None, None, similarity.data.ratings
        if similarity.measure.needs_geometry:  # one that is made from the ratings is made once
            similarity = similarity.with_data(similarity.data.with_geometry(similarity.data.geometry))
        if "rating" in heads:
            centering, shrinkage = Centering.fit(ratings, self.centering), float(self.shrinkage)
            predictor = KNNPredictor(similarity, rule, centering, self.k, self.neighborhood, shrinkage)
        if "ranking" in heads:
            ranker = VoteRanker.fit(similarity, rule, self.k)
        settings = {"weight": given, "k": self.k, "shrinkage": self.shrinkage}
        return Fitted(similarity, predictor, ranker, settings, [])
