"""Recommender: the default of the package, a ranking and predicted ratings over one measure.

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

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal

from prefmover.data.file_options import check_whole_number
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.execution.threads import Stages
from prefmover.measures import Measure, find_measure
from prefmover.measures.estimates import Calibration
from prefmover.model.base_recommender import BaseRecommender
from prefmover.model.estimator import Fitted, Head
from prefmover.predict.gaussian_process import KernelPredictor, RatingSettings, require_room
from prefmover.predict.similarity import UserSimilarity, choose_landmarks
from prefmover.rank.tuning import Choice, HeldOut, choose_settings, hold_out
from prefmover.rank.two_sided import RankingSettings, TwoSidedRanker

__all__ = ["Recommender"]

RATING_WEIGHTS = {
    "pmd": "exponential(2.5)",
    # The best of three, on held-out ratings of some users of MovieLens-1M.
    "pmd-agreement": "exponential(0.5)",
}
"""The weights of measures as covariances of users, where they are not the measure's own rule. That of PMD was
chosen together with the other defaults of RatingSettings."""

RANKING_WEIGHTS = {"pmd": "exponential(2.5)"}


@dataclass(eq=False, repr=False)
class Recommender(BaseRecommender):
    """Rank items and predict ratings from the likes and ratings of similar users, with reasons.

    Two models share a measure between users and the places of users among landmarks. The *ranking* head
    answers what to see next (:mod:`prefmover.rank.two_sided`); :meth:`recommend` orders items by it. The
    *rating* head answers how a user would rate an item, by a Gaussian process over users and items
    (:mod:`prefmover.predict.gaussian_process`); :meth:`predict` asks it. Each has its settings, and neither
    reads those of the other. :class:`~prefmover.model.KNNRecommender` is the model of the paper.

    Parameters
    ----------
    measure
        The measure between users: a name in the table of measures, or a
        :class:`~prefmover.measures.Measure` of your own.
    ranking
        ``"tuned"``: the settings of the ranking are chosen in the fit, on a fifth of the ratings, held out.
        A :class:`~prefmover.rank.RankingSettings` is taken as it is, and nothing is tuned.
    rating
        The settings of predicted ratings; None means the defaults. They are never tuned: their optimum is
        flat.
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
    heads_
        The heads that were fitted.
    settings_
        By head, the settings as fitted: those that were given or chosen, with the measure's weight.
    tuning_
        The settings of the ranking that were tried, with their nDCG.

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
    >>> parts = model.explain_rating("ada-b", top[0].item)  # of the predicted rating
    >>> abs(parts.total - top[0].rating) < 1e-6
    True
    >>> guest = model.guest({"alien-1979": 5, "casablanca-1942": 2})  # nothing is refitted
    >>> [recommended.how for recommended in model.recommend(guest, n=2)]
    ['neighbors', 'neighbors']
    """

    kind: ClassVar[str] = "recommender"
    uses_geometry: ClassVar[bool] = True
    # On ml-100k.
    fit_shares: ClassVar = {
        "choosing settings": 70,
        "calibrating distances": 3,
        "comparing users": 2,
        "learning to predict": 20,
        "learning to rank": 5,
    }

    measure: str | Measure = "pmd"
    _: KW_ONLY
    ranking: RankingSettings | Literal["tuned"] = "tuned"
    rating: RatingSettings | None = None
    landmarks: int = 500
    convention: str | None = None
    seed: int = 0
    n_threads: int | None = None

    def _check(self) -> None:
        check_whole_number("landmarks", self.landmarks)
        check_whole_number("seed", self.seed, least=0)
        if not isinstance(self.ranking, RankingSettings) and not (
            isinstance(self.ranking, str) and self.ranking == "tuned"
        ):
            raise InputError(f'ranking is {self.ranking!r}; give "tuned" or a prefmover.RankingSettings')
        if not isinstance(self.rating, RatingSettings | None):
            raise InputError(f"rating is {self.rating!r}; give a prefmover.RatingSettings")

    def _check_size(self, data: Dataset, heads: tuple[Head, ...]) -> None:
        if "rating" in heads:
            require_room(data.ratings, min(self.landmarks, data.n_users))

    def _fit(self, similarity: UserSimilarity, heads: tuple[Head, ...], stages: Stages) -> Fitted:
        settings, choice = dict[str, Any](), None
        if "ranking" in heads:
            # A geometry that is made from the ratings is not fixed yet: it must not know those held out.
            choice = self._choose_ranking(similarity, stages)
            settings["ranking"] = choice.settings
        stages.begin("calibrating distances")
        data = similarity.data.with_geometry(similarity.data.geometry)
        landmarks = choose_landmarks(data.ratings, self.landmarks, self.seed)
        similarity = replace(similarity.with_data(data).calibrated(self.seed), landmarks=landmarks)
        compared = similarity.compared(stages.begin("comparing users"))
        predictor, ranker = None, None
        if "rating" in heads:
            stages.begin("learning to predict")
            row, rating = similarity.measure, self.rating or RatingSettings()
            rule = rating.weight or RATING_WEIGHTS.get(row.name, row.weight)
            settings["rating"] = replace(rating, weight=rule)
            predictor = KernelPredictor.fit(similarity, settings["rating"], compared)
        if choice is not None:
            stages.begin("learning to rank")
            ranker = TwoSidedRanker.fit(similarity, choice.settings, compared)
        return Fitted(similarity, predictor, ranker, settings, [] if choice is None else choice.trials)

    def tune(self, data: Dataset, parts: Sequence[HeldOut], n: int, n_trials: int) -> Choice:
        """Return the settings of the ranking that are best on held-out parts of data, by nDCG@n."""
        similarity = self._similarity(data, find_measure(self.measure))
        return choose_settings(
            similarity, self._start(similarity), parts, n, seed=self.seed, n_trials=n_trials
        )

    def _choose_ranking(self, similarity: UserSimilarity, stages: Stages) -> Choice:
        searched, start = stages.begin("choosing settings"), self._start(similarity)
        if isinstance(self.ranking, RankingSettings):
            return Choice(start, [])
        parts, n = hold_out(similarity.data, self.seed)
        return choose_settings(similarity, start, parts, n, seed=self.seed, progress=searched)

    def _start(self, similarity: UserSimilarity) -> RankingSettings:
        """Return the settings that were given, or those that a search begins with."""
        row, start = similarity.measure, self.ranking
        if isinstance(start, str):
            # The strengths of implicit feedback are never centered.
            start = RankingSettings(likes="given" if similarity.data.ratings.scale.implicit else "centered")
        if similarity.data.geometry is None:
            start = replace(start, features=0.0)
        if start.weight is None:
            start = replace(start, weight=RANKING_WEIGHTS.get(row.name, str(row.weight)))
        return start

    @property
    def calibration_(self) -> Calibration | None:
        """How well the estimated distances of the fit agree with exact ones; None if all were exact."""
        self._require_fit()
        return self.similarity_.calibration
