"""UserKNN: fit, predict, recommend, neighbors, explain, save, load.

>>> from prefmover import ItemGeometry, Ratings
>>> ratings = Ratings.from_arrays(
...     ["ann", "ann", "bob", "bob", "cid", "cid"],
...     ["Alien", "Emma", "Alien", "Heat", "Emma", "Clueless"],
...     [5, 2, 5, 4, 5, 5],
... )
>>> geometry = ItemGeometry.from_vectors(
...     ["Alien", "Clueless", "Emma", "Heat"], [[9, 0], [1, 8], [0, 9], [8, 3]]
... )
>>> model = UserKNN().fit(ratings, geometry)
>>> [p.item for p in model.recommend("ann", n=2)]
['Heat', 'Clueless']
"""

import inspect
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal, Self

import numpy as np

from prefmover.data.ids import IdIndex
from prefmover.data.ratings import Ratings
from prefmover.errors import InputError
from prefmover.execution.threads import Progress
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Comparison, Measure, Weight, compare, find_measure, weight
from prefmover.model.guest import Guest
from prefmover.predict.base import Prediction, Predictions, clip, how_made
from prefmover.predict.centering import Centering, CenteringName, Floats, Index
from prefmover.predict.explanations import Labels, RecommendationExplanation, UserExplanation, explain_users
from prefmover.predict.inputs import columns_of, guest_ratings, places
from prefmover.predict.item_space import on_items, over_geometry
from prefmover.predict.kernel import Lending, fit_lending, landmark_values
from prefmover.predict.knn import Answer, Averaging, Neighborhood, Parts
from prefmover.predict.regression import Shared
from prefmover.predict.similarity import Likeness, stacked
from prefmover.predict.top_n import best
from prefmover.search import Neighbor

__all__ = ["UserKNN"]

KERNEL_WEIGHT = "exponential(2.5)"
"""PMD to covariance, for the default predictor; chosen with :class:`~prefmover.predict.Shared`."""

GUEST = "you"


class UserKNN:
    """Ratings predicted from like-minded users, with reasons.

    Parameters
    ----------
    measure
        How alike users are: a name of the table of measures, or a measure of your own.
    k
        How many neighbors speak, for ``predictor="average"``.
    predictor
        ``"kernel"``: neighbors lend their opinions on this and on similar items, all at once
        (:mod:`prefmover.predict.regression`); the most accurate. ``"average"``: a weighted mean over the k
        nearest (:mod:`prefmover.predict.base`).
    weight
        From the measure to a neighbor's say; by default the measure's own rule, and ``"exponential(2.5)"``
        for PMD with the kernel predictor.
    centering, neighborhood, shrinkage
        Of the average: what deviations are measured from, among whom the k nearest are sought, and how
        many neighbors of weight 1 the doubt is worth (a neighbor by PMD weighs a few hundredths).
    shared
        Of the kernel predictor: how much ratings have in common.
    convention
        A named convention of the measure.
    landmarks
        Of the kernel predictor: with more than twice as many users, everybody is compared with a random
        sample of so many only (on MovieLens-1M users, a ninth of them cost .001 of MAE).
    missing
        Rated items that the geometry does not know: ``"error"``, or ``"drop"`` their ratings.
    seed
        For landmarks, and for the split that ``tune`` makes.
    n_threads
        Threads; None means all cores.

    Attributes
    ----------
    ratings_, geometry_
        What was learned from, over the same items.
    predictor_
        The fitted predictor.
    tuning_
        What ``fit(..., tune=True)`` tried, with the mean absolute error of each; else empty.

    See Also
    --------
    UserKNN.paper : the setting of the paper.

    Examples
    --------
    >>> from prefmover import datasets
    >>> cinema = datasets.load("cinema")
    >>> few = cinema.ratings.take(users=range(40))
    >>> model = UserKNN("pmd", k=20, predictor="average").fit(few, cinema.geometry)
    >>> near = model.neighbors("ada-b", k=1)[0]
    >>> why = model.explain("ada-b", near.id)  # what of theirs corresponds to what of hers
    >>> best = model.recommend("ada-b", n=3)
    >>> parts = model.explain_recommendation("ada-b", best[0].item)  # they add up to the prediction
    >>> abs(parts.total - best[0].rating) < 1e-9 or best[0].clipped
    True
    >>> you = model.for_ratings({"alien-1979": 5, "casablanca-1942": 2})  # nothing is refitted
    >>> [p.how for p in you.recommend(n=2)]
    ['neighbors', 'neighbors']
    """

    def __init__(
        self,
        measure: str | Measure = "pmd",
        k: int = 40,
        *,
        predictor: Literal["kernel", "average"] = "kernel",
        weight: str | Weight | None = None,
        centering: CenteringName = "baseline",
        neighborhood: Neighborhood = "raters",
        shrinkage: float = 0.0,
        shared: Shared | None = None,
        convention: str | None = None,
        landmarks: int = 500,
        missing: Literal["error", "drop"] = "error",
        seed: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self.measure = measure
        self.k = k
        self.predictor = predictor
        self.weight = weight
        self.centering = centering
        self.neighborhood = neighborhood
        self.shrinkage = shrinkage
        self.shared = shared
        self.convention = convention
        self.landmarks = landmarks
        self.missing = missing
        self.seed = seed
        self.n_threads = n_threads

    @classmethod
    def paper(cls, measure: str | Measure = "pmd", k: int = 40, **others: Any) -> Self:
        """Return the paper's setting: mean-centered, the k nearest among the raters of the item."""
        settings: dict[str, Any] = {"predictor": "average", "centering": "mean", "shrinkage": 0.0, **others}
        return cls(measure, k, **settings)

    @classmethod
    def _parameters(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn's ``clone`` expects."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; they take effect with the next :meth:`fit`."""
        known = self._parameters()
        for name, value in parameters.items():
            if name not in known:
                raise InputError(f"UserKNN has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def _given(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults."""
        defaults = inspect.signature(type(self).__init__).parameters
        return {n: v for n, v in self.get_params().items() if v != defaults[n].default}

    def __repr__(self) -> str:
        return f"UserKNN({', '.join(f'{n}={v!r}' for n, v in self._given().items())})"

    def fit(
        self,
        ratings: Ratings,
        geometry: ItemGeometry | None = None,
        *,
        tune: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        ratings
            Training ratings.
        geometry
            The distance between items. Items that only it knows can be predicted and recommended too.
        tune
            Choose what the user did not give (weight, k and shrinkage, or ``shared``) on a tenth of the
            ratings, held out; then fit to all of them. See :attr:`tuning_`. A parameter counts as given if
            it differs from its default: ``k=40`` is open to choice, ``k=41`` is not.
        progress
            Called with (done, total) while users are compared.
        """
        row = self._checked()
        if geometry is None and row.needs_geometry:
            raise InputError(
                f"measure {row.name!r} needs the distance between items: "
                "fit(ratings, geometry=ItemGeometry.from_vectors(...))"
            )
        if geometry is not None:
            ratings, geometry = over_geometry(ratings, geometry, self.missing)
        self.ratings_, self.geometry_ = ratings, geometry
        self.tuning_: list[dict[str, Any]] = []
        settings = self._settings(row)
        likeness = Likeness(ratings, geometry, row, self.convention, self.n_threads)
        if tune:
            from prefmover.predict.tuning import tuned

            given = {name for name in settings if name in self._given()}
            settings, self.tuning_ = tuned(likeness, settings, given, self._build, self.landmarks, self.seed)
        compared = None
        if self.predictor == "kernel":
            compared = landmark_values(likeness, self.landmarks, self.seed, progress)
        self.settings_ = settings
        self.predictor_ = self._build(likeness, settings, compared)
        return self._index()

    def _settings(self, row: Measure) -> dict[str, Any]:
        """Return the numbers behind the predictor, given or by default."""
        if self.predictor == "kernel":
            usual = KERNEL_WEIGHT if row.name == "pmd" else row.weight
            return {"weight": self.weight or usual, "shared": self.shared or Shared()}
        return {"weight": self.weight or row.weight, "k": self.k, "shrinkage": self.shrinkage}

    def _build(
        self, likeness: Likeness, settings: Mapping[str, Any], compared: tuple[Index, Floats] | None
    ) -> Averaging | Lending:
        rule = weight(settings["weight"])
        if self.predictor == "kernel":
            assert compared is not None
            return fit_lending(likeness, rule, settings["shared"], *compared)
        centering = Centering.of(likeness.ratings, self.centering)
        shrinkage = float(settings["shrinkage"])
        return Averaging(likeness, centering, rule, settings["k"], self.neighborhood, shrinkage)

    def _index(self) -> Self:
        self._users = {user: k for k, user in enumerate(self.ratings_.users.tolist())}
        self._items = {item: k for k, item in enumerate(self.ratings_.items.tolist())}
        return self

    def _checked(self) -> Measure:
        """Return the measure; raise an error if a parameter will not do."""
        row = find_measure(self.measure)
        row.convention(self.convention)
        for name, choices in (
            ("predictor", ("kernel", "average")),
            ("neighborhood", ("raters", "global")),
            ("missing", ("error", "drop")),
        ):
            if getattr(self, name) not in choices:
                listed = " or ".join(f'"{choice}"' for choice in choices)
                raise InputError(f"{name} is {getattr(self, name)!r}; choose {listed}")
        for name in ("k", "landmarks"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise InputError(f"{name} is {value!r}; give a whole number from 1")
        if not 0 <= self.shrinkage < np.inf:
            raise InputError(f"shrinkage is {self.shrinkage!r}; give a number from 0")
        if self.shared is not None and not isinstance(self.shared, Shared):
            raise InputError(f"shared is {self.shared!r}; give a prefmover.predict.Shared")
        if self.weight is not None:
            weight(self.weight)
        return row

    def _fitted(self) -> Averaging | Lending:
        if not hasattr(self, "predictor_"):
            raise InputError("this UserKNN is not fitted; call fit(ratings, geometry) first")
        return self.predictor_

    def predict(self, pairs: Any, *, progress: Progress | None = None) -> Predictions:
        """Return predicted ratings of (user, item) pairs.

        Unknown users and items get the documented fallback, which ``how`` names.

        Parameters
        ----------
        pairs
            A list of (user, item), a frame with columns user and item, or a :class:`Ratings`, of which
            only who and what is looked at.

        Examples
        --------
        >>> ratings = Ratings.from_arrays(["ann", "ann", "bob"], ["x", "y", "x"], [5, 3, 4])
        >>> UserKNN("jaccard", predictor="average", centering="mean").fit(ratings).predict([("bob", "y")])[0]
        Prediction('bob', 'y': 3.000 from 1 neighbor)
        """
        predictor = self._fitted()
        users, items = columns_of(pairs)
        u, i = (places(ids, known) for ids, known in ((users, self._users), (items, self._items)))
        return self._predictions(users, items, u, i, predictor.answer(u, i, progress))

    def predict_one(self, user: Any, item: Any) -> Prediction:
        """Return one predicted rating."""
        return self.predict([(user, item)])[0]

    def recommend(self, user: Any, n: int = 10, *, items: Iterable[Any] | None = None) -> list[Prediction]:
        """Return the n items with the highest predicted ratings that a user has not rated.

        Parameters
        ----------
        user
            Id; an unknown user gets what suits most people.
        items
            Candidates; all by default.
        """
        predictor = self._fitted()
        u = self._users.get(user, -1)
        candidates = self._candidates(items)
        answer = predictor.answer(np.full(len(candidates), u), candidates)
        rated = self._rated(u) if u >= 0 else np.empty(0, np.int64)
        top = best(answer.values, np.flatnonzero(np.isin(candidates, rated)), n)
        who, what = [user] * len(top), self.ratings_.items[candidates[top]].tolist()
        return list(self._predictions(who, what, np.full(len(top), u), candidates[top], answer.some(top)))

    def recommend_many(self, users: Iterable[Any], n: int = 10) -> dict[Any, list[Prediction]]:
        """Return :meth:`recommend` for several users, by id, one after the other."""
        return {user: self.recommend(user, n) for user in users}

    def neighbors(self, user: Any, k: int = 10) -> list[Neighbor]:
        """Return the k nearest users with their distances (or similarities), nearest first."""
        likeness = self._fitted().likeness
        found = likeness.nearest(np.array([self.ratings_.user_position(user)]), k)
        return list(found.of(user))

    def explain(self, user: Any, other: Any, *, labels: Labels | None = None) -> UserExplanation:
        """Return what of one user's ratings corresponds to what of another's: the transport plan.

        Parameters
        ----------
        labels
            Names of items, for people: ``{item: name}``.
        """
        self._fitted()
        return explain_users(self.ratings_, self._with_geometry(), user, other, labels)

    def compare(self, user: Any, other: Any, *, n_terms: int = 10) -> Comparison:
        """Return the measure's value for two users, taken apart."""
        self._fitted()
        return compare(
            self.ratings_,
            user,
            other,
            self.measure,
            geometry=self.geometry_,
            convention=self.convention,
            n_terms=n_terms,
        )

    def explain_recommendation(
        self, user: Any, item: Any, *, labels: Labels | None = None
    ) -> RecommendationExplanation:
        """Return what a predicted rating is made of: what is usual, and what each neighbor adds."""
        predictor = self._fitted()
        prediction = self.predict_one(user, item)
        parts = predictor.parts(self._users.get(user, -1), self._items.get(item, -1))
        return RecommendationExplanation(prediction, parts.base, parts.neighbors, parts.through, labels or {})

    def reasons(self, user: Any, items: Iterable[Any], most: int = 3) -> list[Parts]:
        """Return the neighbors who speak most for each item: reasons to recommend it.

        Cheaper than :meth:`explain_recommendation` for each, which lists everybody; the parts of those who
        are not named are missing from the sum. Where too few speak for an item, those who say most against
        it follow.

        Parameters
        ----------
        user, items
            Known ids.
        most
            How many neighbors to name.
        """
        predictor = self._fitted()
        at = IdIndex("item", self.ratings_.items).positions(items)
        return predictor.reasons(self.ratings_.user_position(user), at, most)

    def for_ratings(self, ratings: Mapping[Any, float], *, name: Any = GUEST) -> Guest:
        """Return somebody who is not in the data, with ratings typed in a moment ago.

        Parameters
        ----------
        ratings
            Item id to rating.
        name
            What to call them in answers.
        """
        self._fitted()
        return Guest(self, guest_ratings(self.ratings_, ratings, name), name)

    def add_users(self, ratings: Ratings) -> Self:
        """Add users to a fitted model, without comparing the old ones again, and return it.

        With the kernel predictor the new users are compared with the landmarks, and the coefficients of
        everybody are brought up to date; with the average, means and biases are.
        """
        predictor = self._fitted()
        known = [user for user in ratings.users.tolist() if user in self._users]
        if known:
            raise InputError(f"user {known[0]!r} is in the model already; fit again to change ratings")
        if (ratings.users.dtype == np.int64) != (self.ratings_.users.dtype == np.int64):
            raise InputError("the new user ids must be of the model's type, all integers or all strings")
        unknown = [item for item in ratings.items.tolist() if item not in self._items]
        if unknown and self.missing == "error":
            raise InputError(
                f"item {unknown[0]!r} is not in the model ({len(unknown)} such items); leave it out, or "
                'make the model with missing="drop"'
            )
        scale, given = self.ratings_.scale, ratings.matrix.data
        if ((given < scale.lowest) | (given > scale.highest)).any():
            raise InputError(
                f"the new ratings go from {given.min():g} to {given.max():g}; the model's scale is "
                f"{scale.lowest:g} to {scale.highest:g}"
            )
        more = on_items(ratings, self._items, self.ratings_)
        whole = stacked(self.ratings_, more)
        old = predictor.likeness
        likeness = Likeness(whole, old.geometry, old.measure, old.convention, old.n_threads)
        if isinstance(predictor, Lending):
            self.predictor_ = predictor.with_users(likeness)
        else:
            self.predictor_ = self._build(likeness, self.settings_, None)
        self.ratings_ = whole
        return self._index()

    def save(self, folder: str | PathLike[str]) -> None:
        """Save the fitted model in a folder; an older model there is replaced in one step."""
        from prefmover.model.saved import save

        self._fitted()
        save(self, folder)

    @classmethod
    def load(cls, folder: str | PathLike[str], *, n_threads: int | None = None, verify: bool = True) -> Self:
        """Return a model that was saved; its arrays stay in the file until they are used.

        Parameters
        ----------
        verify
            Compare checksums, which reads the file once.
        """
        from prefmover.model.saved import load

        return load(cls, folder, n_threads=n_threads, verify=verify)

    def _predictions(
        self, users: list[Any], items: list[Any], u: Index, i: Index, answer: Answer
    ) -> Predictions:
        values, clipped = clip(answer.values, self.ratings_.scale)
        how = how_made(u, i, answer.n_neighbors)
        return Predictions(
            users, items, values, answer.base, how, clipped, answer.n_neighbors, answer.details
        )

    def _candidates(self, items: Iterable[Any] | None) -> Index:
        if items is None:
            return np.arange(self.ratings_.n_items)
        return np.unique(IdIndex("item", self.ratings_.items).positions(items))

    def _rated(self, u: int) -> Index:
        indptr = self.ratings_.matrix.indptr
        return self.ratings_.matrix.indices[indptr[u] : indptr[u + 1]].astype(np.int64)

    def _with_geometry(self) -> ItemGeometry:
        if self.geometry_ is None:
            raise InputError(
                "an explanation by transport needs the distance between items: fit with a geometry"
            )
        return self.geometry_
