"""KNNRecommender: the weighted mean of the k nearest users' ratings, as in the paper.

>>> from prefmover import Dataset, Ratings
>>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "x"], [5, 3, 4])
>>> KNNRecommender("jaccard", centering="mean").fit(Dataset(ratings)).predict([("bob", "y")])[0]
Prediction('bob', 'y': 3.000 from 1 neighbor)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from prefmover._typing import Progress
from prefmover.errors import InputError
from prefmover.measures import Measure, Weight, weight
from prefmover.model.base import BaseRecommender, check_whole_number
from prefmover.predict.centering import Centering, CenteringName, check_centering
from prefmover.predict.knn import KNNPredictor, Neighborhood
from prefmover.predict.similarity import UserSimilarity
from prefmover.predict.tuning import Change, neighbor_counts, shrinkages, weights

__all__ = ["DEFAULT_K", "KNNRecommender"]

DEFAULT_K = 40


class KNNRecommender(BaseRecommender):
    r"""Predict ratings as a weighted mean over the k nearest users.

    .. math:: \hat r_{ui} = b_{ui} + \sigma_u \frac{\sum_{v} w_{uv} e_{vi}}{\sum_{v} |w_{uv}| + \lambda}

    Parameters
    ----------
    measure
        The measure between users: a name in the table of measures, or a
        :class:`~prefmover.measures.Measure` of your own.
    k
        Number of neighbors; None means 40, or the choice of ``fit(tune=True)``.
    weight
        The rule that turns values of the measure into weights; the measure's rule by default.
    centering
        The baseline b that residuals e are measured from: ``"baseline"`` (biases of users and items),
        ``"mean"`` (the user's mean), ``"z-score"`` or ``"none"``.
    neighborhood
        ``"raters"``: the k nearest among the users who rated the item. ``"global"``: those of the k nearest
        of all users who rated it.
    shrinkage
        λ: pulls a prediction from few or light neighbors toward the baseline; 0 by default. (A neighbor by
        PMD weighs a few hundredths.)
    convention
        A named convention of the measure.
    n_threads
        Threads; None means all cores.

    Attributes
    ----------
    data_, predictor_, settings_, tuning_
        As in :class:`~prefmover.model.Recommender`.

    See Also
    --------
    KNNRecommender.paper : the setting of the paper.
    """

    kind: ClassVar[str] = "knn"

    def __init__(
        self,
        measure: str | Measure = "pmd",
        k: int | None = None,
        *,
        weight: str | Weight | None = None,
        centering: CenteringName = "baseline",
        neighborhood: Neighborhood = "raters",
        shrinkage: float | None = None,
        convention: str | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.measure = measure
        self.k = k
        self.weight = weight
        self.centering = centering
        self.neighborhood = neighborhood
        self.shrinkage = shrinkage
        self.convention = convention
        self.n_threads = n_threads

    @classmethod
    def paper(cls, measure: str | Measure = "pmd", k: int | None = None, **parameters: Any) -> Self:
        """Return the setting of the paper: residuals from users' means, the 40 nearest raters, λ = 0."""
        return cls(measure, k, **{"centering": "mean", **parameters})

    def _check_parameters(self) -> None:
        check_centering(self.centering)
        if self.neighborhood not in ("raters", "global"):
            raise InputError(f'neighborhood is {self.neighborhood!r}; choose "raters" or "global"')
        _check_numbers({"k": self.k, "shrinkage": self.shrinkage})

    def _settings(self, row: Measure) -> dict[str, Any]:
        return {
            "weight": self.weight or row.weight,
            "k": DEFAULT_K if self.k is None else self.k,
            "shrinkage": 0.0 if self.shrinkage is None else self.shrinkage,
        }

    def _changes(self, settings: Mapping[str, Any]) -> list[Change]:
        changes = weights(settings) if self.weight is None else []
        changes += neighbor_counts() if self.k is None else []
        return changes + (shrinkages() if self.shrinkage is None else [])

    def _prepare(self, similarity: UserSimilarity, progress: Progress | None) -> None:
        return None

    def _build(
        self, similarity: UserSimilarity, settings: Mapping[str, Any], prepared: None = None
    ) -> KNNPredictor:
        _check_numbers(settings)
        return KNNPredictor(
            similarity,
            Centering.fit(similarity.data.ratings, self.centering),
            weight(settings["weight"]),
            settings["k"],
            self.neighborhood,
            float(settings["shrinkage"]),
        )

    def _stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {}

    def _restored(
        self,
        similarity: UserSimilarity,
        settings: Mapping[str, Any],
        facts: Mapping[str, Any],
        arrays: Mapping[str, Any],
    ) -> KNNPredictor:
        return self._build(similarity, settings)


def _check_numbers(numbers: Mapping[str, Any]) -> None:
    """Raise an error unless k and the shrinkage are None or numbers that make sense."""
    k, shrinkage = numbers["k"], numbers["shrinkage"]
    if k is not None:
        check_whole_number("k", k)
    if shrinkage is not None and not 0 <= shrinkage < np.inf:
        raise InputError(f"shrinkage is {shrinkage!r}; give a number from 0")
