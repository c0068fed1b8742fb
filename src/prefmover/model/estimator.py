"""The life of a model: parameters, as scikit-learn expects them, a fit, updates, and a folder to stay in."""

from __future__ import annotations

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from os import PathLike
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, get_args
from uuid import uuid4

import numpy as np

from prefmover._typing import Progress
from prefmover.data.ids import as_ids
from prefmover.data.ratings import Ratings
from prefmover.dataset import Dataset, check_dataset
from prefmover.errors import InputError, NotFittedError
from prefmover.execution.threads import Stages, one_blas_thread, resolve_threads
from prefmover.explain.reasons import Explainer
from prefmover.items.geometry import ItemGeometry
from prefmover.measures import Measure, find_measure
from prefmover.model.inputs import user_ratings
from prefmover.predict.predictor import Predictor, UserState
from prefmover.predict.similarity import UserSimilarity
from prefmover.rank.ranker import Ranker

__all__ = ["Estimator", "Fitted", "Head", "not_fitted_error"]

Head: TypeAlias = Literal["ranking", "rating"]

ID_TYPES = "the new user ids must be of the model's type, all integers or all strings"


class Fitted(NamedTuple):
    """What a fit has made: the measure, the heads (None if they were not wanted), settings and trials."""

    similarity: UserSimilarity
    predictor: Predictor | None
    ranker: Ranker | None
    settings: dict[str, Any]
    trials: list[dict[str, Any]]


class Estimator(ABC):
    """A model that is fitted to a data set, changed, saved and loaded.

    Parameters are the arguments of ``__init__``, which only stores them. A subclass has the parameters of
    both heads, checks them and fits the heads.
    """

    kind: ClassVar[str]
    """Names the class in saved models."""

    uses_geometry: ClassVar[bool] = False
    """Whether a head itself uses the distances between items, whatever the measure does."""

    fit_shares: ClassVar[Mapping[str, int]] = {"fit": 1}
    """The stages of a fit, with their shares of its time in percent."""

    measure: str | Measure
    convention: str | None
    n_threads: int | None

    data_: Dataset
    similarity_: UserSimilarity
    heads_: tuple[Head, ...]
    settings_: dict[str, Any]
    tuning_: list[dict[str, Any]]
    params_: dict[str, Any]
    _fit_id: str
    _predictor: Predictor | None
    _ranker: Ranker | None
    _explainer: Explainer | None

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters
        return {name: parameter.default for name, parameter in parameters.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn's ``clone`` expects."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; they take effect with the next ``fit``."""
        names = self._defaults()
        for name in parameters.keys() - names.keys():
            raise InputError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(names)}")
        vars(self).update(parameters)
        return self

    def __repr__(self) -> str:
        changed = []
        for name, default in self._defaults().items():
            value = getattr(self, name)  # of any type, even an array
            if type(value) is not type(default) or value != default:
                changed.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the model is fitted, for scikit-learn's ``check_is_fitted``."""
        return "data_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks about estimators: this one is fitted to a Dataset, not to X and y."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False),
            no_validation=True,
        )

    @abstractmethod
    def _check(self) -> None:
        """Raise an error that names a parameter with a bad value."""

    @abstractmethod
    def _fit(self, similarity: UserSimilarity, heads: tuple[Head, ...], stages: Stages) -> Fitted:
        """Return the fitted heads."""

    def fit(
        self, data: Dataset, *, heads: Iterable[Head] | None = None, progress: Progress | None = None
    ) -> Self:
        """Learn from a data set. A fit that fails or is interrupted leaves the model as it was.

        Parameters
        ----------
        data
            Ratings, and the distances between items if the measure needs them. Items without ratings can
            be predicted and recommended too.
        heads
            ``"ranking"`` for lists, ``"rating"`` for predicted ratings: those that are wanted. None is both;
            implicit feedback has no ratings to predict. Lists of a model without the rating head have no
            predicted ratings.
        progress
            Called with (steps done, steps in all), at least once in each stage of the fit.
        """
        row = self._checked()
        check_dataset(data)
        wanted = self._heads(heads, data)
        self._check_size(data, wanted)  # before distances between items are computed
        stages = Stages(progress, self.fit_shares)
        with one_blas_thread():
            fitted = self._fit(self._similarity(data, row), wanted, stages)
        stages.end()
        self._take(fitted, wanted)
        return self

    def _heads(self, heads: Iterable[Head] | None, data: Dataset) -> tuple[Head, ...]:
        """Return the heads to fit, checked."""
        implicit = data.ratings.implicit
        if heads is None:
            return ("ranking",) if implicit else get_args(Head)
        wanted = (heads,) if isinstance(heads, str) else tuple(heads)
        if not wanted or not set(wanted) <= set(get_args(Head)):
            raise InputError(f'heads is {heads!r}; choose "ranking", "rating" or both')
        if implicit and "rating" in wanted:
            raise InputError(
                "the data are implicit feedback, which has no ratings to predict; leave out heads="
            )
        return tuple(head for head in get_args(Head) if head in wanted)

    def _take(self, fitted: Fitted, heads: tuple[Head, ...]) -> None:
        """Become a fitted model, in one step."""
        similarity, predictor, ranker, settings, trials = fitted
        more = {"heads_": heads, "settings_": settings, "tuning_": trials, "params_": self.get_params()}
        self._become(similarity, predictor, ranker, **more)

    def _become(
        self, similarity: UserSimilarity, predictor: Predictor | None, ranker: Ranker | None, **more: Any
    ) -> None:
        """Change what depends on the data, in one step."""
        vars(self).update(
            data_=similarity.data,
            similarity_=similarity,
            _predictor=predictor,
            _ranker=ranker,
            _explainer=None if ranker is None else Explainer(ranker),
            _fit_id=uuid4().hex,
            **more,
        )

    def _checked(self) -> Measure:
        """Return the measure, with all parameters checked."""
        resolve_threads(self.n_threads)
        row = find_measure(self.measure)
        row.convention(self.convention)
        self._check()
        return row

    def _similarity(self, data: Dataset, row: Measure) -> UserSimilarity:
        if row.needs_geometry:
            data.require_geometry(f"measure {row.name!r}")
        return UserSimilarity(data, row, self.convention, self.n_threads)

    def _check_size(self, data: Dataset, heads: tuple[Head, ...]) -> None:
        """Raise an error if the data are too large for the model."""
        return

    def _require_fit(self) -> None:
        if "data_" not in vars(self):
            raise not_fitted_error(type(self).__name__)

    @property
    def predicts(self) -> bool:
        """Whether the model was fitted with its rating head."""
        self._require_fit()
        return self._predictor is not None

    @property
    def predictor_(self) -> Predictor:
        """The fitted rating head."""
        self._require_fit()
        if self._predictor is None:
            raise InputError(
                "the data are implicit feedback, which has no ratings to predict; recommend() ranks items"
                if self.data_.ratings.implicit
                else "the model was fitted without its rating head; leave out heads="
            )
        return self._predictor

    @property
    def ranker_(self) -> Ranker:
        """The fitted ranking head."""
        self._require_fit()
        if self._ranker is None:
            raise InputError("the model was fitted without its ranking head; leave out heads=")
        return self._ranker

    @property
    def explainer_(self) -> Explainer:
        """Reasons for the scores of the ranking head."""
        assert self.ranker_ is not None  # or it says why
        assert self._explainer is not None
        return self._explainer

    def update(self, user: Any, ratings: Mapping[Any, float]) -> Self:
        """Add or change ratings of a user, known or new, from ``{item: rating}``. Nothing is refitted.

        The user is compared with the landmarks and solved for, given everybody else. Recommendations and
        predictions are then those of a guest with all ratings of the user, and the user counts as a neighbor
        of others. Settings, the item side and the places of other users stay until the next :meth:`fit`. For
        implicit feedback, a count replaces the present one.

        An update that fails leaves the model as it was.

        Examples
        --------
        >>> from prefmover import Recommender, datasets
        >>> cinema = datasets.load("cinema")
        >>> model = Recommender().fit(cinema.with_ratings(cinema.ratings.take(users=range(30))))
        >>> model.update("ada-b", {"alien-1979": 5}).update("somebody new", {"heat-1995": 4})
        Recommender()
        >>> model.data_.ratings["ada-b"]["alien-1979"], model.data_.n_users
        (5.0, 31)
        """
        self._require_fit()
        known = self.data_.ratings
        one = user_ratings(known, ratings, user)
        ids = as_ids([user], "user")
        if ids.dtype != known.users.dtype:
            raise InputError(f"user {user!r}: {ID_TYPES}")
        return self._update(Ratings(one.matrix, ids, one.items, one.scale))

    def add_users(self, ratings: Ratings) -> Self:
        """Add users, by their ratings of items of the model: :meth:`update` for many new users at once."""
        self._require_fit()
        known = self.data_.ratings
        if not isinstance(ratings, Ratings):
            raise InputError(f"expected Ratings, got {type(ratings).__name__}; see Ratings.from_arrays")
        present = np.flatnonzero(known.user_index.get(ratings.users) >= 0)
        if present.size:
            user = ratings.users[present[:1]].tolist()[0]
            raise InputError(f"user {user!r} is in the model already; update(user, ratings) changes ratings")
        if ratings.users.dtype != known.users.dtype:
            raise InputError(ID_TYPES)
        known.item_positions(ratings.items)  # an unknown item is an error
        values, scale = ratings.matrix.data, known.scale
        if not scale.implicit and ((values < scale.lowest) | (values > scale.highest)).any():
            raise InputError(
                f"the new ratings go from {values.min():g} to {values.max():g}; the model's scale is "
                f"{scale.lowest:g} to {scale.highest:g}"
            )
        return self._update(ratings.with_items(known.items)) if ratings.n_users else self

    def _update(self, ratings: Ratings) -> Self:
        """Change ratings, checked, of users by id; those who are not in the model are added."""
        changed = self.data_.ratings.user_index.get(ratings.users)
        changed = changed[changed >= 0]
        data = self.data_.with_ratings(self.data_.ratings.updated(ratings))
        similarity = self.similarity_.updated(data)
        users = np.concatenate([changed, np.arange(self.data_.n_users, data.n_users)])
        compared = None
        if len(similarity.landmarks):  # once for both heads
            compared = [similarity.to_landmarks(data.ratings.take(users=[user])) for user in users.tolist()]
        predictor = self._predictor and self._predictor.with_data(similarity, users, compared)
        ranker = self._ranker and self._ranker.with_data(similarity, users, compared)
        self._become(similarity, predictor, ranker)
        return self

    def add_items(self, geometry: ItemGeometry, items: Any = None) -> Self:
        """Add items that nobody has rated, by their features. They are recommended through similar items.

        Nothing is refitted: predictions and rankings are those of a model that was fitted with these items
        from the start.

        Parameters
        ----------
        geometry
            The new items: vectors in the space of the model's, or a geometry of all items, old and new
            (:meth:`prefmover.ItemGeometry.extended`).
        items
            Their titles: ``{item: title}``, or a frame with columns item, title, year and genres.
        """
        self._require_fit()
        similarity = self.similarity_.with_items(self.data_.with_new_items(geometry, items))
        predictor = self._predictor and self._predictor.with_items(similarity)
        ranker = self._ranker and self._ranker.with_items(similarity)
        self._become(similarity, predictor, ranker)
        return self

    def save(self, folder: str | PathLike[str]) -> None:
        """Save the fitted model and its data in a folder; an older model there is replaced in one step."""
        from prefmover.model import storage

        self._require_fit()
        storage.save(self, folder)

    @classmethod
    def load(
        cls, folder: str | PathLike[str], *, n_threads: int | None = None, verify: bool | None = None
    ) -> Self:
        """Return a saved model. Arrays stay in the file until they are used.

        Parameters
        ----------
        n_threads
            Threads; None means all cores.
        verify
            True compares all checksums, which reads the files once. False compares none. None, the default,
            compares the checksums of files up to 256 MB, but only the sizes of larger ones. So a large model
            is mapped into memory without being read.
        """
        from prefmover.model import storage

        model = storage.load(folder, n_threads=n_threads, verify=verify)
        if not isinstance(model, cls):
            name = type(model).__name__
            raise InputError(f"{folder} holds a {name}, not a {cls.__name__}; use {name}.load")
        return model

    def _known(self, position: int, name: Any = None) -> UserState:
        nothing = np.empty(0, np.int64), np.empty(0)
        rated, given = self.data_.ratings.row(position) if position >= 0 else nothing
        return UserState(name, position, rated, given, self._fit_id)

    def _placed(self, state: UserState) -> UserState:
        """Return a state with what the ranker needs to know about the user, computed once."""
        if self._ranker is None or state.ranking is not None or not len(state.rated):
            return state
        return replace(state, ranking=self._ranker.place(state))

    def _state(self, user: Any, *, known: bool = False) -> UserState:
        """Return the state of a user; with ``known``, an unknown id is an error."""
        self._require_fit()
        ratings = self.data_.ratings
        if not isinstance(user, UserState):
            position = ratings.user_position(user) if known else int(ratings.user_index.get([user])[0])
            return self._known(position, user.item() if isinstance(user, np.generic) else user)
        if user.fit_id != self._fit_id:
            raise InputError(
                f"the state of {user.name!r} was made by another fit; make it again with guest(ratings)"
            )
        return user


def not_fitted_error(name: str) -> NotFittedError:
    """Return the error about a model that is not fitted: one of scikit-learn's too, if that is imported."""
    exceptions = sys.modules.get("sklearn.exceptions")
    kind = NotFittedError if exceptions is None else _with_sklearn(exceptions.NotFittedError)
    return kind(f"this {name} is not fitted; call fit(data) first")


@cache
def _with_sklearn(other: type[Exception]) -> type[NotFittedError]:
    return type("NotFittedError", (NotFittedError, other), {"__module__": NotFittedError.__module__})
