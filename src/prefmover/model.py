"""UserKNN: fit, predict, recommend, neighbours, explain, save, load.

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
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from prefmover.errors import InputError
from prefmover.ids import IdIndex
from prefmover.items import ItemGeometry, align
from prefmover.measures import Comparison, Measure, Weight, compare, find_measure, weight
from prefmover.measures.pmd import pmd
from prefmover.parallel import Progress
from prefmover.ratings import Ratings, Scale
from prefmover.recommend.averaging import Answer, Averaging, Neighborhood
from prefmover.recommend.centering import Centering, CenteringName, Floats, Index
from prefmover.recommend.explain import Labels, RecommendationExplanation, UserExplanation
from prefmover.recommend.lending import Lending, fit_lending, landmark_values
from prefmover.recommend.likeness import Likeness, one_user, stacked
from prefmover.recommend.predict import Prediction, Predictions, clip, how_made
from prefmover.recommend.regression import Regression, Shared
from prefmover.recommend.top_n import best
from prefmover.recommend.user_kernel import UserKernel
from prefmover.search import Neighbor

if TYPE_CHECKING:
    from prefmover.storage import StoredModel

__all__ = ["Guest", "UserKNN"]

KERNEL_WEIGHT = "exponential(2.5)"
"""PMD to covariance, for the default predictor; chosen with :class:`~prefmover.recommend.Shared`."""

GUEST = "you"


class UserKNN:
    """Ratings predicted from like-minded users, with reasons.

    Parameters
    ----------
    measure
        How alike users are: a name of the table of measures, or a measure of your own.
    k
        How many neighbours speak, for ``predictor="average"``.
    predictor
        ``"kernel"``: neighbours lend their opinions on this and on similar items, all at once
        (:mod:`prefmover.recommend.regression`); the most accurate. ``"average"``: a weighted mean over the k
        nearest (:mod:`prefmover.recommend.predict`).
    weight
        From the measure to a neighbour's say; by default the measure's own rule, and ``"exponential(2.5)"``
        for PMD with the kernel predictor.
    centering, neighborhood, shrinkage
        Of the average: what deviations are measured from, among whom the k nearest are sought, and how
        many neighbours' worth of doubt there is.
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
    n_jobs
        Threads; None means all cores.

    Attributes
    ----------
    ratings_, geometry_
        What was learnt from, over the same items.
    predictor_
        The fitted predictor.
    tuning_
        What ``fit(..., tune=True)`` tried, with the mean absolute error of each; else empty.

    See Also
    --------
    UserKNN.paper : the setting of the paper.
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
        n_jobs: int | None = None,
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
        self.n_jobs = n_jobs

    @classmethod
    def paper(cls, measure: str | Measure = "pmd", k: int = 40, **others: Any) -> Self:
        """Return the paper's setting: mean-centred, the k nearest among the raters of the item."""
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

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        given = [f"{n}={v!r}" for n, v in self.get_params().items() if v != defaults[n].default]
        return f"UserKNN({', '.join(given)})"

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
            ratings, held out; then fit to all of them. See :attr:`tuning_`.
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
            ratings, geometry = _over_geometry(ratings, geometry, self.missing)
        self.ratings_, self.geometry_ = ratings, geometry
        self.tuning_: list[dict[str, Any]] = []
        settings = self._settings(row)
        likeness = Likeness(ratings, geometry, row, self.convention, self.n_jobs)
        if tune:
            from prefmover.recommend.tuning import tuned

            given = {name for name in ("weight", "shared") if getattr(self, name) is not None}
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
            raise InputError(f"shared is {self.shared!r}; give a prefmover.recommend.Shared")
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
        Prediction('bob', 'y': 3.000 from 1 neighbors)
        """
        predictor = self._fitted()
        users, items = _pairs(pairs)
        u, i = (_places(ids, known) for ids, known in ((users, self._users), (items, self._items)))
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
        return list(self._predictions(who, what, np.full(len(top), u), candidates[top], _some(answer, top)))

    def recommend_many(self, users: Iterable[Any], n: int = 10) -> dict[Any, list[Prediction]]:
        """Return :meth:`recommend` for several users, by id, one after the other."""
        return {user: self.recommend(user, n) for user in users}

    def neighbors(self, user: Any, k: int = 10) -> list[Neighbor]:
        """Return the k nearest users with their distances (or similarities), nearest first."""
        likeness = self._fitted().likeness
        found = likeness.nearest(np.array([self.ratings_.user_index(user)]), k)
        return _neighbor_list(found)

    def explain(self, user: Any, other: Any, *, labels: Labels | None = None) -> UserExplanation:
        """Return what of one user's ratings corresponds to what of another's: the transport plan.

        Parameters
        ----------
        labels
            Names of items, for people: ``{item: name}``.
        """
        self._fitted()
        return _explain_users(self.ratings_, self._with_geometry(), user, other, labels)

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
        """Return what a predicted rating is made of: what is usual, and what each neighbour adds."""
        predictor = self._fitted()
        prediction = self.predict_one(user, item)
        parts = predictor.parts(self._users.get(user, -1), self._items.get(item, -1))
        return RecommendationExplanation(prediction, parts.base, parts.neighbors, parts.through, labels or {})

    def for_ratings(self, ratings: Mapping[Any, float], *, name: Any = GUEST) -> "Guest":
        """Return somebody who is not in the data, with ratings typed in a moment ago.

        Parameters
        ----------
        ratings
            Item id to rating.
        name
            What to call them in answers.
        """
        self._fitted()
        return Guest(self, _checked_guest(self.ratings_, ratings, name), name)

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
        more = _on_items(ratings, self._items, self.ratings_)
        whole = stacked(self.ratings_, more)
        old = predictor.likeness
        likeness = Likeness(whole, old.geometry, old.measure, old.convention, old.n_jobs)
        if isinstance(predictor, Lending):
            self.predictor_ = predictor.with_users(likeness)
        else:
            self.predictor_ = self._build(likeness, self.settings_, None)
        self.ratings_ = whole
        return self._index()

    def save(self, folder: str | PathLike[str]) -> None:
        """Save the fitted model in a folder; an older model there is replaced in one step."""
        from prefmover import storage

        predictor = self._fitted()
        parameters = {**self.get_params(), "n_jobs": None}
        parameters["measure"] = find_measure(self.measure).name
        for name in ("weight", "shared"):
            parameters[name] = _as_json(name, parameters[name])
        settings = {name: _as_json(name, value) for name, value in self.settings_.items()}
        scale, geometry = self.ratings_.scale, self.geometry_
        matrix = self.ratings_.matrix
        arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data}
        facts: dict[str, Any] = {
            "settings": settings,
            "tuning": self.tuning_,
            "scale": [scale.lowest, scale.highest, scale.step],
            "geometry": None,
        }
        if geometry is not None:
            kept = ("name", "is_metric", "metric_by", "to_distance", "unit")
            facts["geometry"] = {name: getattr(geometry, name) for name in kept}
            for name in ("grid", "vectors"):
                if getattr(geometry, name) is not None:
                    arrays[f"geometry.{name}"] = getattr(geometry, name)
        if isinstance(predictor, Lending):
            facts["mean"] = predictor.regression.mean
            arrays["landmark_own"] = predictor.landmark_own
            arrays |= {f"kernel.{name}": getattr(predictor.regression.kernel, name) for name in _KERNEL}
            arrays |= {f"regression.{name}": getattr(predictor.regression, name) for name in _REGRESSION}
        storage.write(
            folder,
            parameters=parameters,
            facts=facts,
            arrays=arrays,
            users=self.ratings_.users,
            items=self.ratings_.items,
        )

    @classmethod
    def load(cls, folder: str | PathLike[str], *, n_jobs: int | None = None, verify: bool = True) -> Self:
        """Return a model that was saved; its arrays stay in the file until they are used.

        Parameters
        ----------
        verify
            Compare checksums, which reads the file once.
        """
        from prefmover import storage

        stored = storage.read(folder, verify=verify)
        try:
            return cls._from_stored(stored, n_jobs)
        except (KeyError, TypeError) as error:
            raise InputError(f"{folder} is incomplete ({error!r}); save the model again") from None

    @classmethod
    def _from_stored(cls, stored: "StoredModel", n_jobs: int | None) -> Self:
        from scipy.sparse import csr_array

        facts, arrays = stored.header.facts, stored.arrays
        parameters = {**stored.header.parameters, "n_jobs": n_jobs}
        if parameters["shared"] is not None:
            parameters["shared"] = Shared(**parameters["shared"])
        model = cls(**parameters)
        try:
            row = model._checked()
        except InputError as error:
            raise InputError(f"{error}. A measure of your own must be registered before loading") from None
        settings = dict(facts["settings"])
        if "shared" in settings:
            settings["shared"] = Shared(**settings["shared"])
        shape = (len(stored.users), len(stored.items))
        matrix = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        ratings = Ratings(matrix, stored.users, stored.items, Scale(*facts["scale"]))
        geometry = None
        if facts["geometry"] is not None:
            grid, vectors = arrays.get("geometry.grid"), arrays.get("geometry.vectors")
            geometry = ItemGeometry(stored.items, **facts["geometry"], grid=grid, vectors=vectors)
        model.ratings_, model.geometry_ = ratings, geometry
        model.settings_, model.tuning_ = settings, facts["tuning"]
        likeness = Likeness(ratings, geometry, row, model.convention, n_jobs)
        if model.predictor == "kernel":
            kernel = UserKernel(**{name: arrays[f"kernel.{name}"] for name in _KERNEL})
            rest = {name: arrays[f"regression.{name}"] for name in _REGRESSION}
            solved = Regression(ratings, geometry, kernel, settings["shared"], facts["mean"], **rest)
            rule = weight(settings["weight"])
            model.predictor_ = Lending(likeness, rule, arrays["landmark_own"], solved)
        else:
            model.predictor_ = model._build(likeness, settings, None)
        return model._index()

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


class Guest:
    """Somebody who is not in the data: neighbours, predictions, recommendations and reasons all the same.

    Made by :meth:`UserKNN.for_ratings`. The model stays as it is.
    """

    def __init__(self, model: UserKNN, ratings: Ratings, name: Any) -> None:
        self.model = model
        self.ratings = ratings
        self.name = name

    def __repr__(self) -> str:
        return f"Guest({self.name!r}, {self.ratings.n_ratings} ratings)"

    def predict(self, items: Iterable[Any]) -> Predictions:
        """Return predicted ratings of items."""
        asked = _listed(items)
        i = _places(asked, self.model._items)
        answer = self.model._fitted().guest_answer(self.ratings, i)
        return self._predictions(asked, i, answer)

    def predict_one(self, item: Any) -> Prediction:
        """Return one predicted rating."""
        return self.predict([item])[0]

    def recommend(self, n: int = 10, *, items: Iterable[Any] | None = None) -> list[Prediction]:
        """Return the n items with the highest predicted ratings that the guest has not rated."""
        candidates = self.model._candidates(items)
        answer = self.model._fitted().guest_answer(self.ratings, candidates)
        rated = np.flatnonzero(np.isin(candidates, self.ratings.matrix.indices))
        top = best(answer.values, rated, n)
        what = self.model.ratings_.items[candidates[top]].tolist()
        return list(self._predictions(what, candidates[top], _some(answer, top)))

    def neighbors(self, k: int = 10) -> list[Neighbor]:
        """Return the k nearest users with their distances (or similarities), nearest first."""
        return _neighbor_list(self.model._fitted().likeness.nearest(self.ratings, k))

    def explain(self, other: Any, *, labels: Labels | None = None) -> UserExplanation:
        """Return what of the guest's ratings corresponds to what of a user's."""
        known = self.model.ratings_
        both = stacked(known.select(users=[known.user_index(other)]), self.ratings)
        return _explain_users(both, self.model._with_geometry(), self.name, other, labels)

    def explain_recommendation(self, item: Any, *, labels: Labels | None = None) -> RecommendationExplanation:
        """Return what a predicted rating is made of."""
        parts = self.model._fitted().parts(self.ratings, self.model._items.get(item, -1))
        prediction = self.predict_one(item)
        return RecommendationExplanation(prediction, parts.base, parts.neighbors, parts.through, labels or {})

    def _predictions(self, items: list[Any], i: Index, answer: Answer) -> Predictions:
        known = np.zeros(len(items), np.int64)
        return self.model._predictions([self.name] * len(items), items, known, i, answer)


_KERNEL = ("landmarks", "whitening", "features", "rest")
_REGRESSION = ("alpha", "user", "item", "similar_items", "lent")


def _over_geometry(
    ratings: Ratings, geometry: ItemGeometry, missing: Literal["error", "drop"]
) -> tuple[Ratings, ItemGeometry]:
    """Return ratings over all items of the geometry, unrated ones after the rated."""
    ratings, aligned = align(ratings, geometry, missing)
    if geometry.n_items == ratings.n_items:
        return ratings, aligned
    place = {item: k for k, item in enumerate(geometry.items.tolist())}
    rated = np.array([place[item] for item in ratings.items.tolist()], dtype=np.int64)
    rest = np.setdiff1d(np.arange(geometry.n_items), rated)
    order = np.concatenate([rated, rest])
    return _widened(ratings, geometry.items[order]), geometry.take(order)


def _widened(ratings: Ratings, items: Any) -> Ratings:
    """Return ratings over more items, of which theirs are the first."""
    from scipy.sparse import csr_array

    m = ratings.matrix
    wide = csr_array((m.data, m.indices, m.indptr), shape=(ratings.n_users, len(items)))
    return Ratings(wide, ratings.users, items, ratings.scale)


def _on_items(ratings: Ratings, places: Mapping[Any, int], like: Ratings) -> Ratings:
    """Return ratings over the items of a model; items it does not know are left out."""
    from scipy.sparse import csr_array

    at = np.array([places.get(item, -1) for item in ratings.items.tolist()], dtype=np.int64)
    if (at < 0).any():
        ratings = ratings.select(items=at >= 0)
        at = at[at >= 0]
    m = ratings.matrix
    moved = csr_array((m.data, at[m.indices], m.indptr), shape=(ratings.n_users, like.n_items))
    moved.sort_indices()
    return Ratings(moved, ratings.users, like.items, like.scale)


def _checked_guest(known: Ratings, ratings: Mapping[Any, float], name: Any) -> Ratings:
    if not isinstance(ratings, Mapping):
        raise InputError(f"expected {{item: rating}}, got {type(ratings).__name__}")
    if not ratings:
        raise InputError("no ratings were given; a guest needs at least one")
    if name in set(known.users.tolist()):
        raise InputError(f"there is a user {name!r} already; pass another name=")
    index, scale = IdIndex("item", known.items), known.scale
    items = np.array([index.position(item) for item in ratings], dtype=np.int64)
    try:
        values = np.array([float(value) for value in ratings.values()])
    except (TypeError, ValueError) as error:
        raise InputError(f"ratings must be numbers: {error}") from None
    for item, value in zip(ratings, values.tolist(), strict=True):
        if not scale.lowest <= value <= scale.highest:
            raise InputError(
                f"the rating of {item!r} is {value:g}; the scale is {scale.lowest:g} to {scale.highest:g}"
            )
    return one_user(known, name, items, values)


def _explain_users(
    ratings: Ratings, geometry: ItemGeometry, user: Any, other: Any, labels: Labels | None
) -> UserExplanation:
    answer = pmd(ratings, geometry, user, other)
    place = {item: k for k, item in enumerate(ratings.items.tolist())}
    flows = [(flow.source, flow.target) for flow in answer.flows]
    similarity = {
        pair: float(geometry.similarity([place[pair[0]]], [place[pair[1]]])[0, 0]) for pair in flows
    }
    return UserExplanation.of(answer, ratings.of(user), ratings.of(other), similarity, labels)


def _neighbor_list(found: Any) -> list[Neighbor]:
    ids = found.reference[found.neighbors].tolist()
    return [Neighbor(*pair) for pair in zip(ids, found.values.tolist(), strict=True)]


def _some(answer: Answer, chosen: Index) -> Answer:
    return Answer(
        answer.values[chosen],
        answer.base[chosen],
        answer.n_neighbors[chosen],
        lambda k: answer.details(int(chosen[k])),
    )


def _places(ids: list[Any], known: Mapping[Any, int]) -> Index:
    return np.array([known.get(id_, -1) for id_ in ids], dtype=np.int64)


def _listed(ids: Iterable[Any]) -> list[Any]:
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise InputError(f"expected a list of ids, got the single value {ids!r}")
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


def _pairs(pairs: Any) -> tuple[list[Any], list[Any]]:
    """Return the two columns of pairs, however they were given."""
    if isinstance(pairs, Ratings):
        rows = np.repeat(np.arange(pairs.n_users), np.diff(pairs.matrix.indptr))
        return pairs.users[rows].tolist(), pairs.items[pairs.matrix.indices].tolist()
    if isinstance(pairs, np.ndarray):
        pairs = pairs.tolist()
    if isinstance(pairs, list | tuple):
        try:
            both = [(user, item) for user, item in pairs]
        except (TypeError, ValueError):
            raise InputError("expected a list of (user, item) pairs") from None
        return [user for user, _ in both], [item for _, item in both]
    import narwhals as nw

    try:
        frame: Any = nw.from_native(pairs, eager_only=True)
    except TypeError:
        raise InputError(
            f"expected a list of (user, item) pairs or a frame with these columns, got {type(pairs).__name__}"
        ) from None
    for name in ("user", "item"):
        if name not in frame.columns:
            raise InputError(f"the frame has no column {name!r}; it has {', '.join(frame.columns)}")
    return frame["user"].to_list(), frame["item"].to_list()


def _as_json(name: str, value: Any) -> Any:
    if isinstance(value, Shared):
        return value.to_dict()
    if isinstance(value, Weight):
        try:
            weight(value.name)
        except InputError:
            raise InputError(
                f"the weight {value.name!r} is a function of your own and cannot be saved; use one by name"
            ) from None
        return value.name
    return value
