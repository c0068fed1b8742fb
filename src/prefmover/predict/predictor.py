"""Predicted ratings with the contributions that explain them, the protocol of predictors, states of users."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
import numpy.typing as npt

from prefmover._format import counted
from prefmover._pickled import PickledFields
from prefmover._table import Tabular
from prefmover._typing import Bools, Floats, Ints, Progress
from prefmover.data.ratings import Ratings, one_user
from prefmover.data.scale import Scale
from prefmover.errors import InputError
from prefmover.predict.similarity import UserSimilarity, Who

__all__ = [
    "HOW",
    "Baseline",
    "Contribution",
    "Evidence",
    "How",
    "Prediction",
    "Predictions",
    "Predictor",
    "Scores",
    "UserState",
    "clip",
    "how_predicted",
    "id_column",
]

How = Literal["neighbors", "no neighbor", "unknown item", "unknown user", "nothing known"]
HOW: tuple[How, ...] = get_args(How)
"""How a prediction was made: from neighbors, or by which fallback."""


class Evidence(NamedTuple):
    """A rating through which a neighbor contributes, and the part of the contribution it makes."""

    item: Any
    rating: float
    value: float


class Contribution(NamedTuple):
    """The part of a prediction that one neighbor makes.

    Attributes
    ----------
    user
        The neighbor's id.
    weight
        The weight of the neighbor.
    rating
        The neighbor's rating of the item; None if the neighbor has not rated it and contributes through
        ratings of similar items.
    residual
        How much more, or less, than expected the neighbor likes the item.
    value
        The part of the prediction. The values of all neighbors and the baseline sum to the prediction.
    measure_value
        The distance (or similarity) between the user and the neighbor. None if it was not computed: the
        kernel model needs no distances to predict, and computes those of the ten largest contributions only.
    evidence
        The ratings through which the neighbor contributes, strongest first; empty if it is the rating of
        the item itself.
    """

    user: Any
    weight: float
    rating: float | None
    residual: float
    value: float
    measure_value: float | None
    evidence: tuple[Evidence, ...] = ()


class Baseline(NamedTuple):
    """A part of a prediction that does not come from neighbors, such as the overall mean."""

    name: str
    value: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted rating.

    Attributes
    ----------
    user, item
        Ids.
    rating
        The prediction, within the scale.
    baseline
        The rating to expect before neighbors contribute.
    how
        How the prediction was made: one of :data:`HOW`.
    clipped
        Whether the sum was outside the scale.
    n_neighbors
        The number of neighbors who contribute.
    """

    user: Any
    item: Any
    rating: float
    baseline: float
    how: How
    clipped: bool
    n_neighbors: int

    @property
    def source(self) -> str:
        """The source of the prediction in words: ``"3 neighbors"``, or the fallback."""
        return counted(self.n_neighbors, "neighbor") if self.how == "neighbors" else self.how

    def __repr__(self) -> str:
        end = ", clipped" if self.clipped else ""
        return f"Prediction({self.user!r}, {self.item!r}: {self.rating:.3f} from {self.source}{end})"


@dataclass(frozen=True, eq=False)
class Predictions(Tabular):
    """Predicted ratings of many (user, item) pairs: a table, each row of which is a :class:`Prediction`.

    Its columns are the fields of a prediction. Ids are as they were passed; ``how`` has positions in
    :data:`HOW`. Neighbors are counted when somebody asks for the column, or for a row.
    """

    users: list[Any]
    items: list[Any]
    ratings: Floats
    baselines: Floats
    how: npt.NDArray[np.int8]
    clipped: Bools
    count_neighbors: Callable[[], Ints]

    @cached_property
    def n_neighbors(self) -> Ints:
        """The number of neighbors of each pair."""
        return self.count_neighbors()

    def __reduce__(self) -> tuple[Any, ...]:
        columns = self.ratings, self.baselines, self.how, self.clipped
        return type(self), (self.users, self.items, *columns, self.n_neighbors.copy)

    def __len__(self) -> int:
        return len(self.users)

    def __getitem__(self, k: int) -> Prediction:
        row = range(len(self))[k]
        columns = self.ratings, self.baselines, self.clipped, self.n_neighbors
        rating, baseline, clipped, n = (column[row].item() for column in columns)
        return Prediction(self.users[row], self.items[row], rating, baseline, HOW[self.how[row]], clipped, n)

    def __iter__(self) -> Iterator[Prediction]:
        return (self[k] for k in range(len(self)))

    def counts(self) -> dict[How, int]:
        """Return the number of predictions made in each way."""
        return {how: int((self.how == code).sum()) for code, how in enumerate(HOW)}

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`: user, item, rating, baseline, how, clipped, n_neighbors."""
        import pyarrow as pa

        how = [HOW[code] for code in self.how.tolist()]
        columns = [id_column(self.users), id_column(self.items), self.ratings, self.baselines]
        columns += [pa.array(how, pa.string()), self.clipped, self.n_neighbors]
        return pa.table(columns, [one.name for one in fields(Prediction)])

    def __repr__(self) -> str:
        sources = ", ".join(f"{n:,} from {how}" for how, n in self.counts().items() if n)
        return f"Predictions({counted(len(self), 'pair')}: {sources})"


def id_column(ids: list[Any]) -> Any:
    """Return ids as an Arrow array; as text if integers and strings are mixed, as unknown ids may be."""
    import pyarrow as pa

    mixed = len({isinstance(id_, str) for id_ in ids}) > 1
    return pa.array([str(id_) for id_ in ids] if mixed else ids)


def clip(values: Floats, scale: Scale) -> tuple[Floats, Bools]:
    """Return values clipped to the scale, and which of them were outside."""
    inside = np.clip(values, scale.lowest, scale.highest)
    return inside, inside != values


def how_predicted(users: Ints, items: Ints, has_neighbors: Bools) -> npt.NDArray[np.int8]:
    """Return how each pair was predicted, as positions in :data:`HOW`; -1 is an unknown user or item."""
    unknown = 2 * (users < 0) + (items < 0)  # 1: the item, 2: the user, 3: both
    return np.where(unknown > 0, unknown + 1, ~has_neighbors).astype(np.int8)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UserState:
    """The state of one user in a fitted model: a user of the data, a guest, or an unknown user.

    Models make states: :meth:`~prefmover.model.Recommender.guest` makes that of a guest from ratings, and
    :meth:`~prefmover.model.Recommender.without` that of a person without some ratings. Every method of a
    model that takes a user's id takes the state too. Nothing is refitted.

    Attributes
    ----------
    name
        Id of the user, or name of the guest.
    position
        Position of the user in the data, whose own row never counts for the user; -1 for a guest or an
        unknown user.
    rated, given
        Positions of the rated items, ascending, and the ratings.
    fit_id
        Identifies the fit that made the state.
    guest
        The ratings of a guest, or those that are left of a user, as a table; None for all others.
    to_landmarks
        The measure between a guest and the landmarks, and the guest itself: computed once for both heads.
    rating, ranking
        The numbers of a user that the predictor and the ranker compute once.
    removed
        Positions of items whose ratings were taken out. They are not recommended: the user knows them.
    """

    name: Any
    position: int
    rated: Ints
    given: Floats
    fit_id: str
    guest: Ratings | None = None
    to_landmarks: tuple[Floats, float] | None = None
    rating: Any = None
    ranking: Any = None
    removed: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def is_whole(self) -> bool:
        """Whether this is a user of the data, with all ratings."""
        return self.position >= 0 and self.guest is None

    @property
    def seen(self) -> Ints:
        """Positions of the items that are not new to the user."""
        return np.concatenate([self.rated, self.removed])

    def without(self, removed: Ints, similarity: UserSimilarity) -> UserState:
        """Return the state of the same person without the ratings of items by position, among the landmarks.

        The numbers that the predictor and the ranker compute are not there yet.
        """
        left = ~np.isin(self.rated, removed)
        rated, given = self.rated[left], self.given[left]
        if not given.any():
            wrong = f"nothing is left of {self.name!r} without these ratings; leave at least one"
            raise InputError(wrong, reason="nothing-left")
        one = one_user(similarity.data.ratings, self.name, rated, given)
        return replace(
            self,
            rated=rated,
            given=given,
            guest=one,
            to_landmarks=similarity.to_landmarks(one) if len(similarity.landmarks) else None,
            rating=None,
            ranking=None,
            removed=np.union1d(self.removed, removed),
        )

    @property
    def is_known(self) -> bool:
        """Whether anything is known about the user: a user of the data, or a guest with ratings."""
        return self.position >= 0 or len(self.rated) > 0

    @property
    def who(self) -> Who:
        """The user as a measure takes it: the ratings of a guest, or the position."""
        return np.array([self.position]) if self.guest is None else self.guest

    def __repr__(self) -> str:
        less = f" without {len(self.removed):,}" if len(self.removed) else ""
        return f"UserState({self.name!r}, {counted(len(self.rated), 'rating')}{less})"


class Scores(NamedTuple):
    """Predictions before they are clipped to the scale, with their baselines.

    ``count_neighbors`` returns the numbers of neighbors, which may take longer than to predict: each user is
    compared with all others.
    """

    values: Floats
    baselines: Floats
    has_neighbors: Bools
    count_neighbors: Callable[[], Ints]


@dataclass(frozen=True, eq=False)
class Predictor(PickledFields, ABC):
    """A fitted predictor of ratings. Users and items are positions; -1 is an unknown user or item."""

    similarity: UserSimilarity

    @property
    def ratings(self) -> Ratings:
        """The training ratings."""
        return self.similarity.data.ratings

    def guest(self, state: UserState) -> Any:
        """Return the numbers that a guest's state carries for this predictor."""
        return None

    @abstractmethod
    def predict(self, users: Ints, items: Ints, progress: Progress | None = None) -> Scores:
        """Return the scores of pairs."""

    @abstractmethod
    def scores(self, state: UserState, items: Ints) -> Scores:
        """Return the scores of items for one user."""

    def expected(self, state: UserState, items: Ints) -> tuple[Floats, Bools]:
        """Return the scores of items for one user, and which of them have neighbors; a list needs no more."""
        scores = self.scores(state, items)
        return scores.values, scores.has_neighbors

    @abstractmethod
    def explain(self, state: UserState, item: int) -> tuple[tuple[Baseline, ...], tuple[Contribution, ...]]:
        """Return all parts of one score, which sum to it, with positions as ids; contributions by size."""

    @abstractmethod
    def with_data(
        self, similarity: UserSimilarity, users: Ints, compared: list[tuple[Floats, float]] | None
    ) -> Self:
        """Return the predictor with other ratings of some users, and with more users, the last of the data.

        For each of them, ``compared`` has the measure to the landmarks and to the user itself; it is None in
        a model without landmarks.
        """

    @abstractmethod
    def with_items(self, similarity: UserSimilarity) -> Self:
        """Return the predictor with more items, which nobody has rated: the last of the data."""
